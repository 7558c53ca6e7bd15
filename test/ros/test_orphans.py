"""No command leaves a process behind, however it ends: nodes, page and recorder end with it."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from fleet import STEADY, THREE_LINK, Fleet
from marked import Mark
from ros_domain import own_domain

from projected_control.settings.nodes import ARM, FORCE

CLI = [sys.executable, "-m", "projected_control.apps.cli"]
CONFIG = Path(__file__).parents[2] / "config"
ARM_FILE = str(CONFIG / "three_link_slider.yaml")
STUDY = str(CONFIG / "studies" / "wipe.yaml")


class OrphanCase(NamedTuple):
    """A command, and what it has started when it is ended, by words of their command lines."""

    command: Sequence[str]  # in full
    starts: Sequence[str]  # that it is waited for
    beside: bool = False  # whether a controller has to run


CASES = {
    "demo": OrphanCase([*CLI, "demo", "--headless", "--seconds", "5"], [FORCE, "effort_watchdog"]),
    "view": OrphanCase([*CLI, "view", "--no-browser", "--port", "0"], ["view --no-browser"]),
    "record": OrphanCase([*CLI, "record", FORCE], [f"record {FORCE}"], beside=True),
    "tune": OrphanCase([*CLI, "tune", ARM_FILE, "--node", FORCE], ["tune"]),
    "sweep": OrphanCase([*CLI, "sweep", STUDY, "--workers", "2"], ["local_pool"]),
    "robustness": OrphanCase([*CLI, "robustness", STUDY, "--workers", "2"], ["local_pool"]),
    "bench faults": OrphanCase([*CLI, "bench", "faults"], [ARM, FORCE]),
    "launch": OrphanCase(
        ["ros2", "launch", "projected_control", "simulation.launch.py"],
        [ARM, FORCE, "effort_watchdog"],
    ),
}
SIGNALS = [signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGHUP]
SOON = {("demo", signal.SIGTERM), ("demo", signal.SIGKILL), ("sweep", signal.SIGKILL)}
"""Tried in the short run; nodes that are ended while they import were those that stayed."""


@pytest.mark.parametrize(
    ("name", "number"),
    [
        pytest.param(name, number, marks=[] if (name, number) in SOON else [pytest.mark.long])
        for name in CASES
        for number in SIGNALS
    ],
)
def test_a_command_that_is_ended_leaves_nothing(
    fleet: Fleet, tmp_path: Path, name: str, number: signal.Signals
) -> None:
    case, mark = CASES[name], Mark()
    if shutil.which(case.command[0]) is None:
        pytest.skip("ros2 launch is not installed (it is not on PyPI)")
    if case.beside:
        for kind in (ARM, FORCE):
            fleet.start(kind, {**THREE_LINK, **STEADY})
        fleet.until_state(FORCE, "active")
    environment = {**mark.environment, "ROS_DOMAIN_ID": str(fleet.domain)}
    said, reserved = tmp_path / "said", ExitStack()
    if name == "demo":  # it refuses a domain in which others are
        environment |= reserved.enter_context(own_domain())
    with said.open("wb") as file:
        command = subprocess.Popen(
            case.command, env=environment, cwd=tmp_path, stdout=file, stderr=file
        )
    try:
        try:
            mark.until(*case.starts)
        except AssertionError as error:
            raise AssertionError(f"{error}; it said: {said.read_text()}") from None
        command.send_signal(number)
        command.wait(60.0)
        mark.until()
    finally:
        command.kill()
        reserved.close()

"""What stands in parameter files and on the command line arrives in a node as it was written."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from pathlib import Path
from typing import Any

import yaml
from fleet import THREE_LINK, Fleet, Process

from projected_control.settings.nodes import FORCE, MOTION, WATCHDOG, own_values, parameters_of


def write(path: Path, values: dict[str, Any], node: str = "/**") -> str:
    path.write_text(yaml.safe_dump({node: {"ros__parameters": values}}))
    return str(path)


def start(fleet: Fleet, tmp_path: Path, kind: str, *arguments: str) -> Process:
    """A node that waits to be configured."""
    log = tmp_path / f"{len(fleet.processes)}.log"
    waiting = ["-p", "autostart:=false"]
    process = Process(kind, [*arguments, *waiting], fleet.environment, log)
    fleet.processes.append(process)
    fleet.until_state(kind, "unconfigured")
    return process


@pytest.mark.parametrize("empty", [[], [""]], ids=["[]", '[""]'])
def test_an_empty_list_arrives_as_one_for_every_list(
    fleet: Fleet, tmp_path: Path, empty: list[Any]
) -> None:
    lists = [name for name, p in parameters_of(FORCE).items() if p.is_list]
    assert len(lists) > 15
    file = write(tmp_path / "empty.yaml", {name: list(empty) for name in lists})
    start(fleet, tmp_path, FORCE, "--params-file", file)
    assert fleet.get(FORCE, lists) == [[] for _ in lists]


def test_an_empty_list_counts_before_a_default_and_before_an_earlier_file(
    fleet: Fleet, tmp_path: Path
) -> None:
    """It was the default that counted: two rows of three at a fixed point in space."""
    first = write(tmp_path / "first.yaml", own_values(MOTION, THREE_LINK))
    emptied = {"constraint.plane_normal": [], "gains.stiffness": []}
    second = write(tmp_path / "second.yaml", emptied, MOTION)
    start(fleet, tmp_path, MOTION, "--params-file", first, "--params-file", second)
    assert fleet.get(MOTION, list(emptied)) == [[], []]
    assert not fleet.change(MOTION, "configure")
    fleet.until_said(MOTION, "needs the plane it is measured in: constraint.plane_normal")


def test_an_empty_list_on_the_command_line(fleet: Fleet, tmp_path: Path) -> None:
    file = write(tmp_path / "joints.yaml", {"joints": ["joint_1"]})
    start(fleet, tmp_path, WATCHDOG, "--params-file", file, "-p", "joints:=[]")
    assert fleet.get(WATCHDOG, ["joints"]) == [[]]
    assert not fleet.change(WATCHDOG, "configure")
    fleet.put(WATCHDOG, {"joints": ["joint_1"]})
    assert fleet.change(WATCHDOG, "configure")

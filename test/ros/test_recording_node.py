"""A controller node records itself: by parameter, live, with its changes, and survives kill -9."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("mcap", reason="the package mcap is not installed")

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from fleet import THREE_LINK, Fleet, Process
from mcap.reader import make_reader
from rcl_interfaces.msg import ParameterEvent
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from projected_control.apps.recordings.playback import what_if
from projected_control.errors import InvalidValue
from projected_control.runs.recording import Recording, read_recording
from projected_control.settings.nodes import ARM, FORCE

SETTINGS = {
    **THREE_LINK,
    "lockstep": True,
    "payload.link": "tip",
    "friction.coulomb": [0.1],
    "friction.viscous": [0.05],
}


def followed(fleet: Fleet, settings: dict[str, Any]) -> Process:
    """A controller on its way; its process."""
    fleet.start(ARM, settings)
    controller = fleet.start(FORCE, settings)
    fleet.until_said(FORCE, "following", level=0)
    return controller


def ticks_on(fleet: Fleet, ticks: int) -> None:
    fleet.until_counted(FORCE, "ticks", fleet.summary(FORCE)["ticks"] + ticks)


def replayed(recording: Recording) -> float:
    """The largest difference of any effort in a replay [N·m]."""
    return what_if(recording, {})[1]


def test_the_whole_life_of_a_recording(fleet: Fleet, tmp_path: Path) -> None:
    first, second = tmp_path / "first.mcap", tmp_path / "second.mcap"
    followed(fleet, {**SETTINGS, "recording.file": str(first)})
    ticks_on(fleet, 300)
    assert fleet.summary(FORCE)["recording"]["file"] == str(first)
    fleet.put(FORCE, {"gains.stiffness": [300.0], "payload.mass": 0.2})
    ticks_on(fleet, 400)
    reason = fleet.refused(FORCE, {"recording.file": str(tmp_path / "nowhere" / "x.mcap")})
    assert "there is no folder" in reason
    fleet.put(FORCE, {"recording.file": str(second)})  # the first one ends
    ticks_on(fleet, 300)
    fleet.put(FORCE, {"recording.file": ""})
    ticks_on(fleet, 10)
    assert "recording" not in fleet.summary(FORCE)

    whole = read_recording(first)
    assert whole.warnings() == []
    assert whole.parameters["coordinates"] == list(THREE_LINK["coordinates"])
    changed = {name: value for _, values in whole.changes for name, value in values.items()}
    assert changed["gains.stiffness"] == [300.0]
    assert changed["payload.mass"] == 0.2
    assert whole.diagnostics
    assert replayed(whole) <= 1e-9
    part = read_recording(second)
    assert part.parameters["payload.mass"] == 0.2
    assert replayed(part) <= 1e-9
    with first.open("rb") as file:  # what rclpy itself makes of the messages
        found: dict[str, Any] = {}
        for _, channel, message in make_reader(file).iter_messages():
            found[channel.topic] = message.data
    state = deserialize_message(found["/joint_states"], JointState)
    assert list(state.name) == whole.joints
    np.testing.assert_array_equal(state.position, whole.column("q")[whole.answers][-1])
    diagnostics = deserialize_message(found["/diagnostics"], DiagnosticArray)
    assert diagnostics.status[0].name == FORCE
    event = deserialize_message(found["/parameter_events"], ParameterEvent)
    assert {p.name for p in event.changed_parameters} >= {"payload.mass"}
    plotted = deserialize_message(found[f"/{FORCE}/state"], JointState)
    assert "torque_norm" in plotted.name


def is_whole(file: Path) -> bool:
    """Whether what writes it has finished; at first the file is empty."""
    try:
        return not read_recording(file).broken
    except InvalidValue:
        return False


def test_the_command_records_a_running_node_and_kill_9_leaves_a_whole_file(
    fleet: Fleet, tmp_path: Path
) -> None:
    controller = followed(fleet, SETTINGS)
    file = tmp_path / "by_command.mcap"
    command = [sys.executable, "-m", "projected_control.apps.cli", "record", FORCE, "--json"]
    done = subprocess.run(
        [*command, "--out", str(file), "--seconds", "1"],
        env=fleet.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["lost"] == 0
    assert replayed(read_recording(file)) <= 1e-9
    missing = subprocess.run(
        [*command[:-2], "nobody"],
        env=fleet.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert missing.returncode == 2
    assert f"/{FORCE}" in missing.stderr  # what there is

    crashed = tmp_path / "crashed.mcap"
    fleet.put(FORCE, {"recording.file": str(crashed)})
    fleet.until(lambda: crashed.exists() and crashed.stat().st_size, "the head of the file")
    ticks_on(fleet, 500)
    controller.signal(signal.SIGKILL)
    fleet.until(lambda: is_whole(crashed), "a complete file")
    recording = read_recording(crashed)
    assert recording.reason == "the process that recorded was killed"
    assert len(recording.rows) >= 500
    assert replayed(recording) <= 1e-9

"""The node of another package's law, with its constraint, on its port: a real process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from fleet import Fleet, Process
from sensor_msgs.msg import JointState
from test_other_package import KIND, installed  # noqa: F401  the fixture
from visualization_msgs.msg import MarkerArray


def start(fleet: Fleet, installed: Path, *more: str) -> Process:  # noqa: F811
    """Their node; more arguments may change parameters."""
    path = os.pathsep.join([str(installed / "site"), fleet.environment["PYTHONPATH"]])
    arguments = ["--params-file", str(installed / "settings.yaml"), *more]
    environment = {**fleet.environment, "PYTHONPATH": path}
    process = Process(KIND, arguments, environment, installed / "node.log")
    fleet.processes.append(process)
    fleet.until_said(KIND, "following", level=0)
    return process


def test_their_law_controls_their_arm(fleet: Fleet, installed: Path) -> None:  # noqa: F811
    """It comes up, follows, and publishes what every controller does; its parameters are there."""
    states = fleet.record(JointState, f"{KIND}/state")
    process = start(fleet, installed)
    fleet.until_counted(KIND, "ticks", 100)
    assert fleet.get(KIND, ["width", "hardware", "constraint.kind"]) == [0.2, "virtual", "circle"]
    newest = fleet.more(states, 3)[-1]
    values = dict(zip(newest.name, newest.position, strict=True))
    assert abs(values["joint_1/error"]) < 1e-3
    assert abs(values["residual"]) < 1e-6
    assert process.end() == 0
    assert "Traceback" not in process.log


def test_a_constraint_that_cannot_be_drawn(fleet: Fleet, installed: Path) -> None:  # noqa: F811
    """A warning, once, and no markers; the run goes on."""
    drawn = fleet.record(MarkerArray, f"{KIND}/markers")
    more = ["-p", "markers_rate:=50.0", "-p", "constraint.kind:=hazy_circle"]
    process = start(fleet, installed, *more)
    fleet.until(lambda: "no markers are drawn" in process.log, "the warning")
    fleet.until_counted(KIND, "ticks", fleet.summary(KIND)["ticks"] + 100)
    assert process.log.count("no markers are drawn") == 1
    assert "ZeroDivisionError: no shape at" in process.log
    assert all(m.action == m.DELETEALL for message in drawn.drain() for m in message.markers)
    assert process.end() == 0

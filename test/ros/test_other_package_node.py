"""The node of another package's law, with its constraint, on its port: a real process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from fleet import Fleet, Process
from sensor_msgs.msg import JointState
from test_other_package import KIND, installed  # noqa: F401  the fixture


def test_their_law_controls_their_arm(fleet: Fleet, installed: Path, tmp_path: Path) -> None:  # noqa: F811
    """It comes up, follows, and publishes what every controller does; its parameters are there."""
    path = os.pathsep.join([str(installed / "site"), fleet.environment["PYTHONPATH"]])
    states = fleet.record(JointState, f"{KIND}/state")
    arguments = ["--params-file", str(installed / "settings.yaml")]
    environment = {**fleet.environment, "PYTHONPATH": path}
    fleet.processes.append(Process(KIND, arguments, environment, tmp_path / "node.log"))
    fleet.until_said(KIND, "following", level=0)
    fleet.until_counted(KIND, "ticks", 100)
    assert fleet.get(KIND, ["width", "hardware", "constraint.kind"]) == [0.2, "virtual", "circle"]
    newest = fleet.more(states, 3)[-1]
    values = dict(zip(newest.name, newest.position, strict=True))
    assert abs(values["joint_1/error"]) < 1e-3
    assert abs(values["residual"]) < 1e-6
    assert fleet.processes[-1].end() == 0
    assert "Traceback" not in fleet.processes[-1].log

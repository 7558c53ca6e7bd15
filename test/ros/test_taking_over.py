"""A controller is stopped and started again: it takes the arm over wherever that has got to."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import numpy as np
from fleet import Fleet
from sensor_msgs.msg import JointState

from projected_control.apps.demo.demo_settings import settings_for
from projected_control.settings.nodes import ARM, FORCE

TICKS = 300


def test_the_demonstration_goes_on_after_a_stop(fleet: Fleet) -> None:
    """It begins on its sine, at once; after a stop it has moved on, and is taken up."""
    shared = {"diagnostics_rate": 20.0, "state_rate": 100.0}
    settings = settings_for("force", 60.0, "gentle", True, shared)
    fleet.start(FORCE, {**settings.controller.values(), "watchdog": ""})
    fleet.start(ARM, settings.arm.values())
    fleet.until_state(FORCE, "active")
    states = fleet.record(JointState, f"{FORCE}/state")
    for _ in range(3):
        fleet.until_counted(FORCE, "ticks", TICKS)
        assert fleet.change(FORCE, "deactivate")
        states.clear()
        assert fleet.change(FORCE, "activate"), fleet.diagnosis(FORCE).message
    fleet.until_counted(FORCE, "ticks", TICKS)
    errors = np.array([_error(message) for message in states.messages])
    assert np.abs(errors).max() < 1e-3  # of a stroke of 0.45 m
    assert fleet.summary(FORCE)["events"] == {}


def _error(message: JointState) -> float:
    return float(message.position[list(message.name).index("tip.x/error")])

"""A controller is stopped and started again: it takes the arm over wherever that has got to."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import numpy as np
from fleet import Fleet, TopicLog, stamp_ns
from sensor_msgs.msg import JointState

from projected_control.apps.demo.demo_settings import settings_for
from projected_control.settings.nodes import ARM, FORCE

MILLISECONDS = 400
"""From one stop to the next, of simulated time: how fast the computer is does not say where."""


def test_the_demonstration_goes_on_after_a_stop(fleet: Fleet) -> None:
    """It begins on its sine, at once; after a stop it has moved on, and is taken up."""
    shared = {"diagnostics_rate": 20.0, "state_rate": 100.0}
    settings = settings_for("force", 60.0, "gentle", True, shared)
    fleet.start(FORCE, {**settings.controller.values(), "watchdog": ""})
    arm_states = fleet.record(JointState, "joint_states")
    first = {"simulation.duration": 1e-3 * MILLISECONDS}
    fleet.start(ARM, {**settings.arm.values(), **first})
    fleet.until_state(FORCE, "active")
    states = fleet.record(JointState, f"{FORCE}/state")
    for end in range(MILLISECONDS, 4 * MILLISECONDS, MILLISECONDS):
        until_time(fleet, arm_states, end)
        assert fleet.change(FORCE, "deactivate")
        states.clear()
        assert fleet.change(FORCE, "activate"), fleet.diagnosis(FORCE).message
        fleet.put(ARM, {"simulation.duration": 1e-3 * (end + MILLISECONDS)})
    until_time(fleet, arm_states, 4 * MILLISECONDS)
    fleet.until(lambda: len(states.messages) >= MILLISECONDS // 10 - 1, "what it did")
    errors = np.array([_error(message) for message in states.messages])
    assert np.abs(errors).max() < 1e-3  # of a stroke of 0.45 m
    assert fleet.summary(FORCE)["events"] == {}


def until_time(fleet: Fleet, states: TopicLog, milliseconds: int) -> None:
    """Wait until the arm stands still at its end: its last state is that of the period before."""
    last = (milliseconds - 1) * 1_000_000
    fleet.until(lambda: states.messages and stamp_ns(states.messages[-1]) >= last, "the end")


def _error(message: JointState) -> float:
    return float(message.position[list(message.name).index("tip.x/error")])

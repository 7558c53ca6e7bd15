"""Who may send torques: the controller, and zeros from the watchdog it names. Nobody else."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import rclpy
from fleet import STEADY, THREE_LINK, Fleet
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from projected_control.settings.nodes import ARM, FORCE, MOTION, WATCHDOG

COMMANDS = "effort_controller/commands"
SETTINGS = {
    **THREE_LINK,
    **STEADY,
    "friction.viscous": [1.0],
    "limits.effort": [30.0],
    "limits.above_description": True,
}
NAN = float("nan")


@contextmanager
def foreign_commander(fleet: Fleet, name: str) -> Iterator[Any]:
    """Another node's publisher on the topic of commands, which arm and controller have found."""
    node = rclpy.create_node(name, context=fleet.node.context)
    publisher = node.create_publisher(Float64MultiArray, COMMANDS, 10)
    try:
        yield publisher
    finally:
        node.destroy_publisher(publisher)
        node.destroy_node()


LONG = pytest.mark.long  # the same once more with other words or numbers: for `make test-long`


def follow(fleet: Fleet, **more: Any) -> Any:
    """An arm and a controller at work, and all commands."""
    commands = fleet.record(Float64MultiArray, COMMANDS)
    fleet.start(ARM, SETTINGS)
    fleet.start(FORCE, SETTINGS, **more)
    fleet.until_said(FORCE, "following", level=0)
    fleet.until(lambda: commands.messages and any(commands.messages[-1].data), "torque")
    return commands


@pytest.mark.parametrize(
    "numbers",
    [
        [9.0, 9.0, 9.0],
        [NAN, NAN, NAN],
        pytest.param([1.0, 2.0], marks=LONG),
        pytest.param([0.5] * 40, marks=LONG),
    ],
)
def test_the_first_foreign_command_ends_it(fleet: Fleet, numbers: list[float]) -> None:
    """Not the next look at the graph of ROS: a handful of ticks, zero, and the reason.

    One that comes at the heels of the first is followed by a zero as well.
    """
    commands = follow(fleet)
    states = fleet.record(JointState, "joint_states")
    with foreign_commander(fleet, "somebody") as publisher:
        # ourselves, the arm and the controller, which hears its own topic
        fleet.until(lambda: publisher.get_subscription_count() >= 3, "listeners")
        for _ in range(2):
            publisher.publish(Float64MultiArray(data=numbers))
        fleet.until_state(FORCE, "inactive")
        fleet.until(lambda: not any(commands.messages[-1].data), "a zero to end with")
        # the name comes when ROS knows it, and stays when its owner has gone
        fleet.until_said(FORCE, "somebody also commands this arm", level=2)
    fleet.until_said(FORCE, "somebody also commands this arm", level=2)
    sent = [list(message.data) for message in commands.drain()]
    foreign = [i for i, data in enumerate(sent) if np.array_equal(data, numbers, equal_nan=True)]
    assert len(foreign) == 2
    after = sent[foreign[1] + 1 :]
    assert sum(any(data) for data in after) <= 5
    assert not any(after[-1])
    assert all(np.isfinite(state.effort).all() for state in states.drain())


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("my_watchdog", marks=LONG),
        pytest.param("watchdog_of_somebody", marks=LONG),
        f"{WATCHDOG}_watch",
    ],
)
def test_a_name_does_not_make_a_watchdog(fleet: Fleet, name: str) -> None:
    """Only the configured watchdog may be there, and here none is."""
    follow(fleet)
    with foreign_commander(fleet, name):
        fleet.until_said(FORCE, f"{name} also commands this arm", level=2)
        fleet.until_state(FORCE, "inactive")
        assert not fleet.change(FORCE, "activate")
        fleet.until_said(FORCE, f"{name} also commands this arm")


def test_the_configured_watchdog_may(fleet: Fleet) -> None:
    """Its zeros are no reason to stop; torques under its name are."""
    dog = {"joints": SETTINGS["joints"], "controller": FORCE, "timeout": 0.001}
    fleet.start(WATCHDOG, {**dog, "diagnostics_rate": 20.0})
    # on a busy computer zeros come so often that the arm hardly moves: that is not what is tested
    follow(fleet, watchdog=WATCHDOG, limits__watchdog_time=10.0, limits__frozen_time=10.0)
    fleet.until(lambda: fleet.diagnosis(WATCHDOG).number("trips") > 10, "zeros in between")
    assert fleet.state(FORCE) == "active"
    with foreign_commander(fleet, f"{WATCHDOG}_watch") as publisher:
        fleet.until(lambda: publisher.get_subscription_count() >= 3, "listeners")
        assert fleet.state(FORCE) == "active"
        publisher.publish(Float64MultiArray(data=[1.0, 1.0, 1.0]))
        fleet.until_said(FORCE, "also commands this arm", "[1, 1, 1]", level=2)


def test_it_says_what_the_watchdog_waits_for(fleet: Fleet) -> None:
    """Not that there is none, and never to do without."""
    fleet.start(ARM, SETTINGS)
    fleet.start(FORCE, {**SETTINGS, "watchdog": WATCHDOG})
    said = fleet.until_said(FORCE, f"there is no watchdog {WATCHDOG}", level=1)
    assert "nothing" not in said.message
    fleet.start(WATCHDOG, {"joints": [], "controller": FORCE})
    fleet.until_said(
        FORCE, f"the watchdog {WATCHDOG} is there but does not watch", "set joints", level=1
    )
    fleet.put(WATCHDOG, {"joints": SETTINGS["joints"]})
    fleet.until_said(FORCE, "following", level=0)


@pytest.mark.skipif(
    importlib.util.find_spec("controller_manager_msgs") is not None, reason="it is installed"
)
def test_a_watchdog_without_its_controller_manager(fleet: Fleet) -> None:
    fleet.start(WATCHDOG, {"joints": SETTINGS["joints"], "hardware": "ros2_control"})
    fleet.start(FORCE, {**SETTINGS, "watchdog": WATCHDOG})
    fleet.until_said(FORCE, "is there but does not watch", "needs controller_manager_msgs")


def test_a_watchdog_of_another_controller(fleet: Fleet) -> None:
    fleet.start(WATCHDOG, {"joints": SETTINGS["joints"], "controller": MOTION})
    fleet.start(FORCE, {**SETTINGS, "watchdog": WATCHDOG})
    fleet.until_said(FORCE, f"watches {MOTION}, not {FORCE}; set its parameter controller")

"""What a real arm asks of the nodes, as far as it shows without ros2_control."""

from __future__ import annotations

import importlib.util

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from fleet import STEADY, THREE_LINK, Fleet
from sensor_msgs.msg import JointState

from projected_control.settings.nodes import ARM, FORCE, MOTION, WATCHDOG

SETTINGS = {**THREE_LINK, **STEADY, "friction.viscous": [1.0]}
GUARDED = {**SETTINGS, "watchdog": WATCHDOG, "limits.watchdog_time": 2.0}
DOG = {
    "joints": SETTINGS["joints"],
    "controller": MOTION,
    "timeout": 5.0,
    "diagnostics_rate": 20.0,
}


def test_never_without_the_watchdog(fleet: Fleet) -> None:
    """It does not start without one, starts when there is one, and stops when that is killed."""
    fleet.start(ARM, SETTINGS)
    fleet.start(MOTION, GUARDED)
    fleet.until_said(MOTION, "waiting: there is no watchdog effort_watchdog", level=1)
    assert fleet.state(MOTION) == "inactive"
    dog = fleet.start(WATCHDOG, DOG)
    fleet.until_said(MOTION, "following", level=0)
    dog.kill()
    fleet.until_said(MOTION, "the watchdog effort_watchdog has been silent for", level=2)
    fleet.until(lambda: fleet.state(MOTION) == "inactive", "the controller to stop")


@pytest.mark.skipif(
    importlib.util.find_spec("controller_manager_msgs") is not None, reason="it is installed"
)
@pytest.mark.parametrize("node", [FORCE, WATCHDOG])
def test_ros2_control_that_is_not_installed(fleet: Fleet, node: str) -> None:
    fleet.start(node, {**SETTINGS, "hardware": "ros2_control"})
    fleet.until_said(node, "needs controller_manager_msgs", "apt install ros-", level=1)


class Commander:
    """Plays the JointStateTopicSystem of a controller manager."""

    def __init__(self, fleet: Fleet, **settings: object) -> None:
        self.fleet = fleet
        self.states = fleet.record(JointState, "joint_states")
        fleet.start(ARM, {**SETTINGS, "simulation.interface": "joint_commands"}, **settings)
        self.commands = fleet.publisher(JointState, "joint_commands")
        fleet.until(lambda: self.states.messages, "a state")

    def send(self, *efforts: float) -> None:
        self.commands.publish(JointState(name=SETTINGS["joints"], effort=list(efforts)))

    def until_effort(self, *efforts: float) -> None:
        def reported() -> bool:
            return list(self.states.messages[-1].effort) == list(efforts)

        self.fleet.until(reported, f"the arm to report {efforts}")


def test_brakes_hold_until_there_is_torque(fleet: Fleet) -> None:
    arm = Commander(fleet, simulation__brake=True)
    start = list(arm.states.messages[-1].position)
    arm.send(float("nan"), float("nan"), float("nan"))
    arm.send(0.0, 0.0, 0.0)
    assert all(list(state.position) == start for state in fleet.more(arm.states, 30))
    arm.send(0.5, 0.0, 0.0)
    fleet.until(lambda: list(arm.states.messages[-1].position) != start, "motion")


def test_motors_give_nothing_after_the_last_command(fleet: Fleet) -> None:
    """As drives of real arms do; without the timeout the last effort is held for ever."""
    arm = Commander(fleet, simulation__command_timeout=1.0)
    arm.send(0.5, -0.2, 0.1)
    arm.until_effort(0.5, -0.2, 0.1)
    arm.until_effort(0.0, 0.0, 0.0)

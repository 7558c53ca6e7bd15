"""What a real arm asks of the nodes, as far as it shows without ros2_control."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from fleet import SOURCE, STEADY, THREE_LINK, Fleet
from sensor_msgs.msg import JointState

from projected_control.model.description import read_description
from projected_control.settings.nodes import ARM, FORCE, MOTION, PASSIVE, WATCHDOG

SETTINGS = {**THREE_LINK, **STEADY, "friction.viscous": [1.0]}
GUARDED = {**SETTINGS, "watchdog": WATCHDOG, "limits.watchdog_time": 2.0}
BEHIND = {"hardware": "ros2_control"}
SAID = {**BEHIND, "effort_includes_gravity": True, "watchdog": "none"}
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
    fleet.start(node, {**SETTINGS, **SAID} if node == FORCE else {**SETTINGS, **BEHIND})
    fleet.until_said(node, "needs controller_manager_msgs", "apt install ros-", level=1)


@pytest.mark.parametrize("node", [MOTION, WATCHDOG])
def test_ctrl_c_while_there_is_no_controller_manager(
    fleet: Fleet, node: str, tmp_path: Path
) -> None:
    """It does not wait to the end of its minute: status 1, with the reason."""
    package = tmp_path / "controller_manager_msgs"
    package.mkdir()
    (package / "__init__.py").touch()
    # of any type, as there is none to call
    (package / "srv.py").write_text(
        "from std_srvs.srv import Trigger as ListControllers, Trigger as SwitchController\n"
    )
    path = [str(tmp_path), fleet.environment["PYTHONPATH"]]
    fleet.environment["PYTHONPATH"] = os.pathsep.join(path)
    settings = {**SETTINGS, "joints": SETTINGS["joints"], "limits.velocity": [3.0]}
    reached = {**(SAID if node == MOTION else BEHIND), "ros2_control.timeout": 60.0}
    process = fleet.start(node, {**settings, "limits.effort": [9.0], **reached})

    def waits() -> bool:
        if f"{node}_manager" not in fleet.node.get_node_names():
            return False
        clients = fleet.node.get_client_names_and_types_by_node(f"{node}_manager", "/")
        return any(name.endswith("/list_controllers") for name, _ in clients)

    fleet.until(waits, "the search for a controller manager")
    process.signal(signal.SIGINT)
    assert process.wait(30.0) == 1
    assert "ends without having done its work: there is no service" in process.log


def without_limits() -> str:
    """The three-link arm without any limit of effort and velocity."""
    urdf = read_description(SOURCE / "urdf" / "three_link_slider.urdf.xacro").urdf
    return re.sub(r' (effort|velocity)="[^"]*"', "", urdf)


def test_a_real_arm_does_not_move_without_limits(fleet: Fleet) -> None:
    """Asked for before anything is touched; of a joint without a motor only how fast it may go."""
    settings = {**SETTINGS, "robot_description": without_limits(), "robot_description_file": ""}
    more = {**SAID, "passive_joints": ["joint_3"]}
    fleet.start(PASSIVE, {**settings, **more})
    said = fleet.until_said(PASSIVE, "a real arm does not move without limits", level=1).message
    assert all(f"joint_{i} (velocity)" in said for i in (1, 2, 3)), said
    assert [f"joint_{i} (effort)" in said for i in (1, 2, 3)] == [True, True, False], said
    assert fleet.state(PASSIVE) == "inactive"
    fleet.put(PASSIVE, {"limits.velocity": [3.0]})
    said = fleet.until_said(PASSIVE, "joint_2 (effort) has none", level=1).message
    assert "velocity)" not in said
    fleet.put(PASSIVE, {"limits.effort": [20.0]})
    fleet.until(
        lambda: "without limits" not in fleet.diagnosis(PASSIVE).message, "another obstacle"
    )


def test_of_a_real_arm_weight_and_watchdog_are_said(fleet: Fleet) -> None:
    """Neither has a default there; each refusal has the line to add."""
    fleet.start(MOTION, {**SETTINGS, **BEHIND})
    said = fleet.until_said(MOTION, "hardware: ros2_control is a real arm", level=1).message
    assert "effort_includes_gravity: false (its firmware does, as on a UR or a Franka)" in said
    assert "watchdog: effort_watchdog" in said
    fleet.put(MOTION, {"effort_includes_gravity": True})  # its default, but now it is said
    fleet.until(lambda: "weight" not in fleet.diagnosis(MOTION).message, "the other obstacle")
    assert "watchdog names none" in fleet.diagnosis(MOTION).message
    fleet.put(MOTION, {"watchdog": "none"})
    fleet.until(lambda: "real arm" not in fleet.diagnosis(MOTION).message, "another obstacle")


def test_an_arm_with_weight_is_not_carried_over_topics_unless_asked_for(fleet: Fleet) -> None:
    """Refused before anything is touched, with the joints and what to do."""
    vertical = {"robot_description_arguments": ["plane:=vertical"], **SAID}
    strong = {"limits.effort": [60.0], "limits.above_description": True}
    fleet.start(MOTION, {**SETTINGS, **vertical, **strong})
    said = fleet.until_said(MOTION, "the arm would fall", "loop:=plugin", level=1).message
    assert "joint_1 up to" in said
    fleet.put(MOTION, {"ros2_control.may_fall": True})
    fleet.until(lambda: "would fall" not in fleet.diagnosis(MOTION).message, "another obstacle")
    fleet.put(MOTION, {"ros2_control.may_fall": False})
    fleet.until_said(MOTION, "the arm would fall", level=1)
    fleet.put(MOTION, {"effort_includes_gravity": False})
    fleet.until(lambda: "would fall" not in fleet.diagnosis(MOTION).message, "another obstacle")


class Commander:
    """Plays the JointStateTopicSystem of a controller manager."""

    def __init__(self, fleet: Fleet, **settings: object) -> None:
        self.fleet = fleet
        self.states = fleet.record(JointState, "joint_states")
        fleet.start(ARM, {**SETTINGS, "simulation.interface": "joint_commands"}, **settings)
        self.commands = fleet.publisher(JointState, "joint_commands")
        fleet.until(lambda: self.states.messages, "a state")

    def send(self, *efforts: float) -> None:
        self.states.clear()
        self.commands.publish(JointState(name=SETTINGS["joints"], effort=list(efforts)))

    def until_effort(self, *efforts: float) -> None:
        def reported() -> bool:  # since the last command; perhaps for a moment only
            return any(list(state.effort) == list(efforts) for state in self.states.messages)

        self.fleet.until(reported, f"the arm to report {efforts}")


def test_brakes_hold_until_there_is_torque(fleet: Fleet) -> None:
    arm = Commander(fleet, simulation__brake=True)
    start = list(arm.states.messages[-1].position)
    arm.send(float("nan"), float("nan"), float("nan"))
    arm.send(0.0, 0.0, 0.0)
    assert all(list(state.position) == start for state in fleet.more(arm.states, 30))
    arm.send(0.5, 0.0, 0.0)
    fleet.until(lambda: any(list(s.position) != start for s in arm.states.messages), "motion")


def test_motors_give_nothing_after_the_last_command(fleet: Fleet) -> None:
    """As drives of real arms do; without the timeout the last effort is held for ever."""
    arm = Commander(fleet, simulation__command_timeout=1.0)
    arm.send(0.5, -0.2, 0.1)
    arm.until_effort(0.5, -0.2, 0.1)
    fleet.until(lambda: not any(arm.states.messages[-1].effort), "no effort")

"""What a controller refuses to start with, and that it says why on /diagnostics."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from collections.abc import Iterator
from typing import Any

from fleet import THREE_LINK, Fleet
from sensor_msgs.msg import JointState

from projected_control.settings.nodes import ARM, FORCE, MOTION, PASSIVE

SETTINGS = {**THREE_LINK, "lockstep": True, "autostart": False}


@pytest.fixture(scope="module")
def arm(shared_fleet: Fleet) -> Fleet:
    """A controller that is configured, and an arm that is not yet active."""
    shared_fleet.start(ARM, SETTINGS)
    shared_fleet.start(FORCE, SETTINGS)
    for node in (ARM, FORCE):
        assert shared_fleet.change(node, "configure")
    return shared_fleet


def refuses(fleet: Fleet, node: str, *words: str) -> str:
    """A node must not become active, and must say why."""

    def why() -> str:
        assert not fleet.change(node, "activate")
        assert fleet.state(node) == "inactive"
        message = fleet.until_said(node, "waiting", level=1).message
        return message if all(word in message for word in words) else ""

    return fleet.until(why, f"{node} to refuse because of {words}")


@pytest.fixture
def with_settings(arm: Fleet) -> Iterator[Any]:
    """Other settings of the controller for the time of a test."""
    changed: dict[str, Any] = {}

    def put(values: dict[str, Any]) -> None:
        before = dict(zip(values, arm.get(FORCE, list(values)), strict=True))
        arm.put(FORCE, values)
        changed.update(before)

    yield put
    if changed:
        arm.put(FORCE, changed)


def test_no_state(arm: Fleet) -> None:
    refuses(arm, FORCE, "no joint state on /joint_states")


def test_unknown_joint(arm: Fleet) -> None:
    stranger = arm.node.create_publisher(JointState, "joint_states", 10)
    message = JointState(name=["joint_1", "joint_2"], position=[0.0, 0.0], velocity=[0.0, 0.0])
    timer = arm.node.create_timer(0.05, lambda: stranger.publish(message))
    refuses(arm, FORCE, "the joint states have no joint_3; they have joint_1, joint_2")
    message.name, message.position = ["joint_1", "joint_2", "joint_3"], [0.0, 0.0, 0.0]
    refuses(arm, FORCE, "lack numbers")
    message.velocity = [0.0, float("nan"), 0.0]
    refuses(arm, FORCE, "not finite")
    arm.node.destroy_timer(timer)
    arm.node.destroy_publisher(stranger)


def test_no_wrench(arm: Fleet) -> None:
    arm.put(ARM, {"fault": "no_wrench"})
    assert arm.change(ARM, "activate")
    refuses(arm, FORCE, "no finite wrench")
    arm.put(ARM, {"fault": "none"})


def test_off_the_constraint(arm: Fleet, with_settings: Any) -> None:
    with_settings({"constraint.point": [0.0, -0.24, 0.0]})
    refuses(arm, FORCE, "not on its constraint", "0.03 m", "allowed are 0.005 m")


def test_outside_limits(arm: Fleet, with_settings: Any) -> None:
    with_settings({"limits.lower": [-4.0, 3.0, -4.0], "limits.upper": [4.0, 4.0, 4.0]})
    message = refuses(arm, FORCE, "outside their limits")
    assert "joint_2" in message
    assert "joint_1" not in message


def test_reference_elsewhere(arm: Fleet, with_settings: Any) -> None:
    """Without an approach the arm must be where its reference begins."""
    with_settings({"reference.approach": False, "reference.offset": [0.3, 0.0]})
    refuses(arm, FORCE, "the reference begins", "limits.reference_jump")


def test_unstable_force_loop(arm: Fleet) -> None:
    """At configuration; see test_parameters for a change while running."""
    assert arm.change(FORCE, "cleanup")
    good = arm.get(FORCE, ["force.proportional"])[0]
    arm.put(FORCE, {"force.proportional": 50.0})
    assert not arm.change(FORCE, "configure")
    assert arm.state(FORCE) == "unconfigured"
    arm.until_said(FORCE, "G_F must stay below", "got 50", level=1)
    arm.put(FORCE, {"force.proportional": good})
    assert arm.change(FORCE, "configure")


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"robot_description_file": "nowhere.urdf"}, "nowhere.urdf"),
        ({"robot_description": "<robot"}, "XML"),
        ({"joints": ["joint_1", "elbow"]}, "elbow"),
        ({"coordinates": ["tip.q", "tip.angle"]}, "tip.q"),
        ({"constraint.frame": "hand"}, "hand"),
        ({"constraint.direction": [0.0, 0.0, 0.0]}, "direction"),
        ({"gains.stiffness": [100.0, 100.0, 100.0]}, "stiffness"),
        ({"reference.offset": [0.0, 0.0, 0.0]}, "reference.offset"),
        ({"force.reference": [0.0, 0.0, 0.0]}, "force.reference"),
    ],
)
def test_settings_that_make_no_controller(arm: Fleet, values: dict[str, Any], word: str) -> None:
    """Refused at once where the controller is configured, so that it always can be activated."""
    assert word in arm.refused(FORCE, values)


def test_uncontrollable(arm: Fleet) -> None:
    """Two free directions, and one motor."""
    arm.start(PASSIVE, {**SETTINGS, "passive_joints": ["joint_2", "joint_3"]})
    assert arm.change(PASSIVE, "configure")
    refuses(arm, PASSIVE, "['joint_2', 'joint_3'] passive", "controllability margin")


def test_second_controller(arm: Fleet) -> None:
    """Whoever comes second is refused, by whatever name; the first goes on."""
    assert arm.change(FORCE, "activate")
    arm.until_counted(FORCE, "ticks", 100)
    arm.pause(ARM, True)  # the controller is as active as before, but leaves us some of the CPU
    motion = arm.start(MOTION, SETTINGS)
    assert arm.change(MOTION, "configure")
    refuses(arm, MOTION, "force_controller_loop", "also commands this arm")
    motion.end()
    namesake = arm.start(FORCE, {**SETTINGS, "autostart": True})
    arm.until(lambda: "another /force_controller is active" in namesake.log, "the refusal")
    namesake.end()
    arm.pause(ARM, False)
    ticks = arm.summary(FORCE)["ticks"]
    arm.until(lambda: arm.summary(FORCE)["ticks"] > ticks + 100, "the first to go on")


def test_nobody_takes_efforts(fleet: Fleet) -> None:
    """States alone are not enough."""
    fleet.start(MOTION, SETTINGS)
    assert fleet.change(MOTION, "configure")
    stranger = fleet.node.create_publisher(JointState, "joint_states", 10)
    joints = ["joint_1", "joint_2", "joint_3"]
    message = JointState(name=joints, position=[0.0] * 3, velocity=[0.0] * 3)
    fleet.node.create_timer(0.05, lambda: stranger.publish(message))
    refuses(fleet, MOTION, "nobody takes efforts on /effort_controller/commands")

"""What a controller refuses to start with, and that it says why on /diagnostics."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import xml.etree.ElementTree as ElementTree
from time import monotonic
from typing import Any

from fleet import THREE_LINK, Fleet
from sensor_msgs.msg import JointState

from projected_control.model.arm import Arm
from projected_control.resources import share_file
from projected_control.settings.nodes import ARM, FORCE, MOTION, PASSIVE

SETTINGS = {**THREE_LINK, "lockstep": True, "autostart": False}
ANNOUNCEMENT_SECONDS = 3.0  # nodes that have not heard of each other at once do so by then


@pytest.fixture(scope="module")
def started(shared_fleet: Fleet) -> Fleet:
    """An arm and a controller, both configured."""
    shared_fleet.start(ARM, SETTINGS)
    shared_fleet.start(FORCE, SETTINGS)
    for node in (ARM, FORCE):
        assert shared_fleet.change(node, "configure")
    shared_fleet.before = shared_fleet.all_parameters(FORCE)
    return shared_fleet


@pytest.fixture
def silent(started: Fleet) -> Fleet:
    """Neither is active, and the controller has the settings it started with."""
    for node in (FORCE, ARM):
        if started.state(node) == "active":
            assert started.change(node, "deactivate")
    if started.state(FORCE) == "unconfigured":
        assert started.change(FORCE, "configure")
    if changed := started.changed_parameters(FORCE, started.before):
        started.put(FORCE, changed)
    started.put(ARM, {"fault": "none"})
    return started


@pytest.fixture
def arm(silent: Fleet) -> Fleet:
    """The arm is active, at its start; the controller is configured."""
    assert silent.change(ARM, "activate")
    return silent


def refuses(fleet: Fleet, node: str, *words: str) -> str:
    """A node must not become active, and must say why."""

    def why() -> str:
        assert not fleet.change(node, "activate")
        assert fleet.state(node) == "inactive"
        message = fleet.until_said(node, "refused: ", level=1).message
        return message if all(word in message for word in words) else ""

    return fleet.until(why, f"{node} to refuse because of {words}")


def test_no_state(silent: Fleet) -> None:
    """Told to activate, it waits until an arm that is there must have been heard."""
    began = monotonic()
    refuses(silent, FORCE, "no joint state on /joint_states")
    assert monotonic() - began > ANNOUNCEMENT_SECONDS


def test_unknown_joint(silent: Fleet) -> None:
    foreign = silent.node.create_publisher(JointState, "joint_states", 10)
    message = JointState(name=["joint_1", "joint_2"], position=[0.0, 0.0], velocity=[0.0, 0.0])
    timer = silent.node.create_timer(0.05, lambda: foreign.publish(message))
    refuses(silent, FORCE, "the joint states have no joint_3; they have joint_1, joint_2")
    message.name, message.position = ["joint_1", "joint_2", "joint_3"], [0.0, 0.0, 0.0]
    refuses(silent, FORCE, "lack numbers")
    message.velocity = [0.0, float("nan"), 0.0]
    refuses(silent, FORCE, "not finite")
    silent.node.destroy_timer(timer)
    silent.node.destroy_publisher(foreign)


def test_no_wrench(silent: Fleet) -> None:
    silent.put(ARM, {"fault": "no_wrench"})
    assert silent.change(ARM, "activate")
    refuses(silent, FORCE, "no finite wrench")


def test_off_the_constraint(arm: Fleet) -> None:
    arm.put(FORCE, {"constraint.point": [0.0, -0.24, 0.0]})
    refuses(arm, FORCE, "not on its constraint", "0.03 m", "allowed are 0.005 m")


def test_outside_limits(arm: Fleet) -> None:
    arm.put(FORCE, {"limits.lower": [-4.0, 3.0, -4.0], "limits.upper": [4.0, 4.0, 4.0]})
    message = refuses(arm, FORCE, "outside their limits")
    assert "joint_2" in message
    assert "joint_1" not in message


def test_a_link_without_mass(arm: Fleet) -> None:
    """Of a description that has forgotten it; a controller that is told so starts."""
    root = ElementTree.fromstring(
        Arm.from_urdf(share_file("urdf", THREE_LINK["robot_description_file"])).urdf
    )
    (link,) = [each for each in root.findall("link") if each.get("name") == "link_2"]
    (inertial,) = link.findall("inertial")
    link.remove(inertial)
    arm.put(FORCE, {"robot_description": ElementTree.tostring(root, encoding="unicode")})
    refuses(arm, FORCE, "link 'link_2' (line ", "has no mass", "joint 'joint_2' moves it")
    arm.put(FORCE, {"massless_links": ["link_2"]})
    assert arm.change(FORCE, "activate")


def test_unstable_force_loop(arm: Fleet) -> None:
    """At configuration; see test_parameters for a change while running."""
    assert arm.change(FORCE, "cleanup")
    arm.put(FORCE, {"force.proportional": 50.0})
    assert not arm.change(FORCE, "configure")
    assert arm.state(FORCE) == "unconfigured"
    arm.until_said(FORCE, "G_F must stay below", "got 50", level=1)
    arm.put(FORCE, {"force.proportional": arm.before["force.proportional"]})
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
    passive = arm.start(PASSIVE, {**SETTINGS, "passive_joints": ["joint_2", "joint_3"]})
    assert arm.change(PASSIVE, "configure")
    refuses(arm, PASSIVE, "['joint_2', 'joint_3'] passive", "controllability margin")
    passive.end()


def test_second_controller(arm: Fleet) -> None:
    """The one that comes second is refused, by whatever name; the first goes on."""
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


def test_no_taker_of_efforts(fleet: Fleet) -> None:
    """States alone are not enough."""
    fleet.start(MOTION, SETTINGS)
    assert fleet.change(MOTION, "configure")
    foreign = fleet.node.create_publisher(JointState, "joint_states", 10)
    joints = ["joint_1", "joint_2", "joint_3"]
    message = JointState(name=joints, position=[0.0] * 3, velocity=[0.0] * 3)
    fleet.node.create_timer(0.05, lambda: foreign.publish(message))
    refuses(fleet, MOTION, "no node takes efforts on /effort_controller/commands")

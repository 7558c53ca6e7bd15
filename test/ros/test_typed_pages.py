"""The pages on hardware, typed to the letter, on arms that are not as described, as nodes.

The arm is 10 % heavier than its description and has 0.5 N·m of stiction. No joint may go more than
0.1 rad beyond what the text says. Behind the real ros2_control: test/hardware/test_tutorial.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from fleet import Fleet
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from typed_pages import (
    BEYOND,
    NOT_AS_DESCRIBED,
    YOUR_ARM,
    Extent,
    add_the_first_hour,
    all_typed,
    along_the_path,
    beyond,
    on_the_way,
    typed,
    write_your_arm,
)

from projected_control.settings import build
from projected_control.settings.build import REAL_DISTANCE
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import ARM, ControllerSettings, demo_cases

JOINTS = [6, pytest.param(7, marks=pytest.mark.long)]
WHILE = 1500  # states for which the arm is looked at after each command, at 1 kHz


def launched(
    fleet: Fleet, command: list[str], folder: Path
) -> tuple[ControllerSettings, str, np.ndarray]:
    """Nodes in place of what a launch command starts: its settings, the node, where the arm is.

    Where the command reaches a real arm, references are bounded as there.
    """
    given = dict(word.split(":=") for word in command if ":=" in word)
    node = demo_cases()[given["controller"]].node
    layers = Layers.read([folder / given["arm"]], given["preset"])
    settings, arm = layers.controller(node), layers.arm().changed(NOT_AS_DESCRIBED)
    bound = {"reference.max_distance": [REAL_DISTANCE]} if "hardware" in given else {}
    own = {"lockstep": True, "diagnostics_rate": 20.0, **bound}
    fleet.start(node, {**settings.values(), **own})
    fleet.start(ARM, {**arm.values(), **own})
    fleet.until_counted(node, "ticks", 1)
    return settings, node, build.build_plant(arm).truth.q.copy()


def message_of(command: list[str]) -> tuple[str, JointTrajectory]:
    """The topic and the message of ``ros2 topic pub --once TOPIC TYPE YAML``."""
    *_, topic, kind, text = command
    assert kind == "trajectory_msgs/msg/JointTrajectory"
    content: Mapping[str, Any] = yaml.safe_load(text)
    message = JointTrajectory(joint_names=content["joint_names"])
    message.header.frame_id = content.get("header", {}).get("frame_id", "")
    message.points = [JointTrajectoryPoint(**point) for point in content["points"]]
    return topic.lstrip("/"), message


def extent(fleet: Fleet, states: Any, ticks: int = WHILE) -> Extent:
    """From where to where each joint goes while the arm is looked at [rad]."""
    seen = fleet.more(states, ticks)[-ticks:]
    places = np.array([list(message.position) for message in seen])
    return {
        name: (float(column.min()), float(column.max()))
        for name, column in zip(seen[-1].name, places.T, strict=True)
    }


@pytest.mark.parametrize("joints", JOINTS)
def test_the_first_hour_of_an_arm(joints: int, fleet: Fleet, tmp_path: Path) -> None:
    """It stands where it stood; it goes a centimetre; what was meant so and is not is refused."""
    folder = tmp_path / "typed"
    folder.mkdir()
    add_the_first_hour(write_your_arm(folder, joints))
    states = fleet.record(JointState, "joint_states")
    settings, node, q = launched(fleet, typed("hardware:=running"), folder)
    stands = dict(zip(settings.joints, zip(q, q, strict=True), strict=True))
    held = beyond(extent(fleet, states), stands)
    assert held < BEYOND
    wanted = fleet.record(JointState, f"{node}/state")
    column = list(fleet.more(wanted, 1)[-1].name).index("tool.x/desired")
    begin = wanted.messages[-1].position[column]
    topic, message = message_of(typed("ros2 topic pub", "0.01"))
    publisher = fleet.publisher(JointTrajectory, topic)
    absolute = JointTrajectory(joint_names=message.joint_names, points=message.points)
    publisher.publish(absolute)
    controller = fleet.processes[0]
    fleet.until(lambda: "it leads tool.x 0." in controller.log, "the absolute one to be refused")
    publisher.publish(message)
    goal = begin + 0.01
    fleet.until(lambda: abs(wanted.messages[-1].position[column] - goal) < 1e-9, "a centimetre")
    went = beyond(extent(fleet, states), on_the_way(settings, q, "tool.x", 0.01))
    print(f"{joints} joints: {held:.4f} rad held, {went:.4f} beyond a centimetre")
    assert went < BEYOND
    assert fleet.diagnosis(node).values["state"] == "active"


@pytest.mark.long
@pytest.mark.parametrize("joints", [6, 7])
def test_the_first_wiping_of_an_arm(joints: int, fleet: Fleet, tmp_path: Path) -> None:
    """The last command of "your arm": no joint leaves what the flight check found by 0.1 rad."""
    folder = tmp_path / "typed"
    folder.mkdir()
    write_your_arm(folder, joints)
    states = fleet.record(JointState, "joint_states")
    *_, command = all_typed("hardware:=running", page=YOUR_ARM)
    settings, node, q = launched(fleet, command, folder)
    went = beyond(extent(fleet, states, 8000), along_the_path(node, settings, q))
    print(f"{joints} joints: {went:.4f} rad beyond the raster")
    assert went < BEYOND

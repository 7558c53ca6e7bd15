"""What stands in parameter files and on the command line arrives in a node as it was written."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from pathlib import Path
from typing import Any

import yaml
from fleet import THREE_LINK, Fleet, Process
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from projected_control.model.description import read_description
from projected_control.resources import share_file
from projected_control.settings.nodes import ARM, FORCE, MOTION, WATCHDOG, own_values, parameters_of


def write(path: Path, values: dict[str, Any], node: str = "/**") -> str:
    path.write_text(yaml.safe_dump({node: {"ros__parameters": values}}))
    return str(path)


def start(fleet: Fleet, tmp_path: Path, kind: str, *arguments: str) -> Process:
    """A node that waits to be configured."""
    log = tmp_path / f"{len(fleet.processes)}.log"
    waiting = ["-p", "autostart:=false"]
    process = Process(kind, [*arguments, *waiting], fleet.environment, log)
    fleet.processes.append(process)
    fleet.until_state(kind, "unconfigured")
    return process


@pytest.mark.parametrize("empty", [[], [""]], ids=["[]", '[""]'])
def test_an_empty_list_arrives_as_one_for_every_list(
    fleet: Fleet, tmp_path: Path, empty: list[Any]
) -> None:
    lists = [name for name, p in parameters_of(FORCE).items() if p.is_list]
    assert len(lists) > 15
    file = write(tmp_path / "empty.yaml", {name: list(empty) for name in lists})
    start(fleet, tmp_path, FORCE, "--params-file", file)
    assert fleet.get(FORCE, lists) == [[] for _ in lists]


def test_an_empty_list_counts_before_a_default_and_before_an_earlier_file(
    fleet: Fleet, tmp_path: Path
) -> None:
    """It was the default that counted: two rows of three at a fixed point in space."""
    first = write(tmp_path / "first.yaml", own_values(MOTION, THREE_LINK))
    emptied = {"constraint.plane_normal": [], "gains.stiffness": []}
    second = write(tmp_path / "second.yaml", emptied, MOTION)
    start(fleet, tmp_path, MOTION, "--params-file", first, "--params-file", second)
    assert fleet.get(MOTION, list(emptied)) == [[], []]
    assert not fleet.change(MOTION, "configure")
    fleet.until_said(MOTION, "needs the plane it is measured in: constraint.plane_normal")


def test_an_empty_list_on_the_command_line(fleet: Fleet, tmp_path: Path) -> None:
    file = write(tmp_path / "joints.yaml", {"joints": ["joint_1"]})
    start(fleet, tmp_path, WATCHDOG, "--params-file", file, "-p", "joints:=[]")
    assert fleet.get(WATCHDOG, ["joints"]) == [[]]
    assert not fleet.change(WATCHDOG, "configure")
    fleet.put(WATCHDOG, {"joints": ["joint_1"]})
    assert fleet.change(WATCHDOG, "configure")


def refused(fleet: Fleet, tmp_path: Path, kind: str, *arguments: str) -> str:
    """What a node that does not start says."""
    process = Process(kind, list(arguments), fleet.environment, tmp_path / "refused.log")
    process.may_end = True
    assert process.wait(60.0) == 2
    return process.log


def test_a_name_that_nobody_has_is_an_error_with_its_place(fleet: Fleet, tmp_path: Path) -> None:
    file = write(tmp_path / "mine.yaml", {"gains.stifness": [3.0]})
    said = refused(fleet, tmp_path, FORCE, "--params-file", file)
    assert "mine.yaml, line 3: unknown parameter 'gains.stifness'" in said
    assert "did you mean 'gains.stiffness'?" in said
    said = refused(fleet, tmp_path, FORCE, "-p", "joint:=[joint_1]")
    assert "unknown parameter 'joint' of force_controller; did you mean 'joints'?" in said


def test_what_belongs_to_others_of_ours_may_stand_in_a_file_for_all(
    fleet: Fleet, tmp_path: Path
) -> None:
    file = write(tmp_path / "all.yaml", {**THREE_LINK, "fault": "none", "timeout": 0.5})
    start(fleet, tmp_path, FORCE, "--params-file", file)
    assert fleet.get(FORCE, ["coordinates"]) == [["tip.x", "tip.angle"]]


def test_a_description_beside_the_file_is_found(fleet: Fleet, tmp_path: Path) -> None:
    urdf = read_description(share_file("urdf", "three_link_slider.urdf.xacro")).urdf
    (tmp_path / "beside.urdf").write_text(urdf)
    named = {**THREE_LINK, "robot_description_file": "beside.urdf"}
    file = write(tmp_path / "arm.yaml", named)
    start(fleet, tmp_path, ARM, "--params-file", file)
    assert fleet.change(ARM, "configure")


def test_the_description_comes_from_the_topic_where_nothing_else_gives_it(
    fleet: Fleet, tmp_path: Path
) -> None:
    """Latched, as robot_state_publisher has it; refused with the reason while none is published."""
    values = {k: v for k, v in THREE_LINK.items() if k != "robot_description_file"}
    file = write(tmp_path / "arm.yaml", values)
    start(fleet, tmp_path, ARM, "--params-file", file)
    assert not fleet.change(ARM, "configure")
    fleet.until_said(ARM, "no node has published on /robot_description within")
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = fleet.node.create_publisher(String, "robot_description", latched)
    urdf = read_description(share_file("urdf", "three_link_slider.urdf.xacro")).urdf
    publisher.publish(String(data=urdf))
    assert fleet.change(ARM, "configure")
    assert fleet.get(ARM, ["robot_description"]) == [urdf]

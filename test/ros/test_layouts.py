"""The layouts for RViz and Foxglove show topics that the nodes really publish, as their types."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import json
import re
from typing import Any

import yaml
from fleet import THREE_LINK, Fleet
from sensor_msgs.msg import JointState

from projected_control.apps.recordings.foxglove_layout import layout
from projected_control.resources import share_file
from projected_control.settings.nodes import ARM, FORCE

SETTINGS = {**THREE_LINK, "lockstep": True, "markers_rate": 20.0}

PANELS = {
    "3D": {"visualization_msgs/msg/MarkerArray", "std_msgs/msg/String"},
    "Plot": {"sensor_msgs/msg/JointState"},
    "DiagnosticSummary": {"diagnostic_msgs/msg/DiagnosticArray"},
    "RawMessages": {"rcl_interfaces/msg/ParameterEvent"},
}
"""What each kind of panel of Foxglove draws, of what we have."""

DISPLAYS = {
    "rviz_default_plugins/MarkerArray": "visualization_msgs/msg/MarkerArray",
    "rviz_default_plugins/RobotModel": "std_msgs/msg/String",
}
"""What each display of RViz draws."""

OTHERS = {"/robot_description"}  # published by robot_state_publisher, which the launch files start
REMAPPED = {"/markers": f"/{FORCE}/markers"}  # as gazebo.launch.py starts RViz


def test_every_topic_of_the_layouts_is_published_with_the_type_that_its_panel_draws(
    fleet: Fleet,
) -> None:
    states = fleet.record(JointState, f"{FORCE}/state")
    fleet.start(ARM, SETTINGS)
    fleet.start(FORCE, SETTINGS)
    fleet.until_said(FORCE, "following", level=0)
    first = fleet.more(states, 1)[-1]

    foxglove = json.loads(share_file("config", "foxglove.json").read_text(encoding="utf-8"))
    shown = list(foxglove_topics(foxglove))
    assert len(shown) > 8
    wanted = {f"/{FORCE}/markers", *(topic for _, topic, _, _ in shown)} - OTHERS

    def published() -> dict[str, list[str]]:
        found = dict(fleet.node.get_topic_names_and_types())
        return found if wanted <= set(found) else {}

    topics: dict[str, Any] = fleet.until(published, f"the topics {sorted(wanted)}")
    for panel, topic, place, label in shown:
        if topic not in OTHERS:
            assert set(topics[topic]) & PANELS[panel], (panel, topic)
        if place is not None:
            assert first.name[place] == label  # the number is the one that it says
    rviz = yaml.safe_load(share_file("config", "constrained_arm.rviz").read_text(encoding="utf-8"))
    drawn = list(rviz_topics(rviz))
    assert {kind for kind, _ in drawn} == set(DISPLAYS)
    for kind, topic in drawn:
        if topic not in OTHERS:
            assert DISPLAYS[kind] in topics[REMAPPED.get(topic, topic)]


def foxglove_topics(content: dict[str, Any]):
    """Panel, topic, and of a plot the number in ``position`` with its label."""
    for name, panel in content["configById"].items():
        kind = name.split("!")[0]
        for topic in panel.get("topics", {}):
            yield kind, topic, None, ""
        for path in panel.get("paths", ()):
            match = re.fullmatch(r"(/[\w/]+)\.position\[(\d+)\]", path["value"])
            assert match is not None, path
            yield kind, match[1], int(match[2]), path["label"]
        for key in ("topicToRender", "topicPath"):
            if key in panel:
                yield kind, panel[key], None, ""


def rviz_topics(content: dict[str, Any]):
    for display in content["Visualization Manager"]["Displays"]:
        for key in ("Topic", "Description Topic"):
            if key in display:
                yield display["Class"], display[key]["Value"]


def test_the_file_is_what_the_module_makes() -> None:
    text = share_file("config", "foxglove.json").read_text(encoding="utf-8")
    assert json.loads(text) == layout()


def test_every_panel_of_the_layout_has_a_place() -> None:
    content = layout()

    def leaves(node: Any) -> list[str]:
        if isinstance(node, str):
            return [node]
        return [*leaves(node["first"]), *leaves(node["second"])]

    assert sorted(leaves(content["layout"])) == sorted(content["configById"])

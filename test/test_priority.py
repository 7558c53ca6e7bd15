"""One switch for the real-time priority of all nodes: in the demonstration and in launch files."""

import pytest

from projected_control.apps.demo.demo_settings import settings_for
from projected_control.apps.launch import choices
from projected_control.errors import ProjectedControlError
from projected_control.settings.nodes import ARM, WATCHDOG, nodes, settings_class

PRIORITY = "realtime.priority"
GIVEN = {"controller": "force", "arm": "auto", "preset": "paper", "friction": "false"}


def test_no_node_asks_unless_told():
    assert {settings_class(node).parameters()[PRIORITY].default for node in nodes()} == {0}


@pytest.mark.parametrize("by", ["command line", "file"])
def test_of_all_nodes_of_the_demonstration(by, tmp_path):
    file = tmp_path / "more.yaml"
    file.write_text("/**: {ros__parameters: {realtime: {priority: 30}}}")
    overrides, files = ({PRIORITY: 30}, []) if by == "command line" else ({}, [file])
    settings = settings_for("force", 1.0, "paper", True, overrides, files)
    nodes = (settings.controller, settings.arm, settings.watchdog)
    assert [node.realtime.priority for node in nodes] == [30, 30, 30]


def test_of_all_nodes_of_a_launch_file(tmp_path):
    """priority:= counts before the files, these before what the launch file has for its nodes."""
    chosen = choices.choose(GIVEN)
    for node in (ARM, WATCHDOG, chosen.case.node):
        assert choices.priority({"priority": ""}, chosen, node, 40) == {PRIORITY: 40}
        assert choices.priority({"priority": "0"}, chosen, node, 40) == {PRIORITY: 0}
    file = tmp_path / "arm.yaml"
    text = choices.arm_file("auto", "three_link_slider").read_text()
    file.write_text(f"{text}    realtime: {{priority: 30}}\n")
    chosen = choices.choose({**GIVEN, "arm": str(file)})
    assert choices.priority({"priority": ""}, chosen, WATCHDOG, 50) == {}
    assert chosen.settings(WATCHDOG, {"joints": ["joint_1"]}).realtime.priority == 30


@pytest.mark.parametrize(
    ("given", "words"), [("high", "a number from zero on"), ("1.5", "whole"), ("100", "at most 99")]
)
def test_wrong_priorities_are_refused(given, words):
    chosen = choices.choose(GIVEN)
    with pytest.raises(ProjectedControlError, match=words):
        chosen.settings(ARM, choices.priority({"priority": given}, chosen, ARM, 0))

"""launch/gazebo.launch.py: its arguments, what it refuses and what it writes; without a Gazebo."""

from __future__ import annotations

import importlib.util
import json
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("launch_ros", reason="launch_ros is not installed (it is not on PyPI)")

from launch.actions import DeclareLaunchArgument, ExecuteProcess, LogInfo
from launch.launch_context import LaunchContext

from projected_control.apps.gazebo import gazebo_run
from projected_control.errors import ProjectedControlError
from projected_control.native.gazebo_build import NoGazebo

FILE = Path(__file__).parents[1] / "launch" / "gazebo.launch.py"


@pytest.fixture
def file(monkeypatch, tmp_path):
    """The launch file as a module, on a computer that seems to have Gazebo without headers."""
    spec = importlib.util.spec_from_file_location("gazebo_launch", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(gazebo_run, "require_gazebo", lambda through: None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def no_library():
        raise NoGazebo("no development files here")

    monkeypatch.setattr(gazebo_run, "gazebo_library", no_library)
    return module


def start(file, **given):
    """The actions, with every argument at its default, but for those given."""
    context = LaunchContext()
    for entity in file.generate_launch_description().entities:
        if isinstance(entity, DeclareLaunchArgument):
            entity.visit(context)
    context.launch_configurations.update(given)
    return file.start(context), context


def written(actions, context):
    """The model, and what the bridge reads."""
    process = next(action for action in actions if isinstance(action, ExecuteProcess))
    words = ["".join(part.perform(context) for part in word) for word in process.cmd]
    folder = Path(words[-1]).parent
    bridge = json.loads((folder / "bridge.json").read_text())
    return words, ElementTree.parse(folder / "arm.sdf").getroot(), bridge


def test_an_arm_in_space_with_all_that_is_not_ideal(file):
    actions, context = start(
        file,
        arm="seven_joints",
        contact="0.3",
        sensor_noise="0.2",
        sensor_delay="2",
        measure="true",
        friction="true",
        seconds="2",
    )
    words, model, bridge = written(actions, context)
    gazebo = words[words.index("gz") :]  # after what ends it with the launch
    assert gazebo[:6] == ["gz", "sim", "-r", "-s", "--iterations", "2000"]
    assert bridge["contact"]["coefficient"] == 0.3
    assert list(bridge["contact"]["slides"]) == ["carriage_1_joint", "carriage_joint"]
    assert (bridge["sensor_noise"], bridge["sensor_delay"]) == (0.2, 2)
    assert bridge["measure"] is True
    assert bridge["access"] == ""
    assert model.find("model/joint[@name='joint_3']/axis/dynamics/friction").text == "0.3"
    said = ["".join(p.perform(context) for p in a.msg) for a in actions if isinstance(a, LogInfo)]
    assert any("Python reads the arm in Gazebo" in line for line in said)


def test_the_crank_gets_rods(file):
    _, model, _ = written(*start(file, controller="passive"))
    assert float(model.find("model/link[@name='link_1']/inertial/inertia/izz").text) > 0.0


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"contact": "much"}, "contact:= must be a number from zero on"),
        ({"sensor_delay": "1.5"}, "sensor_delay:= must be a whole number"),
        ({"arm": "pivot", "contact": "0.3"}, "needs a point that slides"),
        ({"arm": "hitch", "controller": "passive"}, "one constraint holds the arm"),
        ({"access": "compiled"}, "access:=compiled cannot be: no development files here"),
        ({"bridge": "ros2_control", "contact": "0.3"}, "or use bridge:=lockstep"),
        ({"bridge": "ros2_control", "summary": "/tmp/n.json"}, "ask it while it runs"),
        ({"bridge": "ros2_control", "loop": "plugin"}, "loop:=plugin cannot be"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(file, given, reason):
    with pytest.raises(ProjectedControlError, match=reason):
        start(file, **given)

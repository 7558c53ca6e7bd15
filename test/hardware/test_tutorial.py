"""docs/your_arm.md and docs/tutorials/hardware.md, typed to the letter, behind ros2_control.

The arm is 10 % heavier than its description and has 0.5 N·m of stiction; it has its own driver, of
which the controller knows nothing. No joint may go more than 0.1 rad beyond what the text says.
As nodes, without ros2_control: test/ros/test_typed_pages.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("launch_ros", reason="launch_ros is not installed (it is not on PyPI)")
pytest.importorskip(
    "controller_manager_msgs", reason="ros2_control is not installed (it is not on PyPI)"
)

from driver import driven
from rig import Rig
from test_hardware_launch import own_domain  # noqa: F401  the fixture
from typed_pages import BEYOND, add_the_first_hour, typed, write_your_arm

from projected_control.native.plugin_build import plugin_there
from projected_control.resources import arms_folder, share_file
from projected_control.settings import build
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import demo_cases
from projected_control.simulation import assemble

if missing := plugin_there():
    pytest.skip(missing, allow_module_level=True)

WHILE = 3000
"""States for which the arm is looked at after each command, at 1 kHz."""


@pytest.fixture(params=["seven joints", "six joints", "UR5"])
def my_arm(request, tmp_path) -> Path:
    """The file that the page ends with, or that of a UR5 on a table, in a folder of its own."""
    folder = tmp_path / "typed"
    folder.mkdir()
    if request.param != "UR5":
        return write_your_arm(folder, 7 if request.param == "seven joints" else 6)
    if not arms_folder():
        pytest.skip("example-robot-data is not installed")
    file = folder / "my_arm.yaml"
    file.write_text(share_file("config", "six_joints.yaml").read_text())
    return file


def farthest(rig: Rig, start: Mapping[str, float]) -> dict[str, float]:
    """How far each joint gets from there while the arm is looked at [rad]."""
    first = len(rig.positions)
    rig.until(lambda: len(rig.positions) > first + WHILE, "states", 60.0)
    return {
        name: max(abs(places[name] - start[name]) for _, places in rig.positions[first:])
        for name in start
    }


def a_centimetre(file: Path, node: str, start: Mapping[str, float]) -> dict[str, float]:
    """How far each joint of the described arm goes for it [rad]."""
    model = build.build_model(Layers.read([file]).controller(node))
    q = np.array([start[name] for name in model.arm.joint_names])
    place = model.evaluate(q, np.zeros(q.size)).theta.copy()
    place[0] += 0.01
    there = assemble(model.arm, model.constraint, q, model.coordinates, place)
    return dict(zip(model.arm.joint_names, np.abs(there - q), strict=True))


@pytest.mark.timeout(600)
def test_gentle_and_a_centimetre(my_arm, own_domain) -> None:  # noqa: F811
    """The arm stands where it stood; then it goes for a centimetre."""
    add_the_first_hour(my_arm)
    launch, move = typed("hardware:=running"), typed("ros2 topic pub", "0.01")
    node = demo_cases()[dict(w.split(":=") for w in launch if ":=" in w)["controller"]].node
    with driven(my_arm, own_domain) as rig:
        start = rig.positions[-1][1]
        rig.start(launch)
        rig.until_active(node)
        held = farthest(rig, start)
        print(f"\nheld: {max(held.values()):.4f} rad")
        assert max(held.values()) < BEYOND, (held, rig.story())
        said = rig.command(*move)
        assert "publishing" in said, said
        went, asked = farthest(rig, start), a_centimetre(my_arm, node, start)
        beyond = {name: went[name] - asked[name] for name in went}
        print(f"a centimetre: {max(went.values()):.4f} rad, {max(beyond.values()):.4f} beyond it")
        assert rig.values[node]["state"] == "active", rig.story()
        assert max(beyond.values()) < BEYOND, (beyond, rig.story())
        assert "reference refused" not in rig.story()

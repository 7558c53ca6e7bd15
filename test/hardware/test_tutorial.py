"""docs/your_arm.md and docs/tutorials/hardware.md, typed to the letter, behind ros2_control.

The arm is 10 % heavier than its description and has 0.5 N·m of stiction; it has its own driver, of
which the controller knows nothing. No joint may go more than 0.1 rad beyond what the text says.
As nodes, without ros2_control: test/ros/test_typed_pages.py.
"""

from __future__ import annotations

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
from sensor_msgs.msg import JointState
from test_hardware_launch import own_domain  # noqa: F401  the fixture
from typed_pages import (
    BEYOND,
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

from projected_control.native.plugin_build import plugin_there
from projected_control.resources import arms_folder, share_file
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import ControllerSettings, demo_cases

if missing := plugin_there():
    pytest.skip(missing, allow_module_level=True)

WHILE, WIPING = 3000, 9000
"""States for which the arm is looked at after each command, and while it wipes, at 1 kHz."""


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


def launched(command: list[str], folder: Path) -> tuple[str, ControllerSettings]:
    """The node that a launch command starts, and its settings."""
    given = dict(word.split(":=") for word in command if ":=" in word)
    node = demo_cases()[given["controller"]].node
    return node, Layers.read([folder / given["arm"]], given["preset"]).controller(node)


def stands(rig: Rig) -> Extent:
    """Where each joint is now."""
    return {name: (place, place) for name, place in rig.positions[-1][1].items()}


def as_array(places: Extent, settings: ControllerSettings) -> np.ndarray:
    """Where each joint is, in the order of the settings."""
    return np.array([places[name][0] for name in settings.joints])


def extent(rig: Rig, states: int = WHILE) -> Extent:
    """From where to where each joint goes while the arm is looked at."""
    first = len(rig.positions)
    rig.until(lambda: len(rig.positions) > first + states, "states", 90.0)
    seen = [places for _, places in rig.positions[first:]]
    return {name: (min(s[name] for s in seen), max(s[name] for s in seen)) for name in seen[0]}


def comes_up(command: list[str], folder: Path, log: Path, states: str) -> None:
    """A launch without an arm of one's own, until its node is active; then Ctrl-C."""
    rig = Rig(log, states, folder)
    try:
        rig.start(command)
        rig.until_active("force_controller")
        rig.until(lambda: rig.positions, "states")
        start = stands(rig)
        went = beyond(extent(rig, 500), start)
        assert "dry_run:=true" not in command or went == 0.0  # there is nothing that could move
    finally:
        rig.close()


@pytest.mark.timeout(600)
def test_gentle_and_a_centimetre(my_arm, own_domain) -> None:  # noqa: F811
    """The arm stands where it stood; then it goes for a centimetre."""
    add_the_first_hour(my_arm)
    launch, move = typed("hardware:=running"), typed("ros2 topic pub", "0.01")
    node, settings = launched(launch, my_arm.parent)
    with driven(my_arm, own_domain) as rig:
        start, desired = stands(rig), list[float]()
        rig.node.create_subscription(
            JointState,
            f"/{node}/state",
            lambda m: desired.append(m.position[list(m.name).index("tool.x/desired")]),
            10,
        )
        rig.start(launch)
        rig.until_active(node)
        held = beyond(extent(rig), start)
        print(f"\nheld: {held:.4f} rad")
        assert held < BEYOND, rig.story()
        rig.until(lambda: desired, "what is desired")
        begin = desired[-1]
        said = rig.command(*move)
        assert "publishing" in said, said
        rig.until(lambda: abs(desired[-1] - begin - 0.01) < 1e-9, "a centimetre")
        went = extent(rig)
        far = beyond(went, on_the_way(settings, as_array(start, settings), "tool.x", 0.01))
        print(f"a centimetre: {beyond(went, start):.4f} rad, {far:.4f} beyond it")
        assert rig.values[node]["state"] == "active", rig.story()
        assert far < BEYOND, rig.story()
        assert "reference refused" not in rig.story()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("joints", [6, 7])
def test_your_arm_to_its_end(joints: int, tmp_path: Path, own_domain: Path) -> None:  # noqa: F811
    """Check, demos, both dry runs, and the arm: no joint leaves the checked raster by 0.1 rad."""
    folder = tmp_path / "typed"
    folder.mkdir()
    file = write_your_arm(folder, joints, whole=True)
    dry, wet = all_typed("hardware:=running", page=YOUR_ARM)
    for command in (typed("dry_run:=true"), dry):
        comes_up(command, folder, own_domain, "/joint_states")
    node, settings = launched(wet, folder)
    with driven(file, own_domain) as rig:
        start = stands(rig)
        rig.start(wet)
        rig.until_active(node)
        went = extent(rig, WIPING)
        far = beyond(went, along_the_path(node, settings, as_array(start, settings)))
        print(f"\nwiping: up to {beyond(went, start):.4f} rad, {far:.4f} beyond the raster")
        assert rig.values[node]["state"] == "active", rig.story()
        assert far < BEYOND, rig.story()
        assert beyond(went, start) > BEYOND  # it did wipe


def test_the_rehearsal(tmp_path: Path, own_domain: Path) -> None:  # noqa: F811
    """The tutorial's second step, on the simulated arm behind the real controller manager."""
    comes_up(typed("hardware:=simulated"), tmp_path, own_domain, "/joint_states")


@pytest.mark.timeout(600)
def test_weight_over_topics_is_refused_unless_asked_for(tmp_path, own_domain) -> None:  # noqa: F811
    """Six joints: where our node dies the arm would fall, so the launch ends with the reason."""
    folder = tmp_path / "typed"
    folder.mkdir()
    file = write_your_arm(folder, 6)
    add_the_first_hour(file)
    launch = [*typed("hardware:=running"), "loop:=topics"]
    with driven(file, own_domain) as rig:
        start = stands(rig)
        said = rig.command(*launch)
        assert "the arm would fall" in said, said
        assert "may_fall" in said, said
        assert beyond(extent(rig, 500), start) < 1e-3
        rig.start([*launch, "may_fall:=true"])
        # It starts; that a busy computer may let it fall then is what was asked for.
        rig.until_active("force_controller")

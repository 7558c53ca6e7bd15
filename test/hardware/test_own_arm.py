"""The journey of an arm that knows nothing of us: docs/hardware.md, from its URDF to a moving arm.

The parameter file and the commands are those of the page, taken out of it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("launch_ros", reason="launch_ros is not installed (it is not on PyPI)")
pytest.importorskip(
    "controller_manager_msgs", reason="ros2_control is not installed (it is not on PyPI)"
)

from rig import running
from test_hardware_launch import CONTROLLER, SIMULATED, TOPICS, own_domain, require  # noqa: F401

PAGE = (Path(__file__).parents[2] / "docs" / "hardware.md").read_text(encoding="utf-8")

LINKS = (
    ("0 0 1", 0.0),
    ("0 1 0", 0.3),
    ("0 1 0", 0.4),
    ("0 1 0", 0.4),
    ("0 0 1", 0.1),
    ("0 1 0", 0.1),
)
"""Axis of each joint, and its height above the one before [m]."""


def six_joints() -> str:
    """A plain URDF of six joints: no xacro, no ros2_control, no sensor, no name of ours but tip."""
    parts = ['<robot name="my_arm"><link name="base"/>']
    for i, (axis, height) in enumerate(LINKS, start=1):
        parent = "base" if i == 1 else f"part_{i - 1}"
        parts.append(
            f'<joint name="axis_{i}" type="revolute"><parent link="{parent}"/>'
            f'<child link="part_{i}"/><origin xyz="0 0 {height}"/><axis xyz="{axis}"/>'
            '<limit lower="-2.9" upper="2.9" effort="80" velocity="3"/></joint>'
            f'<link name="part_{i}"><inertial><origin xyz="0 0 0.1"/><mass value="2"/>'
            '<inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )
    parts.append(
        '<joint name="tip_joint" type="fixed"><parent link="part_6"/><child link="tip"/>'
        '<origin xyz="0 0 0.1"/></joint><link name="tip"/></robot>'
    )
    return "".join(parts)


@pytest.fixture
def my_arm(tmp_path: Path) -> Path:
    """The files of the page's first step."""
    block = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    lines = block.group(1).splitlines()
    file = tmp_path / "my_arm.yaml"
    file.write_text("\n".join(line[3:] for line in lines))  # it stands in a list, by three columns
    (tmp_path / "my_arm.urdf").write_text(six_joints())
    return file


def arguments(command: str, file: Path) -> list[str]:
    """A launch command of the page, as its arguments, with our file for my_arm.yaml."""
    assert command in " ".join(PAGE.split()), "the page says it otherwise"
    words = command.split("hardware.launch.py ")[1].split()
    return [word.replace("my_arm.yaml", str(file)) for word in words]


def test_check(my_arm: Path) -> None:
    command = "projected-control check my_arm.yaml --preset gentle"
    assert command in " ".join(PAGE.split())
    words = ["check", str(my_arm), "--preset", "gentle", "--node", CONTROLLER]
    done = subprocess.run(
        [sys.executable, "-m", "projected_control.apps.cli", *words], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "axis_6" in done.stdout


def test_dry_run(my_arm: Path, own_domain: Path) -> None:  # noqa: F811
    """With the real controller manager and a mock arm: active, and where the arm is."""
    command = (
        "ros2 launch projected_control hardware.launch.py dry_run:=true arm:=my_arm.yaml "
        "controller:=force"
    )
    with running(own_domain, *arguments(command, my_arm)) as rig:
        rig.until_active("force_controller")
        active = {name for name, state in rig.controllers().items() if state == "active"}
        assert active & {"effort_controller", "projected_controller"}


def test_on_the_simulated_arm(my_arm: Path, own_domain: Path) -> None:  # noqa: F811
    """Behind the controller manager, under torque for a second."""
    require(SIMULATED)
    given = ["hardware:=simulated", f"arm:={my_arm}", "controller:=motion", "preset:=gentle"]
    with running(own_domain, *given, TOPICS) as rig:
        rig.until_active(CONTROLLER)
        rig.moving()
        assert float(rig.values[CONTROLLER]["residual (m)"]) < 0.005
        assert rig.values[CONTROLLER]["rank"] == "1"

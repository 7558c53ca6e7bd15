"""gazebo.launch.py with the real launch: in the physics step, and through gz_ros2_control."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("launch_ros", reason="launch_ros is not installed (it is not on PyPI)")

from ament_index_python.packages import PackageNotFoundError, get_package_prefix

from projected_control.apps.gazebo.ros2_control import hands_force_on
from projected_control.native.plugin_build import plugin_there, ros_prefixes

SECONDS = 8.0
COURSE = 0.0175  # tracking RMS of our own simulation with friction over these seconds [m, rad]
LOCKSTEP = 6.93e-5  # that of PIDC without friction in lockstep, which is Gazebo's step [m, rad]


def require(*packages):
    """Skip where something is missing."""
    for command in ("gz", "ros2"):
        if shutil.which(command) is None:
            pytest.skip(f"the command {command} is not installed")
    for package in packages:
        try:
            get_package_prefix(package)
        except PackageNotFoundError:
            pytest.skip(f"the package {package} is not installed")


@pytest.fixture
def own_domain(monkeypatch, tmp_path):
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    monkeypatch.setenv("ROS_DOMAIN_ID", "89")
    monkeypatch.setenv("GZ_PARTITION", "projected_control_launch_test")
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path))
    return tmp_path


def launch(*arguments):
    return ["ros2", "launch", "projected_control", "gazebo.launch.py", *arguments]


def test_in_the_physics_step(own_domain):
    require("projected_control")
    file = own_domain / "numbers.json"
    arguments = ("controller:=motion", "friction:=true", f"seconds:={SECONDS}", f"summary:={file}")
    subprocess.run(launch(*arguments), check=True, timeout=200)
    numbers = json.loads(file.read_text())
    assert numbers["tracking_rms"] == pytest.approx(COURSE, rel=0.1)


def through_ros2_control(folder, controller, loop, *more):
    """The numbers of a controller behind gz_ros2_control."""
    require("projected_control", "gz_ros2_control", "ros_gz_bridge", "robot_state_publisher")
    from follower import follow

    return follow(
        launch("bridge:=ros2_control", f"controller:={controller}", f"loop:={loop}", *more),
        f"{controller}_controller",
        SECONDS,
        folder / "launch.log",
    )


@pytest.mark.quiet
@pytest.mark.parametrize("controller", ["motion", "force"])
def test_through_ros2_control(own_domain, controller):
    """As on a real arm: late, but stable, and within 30 %; the watchdog goes by the clock."""
    more = ("preset:=delayed", "friction:=true")
    numbers = through_ros2_control(own_domain, controller, "topics", *more)
    assert numbers["tracking_rms"] == pytest.approx(COURSE, rel=0.3)


def test_the_plugin_in_the_physics_step(own_domain):
    """As exact as in lockstep: every step is answered in that step, by the plugin."""
    if missing := plugin_there():
        pytest.skip(missing)
    numbers = through_ros2_control(own_domain, "motion", "plugin", "preset:=paper")
    assert numbers["engine"] == "plugin"
    assert numbers["tracking_rms"] == pytest.approx(LOCKSTEP, rel=0.05)
    assert (numbers["overruns"], numbers["events"]) == (0, {})


def test_the_plugin_does_not_get_the_force(own_domain):
    """gz_ros2_control 1.2.7 hands no force-torque sensor on, and the launch says what can be."""
    require("projected_control", "gz_ros2_control")
    if missing := plugin_there():
        pytest.skip(missing)
    if hands_force_on(ros_prefixes()):
        pytest.skip("this gz_ros2_control hands force-torque sensors on")
    done = subprocess.run(
        launch("bridge:=ros2_control", "controller:=force", "loop:=plugin"),
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode != 0
    assert "hands no force-torque sensor on to controllers" in done.stdout + done.stderr

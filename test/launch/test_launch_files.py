"""The launch files with launch_testing, where ROS 2 is installed.

Each ``*.test.py`` beside this file is a launch test: tests while the launch is up, and tests of
exit codes and output after it has ended. They run in `launch_test`, the runner of launch_testing,
and not in its pytest plugin, with which pytest 9 does not start.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import pytest
from ros_domain import free_domain

from projected_control.native.plugin_build import plugin_there
from projected_control.resources import arms_folder
from projected_control.settings.nodes import TASKS

HERE = Path(__file__).parent
ROS2_CONTROL = (
    "controller_manager",
    "robot_state_publisher",
    "joint_state_broadcaster",
    "force_torque_sensor_broadcaster",
)
NEEDS = {
    "simulation.test.py": (),
    "ends_by_itself.test.py": (),
    "hardware.test.py": ROS2_CONTROL,
    "plugin.test.py": ROS2_CONTROL,
}
"""Packages beside our own, by launch test."""

TESTS = {
    "simulation.test.py": 4
    * (4 + sum(bool(arms_folder()) or not case.needs_arms for case in TASKS.values())),
    "ends_by_itself.test.py": 5 * 3,
    "hardware.test.py": 3,
    "plugin.test.py": 3 * 5,
}
"""How many tests each holds: a file that runs none has not passed."""


def test_every_launch_test_is_run():
    assert {path.name for path in HERE.glob("*.test.py")} == set(NEEDS) == set(TESTS)


@pytest.fixture
def environment(tmp_path) -> Iterator[dict[str, str]]:
    """On this computer, on a ROS domain of one's own."""
    domain, lock = free_domain()
    yield {
        **os.environ,
        "ROS_DOMAIN_ID": str(domain),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        "ROS_LOG_DIR": str(tmp_path),
    }
    lock.close()


def require(*packages: str) -> None:
    """Skip where something is missing."""
    pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
    for module in ("launch_ros", "launch_testing", "launch_testing_ros"):
        pytest.importorskip(module, reason=f"{module} is not installed (it is not on PyPI)")
    from ament_index_python.packages import PackageNotFoundError, get_package_prefix

    if shutil.which("ros2") is None:
        pytest.skip("the command ros2 is not installed")
    for package in ("projected_control", *packages):
        try:
            prefix = get_package_prefix(package)
        except PackageNotFoundError:
            pytest.skip(f"the ROS 2 package {package} is not installed")
    prefix = get_package_prefix("projected_control")
    if not Path(prefix, "lib", "projected_control", "simulated_arm").is_file():
        pytest.skip("the package is not installed where ros2 run looks (pip install ., colcon)")


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", NEEDS)
def test_launch(name, environment, tmp_path):
    require(*NEEDS[name])
    if name == "plugin.test.py" and (missing := plugin_there()):
        pytest.skip(missing)
    report = tmp_path / "report.xml"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from launch_testing.launch_test import main; main()",
            str(HERE / name),
            "--junit-xml",
            str(report),
        ],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert done.returncode == 0, done.stdout[-20000:]
    suites = list(ElementTree.parse(report).iter("testsuite"))
    cases = [case for suite in suites for case in suite.findall("testcase")]
    assert len(cases) == TESTS[name]
    assert not [case for case in cases if len(case)]  # neither failed nor skipped

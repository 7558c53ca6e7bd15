"""This project's pytest starts beside ROS's pytest plugins, with which pytest 9 does not start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLUGINS = ("launch_testing", "launch_ros", "launch_pytest")
"""As Jazzy's launch_testing, launch_testing_ros and launch_pytest call them."""


@pytest.fixture
def beside_ros(tmp_path) -> dict[str, str]:
    """An environment with plugins of these names that break pytest as those do."""
    info = tmp_path / "ros_launch-3.4.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ros_launch\nVersion: 3.4\n")
    lines = [f"{name} = broken_{name}" for name in PLUGINS]
    (info / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines, ""]))
    for name in PLUGINS:
        # An argument that the hook does not have, as `path` in pytest 9.
        hook = "def pytest_pycollect_makemodule(no_such_argument, parent): pass\n"
        (tmp_path / f"broken_{name}.py").write_text(hook)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}


def collect(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", *arguments, "test/test_linalg.py"],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )


def test_pytest_starts_beside_them(beside_ros):
    done = collect(beside_ros)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_linalg.py::" in done.stdout


@pytest.mark.parametrize("name", PLUGINS)
def test_each_of_them_has_to_be_switched_off(beside_ros, name):
    """With one of them left on, pytest does not start: the test above can fail."""
    others = [f"-p no:{other}" for other in PLUGINS if other != name]
    done = collect(beside_ros, "-o", f"addopts={' '.join(others)}")
    assert done.returncode != 0
    assert f"broken_{name}" in done.stderr or f"Plugin '{name}'" in done.stderr

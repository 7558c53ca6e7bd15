"""A Gazebo to run in, or the reason why there is none."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import projected_control
from projected_control.errors import ProjectedControlError
from projected_control.ros.gazebo_modules import find_gazebo


@pytest.fixture(scope="session")
def gazebo():
    if shutil.which("gz") is None:
        pytest.skip("Gazebo (the command gz) is not installed")
    try:
        find_gazebo()
    except ProjectedControlError as error:
        pytest.skip(str(error))


@pytest.fixture
def environment(gazebo, tmp_path):
    """A ROS domain and a Gazebo partition of one's own."""
    package = str(Path(projected_control.__file__).resolve().parents[1])
    path = os.environ.get("PYTHONPATH", "")
    return {
        **os.environ,
        "PYTHONPATH": f"{package}:{path}",
        "GZ_PARTITION": f"test_{os.getpid()}",
        "ROS_DOMAIN_ID": "88",
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        "ROS_LOG_DIR": str(tmp_path),
    }

"""What Gazebo's own Python interpreter needs to find this package and what it imports."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import projected_control

WHEELS = "ros_wheels_bootstrapper"
"""Package that comes with ROS 2 from PyPI: starts Python anew with the libraries' folders."""

STARTED_ANEW = "_ROS_WHEELS_BOOTSTRAP_COMPLETE"
"""By which it knows that it has; Gazebo's interpreter cannot be started anew."""

LIBRARIES = "LD_LIBRARY_PATH"


def from_wheels() -> bool:
    """Whether ROS 2 is that of PyPI."""
    return find_spec(WHEELS) is not None


def environment() -> dict[str, str]:
    """Variables for ``gz sim``, on top of the present ones."""
    here = str(Path(projected_control.__file__).resolve().parents[1])
    own = {"PYTHONPATH": _in_front(here, "PYTHONPATH")}
    if sys.prefix != sys.base_prefix:  # the interpreter finds its packages by the python in PATH
        own |= {"VIRTUAL_ENV": sys.prefix, "PATH": _in_front(str(Path(sys.prefix, "bin")), "PATH")}
    if from_wheels():
        own |= {STARTED_ANEW: "1", LIBRARIES: os.environ.get(LIBRARIES, "")}
    return own


def remark() -> str:
    """What is set for ROS 2 from PyPI, in words; empty where it is another."""
    if not from_wheels():
        return ""
    return (
        f"ROS 2 comes from wheels: {STARTED_ANEW}=1 and {LIBRARIES} are set for Gazebo, whose "
        "Python would not start without them (a plain gz sim needs them, too)"
    )


def _in_front(entry: str, variable: str) -> str:
    present = [part for part in os.environ.get(variable, "").split(os.pathsep) if part]
    return os.pathsep.join([entry, *(part for part in present if part != entry)])

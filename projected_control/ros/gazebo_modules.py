"""Gazebo's Python modules, of whichever release is installed."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

from projected_control.errors import ProjectedControlError

RELEASES = (
    ("gz.sim8", "gz.math7", "sdformat14", "gz.transport13", "gz.msgs10"),  # Harmonic
    ("gz.sim9", "gz.math8", "sdformat15", "gz.transport14", "gz.msgs11"),  # Ionic
    ("gz.sim", "gz.math", "sdformat", "gz.transport", "gz.msgs"),  # Jetty and later
)
"""Python modules of Gazebo's releases, the one we know best first."""


class Gazebo(NamedTuple):
    """The modules of the release at hand."""

    sim: Any
    transport: Any
    wrench: Any
    empty: Any
    text: Any


def find_gazebo() -> Gazebo:
    """Import Gazebo's Python modules.

    Raises:
        ProjectedControlError: Where there are none, with what to install.
    """
    missing = {}
    for sim, math, sdf, transport, messages in RELEASES:
        try:
            for name in (math, sdf):  # the others, and Gazebo's own loader, need their types
                importlib.import_module(name)
            return Gazebo(
                importlib.import_module(sim),
                importlib.import_module(transport),
                importlib.import_module(f"{messages}.wrench_pb2").Wrench,
                importlib.import_module(f"{messages}.empty_pb2").Empty,
                importlib.import_module(f"{messages}.stringmsg_pb2").StringMsg,
            )
        except ImportError as error:
            missing[sim] = str(error)
    names = "; ".join(f"{name}: {reason}" for name, reason in missing.items())
    raise ProjectedControlError(
        f"Gazebo's Python modules are not installed ({names}): apt install "
        "ros-$ROS_DISTRO-ros-gz, or python3-gz-sim8 and python3-gz-transport13 from "
        "packages.osrfoundation.org"
    )

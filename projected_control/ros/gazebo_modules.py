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


MESSAGES = (("wrench", "Wrench"), ("empty", "Empty"), ("stringmsg", "StringMsg"))
"""Files and classes of its messages, in the order of `Gazebo`."""


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
        ProjectedControlError: Where there are none, or protobuf is missing, with what to install.
    """
    missing: dict[str, str] = {}
    for sim, math, sdf, transport, messages in RELEASES:
        try:
            for name in (math, sdf):  # the others, and Gazebo's own loader, need their types
                importlib.import_module(name)
            modules = importlib.import_module(sim), importlib.import_module(transport)
        except ImportError as error:
            missing[sim] = str(error)
            continue
        kinds = (_message(messages, file, kind) for file, kind in MESSAGES)
        return Gazebo(*modules, *kinds)
    names = "; ".join(f"{name}: {reason}" for name, reason in missing.items())
    raise ProjectedControlError(
        f"Gazebo's Python modules are not installed ({names}): apt install "
        "ros-$ROS_DISTRO-ros-gz, or python3-gz-sim8 and python3-gz-transport13 from "
        "packages.osrfoundation.org"
    )


def _message(package: str, file: str, kind: str) -> Any:
    """A class of Gazebo's messages, which need Python's protobuf."""
    name = f"{package}.{file}_pb2"
    try:
        return getattr(importlib.import_module(name), kind)
    except Exception as error:  # a protobuf that does not fit raises errors of its own
        if isinstance(error, ModuleNotFoundError) and not _of_protobuf(error.name or ""):
            raise ProjectedControlError(
                f"Gazebo's Python modules are there, but its messages are not ({error}): apt "
                "install python3-gz-msgs10 from packages.osrfoundation.org"
            ) from None
        how = "is missing" if isinstance(error, ModuleNotFoundError) else "does not fit"
        raise ProjectedControlError(
            f"Gazebo's Python modules are there, but Python's protobuf {how}, without which its "
            f"messages cannot be read ({name}: {error}): apt install python3-protobuf, or pip "
            "install protobuf in the version that Gazebo was built with"
        ) from None


def _of_protobuf(module: str) -> bool:
    return module == "google" or module.startswith("google.")

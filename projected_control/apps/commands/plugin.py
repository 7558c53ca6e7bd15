"""``projected-control plugin``: the plugins for ros2_control, built and installed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from projected_control.apps.commands import Subparsers

DESCRIPTION = """\
Builds the plugins projected_control/ProjectedController and projected_control/SimulatedSystem for
ros2_control, with the exported kernels and against the Pinocchio that Python loads. `colcon build`
does the same where ros2_control's development files are; this is for everybody else. Needs CMake,
a C++ compiler and a sourced ROS 2 with ros2_control.
"""

EPILOG = """\
examples:
  projected-control plugin                      are they there, can they be built
  projected-control plugin --prefix ~/plugins   build them; then put it into AMENT_PREFIX_PATH
"""


def add_parser(subparsers: Subparsers) -> argparse.ArgumentParser:
    """Declare the subcommand."""
    parser = subparsers.add_parser(
        "plugin",
        help="the plugins for ros2_control",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--prefix", type=Path, metavar="FOLDER", help="build, and install under this folder"
    )
    return parser


def run(args: argparse.Namespace) -> int:
    """Build where a prefix is given, else say how things are."""
    import tempfile

    from projected_control.native.plugin_build import (
        OWN_PACKAGE,
        build_plugin,
        plugin_there,
        reason_against,
    )

    if args.prefix is None:
        missing, against = plugin_there(), reason_against()
        print(f"not installed: {missing}" if missing else "installed")
        print(f"cannot be built here: {against}" if against else "can be built here")
        return int(bool(missing))
    with tempfile.TemporaryDirectory() as build:
        print(build_plugin(args.prefix, Path(build), exporter=OWN_PACKAGE))
    return 0

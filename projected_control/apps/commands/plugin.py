"""``projected-control plugin``: the plugins for ros2_control, built and installed."""

from __future__ import annotations

from pathlib import Path

from projected_control.apps.console.command import Command, option

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


class Arguments(
    Command, help="the plugins for ros2_control", description=DESCRIPTION, epilog=EPILOG
):
    prefix: Path | None = option("build, and install under this folder", metavar="FOLDER")


def run(args: Arguments) -> int:
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

"""Builds the plugins for ros2_control, where its development files are.

The library is made of the kernels, the native loop and the two plugins, against the very
Pinocchio that Python loads: a process must not have two. Where something for it is missing, that is
said, and everything else works as before.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from projected_control import kernel_library
from projected_control.native.build import (
    CPP,
    DEFINITIONS,
    include_folders,
    pinocchio_library,
)
from projected_control.native.toolchain import ExportFailed, NoCompiler, compiler, run

SOURCES = CPP / "ros2_control"
LIBRARY = "libprojected_control_plugins.so"
INDEX = "share/ament_index/resource_index/controller_interface__pluginlib__plugin"
PACKAGE, OWN_PACKAGE = EXPORTERS = ("projected_control", "projected_control_plugins")
"""Packages that export the plugins: ours, or one of their own in a prefix of their own."""

NEEDED = ("controller_interface", "hardware_interface", "pluginlib", "rclcpp_lifecycle")
"""Packages of ROS 2 whose CMake files have to be there."""

Say = Callable[[str], None]


class NoPlugin(NoCompiler):
    """The plugins cannot be built or are not there."""


def ros_prefixes() -> list[Path]:
    """Where ROS 2 is installed, as the environment says."""
    return [Path(p) for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]


def plugin_there() -> str:
    """Empty where the plugins are installed where pluginlib finds them; else what is missing."""
    for prefix in ros_prefixes():
        exported = any((prefix / INDEX / name).exists() for name in EXPORTERS)
        if exported and (prefix / "lib" / LIBRARY).exists():
            return ""
    return (
        "the plugin projected_control/ProjectedController is not installed in any folder of "
        "AMENT_PREFIX_PATH; projected-control plugin --prefix <folder> builds it"
    )


def reason_against() -> str:
    """Why the plugins cannot be built here; empty where they can, as far as is known."""
    if not shutil.which("cmake"):
        return "CMake was not found (Debian, Ubuntu: apt install cmake)"
    prefixes = ros_prefixes()
    for package in NEEDED:
        if not any((prefix / "share" / package / "cmake").is_dir() for prefix in prefixes):
            return (
                f"ros2_control's development files were not found: no folder of AMENT_PREFIX_PATH "
                f"has share/{package}/cmake (source ROS 2's setup.sh; Ubuntu: apt install "
                "ros-$ROS_DISTRO-ros2-control)"
            )
    try:
        compiler()
        include_folders()
    except (NoCompiler, ImportError) as error:
        return str(error)
    return ""


def build_plugin(
    prefix: Path, build: Path, say: Say | None = None, *, exporter: str = PACKAGE
) -> Path:
    """Build the plugins and install them under a prefix; the library.

    Args:
        prefix: Gets lib/ and share/; to be named in AMENT_PREFIX_PATH.
        build: Where it is built; kept, so that a second time is quick.
        say: Told what takes time.
        exporter: One of `EXPORTERS`: ours where the prefix is that of this package, too.

    Raises:
        NoPlugin: Where something for it is missing.
        ExportFailed: Where all seems to be there, and it fails.
    """
    if why := reason_against():
        raise NoPlugin(why)
    kernels = kernel_library.folder()
    folders = [str(path) for path in include_folders()]
    prefixes = os.pathsep.join([os.environ.get("CMAKE_PREFIX_PATH", ""), *map(str, ros_prefixes())])
    options = {
        "CMAKE_BUILD_TYPE": "None",
        "CMAKE_CXX_COMPILER": compiler(),
        "CMAKE_INSTALL_PREFIX": str(prefix.absolute()),
        "Python3_EXECUTABLE": sys.executable,
        "KERNELS": str(kernels),
        "PINOCCHIO_LIBRARY": str(pinocchio_library()),
        "HEADERS": ";".join(folders),
        "DEFINITIONS": ";".join(DEFINITIONS),
        "EXPORTER": exporter,
    }
    environment = {**os.environ, "CMAKE_PREFIX_PATH": prefixes.strip(os.pathsep)}
    (say or _tell)(f"the plugins for ros2_control are built, which takes a minute ({build})")
    configure = ["cmake", "-S", str(SOURCES), "-B", str(build)]
    configure += [f"-D{name}={value}" for name, value in options.items()]
    run(configure, "configuring the plugins", environment)
    run(["cmake", "--build", str(build)], "building the plugins", environment)
    run(["cmake", "--install", str(build)], "installing the plugins", environment)
    return prefix / "lib" / LIBRARY


def _tell(sentence: str) -> None:
    print(f"projected-control: {sentence}", file=sys.stderr)


def main(arguments: Sequence[str]) -> int:
    """Build under a prefix: ``python -m projected_control.native.plugin_build PREFIX BUILD``."""
    if len(arguments) != 2:
        print(
            "usage: python -m projected_control.native.plugin_build PREFIX BUILD", file=sys.stderr
        )
        return 2
    try:
        build_plugin(Path(arguments[0]), Path(arguments[1]))
    except (NoCompiler, ExportFailed, kernel_library.LibraryMismatch) as error:
        _tell(f"the plugins for ros2_control are left out: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

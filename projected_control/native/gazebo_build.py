"""Builds the library that reads an arm in Gazebo within the physics step, where that is possible.

Gazebo's Python modules cannot read the force that a joint transmits; its sensor's message comes
from another thread, which every step would have to wait for. The library (native/cpp/gazebo) reads
it where the physics has put it. It needs Gazebo's development files, CMake and a C++ compiler;
without one of these, Python waits for the message as before.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from projected_control.native.build import CPP, tell
from projected_control.native.toolchain import NoCompiler, compiler, run
from projected_control.resources import cache_folder, made_once

SOURCES = CPP / "gazebo"
LIBRARY = "libprojected_control_gazebo.so"

RELEASES = ("gz-sim8", "gz-sim9", "gz-sim10", "gz-sim")
"""CMake packages of Gazebo's releases: Harmonic, Ionic, Jetty; the one we know best first."""

Say = Callable[[str], None]


class NoGazebo(NoCompiler):
    """The library cannot be built here."""


class DevelopmentFiles(NamedTuple):
    """Where Gazebo's CMake files are."""

    package: str  # one of `RELEASES`
    folder: Path  # with its CMake files
    prefixes: list[Path]  # where CMake has to look for all that it needs


def find_development_files() -> DevelopmentFiles:
    """Gazebo's development files, of the release that the environment names first.

    Raises:
        NoGazebo: Where there are none.
    """
    prefixes = list(dict.fromkeys(_prefixes()))
    for package in RELEASES:
        for prefix in prefixes:
            for place in ("lib/cmake", "share/cmake", *_machine_folders(prefix)):
                folder = prefix / place / package
                if (folder / f"{package}-config.cmake").is_file():
                    return DevelopmentFiles(package, folder, prefixes)
    raise NoGazebo(
        "Gazebo's development files were not found (its CMake package gz-sim8; apt install "
        "libgz-sim8-dev, or ros-$ROS_DISTRO-ros-gz, and source its setup file)"
    )


def gazebo_library(say: Say | None = None) -> Path:
    """The library; built first where it is not there yet.

    Raises:
        NoGazebo: Where something for it is missing.
        ExportFailed: Where all seems to be there, and it fails.
    """
    if not shutil.which("cmake"):
        raise NoGazebo("CMake was not found (Debian, Ubuntu: apt install cmake)")
    found, digest = find_development_files(), hashlib.sha256()
    for path in sorted([*SOURCES.iterdir(), *found.folder.glob("*version.cmake")]):
        digest.update(path.read_bytes())
    digest.update(f"{found.folder} {compiler()}".encode())
    target = cache_folder() / f"gazebo-{digest.hexdigest()[:16]}"

    def make(folder: Path) -> None:
        (say or tell)(f"access to Gazebo's physics is built once, which takes a minute ({target})")
        _build(folder, found)

    return made_once(target, make) / LIBRARY


def _build(folder: Path, found: DevelopmentFiles) -> None:
    options = {
        "CMAKE_BUILD_TYPE": "None",
        "CMAKE_CXX_COMPILER": compiler(),
        "CMAKE_INSTALL_PREFIX": str(folder),
        "CMAKE_PREFIX_PATH": ";".join(str(prefix) for prefix in found.prefixes),
        "GAZEBO_SIM": found.package,
        f"{found.package}_DIR": str(found.folder),
    }
    with tempfile.TemporaryDirectory() as build:
        configure = ["cmake", "-S", str(SOURCES), "-B", build]
        configure += [f"-D{name}={value}" for name, value in options.items()]
        run(configure, "configuring access to Gazebo")
        run(["cmake", "--build", build], "building access to Gazebo")
        run(["cmake", "--install", build], "installing access to Gazebo")


def _prefixes() -> Iterator[Path]:
    """Where Gazebo may be installed; with ROS 2 each of its libraries has a folder of its own."""
    for variable in ("CMAKE_PREFIX_PATH", "AMENT_PREFIX_PATH"):
        for entry in os.environ.get(variable, "").split(os.pathsep):
            if entry:
                yield Path(entry)
                yield from sorted(Path(entry).glob("opt/gz_*_vendor"))
                yield from sorted(Path(entry).glob("opt/sdformat_vendor"))
    command = shutil.which("gz")
    if command:
        yield Path(command).resolve().parents[1]
    yield from (Path("/usr/local"), Path("/usr"))


def _machine_folders(prefix: Path) -> Iterator[str]:
    """CMake's folders of Debian and Ubuntu, which name the machine."""
    for folder in prefix.glob("lib/*-linux-gnu/cmake"):
        yield folder.relative_to(prefix).as_posix()

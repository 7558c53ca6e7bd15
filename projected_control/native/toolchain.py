"""What the export stands on: versions, processor and compiler.

The export reaches into numba (its modules, its calling convention), so it names the versions that
it was tested with, bit for bit. Where others are installed, it works in an environment of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from projected_control.errors import ProjectedControlError
from projected_control.resources import cache_folder
from projected_control.tested_versions import LLVMLITE, NUMBA
from projected_control.with_parent import tied

PROCESSOR = "x86-64"
"""Baseline: every 64-bit processor of Intel and AMD. For matrices of this size it is also faster
than wider instructions, and rounds the same."""

MACHINES = ("x86_64", "AMD64")
"""Machines on which the export was tried."""

HEADERS = "cmeel-eigen"
"""What the native loop needs and Pinocchio's wheels lack; the extra ``native`` brings it."""


class NoCompiler(ProjectedControlError):
    """There is nothing to compile or link with."""


class ExportFailed(ProjectedControlError):
    """The kernels could not be exported."""


def compiler() -> str:
    """The C++ compiler: ``$CXX``, g++ or clang++.

    Raises:
        NoCompiler: Where there is none.
    """
    for name in (os.environ.get("CXX", ""), "g++", "clang++", "c++"):
        if name and (found := shutil.which(name)):
            return found
    raise NoCompiler(
        "no C++ compiler was found (g++ or clang++; Debian, Ubuntu: apt install g++); without one "
        "everything runs on numba as before"
    )


def run(command: list[str], what: str, environment: dict[str, str] | None = None) -> str:
    """Run a tool; its standard output.

    Raises:
        ExportFailed: With the end of what it said.
    """
    done = subprocess.run(
        tied(command), capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        said = "\n".join((done.stderr or done.stdout).strip().splitlines()[-20:])
        raise ExportFailed(f"{what} failed ({Path(command[0]).name}): {said}")
    return done.stdout


def installed_versions() -> dict[str, str]:
    """Of numba and llvmlite, as installed here; empty where they are not."""
    found = {}
    for name in ("numba", "llvmlite"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = ""
    return found


def fits() -> bool:
    """Whether the pinned versions are the installed ones."""
    return installed_versions() == {"numba": NUMBA, "llvmlite": LLVMLITE}


def exporting_python() -> str:
    """A Python that has the pinned versions: this one, or that of an environment made for it.

    Raises:
        ExportFailed: Where the environment cannot be made; says what to do by hand.
    """
    if fits():
        return sys.executable
    folder = (
        cache_folder() / f"export-numba-{NUMBA}-python{sys.version_info[0]}{sys.version_info[1]}"
    )
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        have = ", ".join(f"{k} {v or 'missing'}" for k, v in installed_versions().items())
        print(
            f"projected-control: the export needs numba {NUMBA} and llvmlite {LLVMLITE} (here: "
            f"{have}); making an environment for it in {folder}",
            file=sys.stderr,
        )
        packages = [f"numba=={NUMBA}", f"llvmlite=={LLVMLITE}", "scipy", "pin", "pyyaml", "xacro"]
        try:
            run([sys.executable, "-m", "venv", "--clear", str(folder)], "making an environment")
            run([str(python), "-m", "pip", "install", "--quiet", *packages], "installing numba")
        except ExportFailed as error:
            raise ExportFailed(
                f"{error}\nDo it by hand: in an environment with {' '.join(packages)}, run "
                "python -m projected_control.native.worker <folder>, and set "
                "PROJECTED_CONTROL_LIBRARY to that folder"
            ) from None
        (folder / "complete").touch()
    return str(python)

"""What the library of kernels and the native loop are made with: processor, compiler, linker."""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from projected_control.errors import ProjectedControlError
from projected_control.with_parent import tied

PROCESSORS = {"x86_64": "x86-64", "AMD64": "x86-64", "aarch64": "generic", "arm64": "generic"}
"""What kernels are compiled for, by machine: the baseline, so that one library serves all. For
matrices of this size it is also faster than wider instructions, and rounds the same."""

PROCESSOR = PROCESSORS.get(platform.machine(), "generic")

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
        "everything runs from Python as before"
    )


def c_compiler() -> list[str]:
    """The command that compiles and links C: ``$CC``, cc, gcc or clang, or Zig's from PyPI.

    Raises:
        NoCompiler: Where there is none.
    """
    if given := shlex.split(os.environ.get("CC", "")):
        return given
    for name in ("cc", "gcc", "clang"):
        if found := shutil.which(name):
            return [found]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    raise NoCompiler(
        "no C compiler was found (cc, gcc or clang; Debian, Ubuntu: apt install gcc); one from "
        "PyPI serves as well: pip install ziglang"
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

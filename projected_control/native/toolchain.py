"""What the library of kernels and the native loop are made with: processor, compiler, linker."""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from projected_control.errors import ProjectedControlError
from projected_control.with_parent import tied


@dataclass(frozen=True)
class Machine:
    """What kernels are compiled for: the baseline of a machine, so that one library serves all.

    For matrices of this size the baseline is also faster than wider instructions, and rounds the
    same.
    """

    name: str  # as ``uname -m`` has it
    triple: str = ""  # LLVM's name; empty for that of this process
    processor: str = "generic"  # LLVM's name of the baseline

    @property
    def is_this_one(self) -> bool:
        """Whether this process runs on one."""
        return self == this_machine()


MACHINES = {
    "x86_64": Machine("x86_64", "x86_64-unknown-linux-gnu", "x86-64"),
    "aarch64": Machine("aarch64", "aarch64-unknown-linux-gnu"),
}
"""Tried. For any other the library can be made where it is, untried."""


def this_machine() -> Machine:
    """The one that this process runs on."""
    name = platform.machine()
    return MACHINES.get(name, Machine(name))


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


def c_compiler(machine: Machine) -> list[str]:
    """The command that compiles and links C: ``$CC``, cc, gcc or clang, or Zig's from PyPI.

    Args:
        machine: For which; for another one than this a cross compiler, or Zig's.

    Raises:
        NoCompiler: Where there is none.
    """
    if given := shlex.split(os.environ.get("CC", "")):
        return given
    names, package = ["cc", "gcc", "clang"], "gcc"
    if not machine.is_this_one:
        names = [f"{machine.name}-linux-gnu-gcc"]
        package = f"gcc-{machine.name.replace('_', '-')}-linux-gnu"
    for name in names:
        if found := shutil.which(name):
            return [found]
    if importlib.util.find_spec("ziglang") is not None:
        other = [] if machine.is_this_one else ["-target", f"{machine.name}-linux-gnu"]
        return [sys.executable, "-m", "ziglang", "cc", *other]
    raise NoCompiler(
        f"no C compiler was found ({', '.join(names)}; Debian, Ubuntu: apt install {package}); one "
        "from PyPI serves as well: pip install ziglang"
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

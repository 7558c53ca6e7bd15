"""The library of kernels as Python calls it: found, checked against its sources, and bound.

It lies in the package, where a build has put it (setup.py), or in the cache, where a clone whose
kernels have changed has it made anew. Its functions take their arguments as C does
(`native.kernel_calls`); a second library (``native/c/call.c``) turns a call from Python into one
of these. Calling needs neither numba nor a compiler.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from projected_control.errors import ProjectedControlError
from projected_control.resources import cache_folder, made_once
from projected_control.tested_versions import LLVMLITE, NUMBA
from projected_control.with_parent import tied

PACKAGE = Path(__file__).parent
LIBRARY = "libprojected_control_kernels.so"
CALLER = "libprojected_control_call.so"
HEADER = "projected_control_kernels.h"
DIGEST = "digest"
"""A file beside them: of which sources they were made."""

FOLDER_VARIABLE = "PROJECTED_CONTROL_LIBRARY"
"""In the environment: a folder with a library of kernels that was made on another computer."""

PYTHON_VARIABLE = "PROJECTED_CONTROL_BUILD_PYTHON"
"""In the environment: a Python that has numba, where the one that is running has none."""

BUILT = PACKAGE / "native" / "lib"
"""Where a build puts it."""

KERNEL_PACKAGES = ("model", "control", "simulation", "runs")
"""Whose kernels are in it."""

_MAKERS = (
    *("native/kernel_calls.py", "native/header.py", "native/object_code.py", "native/worker.py"),
    *("native/numba_kernels.py", "native/numba_insides.py", "native/workspaces.py"),
    *("native/toolchain.py", "native/c/call.c"),
    *("native/exports.py", "native/updates.py", "native/updates_header.py"),
    *("compiled.py", "workspace.py", "tested_versions.py", "__init__.py"),
)
"""What it is made by."""


class LibraryMismatch(ProjectedControlError):
    """A library is not there, or was made from other sources than those that want to call it."""


def kernel_sources() -> list[Path]:
    """The files of this package that declare kernels, or layouts of what they work on."""
    paths = [path for name in KERNEL_PACKAGES for path in sorted((PACKAGE / name).rglob("*.py"))]
    marks = (b"@compiled", b"@kernel", b" = Layout(")
    return [path for path in paths if any(mark in path.read_bytes() for mark in marks)]


@cache
def digest() -> str:
    """Of all that the library is made of, as hexadecimal digits; the same on every machine.

    An installed package has what its build has noted; in a clone the sources are read.
    """
    clone = (PACKAGE.parent / "setup.py").is_file()
    if not clone and (BUILT / DIGEST).is_file():
        return (BUILT / DIGEST).read_text(encoding="utf-8").strip()
    digest = hashlib.sha256()
    for path in (*(PACKAGE / name for name in _MAKERS), *kernel_sources()):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def is_built(folder: Path) -> bool:
    """Whether a folder has a complete library of these sources."""
    note = folder / DIGEST
    there = note.is_file() and all((folder / name).is_file() for name in (LIBRARY, CALLER, HEADER))
    return there and note.read_text(encoding="utf-8").strip() == digest()


@cache
def folder() -> Path:
    """The folder of the library; made first where there is none of these sources.

    Raises:
        LibraryMismatch: Where it cannot be made here; says what to do.
    """
    if given := os.environ.get(FOLDER_VARIABLE):
        return Path(given)
    if is_built(BUILT):
        return BUILT
    name = f"library-{platform.machine()}-{digest()[:16]}"
    return made_once(cache_folder() / name, make)


def make(target: Path) -> None:
    """Make the library of these sources in a folder, in a process that has numba.

    Raises:
        LibraryMismatch: Where that fails; says what to do.
    """
    python = os.environ.get(PYTHON_VARIABLE) or sys.executable
    command = [python, "-m", "projected_control.native.worker", str(target)]
    parents = [str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(parents).rstrip(os.pathsep)}
    try:
        done = subprocess.run(tied(command), env=environment, stdout=sys.stderr, check=False)
    except OSError as error:
        raise LibraryMismatch(f"{python} cannot be run: {error}") from None
    if done.returncode:
        raise LibraryMismatch(
            "the library of kernels is not there and could not be made (see above). Either install "
            "the package with its library (pip install projected_control), or make it where numba "
            f"is: pip install numba=={NUMBA} llvmlite=={LLVMLITE} here, or in any environment, and "
            f"then {PYTHON_VARIABLE}=<its python>. PROJECTED_CONTROL_COMPILE=0 runs without it, "
            "for a debugger"
        )


@cache
def load(place: Path | None = None) -> ctypes.CDLL:
    """The library, checked: of these sources, or in a folder.

    Raises:
        LibraryMismatch: Where it is of other sources, or cannot be loaded.
    """
    path = (place or folder()) / LIBRARY
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise LibraryMismatch(f"{path} cannot be loaded: {error}") from None
    if text(library, "digest") != digest():
        raise LibraryMismatch(
            f"{path} was made from other sources than this package's "
            f"({text(library, 'digest')[:16]} instead of {digest()[:16]})"
        )
    return library


def text(library: ctypes.CDLL, name: str) -> str:
    """A text in the library: version, digest, compiler or signatures."""
    try:
        place = ctypes.c_char.in_dll(library, f"projected_control_{name}")
    except ValueError:
        raise LibraryMismatch(f"{library._name} is not a library of kernels") from None
    return ctypes.string_at(ctypes.addressof(place)).decode()


@cache
def _bind() -> Callable[..., Any]:
    caller = ctypes.PyDLL(str(folder() / CALLER))
    bind: Any = caller.projected_control_bind
    bind.restype = ctypes.py_object
    bind.argtypes = [ctypes.py_object, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_char_p]
    return lambda *arguments: bind(np.ndarray, *arguments)


@cache
def signatures() -> dict[str, tuple[str, str]]:
    """Symbol and signature of every kernel, by module and name."""
    lines = (line.split(" ", 2) for line in text(load(), "signatures").splitlines())
    return {name: (symbol, signature) for name, symbol, signature in lines}


def function(name: str) -> Callable[..., Any]:
    """A kernel as a function of Python."""
    symbol, signature = signatures()[name]
    address = ctypes.cast(getattr(load(), symbol), ctypes.c_void_p)
    made: Callable[..., Any] = _bind()(
        name.rpartition(".")[2].encode(), address, signature.encode()
    )
    return made

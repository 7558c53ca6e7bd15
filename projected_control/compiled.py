"""Compilation of the numerical kernels: with numba where it is installed, as plain NumPy otherwise.

A kernel is a pure function over arrays. It makes no objects, allocates nothing, raises nothing and
gives the same numbers (to rounding) either way, so that everything else in the package can call
it without knowing which of the two it got.

``PROJECTED_CONTROL_COMPILE=0`` in the environment turns the compiler off.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

try:
    if os.environ.get("PROJECTED_CONTROL_COMPILE", "1") == "0":
        raise ImportError("switched off by PROJECTED_CONTROL_COMPILE=0")
    import numba
except ImportError:
    numba = None

COMPILED: bool = numba is not None
"""True where the kernels are machine code, False where they run as NumPy."""


def _cache_directory() -> str | None:
    """Where compiled kernels are kept between runs, or None where nothing can be written.

    numba notices a change of the file a kernel stands in, but not of the files of the kernels it
    calls. One folder per state of all kernel sources makes a stale mixture impossible.
    """
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        source = path.read_bytes()
        if b"@compiled" in source:
            digest.update(source)
    try:
        root = Path(os.environ.get("XDG_CACHE_HOME", "") or Path.home() / ".cache")
        folder = root / "projected_control" / f"kernels-{digest.hexdigest()[:16]}"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return str(folder) if os.access(folder, os.W_OK) else None


def compiled(function: Function) -> Function:
    """Compile a kernel, keeping the result on disk; leave it as it is where numba is missing.

    Kernels allocate nothing: they work in memory they are given. That spares numba's counting of
    references (``_nrt=False``), a third of a tick. For the same reason a kernel must not return
    arrays to Python: see `interpreted`.
    """
    if numba is None:
        return function
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = _CACHE or previous
    try:
        kernel = numba.njit(cache=_CACHE is not None, error_model="numpy", _nrt=False)(function)
    finally:
        numba.config.CACHE_DIR = previous
    return cast(Function, kernel)


def interpreted(kernel: Function) -> Function:
    """The Python function of a kernel, for what only hands out views of arrays."""
    return cast(Function, getattr(kernel, "py_func", kernel))


_CACHE = _cache_directory() if COMPILED else None

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

import numpy as np
from numpy.typing import NDArray

from projected_control.resources import cache_folder, prune_cache, use_cached

Array = NDArray[np.float64]
Function = TypeVar("Function", bound=Callable[..., Any])

try:
    if os.environ.get("PROJECTED_CONTROL_COMPILE", "1") == "0":
        raise ImportError("switched off by PROJECTED_CONTROL_COMPILE=0")
    import numba

    from projected_control import kernel_parts, kernel_workspaces
except ImportError:
    numba = None

COMPILED: bool = numba is not None
"""True where the kernels are machine code, False where they run as NumPy."""


def kernel_sources() -> list[Path]:
    """The files of this package that declare kernels, or layouts of what they work on."""
    package = Path(__file__).parent
    paths = [
        path for path in sorted(package.rglob("*.py")) if package / "native" not in path.parents
    ]
    return [path for path in paths if b"@compiled" in (t := path.read_bytes()) or b"Layout" in t]


def kernel_digest() -> str:
    """A digest of all that is compiled and of how, as hexadecimal digits."""
    compilers = [Path(__file__).with_name(f"kernel_{name}.py") for name in ("parts", "workspaces")]
    digest = hashlib.sha256()
    for path in (*compilers, *kernel_sources()):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _cache_directory() -> str | None:
    """Where compiled kernels are kept between runs, or None where nothing can be written.

    numba notices a change of the file a kernel stands in, but not of the files of the kernels it
    calls, nor of the layouts they unpack; and it notices another numba, but not another llvmlite.
    One folder per state of all files that declare either, and of all that compiles them, makes a
    stale mixture impossible.
    """
    try:
        compiler = kernel_parts.COMPILER if numba is not None else "none"
        state = hashlib.sha256(f"{kernel_digest()} {compiler}".encode()).hexdigest()
        folder = cache_folder() / f"kernels-{state[:16]}"
        if not folder.is_dir():
            prune_cache()
        folder.mkdir(parents=True, exist_ok=True)
        use_cached(folder)
    except (OSError, RuntimeError):
        return None
    return str(folder) if os.access(folder, os.W_OK) else None


def compiled(function: Function) -> Function:
    """Compile a kernel, keeping the result on disk; leave it as it is where numba is missing.

    Kernels allocate nothing: they work in memory they are given. That spares numba's counting of
    references (``_nrt=False``), a third of a tick. For the same reason a kernel must not return
    arrays to Python: see `interpreted`.
    """
    return _compile(function, keep=_CACHE is not None)


def from_source(source: str, module: str, **names: Any) -> dict[str, Any]:
    """Kernels whose source was made at run time, by name.

    They have no file, so they are not kept on disk; the kernels that call them are, and hold them.

    Args:
        source: Their definitions.
        module: Whose they are.
        names: What they call.
    """
    made: dict[str, Any] = {}
    exec(compile(source, f"<kernels of {module}>", "exec"), names, made)
    for function in made.values():
        function.__module__ = module
    return {name: _compile(function, keep=False) for name, function in made.items()}


def _compile(function: Function, keep: bool) -> Function:
    if numba is None:
        return function
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = _CACHE or previous
    try:
        kernel = kernel_parts.kernel(function, keep=keep)
    finally:
        numba.config.CACHE_DIR = previous
    return cast(Function, kernel)


def teach_workspace(unpack: Callable[..., Any], layout: Any) -> None:
    """Make the function that names the parts of a layout known to kernels."""
    if numba is not None:
        kernel_workspaces.teach(unpack, layout)


def interpreted(kernel: Function) -> Function:
    """The Python function of a kernel, for what only hands out views of arrays."""
    return cast(Function, getattr(kernel, "py_func", kernel))


def memory_fence() -> None:
    """Keep all reads and writes before it before all that come after it, for other threads.

    Kernels know it by one instruction; in plain Python the interpreter keeps the order.
    """


def _teach_fence() -> None:
    from numba.core import types
    from numba.extending import lower_builtin, type_callable

    @type_callable(memory_fence)
    def type_of_fence(context: Any) -> Any:
        return lambda: types.none

    @lower_builtin(memory_fence)
    def make_fence(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()


if COMPILED:
    _teach_fence()

_CACHE = _cache_directory() if COMPILED else None

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

    from projected_control import kernel_parts
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
    digest = hashlib.sha256(Path(__file__).with_name("kernel_parts.py").read_bytes())
    for path in kernel_sources():
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


def generated(function: Function) -> Function:
    """Compile a kernel whose source was made at run time (see `workspace`).

    It has no file, so it is not kept on disk by itself; the kernels that call it are, and hold it.
    """
    return _compile(function, keep=False)


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


def interpreted(kernel: Function) -> Function:
    """The Python function of a kernel, for what only hands out views of arrays."""
    return cast(Function, getattr(kernel, "py_func", kernel))


def view(work: Array, offset: int, shape: tuple[int, ...]) -> Array:
    """A part of an array as a dense matrix, from an offset on; nothing is checked or copied.

    Kernels know it by the few instructions below. A slice with ``reshape`` is the same, but calls a
    function of numba's runtime for each part: that took a tenth of a tick.
    """
    return work[offset : offset + int(np.prod(shape))].reshape(shape)


def _teach_view() -> None:
    """Tell numba how to make a `view`: an array's head is its pointer, shape and strides."""
    from numba.core import cgutils, types
    from numba.core.types.containers import BaseTuple
    from numba.extending import lower_builtin, type_callable
    from numba.np import arrayobj

    @type_callable(view)
    def type_of_view(context: Any) -> Any:
        def typed(work: Any, offset: Any, shape: Any) -> Any:
            return types.Array(work.dtype, len(shape), "C")

        return typed

    @lower_builtin(view, types.Array, types.Integer, BaseTuple)
    def make_view(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        work = arrayobj.make_array(signature.args[0])(context, builder, arguments[0])
        offset = context.cast(builder, arguments[1], signature.args[1], types.intp)
        shape = [
            context.cast(builder, extent, kind, types.intp)
            for extent, kind in zip(
                cgutils.unpack_tuple(builder, arguments[2]), signature.args[2], strict=True
            )
        ]
        itemsize = context.get_constant(types.intp, context.get_abi_sizeof(work.data.type.pointee))
        strides = [itemsize]
        for extent in shape[:0:-1]:
            strides.insert(0, builder.mul(strides[0], extent))
        result = arrayobj.make_array(signature.return_type)(context, builder)
        arrayobj.populate_array(
            result,
            data=builder.gep(work.data, [offset]),
            shape=shape,
            strides=strides,
            itemsize=itemsize,
            meminfo=None,
        )
        return result._getvalue()


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
    _teach_view()
    _teach_fence()

_CACHE = _cache_directory() if COMPILED else None

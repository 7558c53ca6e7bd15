"""Loading the exported library and the native loop, and refusing what does not fit."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

from projected_control.kernel_library import LibraryMismatch
from projected_control.native.build import LOOP, loop_folder
from projected_control.native.toolchain import ExportFailed, NoCompiler

Say = Callable[[str], None]


@cache
def native_loop(say: Say | None = None) -> ctypes.CDLL:
    """The native loop; built first where it is not there.

    Raises:
        NoCompiler: Where it cannot be built here.
        LibraryMismatch: Where it does not fit kernels or Pinocchio.
    """
    import pinocchio

    folder = loop_folder(say)
    library = ctypes.CDLL(str(folder / LOOP))
    for name in ("projected_control_pinocchio_version", "projected_control_native_mismatch"):
        getattr(library, name).restype = ctypes.c_char_p
    version = library.projected_control_pinocchio_version().decode()
    if version != pinocchio.__version__:
        raise LibraryMismatch(
            f"{folder / LOOP} was built with the headers of Pinocchio {version}, loaded is "
            f"{pinocchio.__version__}"
        )
    mismatch = library.projected_control_native_mismatch()
    if mismatch is not None:
        raise LibraryMismatch(f"{folder / LOOP} is refused: {mismatch.decode()}")
    return library


def reason_against() -> str:
    """Why there is no native loop here; empty where there is one."""
    try:
        native_loop()
    except (NoCompiler, ExportFailed, LibraryMismatch, OSError) as error:
        return str(error)
    return ""

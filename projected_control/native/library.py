"""Loading the exported library and the native loop, and refusing what does not fit."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from projected_control.errors import ProjectedControlError
from projected_control.native import exports
from projected_control.native.build import LOOP, kernels_folder, loop_folder
from projected_control.native.header import library_sizes
from projected_control.native.kernel_calls import Call
from projected_control.native.toolchain import ExportFailed, NoCompiler
from projected_control.native.worker import LIBRARY

Say = Callable[[str], None]


class LibraryMismatch(ProjectedControlError):
    """A library was made from other sources than those that want to call it."""


class Kernels:
    """The exported kernels, for calls from Python.

    Args:
        folder: Where library and header are.

    Raises:
        LibraryMismatch: Where version, sources or sizes are not those of this package.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / LIBRARY
        try:
            self._library = ctypes.CDLL(str(self.path))
        except OSError as error:
            raise LibraryMismatch(f"{self.path} cannot be loaded: {error}") from None
        self.version, self.digest = self._text("version"), self._text("digest")
        self._check()
        self._functions = {
            frame.name: self._function(frame.symbol) for frame in exports.exported_frames()
        }

    def run(self, call: Call) -> int:
        """Make a call; the status, which is zero where all went well."""
        return int(self._functions[call.frame.name](call.address))

    def function(self, name: str) -> Callable[[int], int]:
        """An exported kernel by name: takes a call's address, gives the status."""
        return self._functions[name]

    def _function(self, symbol: str) -> Any:
        function = getattr(self._library, symbol)
        function.argtypes, function.restype = [ctypes.c_void_p], ctypes.c_int32
        return function

    def _text(self, name: str) -> str:
        try:
            place = ctypes.c_char.in_dll(self._library, f"projected_control_{name}")
        except ValueError:
            raise LibraryMismatch(f"{self.path} is not a library of exported kernels") from None
        return ctypes.string_at(ctypes.addressof(place)).decode()

    def _check(self) -> None:
        if self.version != exports.VERSION:
            raise LibraryMismatch(
                f"{self.path} is of version {self.version}, this package of {exports.VERSION}; "
                "export it again: projected-control export"
            )
        expected = library_sizes(exports.exported_frames(), exports.exported_layouts())
        first = ctypes.c_int64.in_dll(self._library, "projected_control_sizes")
        count = int(first.value)
        sizes = list((ctypes.c_int64 * (1 + count)).from_address(ctypes.addressof(first)))[1:]
        if sizes != expected:
            raise LibraryMismatch(
                f"structs or workspaces of {self.path} have other sizes than this package: "
                f"{sizes} instead of {expected}; export it again: projected-control export"
            )
        if self.digest != exports.digest():
            raise LibraryMismatch(
                f"{self.path} was made from other sources than this package's "
                f"({self.digest[:16]} instead of {exports.digest()[:16]}); export it again: "
                "projected-control export"
            )


@cache
def kernels(say: Say | None = None) -> Kernels:
    """The exported kernels; exported first where they are not there."""
    return Kernels(kernels_folder(say))


@cache
def native_loop(say: Say | None = None) -> ctypes.CDLL:
    """The native loop; built first where it is not there.

    Raises:
        NoCompiler: Where it cannot be built here.
        LibraryMismatch: Where it does not fit kernels or Pinocchio.
    """
    import pinocchio

    folder = loop_folder(say)
    kernels_of_loop = Kernels(folder)
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
    library.kernels = kernels_of_loop  # type: ignore[attr-defined]
    return library


def reason_against() -> str:
    """Why there is no native loop here; empty where there is one."""
    try:
        native_loop()
    except (NoCompiler, ExportFailed, LibraryMismatch, OSError) as error:
        return str(error)
    return ""

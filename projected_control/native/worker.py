"""Makes the library of kernels: ``python -m projected_control.native.worker FOLDER``.

A process of its own, because the processor has to be chosen before numba is loaded, and because
kernels have to be numba's from the moment they are declared. It needs numba, NumPy and a C
compiler; neither Pinocchio nor anything else of what the package needs to run. It makes one for
another machine as well (``--machine aarch64``), with a cross compiler.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from types import ModuleType
from typing import TextIO

from projected_control.errors import ProjectedControlError
from projected_control.native.toolchain import (
    MACHINES,
    ExportFailed,
    Machine,
    NoCompiler,
    c_compiler,
    run,
    this_machine,
)
from projected_control.tested_versions import ALSO, LLVMLITE, NUMBA


def make_library(folder: Path, machine: Machine) -> None:
    """Write kernels, caller and headers into a folder, for a machine.

    Raises:
        NoCompiler: Where numba or a C compiler is missing.
        ExportFailed: Where both are there, and it fails.
    """
    command = c_compiler(machine)
    os.environ["NUMBA_CPU_NAME"] = this_machine().processor
    os.environ["NUMBA_CPU_FEATURES"] = ""
    try:
        import numba
    except ImportError as error:
        raise NoCompiler(
            f"{error}: the kernels are compiled by numba {NUMBA} with llvmlite {LLVMLITE}, which "
            f"{sys.executable} does not have"
        ) from None

    if numba.__version__ in (NUMBA, *ALSO):
        _make(folder, machine, command)
        return
    tried = f"{NUMBA} (llvmlite {LLVMLITE}) and {', '.join(ALSO)}"
    untried = f"numba {numba.__version__} has not been tried; {tried} have"
    print(f"projected-control: {untried}. It may work", file=sys.stderr)
    try:
        _make(folder, machine, command)
    except Exception as error:  # whatever differs in its insides
        raise ExportFailed(f"{untried}. It failed: {type(error).__name__}: {error}") from error


def _make(folder: Path, machine: Machine, command: list[str]) -> None:
    import llvmlite
    import numba

    if importlib.util.find_spec("pinocchio") is None:
        # Named by modules that hold kernels, but by no kernel.
        sys.modules["pinocchio"] = ModuleType("pinocchio")
    from projected_control import compiled
    from projected_control.native.numba_kernels import NumbaKernels

    compiled.BUILDER = NumbaKernels()  # from here on kernels are numba's
    from projected_control import kernel_library
    from projected_control.native import exports, updates_header
    from projected_control.native.header import header, library_sizes
    from projected_control.native.kernel_calls import signature_text
    from projected_control.native.object_code import object_code

    bar = Bar(sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    frames, layouts = exports.exported_frames(), exports.exported_layouts()
    everything = exports.python_frames()
    sizes, digest = library_sizes(frames, layouts), kernel_library.digest()
    signatures = [
        f"{name} {frame.symbol} {signature_text(frame)}" for name, frame in everything.items()
    ]
    constants = {
        "projected_control_version": exports.VERSION,
        "projected_control_digest": digest,
        "projected_control_compiler": f"numba {numba.__version__}, llvmlite {llvmlite.__version__}",
        "projected_control_sizes": [len(sizes), *sizes],
        "projected_control_signatures": "\n".join(signatures),
    }
    text = header(
        frames,
        layouts,
        exports.ENUMERATIONS,
        version=exports.VERSION,
        digest=digest,
        processor=machine.processor,
    )
    (folder / kernel_library.HEADER).write_text(text, encoding="utf-8")
    (folder / updates_header.FILE).write_text(updates_header.updates_header(), encoding="utf-8")
    kernels = folder / "kernels.o"
    kernels.write_bytes(object_code(list(everything.values()), constants, machine, bar.show))
    library = kernel_library.LIBRARY
    link = [*command, "-shared", "-Wl,-z,defs", f"-Wl,-soname,{library}"]
    run([*link, "-o", str(folder / library), str(kernels), "-lm"], "linking the kernels")
    kernels.unlink()
    source = Path(__file__).parent / "c" / "call.c"
    caller = [*command, "-O2", "-fPIC", "-shared", str(source)]
    run([*caller, "-o", str(folder / kernel_library.CALLER)], "compiling the caller")
    (folder / kernel_library.DIGEST).write_text(digest, encoding="utf-8")
    bar.end(f"the library of kernels is made: {(folder / library).stat().st_size // 1000} kB")


class Bar:
    """How far it is: a bar on a terminal, a line every ten seconds otherwise."""

    EVERY, WIDTH = 10.0, 30

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._terminal = stream, stream.isatty()
        self._began = self._said = monotonic()

    def show(self, fraction: float, what: str) -> None:
        """Tell which fraction is done and what comes next."""
        now = monotonic()
        said = f"projected-control: compiling kernels, {100 * fraction:.0f} %"
        if self._terminal:
            full = round(self.WIDTH * fraction)
            bar = "━" * full + " " * (self.WIDTH - full)
            self._stream.write(f"\r{said} {bar} {now - self._began:.0f} s, {what:.40}\x1b[K")
        elif fraction == 0.0 or now - self._said >= self.EVERY:
            self._said = now
            self._stream.write(f"{said}, once; takes about a minute ({what})\n")
        self._stream.flush()

    def end(self, said: str) -> None:
        """Say that it is done."""
        begin = "\r\x1b[K" if self._terminal else ""
        seconds = monotonic() - self._began
        self._stream.write(f"{begin}projected-control: {said}, after {seconds:.0f} s\n")
        self._stream.flush()


def main(arguments: Sequence[str]) -> int:
    """Make it; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m projected_control.native.worker",
        description="Make the library of kernels: library, caller and headers.",
    )
    parser.add_argument("folder", type=Path, help="where they go")
    names = ", ".join(MACHINES)
    parser.add_argument("--machine", help=f"for which ({names}; default: this one)")
    given = parser.parse_args(arguments)
    machine = this_machine()
    if given.machine:
        if given.machine not in MACHINES:
            parser.error(f"unknown machine {given.machine}; there are: {names}")
        machine = MACHINES[given.machine]
    try:
        make_library(given.folder, machine)
    except ProjectedControlError as error:
        print(f"projected-control: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

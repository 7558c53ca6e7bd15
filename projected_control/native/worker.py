"""Makes the library of kernels: ``python -m projected_control.native.worker FOLDER``.

A process of its own, because the processor has to be chosen before numba is loaded, and because
numba may have to be another than the one installed (see `toolchain`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from projected_control.native import exports, updates_header
from projected_control.native.header import header, library_sizes
from projected_control.native.toolchain import PROCESSOR, compiler, fits, run

LIBRARY = "libprojected_control_kernels.so"
HEADER = "projected_control_kernels.h"


def export(folder: Path) -> None:
    """Write library and header into a folder."""
    from projected_control.native.object_code import object_code

    folder.mkdir(parents=True, exist_ok=True)
    frames, layouts = exports.exported_frames(), exports.exported_layouts()
    sizes = library_sizes(frames, layouts)
    constants = {
        "projected_control_version": exports.VERSION,
        "projected_control_digest": exports.digest(),
        "projected_control_sizes": [len(sizes), *sizes],
    }
    text = header(
        frames,
        layouts,
        exports.ENUMERATIONS,
        version=exports.VERSION,
        digest=exports.digest(),
        processor=PROCESSOR,
    )
    (folder / HEADER).write_text(text, encoding="utf-8")
    (folder / updates_header.FILE).write_text(updates_header.updates_header(), encoding="utf-8")
    kernels = folder / "kernels.o"
    kernels.write_bytes(object_code(frames, constants))
    link = [compiler(), "-shared", "-Wl,-z,defs", f"-Wl,-soname,{LIBRARY}"]
    run([*link, "-o", str(folder / LIBRARY), str(kernels), "-lm"], "linking the kernels")
    kernels.unlink()


def main(arguments: Sequence[str]) -> int:
    """Export into the folder that is named."""
    if len(arguments) != 1:
        print("usage: python -m projected_control.native.worker FOLDER", file=sys.stderr)
        return 2
    if not fits():
        print("projected-control: other versions of numba than pinned", file=sys.stderr)
        return 2
    export(Path(arguments[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

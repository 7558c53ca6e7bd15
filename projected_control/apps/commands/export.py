"""``projected-control export``: the kernels as a shared library and a C header."""

from __future__ import annotations

from pathlib import Path

from projected_control.apps.console.command import Command, flag, option

DESCRIPTION = """\
Writes the kernels of a tick and of the plant's step as a shared library without Python in it, and
a C header for them, generated from the same declarations. Both carry the version and a digest of
the sources; what does not fit is refused when it is loaded. For every 64-bit processor of Intel and
AMD. Needs a C++ compiler to link with.
"""

EPILOG = """\
examples:
  projected-control export                 into the cache, where the native loop looks for it
  projected-control export --out kernels   into a folder of your own
  projected-control export --loop          with the native loop (Pinocchio's pass in C++) beside it
"""


class Arguments(Command, help="the kernels as a C library", description=DESCRIPTION, epilog=EPILOG):
    """What it takes."""

    out: Path | None = option("write here rather than into the cache", metavar="FOLDER")
    loop: bool = flag("build the native loop too (needs Eigen's headers)")


def run(args: Arguments) -> int:
    """Export, load what was written, and say where it is."""
    import shutil

    from projected_control.native.build import kernels_folder, loop_folder
    from projected_control.native.library import Kernels, native_loop

    folder = loop_folder() if args.loop else kernels_folder()
    if args.loop:
        native_loop()
    if args.out is not None:
        args.out.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            shutil.copy(path, args.out / path.name)
        folder = args.out
    library = Kernels(folder)
    print(f"version {library.version}, sources {library.digest[:16]}")
    for path in sorted(folder.iterdir()):
        print(f"{path}  {path.stat().st_size / 1e3:.0f} kB")
    return 0

"""``projected-control export``: the kernels as a shared library and a C header."""

from __future__ import annotations

from pathlib import Path

from projected_control.apps.console.command import Command, flag, option

DESCRIPTION = """\
Copies the library of kernels, which has no Python in it, and the C header of a tick and of the
plant's step, generated from the same declarations. Both carry the version and a digest of the
sources; what does not fit is refused when it is loaded.
"""

EPILOG = """\
examples:
  projected-control export                 say where they are
  projected-control export --out kernels   into a folder of your own
  projected-control export --loop          with the native loop (Pinocchio's pass in C++) beside it
"""


class Arguments(Command, help="the kernels as a C library", description=DESCRIPTION, epilog=EPILOG):
    out: Path | None = option("copy them here", metavar="FOLDER")
    loop: bool = flag("build the native loop too (needs a C++ compiler and Eigen's headers)")


def run(args: Arguments) -> int:
    """Copy them, and say where they are."""
    import shutil

    from projected_control import kernel_library
    from projected_control.native.build import loop_folder
    from projected_control.native.library import native_loop

    folder = kernel_library.folder()
    if args.loop:
        native_loop()
        folder = loop_folder()
    if args.out is not None:
        args.out.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            shutil.copy(path, args.out / path.name)
        folder = args.out
    library = kernel_library.load(folder)
    said = {name: kernel_library.text(library, name) for name in ("version", "digest", "compiler")}
    print(f"version {said['version']}, sources {said['digest'][:16]}, {said['compiler']}")
    for path in sorted(folder.iterdir()):
        print(f"{path}  {path.stat().st_size / 1e3:.0f} kB")
    return 0

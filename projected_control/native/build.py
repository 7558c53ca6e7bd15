"""Builds the native loop, on demand, into the cache; or takes the one that a wheel has.

In the cache, one folder per state of the sources, of Pinocchio and of the compiler: nothing stale
is ever loaded. That of a wheel is for one Pinocchio, which is noted beside it.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from projected_control import kernel_library
from projected_control.native.toolchain import (
    HEADERS,
    ExportFailed,
    NoCompiler,
    compiler,
    run,
)
from projected_control.resources import cache_folder, made_once

CPP = Path(__file__).parent / "cpp"
LOOP = "libprojected_control_loop.so"
COUNTER = "libprojected_control_allocations.so"
NOTE = "loop"
"""A file beside a loop in a wheel: of which sources it was built, and for which Pinocchio."""

BESIDE = "$ORIGIN/../../../cmeel.prefix/lib"
"""Where Pinocchio's wheels have their library, seen from where ours has the loop."""

DEFINITIONS = (
    "BOOST_MPL_LIMIT_LIST_SIZE=30",
    "BOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "BOOST_FUSION_INVOKE_MAX_ARITY=12",
    "PINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION",
    "NDEBUG",
)
"""As Pinocchio's own build has them."""

FLAGS = ("-std=c++17", "-O2", "-fPIC", "-shared", "-ffp-contract=off", "-Wall", "-Wextra")
"""No -march: Pinocchio's binaries are baseline, and Eigen's alignment follows the processor."""


class NoHeaders(NoCompiler):
    """Headers that the native loop needs are missing."""


def loop_folder(say: Callable[[str], None] | None = None) -> Path:
    """The folder of the native loop, with the kernels beside it; built first where it is not there.

    Raises:
        NoCompiler: Where it cannot be built here.
        ExportFailed: Where it should be possible, and is not.
    """
    kernels = kernel_library.folder()
    why = reason_against_packed(kernels)
    if not why:
        return kernels
    try:
        return _built_folder(kernels, say or tell)
    except NoCompiler as error:
        raise type(error)(f"{why}; {error}") from None


def reason_against_packed(folder: Path) -> str:
    """Why the native loop that a wheel has is not taken; empty where it is."""
    import pinocchio

    note = folder / NOTE
    if not (note.is_file() and (folder / LOOP).is_file()):
        return "this package came without a native loop"
    sources, version = note.read_text(encoding="utf-8").split()
    if version != pinocchio.__version__:
        return (
            f"the native loop of this package is for Pinocchio {version}, and loaded is "
            f"{pinocchio.__version__}"
        )
    if sources != _sources(folder).hexdigest():
        return "the native loop of this package was built from other sources"
    return ""


def _sources(kernels: Path) -> hashlib._Hash:
    digest = hashlib.sha256((kernels / kernel_library.LIBRARY).read_bytes())
    for path in sorted(path for path in CPP.iterdir() if path.suffix in (".cpp", ".h")):
        digest.update(path.read_bytes())
    digest.update(" ".join([*FLAGS, *DEFINITIONS]).encode())
    return digest


def _built_folder(kernels: Path, say: Callable[[str], None]) -> Path:
    library, includes = pinocchio_library(), include_folders()
    digest = _sources(kernels)
    digest.update(f"{library} {compiler()} {library.stat().st_mtime_ns}".encode())
    target = cache_folder() / f"native-{digest.hexdigest()[:16]}"

    def make(folder: Path) -> None:
        say(f"the native loop is built once, which takes a minute ({target})")
        folder.mkdir(parents=True, exist_ok=True)
        for path in kernels.iterdir():
            shutil.copy(path, folder / path.name)
        (folder / NOTE).unlink(missing_ok=True)
        _build_loop(folder, library, includes, str(library.parent))

    return made_once(target, make)


def _build_loop(folder: Path, pinocchio: Path, includes: list[Path], found_in: str) -> None:
    common = [compiler(), *FLAGS, *(f"-D{name}" for name in DEFINITIONS), f"-I{folder}", f"-I{CPP}"]
    common += [option for path in includes for option in ("-isystem", str(path))]
    sources = [str(path) for path in sorted(CPP.glob("*.cpp")) if path.stem != "allocations"]
    link = [f"-L{folder}", "-lprojected_control_kernels", str(pinocchio), "-lpthread"]
    link += ["-Wl,-rpath,$ORIGIN", f"-Wl,-rpath,{found_in}"]
    run([*common, "-o", str(folder / LOOP), *sources, *link], "building the native loop")
    counter = [compiler(), "-std=c++17", "-O2", "-fPIC", "-shared", "-o", str(folder / COUNTER)]
    run([*counter, str(CPP / "allocations.cpp"), "-ldl"], "building the counter of allocations")


def pinocchio_library() -> Path:
    """The file of the Pinocchio that this process has loaded."""
    import pinocchio

    _ = pinocchio.__version__  # the command line loads it when it is used
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        path = Path(line.split(maxsplit=5)[-1])
        if path.name.startswith("libpinocchio_default.so"):
            return path
    raise NoHeaders("the library of Pinocchio (libpinocchio_default.so) is not loaded here")


def include_folders() -> list[Path]:
    """Where the headers of Pinocchio, Boost and Eigen are."""
    roots = [folder / "include" for folder in pinocchio_library().parents]
    roots += [Path(entry) / "cmeel.prefix" / "include" for entry in sys.path]
    roots += [Path(sys.prefix) / "include", Path("/usr/include"), Path("/usr/local/include")]
    found = []
    for header, package in (
        ("pinocchio/config.hpp", "pin"),
        ("boost/version.hpp", "cmeel-boost"),
        ("Eigen/Core", HEADERS),
    ):
        places = [folder for root in roots for folder in (root, root / "eigen3")]
        place = next((folder for folder in places if (folder / header).exists()), None)
        if place is None:
            raise NoHeaders(
                f"the header {header} was not found: pip install {package}, or "
                "pip install 'projected_control[native]'; without it everything runs from Python "
                "as before"
            )
        found.append(place)
    return list(dict.fromkeys(found))


def tell(sentence: str) -> None:
    """Say what takes time, to people."""
    print(f"projected-control: {sentence}", file=sys.stderr)


def main(arguments: Sequence[str]) -> int:
    """Build it beside the kernels of a wheel, in the folder given; the exit status."""
    if len(arguments) != 1:
        print("usage: python -m projected_control.native.build FOLDER", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    try:
        import pinocchio

        _build_loop(folder, pinocchio_library(), include_folders(), BESIDE)
    except (ImportError, NoCompiler, ExportFailed) as error:
        tell(f"the native loop cannot be built: {error}")
        return 1
    note = f"{_sources(folder).hexdigest()} {pinocchio.__version__}"
    (folder / NOTE).write_text(note, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

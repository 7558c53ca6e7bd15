"""Builds the native loop, on demand, into the cache.

One folder per state of the sources, of Pinocchio and of the compiler: nothing stale is ever loaded.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from projected_control import kernel_library
from projected_control.native.toolchain import HEADERS, NoCompiler, compiler, run
from projected_control.resources import cache_folder, made_once

CPP = Path(__file__).parent / "cpp"
LOOP = "libprojected_control_loop.so"
COUNTER = "libprojected_control_allocations.so"

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
    library, includes = pinocchio_library(), include_folders()
    sources = sorted(path for path in CPP.iterdir() if path.suffix in (".cpp", ".h"))
    digest = hashlib.sha256((kernels / kernel_library.LIBRARY).read_bytes())
    for path in sources:
        digest.update(path.read_bytes())
    digest.update(" ".join([str(library), *FLAGS, *DEFINITIONS, compiler()]).encode())
    digest.update(str(library.stat().st_mtime_ns).encode())
    target = cache_folder() / f"native-{digest.hexdigest()[:16]}"

    def make(folder: Path) -> None:
        (say or tell)(f"the native loop is built once, which takes a minute ({target})")
        folder.mkdir(parents=True, exist_ok=True)
        for path in kernels.iterdir():
            shutil.copy(path, folder / path.name)
        _build_loop(folder, library, includes)

    return made_once(target, make)


def _build_loop(folder: Path, pinocchio: Path, includes: list[Path]) -> None:
    common = [compiler(), *FLAGS, *(f"-D{name}" for name in DEFINITIONS), f"-I{folder}", f"-I{CPP}"]
    common += [option for path in includes for option in ("-isystem", str(path))]
    sources = [str(path) for path in sorted(CPP.glob("*.cpp")) if path.stem != "allocations"]
    link = [f"-L{folder}", "-lprojected_control_kernels", str(pinocchio), "-lpthread"]
    link += ["-Wl,-rpath,$ORIGIN", f"-Wl,-rpath,{pinocchio.parent}"]
    run([*common, "-o", str(folder / LOOP), *sources, *link], "building the native loop")
    counter = [compiler(), "-std=c++17", "-O2", "-fPIC", "-shared", "-o", str(folder / COUNTER)]
    run([*counter, str(CPP / "allocations.cpp"), "-ldl"], "building the counter of allocations")


def pinocchio_library() -> Path:
    """The file of the Pinocchio that this process has loaded."""
    import pinocchio  # noqa: F401  loads it

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

"""Builds what a run needs, on demand, into the cache: the library of kernels and the native loop.

One folder per state of the sources, of Pinocchio and of the compiler: nothing stale is ever loaded.
A folder appears under its name only when all in it is complete. Of processes that need it at one
time one builds it, and the others wait.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from projected_control.native import exports
from projected_control.native.toolchain import (
    HEADERS,
    MACHINES,
    PROCESSOR,
    ExportFailed,
    NoCompiler,
    compiler,
    exporting_python,
    run,
)
from projected_control.resources import cache_folder, prune_cache, use_cached

CPP = Path(__file__).parent / "cpp"
LOOP = "libprojected_control_loop.so"
COUNTER = "libprojected_control_allocations.so"

FOLDER_VARIABLE = "PROJECTED_CONTROL_LIBRARY"
"""In the environment: a folder with a library of kernels that was exported on another computer."""

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


def kernels_folder(say: Callable[[str], None] | None = None) -> Path:
    """The folder of the library of kernels and its header; exported first where it is not there.

    Raises:
        NoCompiler: Where it cannot be linked here.
        ExportFailed: Where it cannot be made.
    """
    if given := os.environ.get(FOLDER_VARIABLE):
        return Path(given)
    target = cache_folder() / f"library-{exports.digest()[:16]}"

    def make(folder: Path) -> None:
        export_into(folder)

    return made(target, make, "the kernels are exported once, which takes a minute or two", say)


def export_into(folder: Path) -> None:
    """Export the kernels into a folder, in a process of its own."""
    if platform.machine() not in MACHINES:
        raise ExportFailed(
            f"the export makes code for {PROCESSOR} and was not tried on {platform.machine()}; "
            "everything runs on numba as before"
        )
    compiler()
    python = exporting_python()
    with tempfile.TemporaryDirectory() as scratch:
        # This package alone: beside it, where it is installed, lie the versions that do not fit.
        alone = Path(scratch) / "package"
        alone.mkdir()
        (alone / CPP.parents[1].name).symlink_to(CPP.parents[1], target_is_directory=True)
        more = [os.environ.get("PYTHONPATH", "")] if python == sys.executable else []
        environment = {
            **os.environ,
            "NUMBA_CPU_NAME": PROCESSOR,
            "NUMBA_CPU_FEATURES": "",
            "PROJECTED_CONTROL_COMPILE": "1",
            "XDG_CACHE_HOME": scratch,
            "PYTHONPATH": os.pathsep.join([str(alone), *more]).rstrip(os.pathsep),
        }
        worker = [python, "-m", "projected_control.native.worker", str(folder)]
        run(worker, "exporting the kernels", environment)


def loop_folder(say: Callable[[str], None] | None = None) -> Path:
    """The folder of the native loop, with the kernels beside it; built first where it is not there.

    Raises:
        NoCompiler: Where it cannot be built here.
        ExportFailed: Where it should be possible, and is not.
    """
    kernels = kernels_folder(say)
    library, includes = pinocchio_library(), include_folders()
    sources = sorted(path for path in CPP.iterdir() if path.suffix in (".cpp", ".h"))
    digest = hashlib.sha256(exports.digest().encode())
    for path in sources:
        digest.update(path.read_bytes())
    digest.update(" ".join([str(library), *FLAGS, *DEFINITIONS, compiler()]).encode())
    digest.update(str(library.stat().st_mtime_ns).encode())
    target = cache_folder() / f"native-{digest.hexdigest()[:16]}"

    def make(folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for path in kernels.iterdir():
            shutil.copy(path, folder / path.name)
        _build_loop(folder, library, includes)

    return made(target, make, "the native loop is built once, which takes a minute", say)


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
                "pip install 'projected_control[native]'; without it everything runs on numba as "
                "before"
            )
        found.append(place)
    return list(dict.fromkeys(found))


def made(
    target: Path, make: Callable[[Path], None], what: str, say: Callable[[str], None] | None
) -> Path:
    """The folder, made by `make` where it is not there yet."""
    if target.exists():
        use_cached(target)
        return target
    compiler()
    prune_cache()
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # let go of by the kernel when its holder dies
        if target.exists():
            return target
        (say or _tell)(f"{what} ({target})")
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            fresh = Path(scratch) / "made"
            make(fresh)
            fresh.rename(target)
    return target


def _tell(sentence: str) -> None:
    print(f"projected-control: {sentence}", file=sys.stderr)

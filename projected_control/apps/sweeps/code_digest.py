"""What computes a run: digests of code and kernels, and the versions that bits depend on."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from projected_control import compiled, kernel_library
from projected_control.native.library import reason_against

SUFFIXES = (".py", ".cpp", ".h", ".hpp", ".c")  # files of the package that are its code

WHAT_TO_DO = "install the same version of the package there, and start the worker again"


VERSIONS = ("numpy", "scipy", "ruckig")  # packages that compute paths and starts


def processor() -> str:
    """What this processor offers, as NumPy found it, the newest first: libraries choose by it."""
    kinds = np.show_config(mode="dicts").get("SIMD Extensions", {})
    return " ".join(reversed(kinds.get("found", [])))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


@cache
def fingerprint() -> Mapping[str, str]:
    """What computes runs in this process, part by part; the same where runs are, to the bit."""
    import pinocchio

    digest = hashlib.sha256()
    for path in sorted(kernel_library.PACKAGE.rglob("*")):
        if path.suffix in SUFFIXES and path.is_file():
            digest.update(path.relative_to(kernel_library.PACKAGE).as_posix().encode())
            digest.update(path.read_bytes())
    native = compiled.COMPILED and not reason_against()
    return {
        "code": digest.hexdigest(),
        "kernels": kernel_library.digest() if compiled.COMPILED else "NumPy",
        "runs": "native" if native else "tick by tick from Python",
        "pinocchio": str(pinocchio.__version__),
        **{name: _version(name) for name in VERSIONS},
        "machine": platform.machine(),
        "processor": processor(),
    }


def differences(theirs: Mapping[str, str], ours: Mapping[str, str]) -> list[str]:
    """Where another process computes with something else, in words; empty where it does not."""
    return [
        f"other {name} ({theirs.get(name, 'none')[:16]} instead of {value[:16]})"
        for name, value in ours.items()
        if theirs.get(name) != value
    ]

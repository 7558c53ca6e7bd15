"""Names of engines, which files, scripts and recordings of before may still give.

There was a choice once of what makes the ticks of a loop in Python. Now the library of kernels does
(`kernel_library`), or NumPy where ``PROJECTED_CONTROL_COMPILE=0`` asks for it. Whether a whole run
of a simulated case is made in C++ is still chosen by one of these names, see `wanted_engine`.
"""

from __future__ import annotations

import os
import sys
from functools import cache

from projected_control import validate
from projected_control.compiled import COMPILED
from projected_control.control.loop import ControlLoop
from projected_control.errors import InvalidValue
from projected_control.simulation.engines import FORMER_ENGINES

NUMBA, NATIVE, AUTO = ENGINES = FORMER_ENGINES

VARIABLE = "PROJECTED_CONTROL_ENGINE"  # in the environment: one of `ENGINES`, for simulated cases


def wanted_engine() -> str:
    """How a simulated case is run, as the environment says.

    ``native``: plant and loop in C++, or an error that says why not; ``auto``: in C++ where that
    can be; anything else, tick by tick from Python. The numbers are the same.
    """
    return validate.one_of("engine", os.environ.get(VARIABLE) or NUMBA, ENGINES)


@cache
def accept_engine(name: str) -> None:
    """Take the name of an engine from a file or script of before, and say that it does nothing.

    Raises:
        InvalidValue: Where it never was one.
    """
    validate.one_of("engine", name, ENGINES)
    print(
        f"projected-control: engine {name} is no longer needed: {described()} makes all ticks",
        file=sys.stderr,
    )


def refuse_python_parts(loop: ControlLoop) -> None:
    """Refuse a loop that needs Python in a tick."""
    if loop.python_parts:
        raise InvalidValue(f"this loop cannot run without Python: {'; '.join(loop.python_parts)}")


def described() -> str:
    """What makes the ticks, for people."""
    return "the library of kernels" if COMPILED else "NumPy"

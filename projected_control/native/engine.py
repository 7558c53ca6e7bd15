"""The tick of a Python loop by the exported library: the very binary that a robot runs."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.compiled import COMPILED
from projected_control.control.guard import Action
from projected_control.control.loop import ControlLoop
from projected_control.control.tick import tick
from projected_control.native import exports
from projected_control.native.frames import Call
from projected_control.native.library import Kernels, LibraryMismatch, kernels
from projected_control.native.toolchain import ExportFailed, NoCompiler

Array = NDArray[np.float64]

NUMBA, NATIVE, AUTO = "numba", "native", "auto"
ENGINES = (NUMBA, NATIVE, AUTO)
"""What makes the ticks of a loop in Python: numba (or NumPy where there is none), the exported
library, or that one wherever it can be had."""

VARIABLE = "PROJECTED_CONTROL_ENGINE"
"""In the environment: one of `ENGINES`, for what is not told otherwise."""


def wanted_engine(name: str | None = None) -> str:
    """The engine asked for: by name, by the environment, or numba."""
    return validate.one_of("engine", name or os.environ.get(VARIABLE) or NUMBA, ENGINES)


def use_engine(loop: ControlLoop, name: str | None = None) -> str:
    """Have a loop's ticks made by an engine; the one that makes them.

    Raises:
        NoCompiler, ExportFailed, LibraryMismatch: Where the library was asked for by name and
            cannot be had.
    """
    engine = wanted_engine(name)
    if engine == NUMBA:
        loop.tick, loop.engine = tick, described(NUMBA).lower()
        return NUMBA
    try:
        loop.tick, loop.engine = NativeTick(loop, kernels()), NATIVE
        return NATIVE
    except (NoCompiler, ExportFailed, LibraryMismatch) as error:
        if engine == NATIVE:
            raise
        print(f"projected-control: ticks by {described(NUMBA)}: {error}", file=sys.stderr)
        return NUMBA


def described(engine: str) -> str:
    """An engine's name for people."""
    return "NumPy" if engine == NUMBA and not COMPILED else engine


class NativeTick:
    """Makes the ticks of one loop, in place of `control.tick.tick`.

    Args:
        loop: Whose ticks.
        library: The exported kernels.
    """

    def __init__(self, loop: ControlLoop, library: Kernels) -> None:
        n = loop.controller.model.n
        self._frame = next(f for f in exports.exported_frames() if f.name == "tick")
        self._q, self._v, self._wrench = np.zeros(n), np.zeros(n), np.zeros(6)
        self._sent, self._run = loop.guard.sent, library.function("tick")
        self.status = 0
        self._connect(loop.arguments)

    def _connect(self, arguments: tuple[Any, ...]) -> None:
        state = (0.0, 0.0, self._q, self._v, self._wrench)
        self._arguments = arguments
        self._call = call = Call(self._frame, (*state, *arguments))
        self._stamp, self._age = call.places["stamp"], call.places["wrench_age"]
        self._action, self._events = call.places["action"], call.places["events"]

    def __call__(
        self, stamp: float, age: float, q: Array, v: Array, wrench: Array, *arguments: Any
    ) -> tuple[int, int]:
        """Action and events. A status other than zero means zero effort."""
        known = self._arguments
        if len(arguments) != len(known) or any(
            a is not b for a, b in zip(arguments, known, strict=True)
        ):
            self._connect(arguments)
        call = self._call
        self._q[:], self._v[:], self._wrench[:] = q, v, wrench
        call.reals[self._stamp], call.reals[self._age] = stamp, age
        self.status = self._run(call.address)
        if self.status:
            self._sent[:] = 0.0
            return int(Action.ZERO), 0
        return int(call.fields[self._action]), int(call.fields[self._events])

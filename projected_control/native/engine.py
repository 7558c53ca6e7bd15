"""The tick of a Python loop by the exported library: the very binary that a robot runs."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.compiled import COMPILED
from projected_control.control.events import Action
from projected_control.control.loop import ControlLoop
from projected_control.control.tick import tick
from projected_control.errors import InvalidValue
from projected_control.native import exports
from projected_control.native.kernel_calls import Call
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


def use_engine(loop: ControlLoop, name: str | None = None, *, python_too: bool = False) -> str:
    """Have a loop's ticks made by an engine; the one that makes them.

    Args:
        loop: Whose ticks.
        name: One of `ENGINES`.
        python_too: Let the library complete what Python computes in every tick (a constraint of
            its own, a reference without a table), rather than refuse it.

    Raises:
        NoCompiler, ExportFailed, LibraryMismatch: Where the library was asked for by name and
            cannot be had.
        InvalidValue: Where something of this loop has to be computed in Python, and the
            library was asked for by name.
    """
    engine = wanted_engine(name)
    if engine == NUMBA:
        loop.tick, loop.engine, loop.without_python = tick, described(NUMBA).lower(), False
        return NUMBA
    try:
        if not python_too:
            refuse_python_parts(loop)
        loop.tick, loop.engine = NativeTick(loop, kernels()), NATIVE
        loop.without_python = not python_too
        return NATIVE
    except (NoCompiler, ExportFailed, LibraryMismatch, InvalidValue) as error:
        if engine == NATIVE:
            raise
        print(f"projected-control: ticks by {described(NUMBA)}: {error}", file=sys.stderr)
        return NUMBA


def refuse_python_parts(loop: ControlLoop) -> None:
    """Refuse a loop that needs Python in a tick."""
    if loop.python_parts:
        raise InvalidValue(
            f"this loop cannot run without Python: {'; '.join(loop.python_parts)}; or use the "
            "engine numba"
        )


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
        self._prepared: tuple[Call, tuple[Any, ...]] | None = None
        self._use(self._connected(loop.arguments), loop.arguments)

    def prepare(self, arguments: tuple[Any, ...]) -> None:
        """See `control.loop.Engine`."""
        self._prepared = self._connected(arguments), arguments

    def _connected(self, arguments: tuple[Any, ...]) -> Call:
        state = (0.0, 0.0, self._q, self._v, self._wrench)
        return Call(self._frame, (*state, *arguments))

    def _use(self, call: Call, arguments: tuple[Any, ...]) -> None:
        self._call, self._arguments = call, arguments
        self._stamp, self._age = call.places["stamp"], call.places["wrench_age"]
        self._action, self._events = call.places["action"], call.places["events"]

    def _reconnect(self, arguments: tuple[Any, ...]) -> None:
        """References have got other arrays: those that were prepared, or take them up now."""
        prepared, self._prepared = self._prepared, None
        if prepared is not None and _same(arguments, prepared[1]):
            self._use(*prepared)
        else:
            self._use(self._connected(arguments), arguments)

    def __call__(
        self, stamp: float, age: float, q: Array, v: Array, wrench: Array, *arguments: Any
    ) -> tuple[int, int]:
        """Action and events. A status other than zero means zero effort."""
        if not _same(arguments, self._arguments):
            self._reconnect(arguments)
        call = self._call
        self._q[:], self._v[:], self._wrench[:] = q, v, wrench
        call.reals[self._stamp], call.reals[self._age] = stamp, age
        self.status = self._run(call.address)
        if self.status:
            self._sent[:] = 0.0
            return int(Action.ZERO), 0
        return int(call.fields[self._action]), int(call.fields[self._events])


def _same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))

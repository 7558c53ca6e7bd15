"""Ticks of a runner as rows of numbers, in shared memory or in one's own."""

from __future__ import annotations

from math import isfinite
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from projected_control.control.loop import ControlLoop, Tick
from projected_control.runs.tick_rows import DONE, ROW, SILENCE, TICK, put_tick

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

NANOSECONDS = 1_000_000_000

State = tuple[Array, Array, Array]
"""q, q̇ and wrench."""

_NOWHERE = np.full(6, np.nan)


class KeepsTicks(Protocol):
    """What a runner tells of every tick, in its own thread: be quick."""

    def put(self, tick: Tick, took_ns: int, stamp_ns: int) -> None:
        """A state was answered, in this time, at this time of the arm's clock."""

    def put_silence(self, action: int, events: int) -> None:
        """No state came, and the guard answered that."""


class TickRows:
    """Writes each tick as one row into memory that is given; over the oldest one where it is full.

    Args:
        loop: Whose ticks.
        counters: Rows begun and completed, see `tick_rows`.
        rows: The memory, capacity × width.
    """

    def __init__(self, loop: ControlLoop, counters: Whole, rows: Array) -> None:
        self._loop, self._counters, self._rows = loop, counters, rows
        self._unknown = np.full(loop.controller.model.n, np.nan)
        self._clock = 0

    def put(self, tick: Tick, took_ns: int, stamp_ns: int) -> None:
        q, v, stamp, wrench, age, _ = tick.state
        if wrench is None:
            wrench, age = _NOWHERE, float("inf")
        if stamp_ns > 0:
            self._clock = stamp_ns
        elif isfinite(stamp) and stamp >= 0.0:
            self._clock = round(1e9 * stamp)
        report = tick.report
        self._put(TICK, stamp, age, (q, v, wrench), report.action, report.events, took_ns)

    def put_silence(self, action: int, events: int) -> None:
        nan, unknown = float("nan"), self._unknown
        self._put(SILENCE, nan, nan, (unknown, unknown, _NOWHERE), action, events, 0)

    def _put(
        self, kind: int, stamp: float, age: float, state: State, action: int, events: int, took: int
    ) -> None:
        seconds, nanoseconds = divmod(self._clock, NANOSECONDS)
        arguments, (q, v, wrench) = self._loop.arguments, state
        put_tick(
            self._counters,
            self._rows,
            kind,
            stamp,
            float(seconds),
            float(nanoseconds),
            age,
            q,
            v,
            wrench,
            int(action),
            int(events),
            took,
            arguments.taken,
            self._loop.guard.sent,
            arguments.sizes,
            arguments.passive,
            arguments.model_work,
            arguments.control_work,
        )


class TicksInMemory(TickRows):
    """Keeps so many ticks in memory of its own.

    Args:
        loop: Whose ticks.
        most: How many.
    """

    def __init__(self, loop: ControlLoop, most: int) -> None:
        model = loop.controller.model
        self._done = np.zeros(2, dtype=np.int64)
        self._kept = np.zeros((most, ROW.size(n=model.n, m=model.m, k=model.k)))
        super().__init__(loop, self._done, self._kept)

    @property
    def rows(self) -> Array:
        """What was kept, in order."""
        return self._kept[: int(self._done[DONE])]


def warm_up(loop: ControlLoop) -> None:
    """Have the kernel compiled, so that no tick is the first to use it."""
    kept = TicksInMemory(loop, 2)
    kept.put_silence(0, 0)

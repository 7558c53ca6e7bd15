"""Timing of ticks: the same states again and again, in turns with Pinocchio alone."""

from __future__ import annotations

import ctypes
import resource
from dataclasses import dataclass
from math import ceil
from time import perf_counter_ns
from typing import Any

import numpy as np
import pinocchio
from numpy.typing import NDArray

from projected_control.apps import bench
from projected_control.apps.bench.deadlines import page_faults
from projected_control.apps.bench.tick_cases import TimedCase
from projected_control.apps.console.progress import Progress, silent
from projected_control.compiled import COMPILED
from projected_control.control.loop import ControlLoop
from projected_control.control.state import RawState
from projected_control.errors import SimulationFailed
from projected_control.native.cpp_arm import NativeArm
from projected_control.native.engine import NATIVE
from projected_control.native.simulation import NativeLoop
from projected_control.runs.runner import run
from projected_control.runs.simulated import SimulatedArm

Array = NDArray[np.float64]

TICKS = 500
"""States that are simulated once and then replayed; they also warm everything up."""


@dataclass(frozen=True)
class TickTiming:
    """How long a tick takes."""

    case: TimedCase  # what was measured
    # What made the ticks: ``python`` (or ``numpy`` where kernels are not compiled), or
    # ``native``.
    engine: str
    # p50_us, p99_us: median of the quieter half of the rounds, and 99th percentile of all
    # [µs].
    p50_us: float
    p99_us: float
    pinocchio_us: float  # median of Pinocchio's computeAllTerms alone, in the same half [µs]
    samples: int  # how many ticks were measured

    @classmethod
    def of(cls, case: TimedCase, engine: str, tick_us: Array, alone_us: Array) -> TickTiming:
        """From the times of rounds through the same states, one line per round.

        Others on the same computer slow whole rounds down, and a tick with its larger memory more
        than Pinocchio alone: medians are those of the faster half of the rounds.
        """
        quiet = quieter_half(np.median(tick_us + alone_us, axis=1))
        return cls(
            case,
            engine,
            float(np.median(tick_us[quiet])),
            float(np.quantile(tick_us, 0.99)),
            float(np.median(alone_us[quiet])),
            tick_us.size,
        )

    @property
    def ratio(self) -> float:
        """A tick against Pinocchio alone, medians."""
        return self.p50_us / self.pinocchio_us

    @property
    def numbers(self) -> dict[str, Any]:
        times = ("p50_us", "p99_us", "pinocchio_us", "ratio")
        return {
            **{name: getattr(self.case, name) for name in ("robot", "joints", "rows", "law")},
            "engine": self.engine,
            "pinocchio": f"{pinocchio.__version__} {'C++' if self.engine == NATIVE else 'Python'}",
            **{name: round(getattr(self, name), 3) for name in times},
            "samples": self.samples,
        }


def time_ticks(case: TimedCase, seconds: float, progress: Progress = silent) -> TickTiming:
    """Measure a case for so many seconds, at least once through all its states.

    The states come from a simulation of the same loop, so that a replay gives the same efforts and
    the guard has nothing to do.
    """
    title = f"{case.robot}, {case.rows} rows, {case.law}"
    loop, hardware = case.build()
    states = record(loop, hardware)
    arm = loop.controller.model.arm
    model, data = arm.pinocchio_model, arm.pinocchio_model.createData()
    places = [arm.pinocchio_q(state.q) for state in states]
    timer = timer_cost_ns()
    ticks: list[int] = []
    alone: list[int] = []
    for _ in bench.rounds(seconds, progress=progress, title=title):
        loop.begin(states[0])
        for state, place in zip(states, places, strict=True):
            start = perf_counter_ns()
            loop.update(state)
            middle = perf_counter_ns()
            pinocchio.computeAllTerms(model, data, place, state.v)
            end = perf_counter_ns()
            ticks.append(middle - start)
            alone.append(end - middle)
    shape = (-1, len(states))
    tick_us, alone_us = ((np.reshape(each, shape) - timer) / 1e3 for each in (ticks, alone))
    return TickTiming.of(case, "python" if COMPILED else "numpy", tick_us, alone_us)


def time_native(case: TimedCase, seconds: float, progress: Progress = silent) -> TickTiming:
    """Measure a case in C++: the native loop, in turns with Pinocchio's pass on an arm of its own.

    Raises:
        NoCompiler, ExportFailed, LibraryMismatch: Where there is no native loop.
    """
    title = f"{case.robot}, {case.rows} rows, {case.law}, native"
    native = NativeTicks(case)
    taken: list[NDArray[np.int64]] = []
    for _ in bench.rounds(seconds, progress=progress, title=title):
        native.begin()
        native.make(0, native.count)
        taken.append(native.times.copy())
    native.library.projected_control_clock_cost.restype = ctypes.c_int64
    times_us = (np.array(taken) - native.library.projected_control_clock_cost()) / 1e3
    return TickTiming.of(case, NATIVE, times_us[:, 0], times_us[:, 1])


class NativeTicks:
    """The states of a simulated run, for ticks in C++ in turns with Pinocchio's pass alone.

    Attributes:
        count: How many there are.
        times: What ticks and passes have taken, 2 × count [ns].
    """

    def __init__(self, case: TimedCase) -> None:
        self._loop, hardware = case.build()
        self._states = record(self._loop, hardware)
        self._native = NativeLoop(self._loop)
        self._alone = NativeArm(self._loop.controller.model.arm)
        self._rows = np.array([_row(state) for state in self._states])
        self.library, self.count = self._native.library, len(self._rows)
        self.times = np.zeros((2, self.count), dtype=np.int64)

    def begin(self) -> None:
        """At the first state."""
        self._loop.begin(self._states[0])
        self._native.connect()

    def make(self, first: int, count: int) -> None:
        """So many ticks from one on."""
        status = self.library.projected_control_time_ticks(
            *(ctypes.c_void_p(address) for address in (self._native.address, self._alone.address)),
            ctypes.c_void_p(self._rows[first:].ctypes.data),
            ctypes.c_int64(count),
            *(ctypes.c_void_p(line[first:].ctypes.data) for line in self.times),
        )
        if status:
            raise SimulationFailed(f"an exported kernel failed with status {status}")


@dataclass(frozen=True)
class ColdTiming:
    """Single ticks in C++, one per millisecond, between which other memory is used.

    Ticks in which the kernel gave the core to another process say nothing of ours, and do not
    count. Nor does what a computer does by itself in one round and not in the next: of several
    rounds, the one with the shortest tail counts. What is slow in our own tick is so in each.
    """

    case: TimedCase  # what was measured
    # p50_us, p999_us: median and 99.9 % of that round [µs].
    p50_us: float
    p999_us: float
    faults: int  # page faults in a round of ticks that follow each other
    samples: int  # how many were measured in each round
    taken_away: int  # how many of all did not count
    rounds_us: tuple[float, ...]  # 99.9 % of each round [µs]

    def __str__(self) -> str:
        return (
            f"{self.case.robot}, cold: median {self.p50_us:.1f} µs, 99.9 % {self.p999_us:.1f} µs "
            f"({self.p999_us / self.p50_us:.2f} times) in the best of {len(self.rounds_us)} rounds "
            f"of {self.samples} ticks (the worst: {max(self.rounds_us):.1f} µs); in "
            f"{self.taken_away} ticks others had the core; {self.faults} page faults"
        )

    @property
    def numbers(self) -> dict[str, Any]:
        times = {"p50_us": round(self.p50_us, 3), "p999_us": round(self.p999_us, 3)}
        rounds = {"samples": self.samples, "rounds_us": [round(us, 3) for us in self.rounds_us]}
        counts = {"faults": self.faults, "taken_away": self.taken_away}
        return {"robot": self.case.robot, **times, **rounds, **counts}

    def missed(self, bound: float) -> list[str]:
        """What is not as promised, in words."""
        words = []
        if self.p999_us > bound * self.p50_us:
            words.append(
                f"with cold caches 99.9 % of the ticks of a {self.case.robot} took up to "
                f"{self.p999_us:.1f} µs, {self.p999_us / self.p50_us:.2f} times their median, in "
                f"the best of {len(self.rounds_us)} rounds; it may be {bound:g} times"
            )
        if self.faults:
            words.append(f"{self.faults} page faults in {self.samples} ticks; there may be none")
        return words


PERIOD_NS = 1_000_000
OTHER_MEMORY = 1 << 20
"""Numbers that are read and written between two ticks: 8 MB, more than the caches of a core."""


COLD_ROUNDS, COLD_TURNS = 2.5, 2
"""Rounds for each second that a case is measured, and how often each goes through all states."""


def time_cold(case: TimedCase, seconds: float, progress: Progress = silent) -> ColdTiming:
    """Ticks at 1 kHz, `COLD_ROUNDS` for each of so many seconds; see `ColdTiming`."""
    native, other = NativeTicks(case), np.zeros(OTHER_MEMORY)
    native.begin()
    native.make(0, native.count)  # everything was touched once
    native.begin()
    before = page_faults()
    native.make(0, native.count)
    faults = page_faults() - before

    def turn() -> NDArray[np.int64]:
        """Times of the ticks that count."""
        undisturbed = np.zeros(native.count, dtype=bool)
        native.begin()
        for i in range(native.count):
            due = perf_counter_ns() + PERIOD_NS
            other[:] += 1.0
            while perf_counter_ns() < due:
                pass
            before = times_interrupted()
            native.make(i, 1)
            undisturbed[i] = times_interrupted() == before
        return native.times[0][undisturbed]

    rounds: list[Array] = []
    count = ceil(COLD_ROUNDS * seconds)
    for done in range(count):
        rounds.append(np.concatenate([turn() for _ in range(COLD_TURNS)]) / 1e3)
        progress(f"{case.robot}, cold", (done + 1) / count)
    tails = [float(np.quantile(us, 0.999)) for us in rounds]
    best, samples = int(np.argmin(tails)), COLD_TURNS * native.count
    taken_away = samples * len(rounds) - sum(us.size for us in rounds)
    p50 = float(np.median(rounds[best]))
    return ColdTiming(case, p50, tails[best], faults, samples, taken_away, tuple(tails))


def times_interrupted() -> int:
    """How often this thread has lost its core to another."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw


def quieter_half(taken: Array) -> NDArray[np.intp]:
    """The rounds in which others on the same computer disturbed least, by how long each took."""
    return np.argsort(taken)[: (len(taken) + 1) // 2]


def _row(state: RawState) -> Array:
    """A state as ``projected_control_time_ticks`` reads it."""
    wrench = np.full(6, np.nan) if state.wrench is None else state.wrench
    age = np.inf if state.wrench is None else state.wrench_age
    return np.concatenate([[state.stamp, age], state.q, state.v, wrench])


def record(loop: ControlLoop, hardware: SimulatedArm) -> list[RawState]:
    """The states of a simulated run."""
    states: list[RawState] = []
    run(loop, hardware, TICKS, lambda _, tick: states.append(tick.state))
    return states


def timer_cost_ns() -> float:
    """What reading the clock adds to every measurement [ns]."""
    readings = np.array([perf_counter_ns() for _ in range(10_000)])
    return float(np.median(np.diff(readings)))

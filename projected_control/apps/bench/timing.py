"""Timing of ticks: the same states again and again, in turns with Pinocchio alone."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter, perf_counter_ns
from typing import Any

import numpy as np
import pinocchio

from projected_control.apps.bench.tick_cases import TickCase
from projected_control.apps.experiments.progress import Progress, silent
from projected_control.control.loop import ControlLoop
from projected_control.ports import RawState, SimulatedArm, run

TICKS = 500
"""States that are simulated once and then replayed; they also warm everything up."""


@dataclass(frozen=True)
class Timing:
    """How long a tick takes.

    Attributes:
        case: What was measured.
        p50_us, p99_us: Median and 99th percentile of a tick [µs].
        pinocchio_us: Median of Pinocchio's computeAllTerms alone [µs].
        samples: How many ticks were measured.
    """

    case: TickCase
    p50_us: float
    p99_us: float
    pinocchio_us: float
    samples: int

    @property
    def ratio(self) -> float:
        """A tick against Pinocchio alone, medians."""
        return self.p50_us / self.pinocchio_us

    @property
    def numbers(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "joints": self.case.joints,
            "rows": self.case.rows,
            "law": self.case.law,
            "p50_us": round(self.p50_us, 3),
            "p99_us": round(self.p99_us, 3),
            "pinocchio_us": round(self.pinocchio_us, 3),
            "ratio": round(self.ratio, 3),
            "samples": self.samples,
        }


def time_ticks(case: TickCase, seconds: float, progress: Progress = silent) -> Timing:
    """Measure a case for so many seconds, at least once through all its states.

    The states come from a simulation of the same loop, so that a replay gives the same efforts and
    the guard has nothing to do.
    """
    title = f"{case.joints} joints, {case.rows} rows, {case.law}"
    progress(title, 0.0)
    loop, hardware = case.build()
    states = record(loop, hardware)
    model = loop.controller.model.arm.pinocchio_model
    data = model.createData()
    timer = timer_cost_ns()
    ticks: list[int] = []
    alone: list[int] = []
    begin = perf_counter()
    while not ticks or perf_counter() - begin < seconds:
        loop.begin(states[0])
        for state in states:
            start = perf_counter_ns()
            loop.update(state)
            middle = perf_counter_ns()
            pinocchio.computeAllTerms(model, data, state.q, state.v)
            end = perf_counter_ns()
            ticks.append(middle - start)
            alone.append(end - middle)
        progress(title, min((perf_counter() - begin) / seconds, 1.0))
    progress(title, 1.0)
    tick_us, alone_us = ((np.array(column) - timer) / 1e3 for column in (ticks, alone))
    return Timing(
        case,
        float(np.median(tick_us)),
        float(np.quantile(tick_us, 0.99)),
        float(np.median(alone_us)),
        len(ticks),
    )


def record(loop: ControlLoop, hardware: SimulatedArm) -> list[RawState]:
    """The states of a simulated run."""
    states: list[RawState] = []
    run(loop, hardware, TICKS, lambda _, tick: states.append(tick.state))
    return states


def timer_cost_ns() -> float:
    """What reading the clock adds to every measurement [ns]."""
    readings = np.array([perf_counter_ns() for _ in range(10_000)])
    return float(np.median(np.diff(readings)))

"""What a run amounts to: counts, errors, forces, torques and how steadily it went."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control.control.counters import CounterTerms, count_answer
from projected_control.control.events import Action, Event, GuardReport
from projected_control.control.loop import ControlLoop

_EVENTS = tuple(event for event in Event if event)

SAMPLES = 1 << 17  # how many durations are kept: two minutes at 1 kHz


class Durations:
    """A ring of durations in nanoseconds, filled by one thread and summarised by another."""

    def __init__(self) -> None:
        # Written to at once: pages of zeros that were never touched are no memory yet, and a run's
        # would grow with every tick.
        self._ring = np.full(SAMPLES, 0, dtype=np.int64)
        self.count = 0

    def add(self, nanoseconds: int) -> None:
        self._ring[self.count % SAMPLES] = nanoseconds
        self.count += 1

    def newest(self, samples: int = SAMPLES) -> NDArray[np.int64]:
        """The newest durations, up to the number that is kept [ns]."""
        kept = min(self.count, samples, SAMPLES)
        return self._ring[np.arange(self.count - kept, self.count) % SAMPLES]

    def longest(self, samples: int) -> float:
        """The longest of the newest durations [s]; zero where there are none."""
        values = self.newest(samples)
        return 1e-9 * float(values.max()) if values.size else 0.0

    def summary(self, samples: int = SAMPLES) -> dict[str, float]:
        """p50, p99 and max of the newest durations [µs]; zeros where there are none."""
        values = self.newest(samples)
        if not values.size:
            return {"p50": 0.0, "p99": 0.0, "max": 0.0}
        middle, high, most = np.percentile(values, [50, 99, 100]).tolist()
        return {"p50": middle / 1e3, "p99": high / 1e3, "max": most / 1e3}


class Totals:
    """RMS and peak numbers of a loop, which its ticks have summed."""

    def __init__(self, loop: ControlLoop) -> None:
        coordinates = loop.controller.model.coordinates
        self._names = coordinates.names if coordinates is not None else ()
        self._counters = loop.counters

    def keep(self, counters: CounterTerms) -> None:
        """Stay with these numbers, whatever the loop counts from now on."""
        self._counters = counters

    def summary(self) -> dict[str, Any]:
        """RMS and peak of errors [m and rad], λ [N] and efforts [N·m or N]; IDC's beside them."""
        counted = CounterTerms(*(part.copy() for part in self._counters))
        ticks = max(counted.ticks[0], 1.0)
        each = np.sqrt(counted.squares / ticks)

        def rms(squares: float) -> float:
            return float(np.sqrt(squares / ticks))

        return {
            "ticks": int(counted.ticks[0]),
            "tracking_rms": rms(counted.squares.sum()),
            "tracking_peak": float(counted.largest_error[0]),
            "tracking_rms_by_coordinate": dict(zip(self._names, each.tolist(), strict=True)),
            "lambda_rms": rms(counted.force_squares[0]),
            "torque_rms": rms(counted.effort_squares[0]),
            "torque_peak": float(counted.largest_effort[0]),
            "torque_rms_idc": rms(counted.full_squares[0]),
        }


class Statistics:
    """Counters of a run.

    Args:
        loop: Whose run it is; it counts what happens within a tick by itself.

    Attributes:
        missed: Reads that gave no state.
        totals: RMS and peak numbers.
        latency: Times from the arrival of a state to its answer.
        period: Times from the stamp of a state to that of the next.
        deadline_misses: Periods for which there was no state.
        lost: Why the run ended by itself; empty if it did not.
    """

    def __init__(self, loop: ControlLoop) -> None:
        self._period_ns = 1e9 * loop.controller.period
        self._counters = loop.counters
        self.missed = self.deadline_misses = 0
        self.totals = Totals(loop)
        self.latency, self.period = Durations(), Durations()
        self.lost = ""
        self._last: float | None = None

    @property
    def ticks(self) -> int:
        """States answered."""
        return int(self._counters.ticks[0])

    @property
    def events(self) -> dict[Event, int]:
        """How often the guard noticed each event that it noticed at all."""
        counts = zip(_EVENTS, self._counters.events.tolist(), strict=True)
        return {event: int(count) for event, count in counts if count}

    @property
    def actions(self) -> dict[Action, int]:
        """How often it took each action that it took at all."""
        counts = zip(Action, self._counters.actions.tolist(), strict=True)
        return {action: int(count) for action, count in counts if count}

    def count(self, stamp: float, took_ns: int) -> None:
        """Time a tick: the state's stamp [s], and the time from arrival to answer [ns]."""
        self.latency.add(took_ns)
        if self._last is not None and isfinite(stamp):
            interval = round(1e9 * (stamp - self._last))
            if interval > 0:  # zero where an arm repeats a state
                self.period.add(interval)
                if interval > 1.5 * self._period_ns:
                    self.deadline_misses += round(interval / self._period_ns) - 1
        self._last = stamp

    def keep(self) -> None:
        """Stay with the numbers of this run: the loop may be used for another one."""
        self._counters = CounterTerms(*(part.copy() for part in self._counters))
        self.totals.keep(self._counters)

    def note(self, report: GuardReport) -> None:
        """Count what the guard did without a tick."""
        count_answer(int(report.action), int(report.events), self._counters)

    def summary(self, samples: int = SAMPLES) -> dict[str, Any]:
        """What the run amounts to so far, and how steadily it went over the last samples."""
        period = self.period.newest(samples)
        return {
            **self.totals.summary(),
            "rate_hz": 1e9 / float(period.mean()) if period.size else 0.0,
            "jitter_us": float(period.std()) / 1e3 if period.size else 0.0,
            "latency_us": self.latency.summary(samples),
            "deadline_misses": self.deadline_misses,
            "events": {event.phrase: n for event, n in self.events.items()},
        }

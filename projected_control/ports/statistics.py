"""What a run amounts to: counts, errors, forces, torques and how steadily it went."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.controllers import Controller
from projected_control.control.guard import Action, Event, GuardReport, events_in

Array = NDArray[np.float64]

SAMPLES = 1 << 17
"""How many durations are kept: two minutes at 1 kHz."""


class Durations:
    """A ring of durations in nanoseconds, filled by one thread and summarised by another."""

    def __init__(self) -> None:
        # Written to at once: pages of zeros that nobody has touched are no memory yet, and a run's
        # would grow with every tick.
        self._ring = np.full(SAMPLES, 0, dtype=np.int64)
        self.count = 0

    def add(self, nanoseconds: int) -> None:
        """Add one duration."""
        self._ring[self.count % SAMPLES] = nanoseconds
        self.count += 1

    def newest(self, samples: int = SAMPLES) -> NDArray[np.int64]:
        """The newest durations, up to the number that is kept [ns]."""
        kept = min(self.count, samples, SAMPLES)
        return self._ring[np.arange(self.count - kept, self.count) % SAMPLES]

    def summary(self, samples: int = SAMPLES) -> dict[str, float]:
        """p50, p99 and max of the newest durations [µs]; zeros where there are none."""
        values = self.newest(samples)
        if not values.size:
            return {"p50": 0.0, "p99": 0.0, "max": 0.0}
        middle, high = np.percentile(values, [50, 99])
        return {"p50": middle / 1e3, "p99": high / 1e3, "max": float(values.max()) / 1e3}


@compiled
def accumulate(
    error: Array, measured: Array, sent: Array, full: Array, sqrt_metric: Array, sums: Array
) -> None:
    """Add a tick. sums: e², λ², ‖f‖², ‖f_IDC‖², largest |f_i| and |e_i|, ticks, then each e_i²."""
    for i in range(error.size):
        square = error[i] * error[i]
        sums[0] += square
        sums[7 + i] += square
        sums[5] = max(sums[5], abs(error[i]))
    for j in range(measured.size):
        if np.isfinite(measured[j]):
            sums[1] += measured[j] * measured[j]
    for i in range(sent.size):
        sums[2] += sent[i] * sent[i]
        sums[3] += (full[i] * sqrt_metric[i]) ** 2
        sums[4] = max(sums[4], abs(sent[i]))
    sums[6] += 1.0


class Totals:
    """RMS and peak numbers of a controller, summed tick by tick."""

    def __init__(self, controller: Controller) -> None:
        model = controller.model
        self._names = model.coordinates.names if model.coordinates is not None else ()
        self._sums = np.zeros(7 + model.k)
        self._parts = (
            controller.error[0],
            controller.measured,
            controller.inverse_dynamics,
            model.sqrt_metric,
        )

    def add(self, sent: Array) -> None:
        """Add one tick, after which this effort was sent [N·m or N]."""
        error, measured, full, sqrt_metric = self._parts
        accumulate(error, measured, sent, full, sqrt_metric, self._sums)

    def summary(self) -> dict[str, Any]:
        """RMS and peak of errors [m and rad], λ [N] and efforts [N·m or N]; IDC's beside them."""
        sums = self._sums.copy()
        ticks = max(sums[6], 1.0)
        each = np.sqrt(sums[7:] / ticks)
        return {
            "ticks": int(sums[6]),
            "tracking_rms": float(np.sqrt(sums[0] / ticks)),
            "tracking_peak": float(sums[5]),
            "tracking_rms_by_coordinate": dict(zip(self._names, each.tolist(), strict=True)),
            "lambda_rms": float(np.sqrt(sums[1] / ticks)),
            "torque_rms": float(np.sqrt(sums[2] / ticks)),
            "torque_peak": float(sums[4]),
            "torque_rms_idc": float(np.sqrt(sums[3] / ticks)),
        }


class Statistics:
    """Counters of a run.

    Args:
        controller: Whose run it is.

    Attributes:
        ticks: States answered.
        missed: Reads that gave no state.
        events: How often the guard noticed each event.
        actions: How often it took each action.
        totals: RMS and peak numbers.
        latency: Times from the arrival of a state to its answer.
        period: Times from the stamp of a state to that of the next.
        deadline_misses: Periods for which there was no state.
        lost: Why the run ended by itself; empty if it did not.
    """

    def __init__(self, controller: Controller) -> None:
        self._period_ns = 1e9 * controller.period
        self.ticks = self.missed = self.deadline_misses = 0
        self.events: dict[Event, int] = {}
        self.actions: dict[Action, int] = {}
        self.totals = Totals(controller)
        self.latency, self.period = Durations(), Durations()
        self.lost = ""
        self._last: float | None = None

    def count(self, report: GuardReport, stamp: float, took_ns: int) -> None:
        """Count a tick: the state's stamp [s], and the time from arrival to answer [ns]."""
        self.ticks += 1
        self.totals.add(report.effort)
        self.latency.add(took_ns)
        self.note(report)
        if self._last is not None and np.isfinite(stamp):
            interval = round(1e9 * (stamp - self._last))
            if interval > 0:  # zero where an arm repeats a state
                self.period.add(interval)
                if interval > 1.5 * self._period_ns:
                    self.deadline_misses += round(interval / self._period_ns) - 1
        self._last = stamp

    def note(self, report: GuardReport) -> None:
        """Count what the guard did."""
        self.actions[report.action] = self.actions.get(report.action, 0) + 1
        if report.events:
            for event in events_in(report.events):
                self.events[event] = self.events.get(event, 0) + 1

    def summary(self, samples: int = SAMPLES) -> dict[str, Any]:
        """What the run amounts to so far, and how steadily it went over the last samples."""
        period = self.period.newest(samples)
        return {
            **self.totals.summary(),
            "rate_hz": 1e9 / float(period.mean()) if period.size else 0.0,
            "jitter_us": float(period.std()) / 1e3 if period.size else 0.0,
            "latency_us": self.latency.summary(samples),
            "deadline_misses": self.deadline_misses,
            "events": {event.phrase: n for event, n in self.events.copy().items()},
        }

"""What a run has to keep, which of it a row broke, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, sqrt
from typing import NamedTuple

from projected_control.apps.sweeps.one_run import DIVERGED, LOST, RunRow, phrases
from projected_control.apps.sweeps.study import BoundSettings
from projected_control.control.events import Event, answer_to

LIMITS, STABILITY = "limits", "stability"

NUMBERS = {
    "force_error_rms": "force error RMS",
    "force_error_max": "largest force error",
    "tracking_rms": "tracking error RMS",
    "lateral_drift": "largest drift",
    "tilt_error": "largest lean",
    "residual_max": "largest ‖Φ‖",
    "torque_peak_ratio": "largest effort over its limit",
}
"""Numbers of a row that may have a bound, in words."""

WORDS = {**NUMBERS, LIMITS: "limits", STABILITY: "stability"}

SURE = 1.96  # standard deviations of an interval that holds 95 times of 100


class Bounds:
    """The bounds of a study."""

    def __init__(self, settings: BoundSettings) -> None:
        self.settings = settings
        given = {name: float(getattr(settings, name)) for name in NUMBERS}
        self.numbers = {name: bound for name, bound in given.items() if bound > 0.0}
        switches = {LIMITS: settings.limits, STABILITY: settings.stability}
        self.names = (*self.numbers, *(name for name, on in switches.items() if on))

    def keeps(self, row: RunRow, name: str) -> bool:
        """Whether a run kept one of the bounds; one that failed keeps none but its limits."""
        if name == LIMITS:
            return row.numbers.get("limited", inf) == 0.0
        if name == STABILITY:
            growth = row.numbers.get("error_growth", inf)
            quiet = row.numbers.get("stopped", inf) == 0.0
            return not row.failed and quiet and not growth > self.settings.error_growth
        return not row.failed and row.numbers.get(name, inf) <= self.numbers[name]

    def broken(self, row: RunRow) -> list[str]:
        """The bounds that a run broke."""
        return [name for name in self.names if not self.keeps(row, name)]

    def severity(self, row: RunRow) -> float:
        """The largest of its numbers over their bounds; infinite where it failed."""
        if row.failed or not self.keeps(row, STABILITY):
            return inf
        ratios = [row.numbers[name] / bound for name, bound in self.numbers.items()]
        return max((ratio for ratio in ratios if isfinite(ratio)), default=0.0)

    def reason(self, row: RunRow) -> str:
        """The first thing that is wrong with a run, in few words; empty where nothing is."""
        if row.status == LOST:
            return phrases(row.stopped_by & STOPPING) or "ended by the guard"
        if row.status == DIVERGED or row.failed:
            return row.status
        broken = self.broken(row)
        if not broken:
            return ""
        if STABILITY in broken:
            stopped = row.numbers["stopped"] > 0.0
            return phrases(row.stopped_by & STOPPING) if stopped else "errors grow"
        return WORDS[broken[0]]


STOPPING = sum(int(event) for event in Event if answer_to(event))
"""Events by which the guard sends something else than what the controller asks for."""


class Share(NamedTuple):
    """A part of all runs, and between which numbers it lies in 95 times of 100 (Wilson)."""

    share: float
    low: float
    high: float


def share_of(kept: Sequence[bool]) -> Share:
    """How many of independent runs kept something."""
    count = len(kept)
    if not count:
        return Share(float("nan"), 0.0, 1.0)
    share = sum(kept) / count
    centre = (share + SURE**2 / (2 * count)) / (1 + SURE**2 / count)
    half = (
        SURE / (1 + SURE**2 / count) * sqrt(share * (1 - share) / count + (SURE / (2 * count)) ** 2)
    )
    return Share(share, max(centre - half, 0.0), min(centre + half, 1.0))

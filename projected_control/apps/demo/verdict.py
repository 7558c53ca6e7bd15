"""Whether a demonstration did what it should: every state answered, the numbers as expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from projected_control.apps.demo.demo_settings import DemoSettings
from projected_control.apps.reports import run_numbers

COMPARED = {
    "lambda_rms": "λ RMS (N)",
    "torque_rms": "torque RMS (N·m)",
    "torque_peak": "torque peak (N·m)",
    "torque_rms_idc": "torque RMS that IDC would need (N·m)",
}
"""Numbers that a loop counts, with their units; its tracking errors come first, by unit."""

OF_THE_ARM = {
    "residual_max": "‖Φ‖ of the arm, largest (m, rad)",
    "passive_effort_peak": "effort on joints without a motor, largest (N·m, N)",
}
"""Numbers that the simulated arm counts."""

TOLERANCE = {True: 0.01, False: 0.1}
"""By how much a number may differ from what is expected: in lockstep, and by the clock."""

FLOORS = {
    "tracking_rms": (1e-6, 1e-3),
    "lambda_rms": (0.01, 0.5),
    "torque_rms": (1e-3, 0.1),
    "torque_peak": (1e-3, 1.0),
    "torque_rms_idc": (1e-3, 0.1),
    "residual_max": (1e-9, 1e-6),
    "passive_effort_peak": (1e-9, 1e-9),
}
"""Differences that are nothing, in the number's own unit: in lockstep, and by the clock."""

FEWER, MORE = 0.01, 0.1
"""By the clock, what part of the states may be missing, and how many may come before the end is
noticed."""


@dataclass(frozen=True)
class ComparedNumber:
    """A number of the run beside the one in process."""

    # key, label: its name, and in words.
    key: str
    label: str
    # found, expected: the two.
    found: float
    expected: float
    off: bool  # whether they differ by more than they may

    @property
    def ratio(self) -> float | None:
        """Found over expected; None where nothing is expected."""
        return self.found / self.expected if self.expected else None


@dataclass(frozen=True)
class Verdict:
    """How a run compares with the same one in process."""

    answered: int  # states that the controller answered
    of: int  # states that it should have answered
    # Number by number; empty where there is nothing to compare with.
    comparisons: Sequence[ComparedNumber]
    changed: Sequence[str]  # what was changed while it ran, by which its numbers may differ
    problems: Sequence[str]  # what is wrong with the run, in sentences; empty for nothing
    advice: str  # what to do about it; empty where nothing is wrong

    @property
    def counted(self) -> str:
        """How many states were answered, in words."""
        return f"{self.answered:,} of {self.of:,} states answered"

    @property
    def warning(self) -> str:
        """For the top of a report; empty where nothing is wrong."""
        if not self.problems:
            return ""
        return f"This run is not what it should be: {'; '.join(self.problems)}. {self.advice}"

    def numbers(self) -> dict[str, Any]:
        return {
            "answered": self.answered,
            "of": self.of,
            "ratios": {each.key: each.ratio for each in self.comparisons},
            "off": [each.key for each in self.comparisons if each.off],
            "changed": list(self.changed),
            "problems": list(self.problems),
        }


def judge(
    settings: DemoSettings,
    summary: Mapping[str, Any],
    expected: Mapping[str, Any] | None,
    changed: Sequence[str] = (),
    ended: str = "",
) -> Verdict:
    """Compare a run of nodes with the same one in process.

    Args:
        settings: Of the demonstration.
        summary: What controller and arm say of the run.
        expected: The same of the run in process; None where there is none to compare with.
        changed: What was changed while it ran.
        ended: Why it ended early; empty where it did not.
    """
    lockstep, answered, of = settings.controller.lockstep, summary["ticks"], settings.ticks
    units = settings.units
    comparisons = [] if expected is None else _compare(summary, expected, units, lockstep)
    problems = []
    least, most = (of, of) if lockstep else ((1.0 - FEWER) * of, (1.0 + MORE) * of)
    complete = least <= answered <= most
    if not complete:
        problems.append(f"{answered:,} of {of:,} states were answered")
        problems += [ended] if ended else []
    off = [each for each in comparisons if each.off]
    if off and not changed:
        problems += [
            f"{each.label} is {each.found:.4g} where {each.expected:.4g} is expected"
            for each in off
        ]
    advice = "" if not problems else _advice(settings, complete, ended)
    return Verdict(answered, of, comparisons, tuple(changed), tuple(problems), advice)


def _compare(
    summary: Mapping[str, Any],
    expected: Mapping[str, Any],
    units: Mapping[str, str],
    lockstep: bool,
) -> list[ComparedNumber]:
    found = []
    errors = run_numbers.by_unit(expected, units)
    summary = run_numbers.with_units(summary, run_numbers.by_unit(summary, units))
    expected = run_numbers.with_units(expected, errors)
    for key, label in {**run_numbers.labels(errors), **COMPARED, **OF_THE_ARM}.items():
        ours, wanted = float(summary[key]), float(expected[key])
        floor = FLOORS[run_numbers.KEY if key not in FLOORS else key][0 if lockstep else 1]
        within = abs(ours - wanted) <= TOLERANCE[lockstep] * abs(wanted) + floor
        found.append(ComparedNumber(key, label, ours, wanted, not within))
    return found


def _advice(settings: DemoSettings, complete: bool, ended: str) -> str:
    if not settings.controller.lockstep:
        return (
            "By the clock, states are lost where the computer is busy: run it without --real-time, "
            "where simulated time waits, or end what runs beside it."
        )
    if not complete:
        what = "It was ended" if ended else "Nodes were stopped or started anew while it ran"
        return f"{what}: let it run to its end, and look at the logs beside this report."
    return (
        "In lockstep both are the same but for what is done to the arm meanwhile (a push, a reset);"
        " run it once more with --headless. If it stays, it is a defect: keep the folder of this "
        "report, its logs and parameters say what happened."
    )

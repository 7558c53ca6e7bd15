"""Many random starts of a slider-crank: does it get through its singularities?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from projected_control.apps.console.progress import Progress
from projected_control.apps.experiments.case import Case
from projected_control.apps.experiments.case_run import CaseRun, attempt
from projected_control.arrays import Array

BRANCH_WIDTH = 1e-3  # how far q2 + 2 q1 may wander before the mechanism is on another branch [rad]

ENERGY_FRACTION = 0.01
"""Energy error that counts as failure, as a fraction of the largest energy or work."""


@dataclass(frozen=True)
class Runs:
    """The runs with one kind of correction."""

    failures: int  # how many failed
    residual_max: float  # largest ‖Φ‖ of those that did not [m]
    energy_error: float  # largest energy error of those that did not [J]
    # times, drifts: times and drifts of each run, up to its end [s, J].
    times: list[Array]
    drifts: list[Array]
    failed: list[bool]  # whether each run failed


@dataclass(frozen=True)
class Study:
    """Random starts, run with both corrections and with that of the position alone."""

    runs: int
    seconds: float
    both: Runs
    position_only: Runs


def study_random_starts(case: Case, runs: int, seed: int, progress: Progress) -> Study:
    """Start at rest from angles q1 uniform in (−π, π), on the branch q2 = 2π − 2 q1."""
    angles = np.random.default_rng(seed).uniform(-np.pi, np.pi, runs)
    starts = [(float(q1), float(2.0 * np.pi - 2.0 * q1)) for q1 in angles]
    both = _run_part(replace(case, correct_velocity=True), starts, progress, "random starts")
    position_only = _run_part(
        replace(case, correct_velocity=False), starts, progress, "the same, position corrected only"
    )
    return Study(runs, case.seconds, both, position_only)


def _run_part(
    case: Case, starts: list[tuple[float, float]], progress: Progress, title: str
) -> Runs:
    recordings: list[CaseRun] = []
    for k, q0 in enumerate(starts):
        progress(title, k / len(starts))
        recordings.append(attempt(replace(case, name=f"random start {k}", q0=q0)))
    progress(title, 1.0)
    failed = [_failed(recording) for recording in recordings]
    good = [r for r, bad in zip(recordings, failed, strict=True) if not bad]
    return Runs(
        sum(failed),
        max((r.residual_max for r in good), default=0.0),
        max((r.energy_error for r in good), default=0.0),
        [r.time for r in recordings],
        [r.energy_drift for r in recordings],
        failed,
    )


def _failed(recording: CaseRun) -> bool:
    """Ended early, changed the branch, or made energy out of nothing."""
    if recording.failure is not None:
        return True
    wander = np.abs(recording.q[:, 1] + 2.0 * recording.q[:, 0] - 2.0 * np.pi).max()
    scale = max(float(np.abs(recording.energy).max()), float(np.abs(recording.work).max()))
    return bool(wander > BRANCH_WIDTH or recording.energy_error > ENERGY_FRACTION * scale)

"""A recorded run judged as one of the test: by the force that its own controller measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from projected_control.apps.assess.force_cases import JUDGED
from projected_control.apps.assess.force_page import number_cell, titled
from projected_control.apps.assess.force_run import ABOUT, ForceCurve, judge_curve
from projected_control.apps.recordings.recording_report import opened
from projected_control.apps.reports.contents import Outcome, Picture, Table
from projected_control.apps.reports.style import BLUE, GREY, canvas
from projected_control.arrays import Array
from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.runs.recording import Recording
from projected_control.settings import build
from projected_control.settings.recorded import controller_settings

CHANGES = 1e-6
"""From which change of λ_d on there is something to settle after [N]."""

ALONG = 0.5
"""Share of a length's Jacobian that the constraint leaves, from which on it counts as along it."""


def judged(file: Path) -> Outcome:
    """The numbers of the test after the first second, per constraint row, with their page."""
    recording = opened(file)
    answers = recording.answers
    time = recording.column("stamp")[answers]
    force = recording.column("lambda_measured")[answers]
    wanted = recording.column("lambda_desired")[answers]
    if not force.size or not np.isfinite(force).any():
        raise InvalidValue(f"{file} has no measured force: record a run of force_controller")
    if not np.nan_to_num(wanted).any():
        raise InvalidValue(f"{file} asks for no force: λ_d is zero in all of it")
    time = time - time[0]
    if (time >= JUDGED).sum() < 3:
        raise InvalidValue(f"{file} is judged after {JUDGED:g} s, and ends before")
    drift, why = _drift(recording)
    curves = []
    for measured, asked in zip(force.T, wanted.T, strict=True):
        known = np.isfinite(measured)
        curves.append(ForceCurve(time[known], measured[known], asked[known], drift[known]))
    rows = [judge_curve(curve, JUDGED, *_change(curve)) for curve in curves]
    measured_by = "the controller's own sensor, not below the workpiece"
    cells = [[titled(name), *(number_cell(name, row[name]) for row in rows)] for name in ABOUT]
    means = ", ".join(f"{row['force_error_mean']:.3g}" for row in rows)
    said = f"{len(rows)} constraint row{'s' if len(rows) > 1 else ''}, {time[-1]:.3g} s"
    return Outcome(
        "assess",
        "The test of force control: a recording",
        str(file.name),
        f"What was recorded is judged as a run of the test: the force is that of {measured_by}.",
        f"Mean absolute error: {means} N.",
        {
            "recording": str(file),
            "measured_by": measured_by,
            "seconds": float(time[-1]),
            "no_drift": why,
            "rows": rows,
        },
        [
            Table(
                f"After the first second ({said})",
                ["", *(f"row {i}" for i in range(len(rows)))],
                cells,
                f"Drift is not known: {why}." if why else "",
            )
        ],
        [
            Picture(
                "assess-recording",
                "The measured force",
                "Grey is what was wanted.",
                lambda: _draw(curves),
            )
        ],
        [],
    )


def _change(curve: ForceCurve) -> tuple[float | None, float]:
    """When λ_d changed last after the first second, and by how much in all since then."""
    steps = np.flatnonzero(np.abs(np.diff(curve.wanted)) > CHANGES)
    late = curve.wanted[curve.time >= JUDGED]
    if not late.size or not steps.size or curve.time[steps[-1] + 1] < JUDGED:
        return None, 0.0
    change = float(late[-1] - late[0])
    return float(curve.time[steps[-1] + 1]), change or float(curve.wanted[steps[-1] + 1])


def _drift(recording: Recording) -> tuple[Array, str]:
    """How far the tool is from its path along the constraint [m], or why that is not known."""
    error = recording.column("error")[recording.answers]
    none = np.full(len(error), np.nan)
    try:
        model = build.build_model(controller_settings(recording))
    except ProjectedControlError as problem:
        return none, str(problem)
    assert model.coordinates is not None
    model.evaluate(recording.column("q")[recording.answers][0], np.zeros(model.n))
    left = np.linalg.norm(model.J_theta @ model.P, axis=1)
    lengths = np.array([each.unit == "m" for each in model.coordinates.members])
    along = lengths & (left > ALONG * np.linalg.norm(model.J_theta, axis=1))
    if not along.any():
        return none, "no coordinate is a length along the constraint"
    return np.linalg.norm(error[:, along], axis=1), ""


def _draw(curves: list[ForceCurve]) -> Any:
    figure, axes = canvas(len(curves), 1, height=0.6 + 2.0 * len(curves), sharex=True)
    for axis, curve in zip(axes, curves, strict=True):
        axis.plot(curve.time, curve.wanted, color=GREY, linestyle="--", linewidth=0.8)
        axis.plot(curve.time, curve.force, color=BLUE, linewidth=0.9)
        axis.set_ylabel("force [N]")
    axes[-1].set_xlabel("time [s]")
    return figure

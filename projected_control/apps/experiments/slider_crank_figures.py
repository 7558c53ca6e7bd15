"""Figures of the slider-crank."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from projected_control.apps.experiments.arm_drawing import (
    fit_beside,
    mark_instants,
    mark_times,
    multiples_of_pi,
    stroboscope,
)
from projected_control.apps.experiments.case_run import CaseRun
from projected_control.apps.experiments.random_starts import Study
from projected_control.apps.reports.style import BLUE, GREEN, VERMILION, canvas, legend_above

Array = NDArray[np.float64]

LOWEST_ERROR = 1e-9
HIGHEST_ERROR = 1e3
"""Range of energy errors drawn [J]."""


def draw_states(recording: CaseRun, crossings: list[float]) -> Figure:
    """The four panels of Aghili's Fig. 4."""
    figure, axes = canvas(2, 2, 5.0, sharex=True)
    panels = (
        (axes[0], "(A) joint angles", "angle [rad]", recording.q, ("q₁", "q₂")),
        (axes[1], "(B) velocities", "velocity [rad/s]", recording.v, ("q̇₁", "q̇₂")),
        (axes[2], "(C) force F", "F [N·m]", recording.constraint_force, ("F₁", "F₂")),
    )
    for ax, title, label, values, names in panels:
        ax.set_title(title)
        ax.set_ylabel(label)
        for i, name in enumerate(names):
            ax.plot(recording.time, values[:, i], label=name, linestyle=("-", "--")[i])
        legend_above(ax, 2)
    multiples_of_pi(axes[0], float(recording.q.min()), float(recording.q.max()))
    ax = axes[3]
    ax.set_title("(D) multiplier λ")
    ax.set_ylabel("λ [N]")
    ax.plot(*_broken(recording.time, recording.multipliers[:, 0], crossings), color=GREEN)
    limit = 1.5 * float(np.quantile(np.abs(recording.multipliers), 0.85)) + 1e-9
    ax.set_ylim(-limit, limit)
    for ax in axes:
        mark_times(ax, crossings)
        ax.margins(x=0.0)
    for ax in axes[2:]:
        ax.set_xlabel("time [s]")
    return figure


def _broken(time: Array, values: Array, at: list[float]) -> tuple[Array, Array]:
    """A curve with gaps at these times, where it jumps."""
    places = np.searchsorted(time, at)
    return np.insert(time, places, at), np.insert(values, places, np.nan)


def draw_motion(recording: CaseRun, crossings: list[float]) -> Figure:
    """The mechanism at six instants up to a little after its first singular configuration."""
    end = min(1.25 * crossings[0], recording.time[-1]) if crossings else recording.time[-1]
    last = int(np.searchsorted(recording.time, end - 1e-9))
    instants = np.linspace(0, last, 6).round().astype(int).tolist()
    figure, (left, right) = canvas(1, 2, 2.7)
    stroboscope(left, recording, instants, (1.0, 0.0), last)
    fit_beside(figure, left)
    left.set_title("(a) configurations")
    right.plot(recording.time[: last + 1], recording.q[: last + 1, 0])
    mark_instants(right, recording, recording.q[:, :1], instants)
    mark_times(right, [t for t in crossings if t <= end])
    shown = recording.q[: last + 1, 0]
    multiples_of_pi(right, float(shown.min()), float(shown.max()))
    right.set_title("(b) crank angle")
    right.set_xlabel("time [s]")
    right.set_ylabel("q₁ [rad]")
    return figure


def draw_random_starts(study: Study) -> Figure:
    """Energy error of every run."""
    figure, (ax,) = canvas(1, 1, 3.6)
    for part, colour in ((study.position_only, VERMILION), (study.both, BLUE)):
        for time, drift, failed in zip(part.times, part.drifts, part.failed, strict=True):
            error = np.minimum(np.abs(drift), 0.7 * HIGHEST_ERROR)
            ax.semilogy(time[1:], error[1:], color=colour, linewidth=0.7, alpha=0.55)
            if failed:
                ax.semilogy(time[-1], error[-1], "x", color=colour, markersize=6.0)
    ax.set_ylim(LOWEST_ERROR, HIGHEST_ERROR)
    ax.set_xlim(0.0, study.seconds)
    ax.set_xlabel("time [s]")
    ax.set_ylabel("energy error [J]")
    handles = [
        Line2D([], [], color=VERMILION, label="position corrected only"),
        Line2D([], [], color=BLUE, label="position and velocity corrected"),
        Line2D([], [], color=VERMILION, marker="x", linestyle="", label="end of a failed run"),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=3)
    return figure

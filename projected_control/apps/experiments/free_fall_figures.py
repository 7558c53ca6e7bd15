"""Figures of the free fall."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from projected_control.apps.experiments.arm_drawing import fit_beside, mark_instants, stroboscope
from projected_control.apps.experiments.case_run import CaseRun
from projected_control.apps.experiments.road_comparison import LABELS, RoadComparison
from projected_control.apps.reports.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    VERMILION,
    canvas,
    legend_above,
)

Array = NDArray[np.float64]


def draw_motion(recording: CaseRun) -> Figure:
    """Stroboscopic picture and joint angles."""
    instants = np.linspace(0, len(recording.time) - 1, 5).round().astype(int).tolist()
    figure, (left, right) = canvas(1, 2, 4.0)
    stroboscope(left, recording, instants, (0.0, 1.0))
    fit_beside(figure, left)
    left.set_title("(a) configurations")
    for i, name in enumerate(("q₁", "q₂", "q₃")):
        right.plot(recording.time, np.degrees(recording.q[:, i]), label=name)
    mark_instants(right, recording, np.degrees(recording.q), instants)
    right.set_xlabel("time [s]")
    right.set_ylabel("joint angle [°]")
    right.set_title("(b) joint angles")
    legend_above(right, 3)
    return figure


def draw_condition(recording: CaseRun, roads: RoadComparison) -> Figure:
    """Condition numbers over time."""
    figure, (ax,) = canvas(1, 1, 4.0)
    time = recording.time
    ax.semilogy(time, roads.random, color="#c4c4c4", linewidth=0.7, label="R random in [0, 1]")
    styles = {
        "M": (BLACK, "--", 1.3),
        "R1": (BLUE, "-", 1.5),
        "R2": (VERMILION, "-", 1.5),
        "R3": (GREEN, "-.", 1.5),
        "R4": (PURPLE, ":", 2.2),
        "Rstar": (ORANGE, "-", 4.0),
    }
    for name, (colour, line, width) in styles.items():
        ax.semilogy(
            time,
            roads.condition[name],
            color=colour,
            linestyle=line,
            linewidth=width,
            label=LABELS[name],
            zorder=1.9 if name == "Rstar" else 2.0,
        )
    ax.set_xlabel("time [s]")
    ax.set_ylabel("condition number κ [–]")
    top = max(float(values.max()) for values in roads.condition.values())
    ax.set_ylim(1.0, 4.0 * top)
    ax.margins(x=0.0)
    figure.legend(loc="outside upper left", ncols=4, columnspacing=1.4)
    return figure


def draw_accuracy(recording: CaseRun, roads: RoadComparison) -> Figure:
    """Differences between the roads; residual and energy."""
    figure, (left, right) = canvas(1, 2, 2.9)
    left.semilogy(recording.time, _above_zero(roads.difference), color=BLUE)
    left.axhline(np.finfo(float).eps, color=GREY, linestyle="--", linewidth=1.0)
    left.annotate(
        "rounding unit of doubles",
        (0.98, np.finfo(float).eps),
        xycoords=("axes fraction", "data"),
        xytext=(0, -3),
        textcoords="offset points",
        ha="right",
        va="top",
        color="#555555",
        fontsize=8.0,
    )
    left.set_ylim(1e-17, max(1e-12, 10.0 * float(roads.difference.max())))
    left.set_ylabel("relative difference of q̈ [–]")
    left.set_title("(a) between the roads")
    drift = np.abs(recording.energy_drift)
    right.semilogy(recording.time, _above_zero(drift), color=VERMILION, label="energy [J]")
    residual = _above_zero(recording.residual)
    right.semilogy(recording.time, residual, ".", markersize=3, color=GREEN, label="‖Φ‖ [m]")
    right.set_ylabel("error [J, m]")
    right.set_title("(b) errors")
    legend_above(right, 2)
    for ax in (left, right):
        ax.set_xlabel("time [s]")
        ax.set_xlim(0.0, recording.time[-1])
    return figure


def _above_zero(values: Array) -> Array:
    """Values for a logarithmic axis: exact zeros leave a gap."""
    return np.where(values > 0.0, values, np.nan)

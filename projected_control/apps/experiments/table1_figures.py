"""Figures of the controlled slider-crank."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from projected_control.apps.experiments.case_run import CaseRun
from projected_control.apps.reports.style import (
    BLACK,
    BLUE,
    GREEN,
    VERMILION,
    canvas,
    legend_above,
)

SHOWN = 2.5
"""Time drawn [s]; at the end of it the motion is over."""

POINTS = 500
"""Samples of a curve."""


def _thinned(recording: CaseRun) -> slice:
    """The samples drawn."""
    last = int(np.searchsorted(recording.time, min(SHOWN, recording.time[-1])))
    return slice(0, last + 1, max(1, last // POINTS))


def _torques(ax: Axes, recording: CaseRun, title: str) -> None:
    part = _thinned(recording)
    for i, (name, colour, line) in enumerate((("f₁", BLUE, "-"), ("f₂", VERMILION, "--"))):
        ax.plot(recording.time[part], recording.effort[part, i], line, color=colour, label=name)
    ax.set_title(title)
    ax.set_ylabel("torque [N·m]")
    legend_above(ax, 2)


def _positions(ax: Axes, recordings: dict[str, CaseRun], goal: float) -> None:
    ax.axhline(goal, color=BLACK, linewidth=1.0, linestyle=":", label="desired")
    styles = ((BLUE, "-", 1.5), (GREEN, "--", 1.8))
    for (label, recording), (colour, line, width) in zip(recordings.items(), styles, strict=False):
        part = _thinned(recording)
        ax.plot(
            recording.time[part],
            recording.q[part, 0],
            linestyle=line,
            color=colour,
            linewidth=width,
            label=label,
        )
    ax.set_title("(A) position")
    ax.set_ylabel("q₁ [rad]")
    ax.set_yticks([np.pi / 6.0, np.pi / 4.0, np.pi / 3.0], ["π/6", "π/4", "π/3"])
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 0.05))


def draw_two_motors(motion: CaseRun, hybrid: CaseRun, goal: float) -> Figure:
    """The panels of Aghili's Fig. 5: position, multiplier, torques of both controllers."""
    figure, axes = canvas(2, 2, 5.0, sharex=True)
    both = {"motion": motion, "hybrid": hybrid}
    _positions(axes[0], both, goal)
    for (label, recording), colour in zip(both.items(), (BLUE, GREEN), strict=True):
        part = _thinned(recording)
        axes[1].plot(
            recording.time[part], recording.multipliers[part, 0], color=colour, label=label
        )
    axes[1].set_title("(B) multiplier λ")
    axes[1].set_ylabel("λ [N]")
    legend_above(axes[1], 2)
    _torques(axes[2], motion, "(C) torques, motion")
    _torques(axes[3], hybrid, "(D) torques, hybrid")
    _common_range(axes[2:4])
    return _finished(figure, axes)


def draw_one_motor(recording: CaseRun, goal: float) -> Figure:
    """The panels of Aghili's Fig. 6: position and torques."""
    figure, axes = canvas(1, 2, 2.7)
    _positions(axes[0], {"one motor": recording}, goal)
    _torques(axes[1], recording, "(B) torques")
    return _finished(figure, axes)


def _common_range(axes: list[Axes]) -> None:
    limits = [ax.get_ylim() for ax in axes]
    for ax in axes:
        ax.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def _finished(figure: Figure, axes: list[Axes]) -> Figure:
    for ax in axes:
        ax.margins(x=0.0)
    for ax in axes[-2:]:
        ax.set_xlabel("time [s]")
    return figure

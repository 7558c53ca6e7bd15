"""Figures of the arm on its slider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from projected_control.apps.experiments.arm_drawing import (
    chain_points,
    fit_beside,
    mark_instants,
    stroboscope,
)
from projected_control.apps.experiments.case_run import CaseRun
from projected_control.apps.reports.style import BLACK, BLUE, GREEN, VERMILION, canvas

Array = NDArray[np.float64]

THINNING = 4
"""Every how many samples a curve has a point."""

SETTLING = 0.05
"""In which the force filter finds the force; left out of the range of its axis [s]."""

REACH = 0.06
"""By how much the slider is drawn beyond the travel of the tip [m]."""


class Followed(Protocol):
    """What is drawn of a run: see `table2_cases.Run`."""

    @property
    def recording(self) -> CaseRun: ...

    @property
    def theta(self) -> Array: ...

    @property
    def desired(self) -> Array: ...


STYLES = {
    "idc": ("IDC", VERMILION, "-", 1.3),
    "pidc": ("PIDC", BLUE, "-", 1.6),
    "hybrid": ("hybrid", GREEN, "--", 1.6),
}


def draw_controllers(runs: Mapping[str, Followed]) -> Figure:
    """The panels of Aghili's Fig. 8: position, heading, contact force, norm of the torque."""
    figure, axes = canvas(2, 2, 5.4, sharex=True)
    part = slice(None, None, THINNING)
    for name, run in runs.items():
        label, colour, line, width = STYLES[name]
        time = run.recording.time[part]
        curves = (
            run.theta[part, 0],
            np.degrees(run.theta[part, 1]),
            run.recording.multipliers[part, 0],
            np.linalg.norm(run.recording.effort[part], axis=1),
        )
        for ax, values in zip(axes, curves, strict=True):
            ax.plot(time, values, label=label, color=colour, linestyle=line, linewidth=width)
    first = next(iter(runs.values()))
    time = first.recording.time[part]
    for ax, values in zip(
        axes, (first.desired[part, 0], np.degrees(first.desired[part, 1])), strict=False
    ):
        ax.plot(time, values, label="desired", color=BLACK, linestyle=":", linewidth=1.2)
    titles = ("(A) position", "(B) heading", "(C) contact force λ", "(D) norm of the torque")
    labels = ("x [m]", "heading [°]", "λ [N]", "‖f‖ [N·m]")
    for ax, title, label in zip(axes, titles, labels, strict=True):
        ax.set_title(title)
        ax.set_ylabel(label)
        ax.margins(x=0.0)
    headings = np.degrees([r.theta[:, 1] for r in runs.values()])
    axes[1].set_ylim(min(-0.5, 1.1 * headings.min()), max(0.5, 1.1 * headings.max()))
    settled = np.concatenate(
        [r.recording.multipliers[r.recording.time >= SETTLING] for r in runs.values()]
    )
    if settled.size:
        margin = 0.06 * float(np.ptp(settled)) + 1e-9
        axes[2].set_ylim(settled.min() - margin, settled.max() + margin)
    axes[3].set_ylim(bottom=0.0)
    for ax in axes[2:]:
        ax.set_xlabel("time [s]")
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=4)
    return figure


def draw_arm(recording: CaseRun) -> Figure:
    """The arm at five instants from its rightmost to its leftmost place, and the joint angles."""
    tips = chain_points(recording.case.arm, recording.q)[:, -1, 0]
    first, last = sorted((int(tips.argmax()), int(tips.argmin())))
    instants = np.linspace(first, last, 5).round().astype(int).tolist()
    figure, (left, right) = canvas(1, 2, 3.0)
    stroboscope(left, recording, instants, (1.0, 0.0), margin=REACH)
    fit_beside(figure, left)
    left.set_title("(a) configurations")
    part = slice(None, None, THINNING)
    for i, name in enumerate(("q₁", "q₂", "q₃")):
        right.plot(recording.time[part], np.degrees(recording.q[part, i]), label=name)
    mark_instants(right, recording, np.degrees(recording.q), instants)
    right.set_xlabel("time [s]")
    right.set_ylabel("joint angle [°]")
    right.set_title("(b) joint angles")
    right.margins(x=0.02)
    right.legend(loc="center right", ncols=3)
    return figure

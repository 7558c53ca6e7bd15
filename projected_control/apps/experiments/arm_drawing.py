"""Drawing arms and the events of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from projected_control.apps.experiments.case import CaseArm
from projected_control.apps.experiments.case_run import CaseRun
from projected_control.apps.reports.style import GREY, VERMILION
from projected_control.arrays import Array

SLIDER_MARGIN = 0.3  # by how much the slider is drawn beyond the travel of the tip [m]


PANEL_FRAME = 0.8  # what title, ticks and labels of a panel take [inch]


def shades(count: int) -> list[tuple[float, ...]]:
    """Blues for successive instants, from dark (first) to light (last)."""
    return [tuple(colormaps["Blues"](x)) for x in np.linspace(1.0, 0.38, count)]


def chain_points(spec: CaseArm, q: Array) -> Array:
    """The joints and the tip in the drawing plane, one arm per row of q: N × frames × 2 [m]."""
    arm = spec.load()
    rest = np.zeros(arm.n)
    points = np.empty((len(q), len(spec.chain), 2))
    for i, position in enumerate(q):
        arm.update(position, rest)
        for j, frame in enumerate(spec.chain):
            points[i, j] = arm.frame(frame).position[list(spec.plane)]
    return points


def stroboscope(
    ax: Axes,
    recording: CaseRun,
    instants: Sequence[int],
    slider_direction: ArrayLike,
    last: int | None = None,
    margin: float = SLIDER_MARGIN,
) -> None:
    """The arm at several instants, dark to light, with the line its tip runs on.

    Args:
        ax: Where.
        recording: The run.
        instants: Indices of samples.
        slider_direction: Direction of the line, in the drawing plane.
        last: Sample up to which the tip's travel is shown; all of it unless given.
        margin: By how much the line is drawn beyond that travel [m].
    """
    tips = chain_points(recording.case.arm, recording.q[: None if last is None else last + 1])[
        :, -1
    ]
    along = np.asarray(slider_direction, dtype=np.float64)
    places = (tips - tips[0]) @ along
    ends = np.array([places.min() - margin, places.max() + margin])
    line = tips[0] + ends[:, None] * along
    ax.plot(*line.T, color=GREY, linewidth=6.0, alpha=0.3, zorder=0)
    arms = chain_points(recording.case.arm, recording.q[list(instants)])
    colours = shades(len(arms))
    for order, (arm, colour) in reversed(list(enumerate(zip(arms, colours, strict=True)))):
        layer = 3.0 + 2.0 * (len(arms) - order)
        ax.plot(*arm.T, color=colour, linewidth=3.5, zorder=layer)
        joint: dict[str, Any] = {"color": "white", "markeredgecolor": colour, "markersize": 5.5}
        ax.plot(*arm[:-1].T, "o", zorder=layer + 1, **joint)
        tip: dict[str, Any] = {"color": VERMILION, "markeredgecolor": "white", "markersize": 7.0}
        ax.plot(*arm[-1], "s", zorder=layer + 1, **tip)
    ax.plot(*arms[0, 0], "^", color="#333333", markersize=12.0, zorder=2)
    right, up = ("xyz"[axis] for axis in recording.case.arm.plane)
    ax.set_xlabel(f"{right} [m]")
    ax.set_ylabel(f"{up} [m]")
    ax.margins(0.1)
    ax.set_aspect("equal", adjustable="box")


def fit_beside(figure: Figure, left: Axes) -> None:
    """Give a panel of equal axes as much of the width as it fills, the rest to its neighbour."""
    x, y = np.ptp(left.get_xlim()), np.ptp(left.get_ylim())
    width, height = figure.get_size_inches()
    share = min((height - PANEL_FRAME) * x / y + PANEL_FRAME, 0.62 * width)
    grid = left.get_gridspec()
    if grid is not None:
        grid.set_width_ratios([share, width - share])


def mark_instants(ax: Axes, recording: CaseRun, values: Array, instants: Sequence[int]) -> None:
    """Dots on curves (N × k) at the instants a stroboscope shows, in its shades."""
    for index, colour in zip(instants, shades(len(instants)), strict=True):
        time = np.full(values.shape[1], recording.time[index])
        ax.scatter(time, values[index], color=[colour], edgecolors="#333333", s=26, zorder=5)


def mark_times(ax: Axes, times: Iterable[float]) -> None:
    """Dotted lines at these times [s]."""
    for time in times:
        ax.axvline(time, color="#444444", linewidth=0.9, linestyle=(0, (1, 2)), zorder=1)


def multiples_of_pi(ax: Axes, lowest: float, highest: float, step: float = 0.5) -> None:
    """Label the vertical axis in multiples of π [rad]; the step widens until they fit."""
    while (highest - lowest) / (step * np.pi) > 7.0:
        step *= 2.0
    first, last = np.floor(lowest / (step * np.pi)), np.ceil(highest / (step * np.pi))
    ticks = np.arange(first, last + 1.0) * step
    ax.set_yticks(ticks * np.pi, [_pi_label(value) for value in ticks])


def _pi_label(multiple: float) -> str:
    if multiple == 0.0:
        return "0"
    sign = "−" if multiple < 0.0 else ""
    size = abs(multiple)
    if size % 1.0:
        top = f"{round(2.0 * size):d}" if round(2.0 * size) != 1 else ""
        return f"{sign}{top}π/2"
    return f"{sign}{size:g}π" if size != 1.0 else f"{sign}π"

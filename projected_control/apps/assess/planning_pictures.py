"""Pictures of what is planned: the margins along a reference, and what of it an arm reaches."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from projected_control.apps.reports.style import BLUE, COLOURS, GREEN, GREY, VERMILION, canvas
from projected_control.arrays import Array
from projected_control.planning import Reach
from projected_control.planning.course import Course
from projected_control.planning.flight_check import FlightCheck
from projected_control.planning.margins import RED, YELLOW

BANDS = {"#f6cfc4": (-0.15, RED), "#fbeebb": (RED, YELLOW), "#d9eedf": (YELLOW, 1.05)}
"""Colours behind the margins, and from where to where they reach."""


def flight_picture(check: FlightCheck) -> Figure:
    """Margins above, joint positions below."""
    figure, axes = canvas(2, 1, height=6.0, sharex=True)
    above, below = axes
    for colour, (low, high) in BANDS.items():
        above.axhspan(low, high, color=colour, zorder=0)
    styles = ("-", "--", ":")
    for i, quantity in enumerate(check.quantities):
        above.plot(
            check.times,
            np.clip(quantity.margin, -0.15, 1.0),
            color=COLOURS[i % len(COLOURS)],
            linestyle=styles[i // len(COLOURS) % len(styles)],
            label=quantity.name,
        )
    worst = check.quantities[0]
    above.plot(check.times[worst.worst], np.clip(worst.least, -0.15, 1.0), "o", color="black")
    above.set_ylim(-0.15, 1.05)
    above.set_ylabel("margin (1: nothing used)")
    above.set_title(f"{check.light.value}: {worst.name}, {100 * worst.least:.0f} % left")
    above.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7)
    for i in range(check.theta.shape[1]):
        below.plot(check.times, check.theta[:, i], label=check.names[i])
    below.axvline(check.times[worst.worst], color=GREY, linewidth=0.8)
    below.set_ylabel("coordinates (m or rad)")
    below.set_xlabel("time (s)")
    below.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7)
    return figure


def reach_picture(reach: Reach, course: Course | None = None) -> Figure:
    """How well the two coordinates move wherever they can be, and how much room the joints have."""
    figure, axes = canvas(1, 2, height=3.1, sharey=True)
    area = f"{reach.area:.3g} {reach.area_unit}"
    panels = (
        (reach.manipulability, f"manipulability; {area} reached", "viridis", None),
        (reach.margin, "room to the joint limits", "cividis", 1.0),
    )
    for ax, (values, title, colours, top) in zip(axes, panels, strict=True):
        _cells(figure, ax, reach, values, colours, top)
        ax.set_title(title)
        ax.set_xlabel(f"{reach.names[0]} [{reach.units[0]}]")
        if course is not None and set(reach.names) <= set(course.names):
            _path(ax, reach, course)
    axes[0].set_ylabel(f"{reach.names[1]} [{reach.units[1]}]")
    return figure


def _cells(
    figure: Figure, ax: Axes, reach: Reach, values: Array, colours: str, top: float | None
) -> None:
    low, high = reach.extent
    shape = np.rint((high - low) / reach.spacing).astype(int)
    image = np.full(shape, np.nan)
    at = np.floor((reach.values - low) / reach.spacing).astype(int)
    image[at[:, 0], at[:, 1]] = values
    shown = ax.imshow(
        image.T,
        origin="lower",
        extent=(low[0], high[0], low[1], high[1]),
        cmap=colours,
        vmin=0.0,
        vmax=top,
        interpolation="nearest",
        aspect="equal" if reach.units[0] == reach.units[1] else "auto",
    )
    ax.grid(False)
    figure.colorbar(shown, ax=ax, shrink=0.85)


def _path(ax: Axes, reach: Reach, course: Course) -> None:
    columns = [course.names.index(name) for name in reach.names]
    x, y = course.wanted[:, columns].T
    ax.plot(x, y, color="white", linewidth=2.4)
    ax.plot(x, y, color="black", linewidth=1.0)
    beyond = course.missed > 0.0
    ax.plot(x[beyond], y[beyond], ".", color=VERMILION, markersize=4.0)


def course_picture(course: Course) -> Figure:
    """Manipulability, room to the joint limits and what is missed, along the reference."""
    series = [
        (course.manipulability, "manipulability", BLUE),
        (course.margin, "room to the\njoint limits", GREEN),
    ]
    if not course.within_reach:
        series.append((course.missed, "missed\n[m or rad]", VERMILION))
    figure, axes = canvas(len(series), 1, height=1.8 * len(series), sharex=True)
    for ax, (values, name, colour) in zip(axes, series, strict=True):
        ax.plot(course.places, values, color=colour)
        ax.set_ylabel(name)
        ax.set_ylim(bottom=min(0.0, float(values.min())))
        for i in np.flatnonzero(course.missed > 0.0):
            ax.axvline(course.places[i], color=GREY, linewidth=0.4, alpha=0.5, zorder=0)
    reached = course.missed == 0.0
    axes[0].set_title(f"{100.0 * reached.mean():.0f} % of the reference within reach")
    what = "time [s]" if course.unit == "s" else f"way along the path [{course.unit}]"
    axes[-1].set_xlabel(what)
    return figure

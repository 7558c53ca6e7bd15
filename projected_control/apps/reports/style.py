"""One look for all figures: readable in print and on a screen, safe for colour-blind eyes."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure

BLUE, VERMILION, GREEN = "#0072b2", "#d55e00", "#009e73"
PURPLE, ORANGE, SKY, BLACK, GREY = "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8a8a8a"
"""Okabe and Ito's colours, distinct to all kinds of colour vision."""

COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)

WIDTH = 7.2  # width of every figure [inch]

DPI = 150

STYLE: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#555555",
    "axes.grid": True,
    "axes.labelsize": 9.0,
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "figure.facecolor": "white",
    "figure.constrained_layout.h_pad": 0.06,
    "figure.constrained_layout.w_pad": 0.06,
    "font.size": 9.0,
    "grid.color": "#e2e2e2",
    "grid.linewidth": 0.6,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "lines.linewidth": 1.5,
    "lines.solid_capstyle": "round",
    "mathtext.fontset": "dejavusans",
    "savefig.dpi": DPI,
    "svg.fonttype": "path",
    "svg.hashsalt": "projected_control",  # the same figure gives the same file
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
}


class Rendered(NamedTuple):
    """A figure's files."""

    png: bytes
    svg: bytes


def canvas(rows: int, columns: int, height: float, **options: Any) -> tuple[Figure, list[Axes]]:
    """A figure of the common width and this height [inch], and its panels row by row."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, list(np.ravel(axes))


def render(draw: Callable[[], Figure]) -> Rendered:
    """Draw a figure in the common style, as PNG and as SVG."""
    with matplotlib.rc_context(STYLE):
        figure = draw()
        png, svg = BytesIO(), BytesIO()
        figure.savefig(png, format="png", metadata={"Software": None})
        figure.savefig(svg, format="svg", metadata={"Date": None})
    return Rendered(png.getvalue(), svg.getvalue())


def legend_above(ax: Axes, columns: int) -> None:
    """A legend over the panel's right end, where it hides nothing."""
    ax.legend(
        loc="lower right",
        bbox_to_anchor=(1.01, 1.0),
        ncols=columns,
        borderaxespad=0.1,
        columnspacing=1.2,
    )

"""The flight check as a picture: every margin along the reference, over green, yellow and red."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from projected_control.apps.experiments.style import COLOURS, GREY, canvas
from projected_control.settings.flight_check import RED, YELLOW, FlightCheck

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

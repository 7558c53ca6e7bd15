"""The picture of docs/tuning.md: what delay and filter do to a push on the constraint, as measured.

python -m projected_control.apps.docs.tuning_figure docs/images/tuning_force.png
"""

from __future__ import annotations

import sys
from pathlib import Path

from matplotlib.figure import Figure

from projected_control.apps.reports.style import COLOURS, canvas, render
from projected_control.apps.tuning.choice import force_choices
from projected_control.apps.tuning.trials import Response, Rig
from projected_control.control.gains import MotionGains
from projected_control.resources import share_file
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import FORCE

DELAYS = (1, 3, 6)  # from effort to measured force [samples]
FILTERS = (None, 100.0, 20.0, 5.0)  # [Hz]
NOISE = 0.05  # of the measured force [N]

SECONDS = 0.6


def responses(delay: int) -> list[tuple[str, float, Response, Response]]:
    """Filter, G_F, the answer to a push and to a step of λ_d, with this delay."""
    layers = Layers.read([share_file("config", "three_link_slider.yaml")], "paper").on_top(
        {
            "motor.delay": delay - 1,
            "sensor.noise": NOISE,
            "force.delay": delay,
            "force.proportional": 0.2,
            "reference.approach": True,
        },
        "docs",
    )
    rig = Rig(FORCE, layers.controller(FORCE), layers.arm())
    found = []
    for choice in force_choices(delay, NOISE, rig.period):
        gains = choice.gains
        if gains.cutoff in FILTERS:
            rig.put(MotionGains(480.0, 45.0), gains)
            name = "no filter" if gains.cutoff is None else f"{gains.cutoff:g} Hz"
            push, step = rig.force_push(SECONDS), rig.force_step(0.2)
            found.append((name, gains.proportional, push, step))
    return found


def draw() -> Figure:
    """A column per delay; above a push that is taken away, below a step of λ_d."""
    figure, axes = canvas(2, len(DELAYS), height=5.0, sharey="row")
    for column, delay in enumerate(DELAYS):
        above, below = axes[column], axes[len(DELAYS) + column]
        for colour, (name, G_F, push, step) in zip(COLOURS, responses(delay), strict=False):
            above.plot(1e3 * push.times, push.values, color=colour, label=f"{name}, {G_F:.2g}")
            below.plot(1e3 * step.times, step.values, color=colour)
        above.set_title(f"{delay} sample{'s' if delay > 1 else ''} of delay")
        above.set_ylim(-0.1, 1.1)
        below.set_xlim(0.0, 80.0)
        below.set_xlabel("time (ms)")
        above.legend(loc="lower right", fontsize=6.5, title="filter, G_F", title_fontsize=6.5)
    axes[0].set_ylabel("a push of 5 N, taken away")
    axes[len(DELAYS)].set_ylabel("a step of λ_d")
    return figure


def main(path: Path) -> None:
    path.write_bytes(render(draw).png)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

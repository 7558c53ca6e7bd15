"""What motors that are too weak give up: solved by levels, clipped joint by joint, or scaled.

Aghili's arm, its tip at rest on the slider, is asked for ẍ = 5 m/s² along it with its heading kept.
Three ways to stay within a limit of the torques, at this one instant:

- **solved**: of the torques within the limit those that come nearest to the motion, and of these
  the smallest (`control.keep_limits`);
- **clipped**: each joint for itself, which bends the torque out of the direction that P gave it;
- **scaled**: all by the largest factor within the limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from projected_control import validate
from projected_control.apps.console.progress import Progress
from projected_control.apps.experiments.arm_drawing import chain_points
from projected_control.apps.experiments.catalogue import Options
from projected_control.apps.experiments.table2_cases import (
    ARM,
    COORDINATES,
    GAINS,
    GUESS,
    HEIGHT,
    slider,
)
from projected_control.apps.reports.contents import Outcome, Picture, Table
from projected_control.apps.reports.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    VERMILION,
    canvas,
)
from projected_control.arrays import Array
from projected_control.control import Law, MotionController
from projected_control.control.kept_state import keep_state
from projected_control.control.limits import Limits
from projected_control.control.references import Constant
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.dynamics import Problem, projected
from projected_control.planning import start_of

LIMIT = 1.6  # unless another is asked for, of all joints [N·m]
ASKED = (5.0, 0.0)  # ẍ of the tip [m/s²] and θ̈ of its heading [rad/s²]
PLACE = (0.1, 0.0)  # x of the tip [m] and its heading [rad]
LIMITS_SHOWN = np.linspace(0.1, 4.0, 118)  # limits of the curves [N·m]

LOOKS = {
    "none": (BLACK, "no limit"),
    "solved": (BLUE, "solved"),
    "clipped": (VERMILION, "clipped"),
    "scaled": (GREEN, "scaled"),
}
"""Colour and word of each way."""


class Answer(NamedTuple):
    """What an effort does."""

    effort: Array  # of the joints [N·m]
    acceleration: Array  # of tip and heading [m/s², rad/s²]
    force: float  # λ on the slider [N]

    def numbers(self) -> dict[str, Any]:
        return {
            "effort": self.effort.tolist(),
            "acceleration": self.acceleration.tolist(),
            "lambda": self.force,
        }


class Instant:
    """The arm at the one instant, and what PIDC asks for there.

    Attributes:
        q: Its joints [rad].
        asked: The closed form's effort [N·m].
    """

    def __init__(self) -> None:
        self.model = ConstrainedArm(ARM.load(), slider(HEIGHT), COORDINATES)
        self.q, v = start_of(self.model, Constant(PLACE), GUESS)
        self._controller = MotionController(self.model, GAINS, Law.PIDC, 1e-3)
        self._controller.motion[:] = PLACE, np.zeros(2), ASKED
        self.asked = self._controller.update(self.q, v).total.copy()

    def answer(self, effort: Array) -> Answer:
        """What the arm does under an effort, at rest and without gravity."""
        found = projected(Problem.of(self.model, effort))
        moved = self.model.J_theta @ found.acceleration + self.model.theta_bias
        return Answer(effort, moved, float(found.multipliers[0]))

    def solved(self, limit: float) -> Answer:
        """By levels, as a tick does it: the motion first, then the least effort."""
        self._controller.update(self.q, np.zeros(self.model.n))
        limits = Limits.of(self.model.arm, effort=np.full(self.model.n, limit))
        return self.answer(keep_state(self._controller, limits).effort)

    def clipped(self, limit: float) -> Answer:
        """Joint by joint."""
        return self.answer(np.clip(self.asked, -limit, limit))

    def scaled(self, limit: float) -> Answer:
        """By the largest factor within the limit."""
        return self.answer(min(1.0, limit / float(np.abs(self.asked).max())) * self.asked)

    def enough(self) -> float:
        """The smallest limit with which all of the motion is left [N·m]."""
        low, high = 0.0, float(np.abs(self.asked).max())
        whole = self.answer(self.asked).acceleration
        while high - low > 1e-9:
            middle = 0.5 * (low + high)
            kept = np.abs(self.solved(middle).acceleration - whole).max() < 1e-9
            low, high = (low, middle) if kept else (middle, high)
        return high

    @property
    def ways(self) -> dict[str, Callable[[float], Answer]]:
        """All three by name."""
        return {"solved": self.solved, "clipped": self.clipped, "scaled": self.scaled}


def run(options: Options, progress: Progress) -> Outcome:
    """All three at one limit, and over all limits."""
    limit = LIMIT if options.limit is None else validate.positive("limit", options.limit)
    instant = Instant()
    answers = {name: way(limit) for name, way in instant.ways.items()}
    curves: dict[str, Array] = {}
    for done, (name, way) in enumerate(instant.ways.items()):
        progress("all limits", done / len(instant.ways))
        curves[name] = np.array([way(each).acceleration for each in LIMITS_SHOWN])
    progress("all limits", 1.0)
    free = instant.answer(instant.asked)
    solved, clipped = answers["solved"].acceleration, answers["clipped"].acceleration
    return Outcome(
        "limits",
        "What gives way first: a limit of the torques",
        "Not in a paper: Stadelmann names it (6.3, 8.3); the numbers are ours",
        "Aghili's arm of three rods (0.2, 0.4, 0.1 m, 2.746 kg each) stands with its tip on the "
        f"slider and is asked for ẍ = {ASKED[0]:g} m/s² with its heading kept. Every motor gives "
        f"at most {limit:g} N·m.",
        f"Solved by levels the tip gets {solved[0]:.3g} m/s² and the heading {_signed(solved[1])} "
        f"rad/s²; clipped joint by joint {clipped[0]:.3g} and {_signed(clipped[1])}.",
        {name: found.numbers() for name, found in answers.items()},
        [_table({"none": free, **answers}, limit)],
        [
            Picture(
                "limits",
                f"Three ways to stay within {limit:g} N·m",
                "Left: the arm, and what its tip (arrow) and its heading (arc) do under each "
                "effort, in m/s² and rad/s². Right: the torques, and the limit.",
                lambda: draw_instant(instant, {"none": free, **answers}, limit),
            ),
            Picture(
                "limits-curves",
                "Which motion is left, by the limit",
                f"Down to {instant.enough():.3g} N·m the redundant motor carries what the others "
                "cannot, and the motion stays whole. Below, the solution keeps the heading as well "
                "as it can; clipping turns it away.",
                lambda: draw_curves(curves, limit),
            ),
        ],
        [],
    )  # fmt: skip


def _signed(number: float) -> str:
    return f"{number + 0.0:.3g}".replace("-", "−") if abs(number) > 1e-9 else "0"


def _table(answers: dict[str, Answer], limit: float) -> Table:
    return Table(
        f"Within {limit:g} N·m",
        ["", "f₁, f₂, f₃ (N·m)", "ẍ (m/s²)", "θ̈ (rad/s²)", "λ (N)"],
        [
            [
                LOOKS[name][1],
                ", ".join(f"{f:.4f}" for f in found.effort),
                f"{found.acceleration[0]:.4f}",
                _signed(found.acceleration[1]),
                f"{found.force:.3f}",
            ]
            for name, found in answers.items()
        ],
        "At rest, in a horizontal plane: there is neither weight nor Coriolis force.",
    )


def draw_instant(instant: Instant, answers: dict[str, Answer], limit: float) -> Figure:
    """The arm with its accelerations, and the torques."""
    figure, (arm, torques) = canvas(1, 2, 4.2)
    (points,) = chain_points(ARM, instant.q[None])
    tip = points[-1]
    arm.axhline(tip[1], color=GREY, linewidth=6.0, alpha=0.3, zorder=0)
    arm.plot(*points.T, color="#555555", linewidth=3.5, zorder=3)
    arm.plot(*points[:-1].T, "o", color="white", markeredgecolor="#555555", zorder=4)
    arm.plot(*points[0], "^", color="#333333", markersize=12.0, zorder=2)
    for i, (name, found) in enumerate(answers.items()):
        _arrow(arm, tip, i, found.acceleration, name)
    arm.set_xlim(-0.29, 0.29)
    arm.set_ylim(tip[1] - 0.24, 0.13)
    arm.set_aspect("equal", adjustable="box")
    arm.set_xlabel("x [m]")
    arm.set_ylabel("y [m]")
    arm.set_title("(a) what the tip does")
    width = 0.19
    joints = np.arange(instant.model.n)
    for i, (name, found) in enumerate(answers.items()):
        colour, word = LOOKS[name]
        torques.bar(joints + (i - 1.5) * width, found.effort, 0.9 * width, color=colour, label=word)
    for side in (-limit, limit):
        torques.axhline(side, color=GREY, linestyle="--", linewidth=1.0)
    torques.axhline(0.0, color="#555555", linewidth=0.8)
    torques.set_xticks(joints, [f"joint {i + 1}" for i in joints])
    torques.set_ylabel("torque [N·m]")
    torques.set_title("(b) torques, and the limit")
    figure.legend(*torques.get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure


METRES_PER_ACCELERATION = 0.03  # how long an arrow is drawn [s²]
TURN_PER_ACCELERATION = 0.15  # how far an arc is drawn [s²]


def _arrow(ax: Axes, tip: Array, row: int, acceleration: Array, name: str) -> None:
    """ẍ as an arrow below the slider, θ̈ as an arc around the tip."""
    colour, word = LOOKS[name]
    y = tip[1] - 0.07 - 0.045 * row
    length = METRES_PER_ACCELERATION * acceleration[0]
    look = {"arrowstyle": "-|>", "color": colour, "linewidth": 2.0, "shrinkA": 0.0, "shrinkB": 0.0}
    ax.annotate("", (tip[0] + length, y), (tip[0], y), arrowprops=look, zorder=6)
    text = f"{word}: ẍ {_signed(acceleration[0])}, θ̈ {_signed(acceleration[1])}"
    ax.annotate(text, (tip[0] - 0.01, y), ha="right", va="center", fontsize=7.5, color=colour)
    angle = TURN_PER_ACCELERATION * acceleration[1]
    if abs(angle) > 0.05:
        radius, turned = 0.05 + 0.012 * row, np.linspace(0.0, angle, 30)
        arc = tip + radius * np.column_stack([np.cos(turned), np.sin(turned)])
        ax.plot(*arc.T, color=colour, linewidth=2.0, zorder=6)
        ax.annotate("", arc[-1], arc[-4], arrowprops=look, zorder=6)


def draw_curves(curves: dict[str, Array], limit: float) -> Figure:
    """ẍ and θ̈ over the limit."""
    figure, (place, heading) = canvas(1, 2, 3.2)
    for name, accelerations in curves.items():
        colour, word = LOOKS[name]
        place.plot(LIMITS_SHOWN, accelerations[:, 0], color=colour, label=word)
        heading.plot(LIMITS_SHOWN, accelerations[:, 1], color=colour)
    for ax, what, unit in ((place, "ẍ", "m/s²"), (heading, "θ̈", "rad/s²")):
        ax.axvline(limit, color=GREY, linestyle="--", linewidth=1.0)
        ax.set_xlabel("limit of all joints [N·m]")
        ax.set_ylabel(f"{what} [{unit}]")
        ax.set_xlim(0.0, LIMITS_SHOWN[-1])
    place.set_title("(a) along the slider")
    heading.set_title("(b) of the heading, asked for: 0")
    figure.legend(*place.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure

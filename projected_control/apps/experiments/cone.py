"""A tip that is to stick: the least torque with which its force stays in the cone of friction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from projected_control.apps.console.progress import Progress
from projected_control.apps.experiments.catalogue import Options
from projected_control.apps.experiments.impact import ARM, Q
from projected_control.apps.reports.contents import Outcome, Picture, Table
from projected_control.apps.reports.style import BLUE, GREY, VERMILION, canvas
from projected_control.arrays import Array
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointOnPlane, Stack
from projected_control.model.friction_cone import cone_rows
from projected_control.model.lexicographic import Level, solve

MU = 0.15  # unless another is asked for
SHOWN = np.linspace(0.01, 0.3, 59)  # coefficients of the curves


class HeldTip(NamedTuple):
    """How the arm holds its tip."""

    effort: Array  # of the joints [N·m]
    force: Array  # λ along the floor, and into it [N]
    slack: float  # by how much the force is out of the cone [N]: above zero it will slip


class ArmAtRest:
    """The arm at rest, its tip held along the floor and by it: rows x and −z."""

    def __init__(self) -> None:
        origin = [0.0, 0.0, 0.0]
        along = PointOnPlane("tip", [1.0, 0.0, 0.0], [1.0, 0.0, 0.0])
        rows = Stack([along, PointOnPlane("tip", origin, [0.0, 0.0, -1.0])], ["along", "floor"])
        model = ConstrainedArm(ARM.load(), rows)
        model.evaluate(Q, np.zeros(2))
        # At rest M q̈ = 0: λ = A⁺ᵀ (f − h).
        self.per_effort = model.A_pinv.T.copy()
        self.at_rest = -self.per_effort @ model.h

    def hold(self, mu: float, limit: float = np.inf) -> HeldTip:
        """The least ‖f‖ with the force in the cone, or as little out of it as the limit allows."""
        rows = cone_rows(mu, 1)[:, [1, 0]]  # λ is along, then into the floor
        levels = [
            Level(rows @ self.per_effort, -np.inf, -rows @ self.at_rest),
            Level.target(np.eye(2), np.zeros(2)),
        ]
        effort = solve(levels, np.full(2, -limit), np.full(2, limit)).x
        force = self.at_rest + self.per_effort @ effort
        return HeldTip(effort, force, max(0.0, float((rows @ force).max())))

    @property
    def needed(self) -> float:
        """µ from which on it sticks without any torque."""
        return float(abs(self.at_rest[0]) / self.at_rest[1])


def run(options: Options, progress: Progress) -> Outcome:
    """The case for one µ and one limit, and the curves over µ."""
    standing = ArmAtRest()
    mu = MU if options.mu is None else options.mu
    limit = np.inf if options.limit is None else options.limit
    held = standing.hold(mu, limit)
    slack = held.slack if held.slack > 1e-9 else 0.0
    numbers = {
        "mu": mu,
        "limit": None if options.limit is None else limit,
        "effort": held.effort,
        "lambda": held.force,
        "slack": slack,
        "mu_without_torque": standing.needed,
    }
    progress("curves over µ", 0.0)
    curves = [standing.hold(float(each), limit) for each in SHOWN]
    progress("curves over µ", 1.0)
    within = "no limit" if options.limit is None else f"|f| ≤ {limit:g} N·m"
    verdict = f"it is out of the cone by {slack:.6g} N: it will slip" if slack else "it sticks"
    return Outcome(
        name="cone",
        title="A tip that is to stick on its floor",
        source="the arm of Aghili (66); the cone of friction as rows above the torques",
        introduction=(
            "Two rods of 1 m, 1 kg at the end of each, q = (π/3, −2π/3), at rest under gravity: "
            "the tip presses on a rough floor. Of all torques within the limit those are taken "
            "whose force is the least out of the cone |λ_t| ≤ µ λ_n, and of these the smallest."
        ),
        summary=f"µ = {mu:g}, {within}: {verdict}. Without torque it sticks from "
        f"µ = {standing.needed:.6f} on.",
        numbers=numbers,
        tables=[
            Table(
                "The force",
                ("", "ours"),
                (
                    ("Torques [N·m]", ", ".join(f"{x:.9f}" for x in held.effort)),
                    (
                        "λ along the floor and into it [N]",
                        ", ".join(f"{x:.9f}" for x in held.force),
                    ),
                    ("Out of the cone by [N]", f"{slack:.9f}"),
                ),
            )
        ],
        pictures=[
            Picture(
                "cone-torques",
                "Torques and slack over µ",
                "Left, the torques that keep the force in the cone; right, by how much it is out "
                f"of it with {within}. Dotted: µ from which on no torque is needed.",
                lambda: draw(curves, standing.needed),
            )
        ],
        differences=(),
    )


def draw(curves: list[HeldTip], needed: float) -> Figure:
    """Torques and slack over µ."""
    figure, (left, right) = canvas(1, 2, height=2.6)
    efforts = np.array([each.effort for each in curves])
    for joint, colour in enumerate((BLUE, VERMILION)):
        left.plot(SHOWN, efforts[:, joint], color=colour, label=f"joint {joint + 1}")
    left.set_ylabel("torque [N·m]")
    left.legend()
    right.plot(SHOWN, [each.slack for each in curves], color=BLUE)
    right.set_ylabel("out of the cone by [N]")
    for axes in (left, right):
        axes.axvline(needed, color=GREY, linestyle=":")
        axes.set_xlabel("µ")
    return figure

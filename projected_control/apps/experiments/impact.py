"""A two-link arm meets its floor: the impact in numbers, and the bounces that follow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from projected_control.apps.console.progress import Progress
from projected_control.apps.experiments.case import CaseArm
from projected_control.apps.experiments.catalogue import Options
from projected_control.apps.reports.contents import Outcome, Picture, Table
from projected_control.apps.reports.style import BLUE, GREY, VERMILION, canvas
from projected_control.arrays import Array
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointOnPlane
from projected_control.simulation import Plant
from projected_control.simulation.impacts import Impact, impact
from projected_control.simulation.surfaces import Surface

ARM = CaseArm("slider_crank.urdf.xacro", chain=("link_1", "link_2", "tip"))
"""Aghili's arm of (66): two rods of 1 m without mass, 1 kg at the end of each."""

Q = (np.pi / 3, -2 * np.pi / 3)  # its tip is on the floor here, 1 m from the base
V = (-1.0, 0.5)  # and it meets the floor with 0.75 m/s
ABOVE = 0.1  # the fall begins with the first joint this much further up [rad]

SECONDS, STEP = 1.0, 1e-3


class Fall(NamedTuple):
    """The arm falls without any torque."""

    time: Array  # N [s]
    height: Array  # of the tip above the floor, N [m]
    energy: Array  # kinetic and potential, without what impacts took, N [J]
    impacts: int  # how many there were
    impulse: float  # all of them together [N·s]
    drift: float  # how far energy and work of the impacts go apart [J]


def floor() -> PointOnPlane:
    """z = 0 under the tip; the row points into it."""
    return PointOnPlane("tip", [0.0, 0.0, 0.0], [0.0, 0.0, -1.0])


def meet(restitution: float) -> Impact:
    """The impact at one configuration."""
    model = ConstrainedArm(ARM.load(), floor())
    model.evaluate(Q, V)
    return impact(model.M, model.A, V, restitution)


def fall(restitution: float, seconds: float, progress: Progress) -> Fall:
    """The arm falls on the floor, and bounces until it rests on it, sliding."""
    model = ConstrainedArm(ARM.load(), floor())
    plant = Plant(model, STEP, surface=Surface(restitution=restitution), one_sided=[1])
    state = plant.reset([Q[0] + ABOVE, Q[1]])
    count = max(round(seconds / STEP), 1)
    kept: Array = np.zeros((count + 1, 3))
    start, drift = state.energy, 0.0
    for i in range(count + 1):
        kept[i] = state.time, -plant.contacts.gap[0], state.energy
        drift = max(drift, abs(state.energy - state.work - start))
        if i < count:
            plant.step()
            state = plant.state
            progress("the fall", (i + 1) / count)
    contacts, (time, height, energy) = plant.contacts, kept.T
    return Fall(time, height, energy, int(contacts.counts[0]), float(contacts.impulse[0]), drift)


def run(options: Options, progress: Progress) -> Outcome:
    """Both, and their figure."""
    e = options.restitution or 0.0
    met, fallen = meet(e), fall(e, options.seconds or SECONDS, progress)
    numbers = {
        "restitution": e,
        "impulse": float(met.impulse[0]),
        "velocity": met.velocity,
        "energy_before": met.energy_before,
        "energy_after": met.energy_after,
        "fall": {
            "seconds": float(fallen.time[-1]),
            "impacts": fallen.impacts,
            "impulse": fallen.impulse,
            "energy_lost": float(fallen.energy[0] - fallen.energy[-1]),
            "energy_error": fallen.drift,
            "height_min": float(fallen.height.min()),
        },
    }
    rows = (
        ("Impulse p [N·s]", f"{met.impulse[0]:.6g}"),
        ("Velocity after it q̇⁺ [rad/s]", ", ".join(f"{x:.6g}" for x in met.velocity)),
        ("Kinetic energy before [J]", f"{met.energy_before:.6g}"),
        ("Kinetic energy after [J]", f"{met.energy_after:.6g}"),
        ("Impacts in the fall", str(fallen.impacts)),
        ("Energy and work of the impacts differ by at most [J]", f"{fallen.drift:.1e}"),
    )
    return Outcome(
        name="impact",
        title="A two-link arm meets its floor",
        source="the arm of Aghili (66); Moreau's law of impact",
        introduction=(
            "Two rods of 1 m, 1 kg at the end of each, q = (π/3, −2π/3), q̇ = (−1, 0.5) rad/s: the "
            "tip meets a rigid floor without friction. The impulse is the one that is not "
            "negative, leaves no approach, and acts where there is no separation. Then the arm "
            "falls from a little higher up, without torque: each touch is found within the step."
        ),
        summary=(
            f"With e = {e:g} the impulse is {met.impulse[0]:.6g} N·s, and "
            f"{met.energy_after:.6g} of {met.energy_before:.6g} J are left."
        ),
        numbers=numbers,
        tables=[Table("The impact", ("", "ours"), rows)],
        pictures=[
            Picture(
                "impact-fall",
                "The fall",
                "Above, the height of the tip over the floor; below, the arm's kinetic and "
                "potential energy, which only impacts change.",
                lambda: draw(fallen),
            )
        ],
        differences=(),
    )


def draw(fallen: Fall) -> Figure:
    """Height and energy over time."""
    figure, (above, below) = canvas(2, 1, height=3.6, sharex=True)
    above.plot(fallen.time, 1e3 * fallen.height, color=BLUE)
    above.axhline(0.0, color=GREY, linewidth=0.8)
    above.set_ylabel("height [mm]")
    below.plot(fallen.time, fallen.energy, color=VERMILION)
    below.set_ylabel("energy [J]")
    below.set_xlabel("time [s]")
    return figure

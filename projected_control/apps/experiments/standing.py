"""A robot with legs that stands: the torques of its motors, and the forces of its feet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from projected_control.apps.console.progress import Progress
from projected_control.apps.experiments.catalogue import Options
from projected_control.apps.reports.contents import Outcome, Picture, Table
from projected_control.apps.reports.style import BLUE, GREY, VERMILION, canvas
from projected_control.arrays import Array
from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.arm import Arm
from projected_control.model.floating_base import SIZE
from projected_control.planning.stance import Standing, stand
from projected_control.resources import ARMS, arm_description, share_file


class Robot(NamedTuple):
    """A robot with four legs.

    Attributes:
        file: Its description: in urdf/, or of example-robot-data (arms/…).
        mirrored: How the names of feet begin whose legs bend the other way round.
    """

    file: str
    mirrored: tuple[str, ...] = ()


ROBOTS = {
    "quadruped": Robot("quadruped.urdf.xacro"),
    "solo12": Robot("arms/solo_description/robots/solo12.urdf", ("HL", "HR")),
    "solo8": Robot("arms/solo_description/robots/solo.urdf", ("HL", "HR")),
    "a1": Robot("arms/a1_description/urdf/a1.urdf"),
    "b1": Robot("arms/b1_description/urdf/b1.urdf"),
    "go1": Robot("arms/go1_description/urdf/go1.urdf"),
    "go2": Robot("arms/go2_description/urdf/go2.urdf"),
    "anymal": Robot("arms/anymal_b_simple_description/robots/anymal.urdf"),
    "anymal_c": Robot("arms/anymal_c_simple_description/urdf/anymal.urdf"),
    "hyq": Robot("arms/hyq_description/robots/hyq_no_sensors.urdf"),
    "laikago": Robot("arms/laikago_description/urdf/laikago.urdf"),
}

POSTURE = (0.0, 0.8, -1.6)
"""Of hips, thighs and knees, on all legs [rad]."""

SHOWN = np.linspace(0.05, 0.8, 31)
"""Coefficients of the curve."""


def load(name: str) -> tuple[Arm, Robot]:
    """A robot by its name, or of a description of one's own."""
    robot = ROBOTS.get(name)
    if robot is None:
        path = Path(name)
        if not path.is_file():
            raise UnknownName("robot", name, [*ROBOTS, "or the path of a description"])
        return Arm.from_urdf(path, base="floating"), Robot(name)
    inside = robot.file.startswith(ARMS)
    path = arm_description(robot.file) if inside else share_file("urdf", robot.file)
    return Arm.from_urdf(path, base="floating"), robot


def feet_of(arm: Arm) -> list[str]:
    """The links that are called feet."""
    found = [name for name in arm.frame_names if "foot" in name.lower()]
    if not found:
        raise InvalidValue(
            f"no link of {arm.name!r} has foot in its name: say with --feet which links stand on "
            f"the ground, of {', '.join(arm.frame_names)}"
        )
    return found


def legs_of(arm: Arm) -> dict[str, list[int]]:
    """The joints of every leg, from the base to the foot, by the name of that."""
    moving = {foot: np.flatnonzero(arm.attachment(foot).support) for foot in feet_of(arm)}
    return {foot: joints[joints >= SIZE].tolist() for foot, joints in moving.items()}


def configuration(arm: Arm, robot: Robot, posture: Sequence[float]) -> Array:
    """q with the base upright at the origin.

    Args:
        arm, robot: Which.
        posture: Hips, thighs and knees of all legs alike, or one number per joint [rad].
    """
    q = np.zeros(arm.n)
    if len(posture) == arm.n - SIZE:
        q[SIZE:] = posture
        return q
    if len(posture) != len(POSTURE):
        raise InvalidValue(
            f"--posture must be 3 angles (hips, thighs, knees) or {arm.n - SIZE}, one each for "
            f"{', '.join(arm.joint_names[SIZE:])}; got {len(posture)}"
        )
    for foot, joints in legs_of(arm).items():
        if len(joints) not in (2, 3):
            raise InvalidValue(
                f"the leg of {foot} has {len(joints)} joints: give --posture one angle per joint"
            )
        side = -1.0 if foot.startswith(robot.mirrored or ("\0",)) else 1.0
        q[joints] = side * np.asarray(posture)[-len(joints) :] + 0.0
    return q


def run(options: Options, progress: Progress) -> Outcome:
    """One robot in one posture, and the curve over µ."""
    name = options.robot or "quadruped"
    arm, robot = load(name)
    q = configuration(arm, robot, options.posture or POSTURE)
    feet = list(options.feet or feet_of(arm))
    mu = options.mu
    standing = stand(arm, feet, q, friction=mu)
    free = standing if mu is None else stand(arm, feet, q)
    mass = float(sum(inertia.mass for inertia in arm.pinocchio_model.inertias))
    numbers = {
        "robot": name,
        "mass": mass,
        "mu": mu,
        "joints": list(arm.joint_names[SIZE:]),
        "posture": q[SIZE:],
        "feet": feet,
        "torque_norm": standing.norm,
        "effort": standing.effort,
        "lambda": standing.forces.reshape(-1),
        "mu_needed": standing.friction_needed,
        "slack": standing.slack,
    }
    curve = []
    for i, each in enumerate(SHOWN):
        progress("curve over µ", i / SHOWN.size)
        curve.append(stand(arm, feet, q, friction=float(each)))
    progress("curve over µ", 1.0)
    cone = "feet that cannot slip" if mu is None else f"|λ_x| + |λ_y| ≤ {mu:g} λ_z"
    slips = f" It slips: {standing.slack:.6g} N are out of the cone." if standing.slack else ""
    return Outcome(
        name="standing",
        title=f"{name} stands on {len(feet)} feet",
        source="Mistry, Buchli and Schaal 2010; Righetti et al. 2011; Stadelmann 7",
        introduction=(
            "The base floats: six joints without a motor. Of all torques that hold the robot still "
            "those are taken whose norm is the least, f = (I + H) P h; with friction, of those "
            "whose forces stay in a pyramid inside of the cone."
        ),
        summary=f"{mass:.4f} kg, {cone}: ‖τ‖ = {standing.norm:.6f} N·m; it needs "
        f"µ = {standing.friction_needed:.3f}.{slips}",
        numbers=numbers,
        tables=[_table(standing, feet)],
        pictures=[
            Picture(
                "standing-friction",
                "‖τ‖ over µ",
                "The least torque with all forces in their pyramids; dotted, the least that there "
                "is, for which the feet must not slip.",
                lambda: draw(curve, free),
            )
        ],
        differences=(),
    )


def _table(standing: Standing, feet: Sequence[str]) -> Table:
    rows = [
        (foot, ", ".join(f"{x:.6f}" for x in force), f"{np.hypot(*force[:2]) / force[2]:.3f}")
        for foot, force in zip(feet, standing.forces, strict=True)
    ]
    return Table("The ground's forces", ("foot", "x, y, z [N]", "µ needed"), rows)


def draw(curve: Sequence[Standing], free: Standing) -> Figure:
    """‖τ‖ and what slips over µ."""
    figure, (left, right) = canvas(1, 2, height=2.6)
    left.plot(SHOWN, [each.norm for each in curve], color=BLUE)
    left.axhline(free.norm, color=GREY, linestyle=":")
    left.set_ylabel("‖τ‖ [N·m]")
    right.plot(SHOWN, [each.slack for each in curve], color=VERMILION)
    right.set_ylabel("out of the cone by [N]")
    for axes in (left, right):
        axes.set_xlabel("µ")
    return figure

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
from projected_control.apps.reports.style import BLUE, GREY, canvas
from projected_control.arrays import Array
from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.arm import Arm
from projected_control.model.floating_base import SIZE
from projected_control.planning.stance import TORQUE, Standing, stand
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

STILL = 1e-6
"""‖q̈‖ up to which a robot stands still [m/s² and rad/s²]."""

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
    criterion = options.criterion or TORQUE
    standing = stand(arm, feet, q, friction=mu, criterion=criterion)
    _require_still(standing, feet, mu)
    free = standing if mu is None else stand(arm, feet, q, criterion=criterion)
    mass = float(sum(inertia.mass for inertia in arm.pinocchio_model.inertias))
    numbers = {
        "robot": name,
        "mass": mass,
        "mu": mu,
        "criterion": criterion,
        "joints": list(arm.joint_names[SIZE:]),
        "posture": q[SIZE:],
        "feet": feet,
        "torque_norm": standing.norm,
        "effort": standing.effort,
        "lambda": standing.forces.reshape(-1),
        "mu_needed": standing.friction_needed,
    }
    cone = "feet that cannot slip" if mu is None else f"|λ_x| + |λ_y| ≤ {mu:g} λ_z"
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
        f"µ = {standing.friction_needed:.3f}.",
        numbers=numbers,
        tables=[_table(standing, feet)],
        pictures=[
            Picture(
                "standing-friction",
                "‖τ‖ over µ",
                "The torque with all forces in their pyramids, where it stands; dotted, that of "
                "feet that cannot slip.",
                lambda: draw(_curve(arm, feet, q, criterion, progress), free),
            )
        ],
        differences=(),
    )


def _require_still(standing: Standing, feet: Sequence[str], mu: float | None) -> None:
    """Raise where it does not stand so, whatever its motors do."""
    pulled = [
        f"{foot} by {-force[2]:.3g} N"
        for foot, force in zip(feet, standing.forces, strict=True)
        if force[2] < 0.0
    ]
    if pulled:
        raise InvalidValue(
            f"so it does not stand: the ground would have to pull at {', '.join(pulled)}; take "
            "another posture, more feet, or --mu, which lets no foot be pulled"
        )
    if standing.acceleration > STILL:
        raise InvalidValue(
            f"so it does not stand: no forces within µ = {mu:g} keep it still (‖q̈‖ = "
            f"{standing.acceleration:.3g} is left); take another posture, more feet or a larger µ"
        )


def _curve(
    arm: Arm, feet: Sequence[str], q: Array, criterion: str, progress: Progress
) -> list[float]:
    """‖τ‖ over µ; NaN where it does not stand, or no solution was found."""
    curve = []
    for i, mu in enumerate(SHOWN):
        progress("curve over µ", i / SHOWN.size)
        try:
            each = stand(arm, feet, q, friction=float(mu), criterion=criterion)
            curve.append(each.norm if each.acceleration <= STILL else np.nan)
        except InvalidValue:
            curve.append(np.nan)
    progress("curve over µ", 1.0)
    return curve


def _table(standing: Standing, feet: Sequence[str]) -> Table:
    rows = [
        (foot, ", ".join(f"{x:.6f}" for x in force), f"{np.hypot(*force[:2]) / force[2]:.3f}")
        for foot, force in zip(feet, standing.forces, strict=True)
    ]
    return Table("The ground's forces", ("foot", "x, y, z [N]", "µ needed"), rows)


def draw(curve: Sequence[float], free: Standing) -> Figure:
    """‖τ‖ over µ."""
    figure, (axes,) = canvas(1, 1, height=2.6)
    axes.plot(SHOWN, curve, color=BLUE)
    axes.axhline(free.norm, color=GREY, linestyle=":")
    axes.set_ylabel("‖τ‖ [N·m]")
    axes.set_xlabel("µ")
    return figure

"""What is timed: three arms, two laws, each on its simulated arm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from projected_control.control import (
    Controller,
    ForceController,
    ForceGains,
    MotionGains,
    PassiveJointController,
)
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import Constraint, PointAtPoint, PointOnLine, Stack
from projected_control.model.coordinates import Coordinates
from projected_control.ports import SimulatedArm
from projected_control.resources import share_file
from projected_control.simulation import Plant

Array = NDArray[np.float64]

PERIOD = 1e-3

DISTANCE = 0.05
"""From the start to the set-point, in every coordinate [rad]."""

HYBRID, PASSIVE = "hybrid", "passive"


@dataclass(frozen=True)
class Setup:
    """An arm in its place.

    Attributes:
        load: Reads the arm, given the names of its passive joints.
        constraint: Built where the arm is at its start.
        start: Joint positions [rad].
        followed: Joints that are coordinates: as many as there are free directions; those that are
            the most independent at the start where none are named.
        passive: Joints without a motor, as many as the constraint carries.
    """

    load: Callable[[tuple[str, ...]], Arm]
    constraint: Callable[[Arm], Constraint]
    start: tuple[float, ...]
    followed: tuple[str, ...] = ()
    passive: tuple[str, ...] = ()

    def coordinates(self, arm: Arm, constraint: Constraint) -> Coordinates:
        """What is followed."""
        if self.followed:
            return Coordinates.of_joints(self.followed)
        model = ConstrainedArm(arm, constraint).evaluate(np.array(self.start), np.zeros(arm.n))
        order = qr(model.P, mode="r", pivoting=True)[-1][: model.free_directions]
        return Coordinates.of_joints([arm.joint_names[i] for i in sorted(order)])


def planar_arm(passive: tuple[str, ...]) -> Arm:
    """Three joints in a plane."""
    return Arm.from_urdf(share_file("urdf", "three_link_slider.urdf.xacro"), passive=passive)


def spatial_arm(passive: tuple[str, ...]) -> Arm:
    """Seven joints, their axes by turns along and across the arm."""
    return Arm.from_urdf(spatial_urdf(), passive=passive)


def spatial_urdf(joints: int = 7, length: float = 0.25, mass: float = 2.0) -> str:
    """A chain of equal links, stacked along z [m, kg]."""
    across = mass * length**2 / 12.0
    parts = ['<robot name="spatial_arm"><link name="link_0"/>']
    for i in range(1, joints + 1):
        axis = "0 0 1" if i % 2 else "0 1 0"
        parts.append(
            f'<joint name="joint_{i}" type="revolute"><parent link="link_{i - 1}"/>'
            f'<child link="link_{i}"/><origin xyz="0 0 {length if i > 1 else 0.0}"/>'
            f'<axis xyz="{axis}"/>'
            '<limit lower="-6" upper="6" effort="300" velocity="20"/></joint>'
            f'<link name="link_{i}"><inertial><origin xyz="0.02 0.01 {0.5 * length}"/>'
            f'<mass value="{mass}"/><inertia ixx="{across}" iyy="{across}" izz="{0.2 * across}" '
            'ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )
    parts.append(
        f'<joint name="tip_joint" type="fixed"><parent link="link_{joints}"/><child link="tip"/>'
        f'<origin xyz="0.05 0 {length}"/></joint><link name="tip"/></robot>'
    )
    return "".join(parts)


FAR_FRAMES = ("link_8", "link_16", "link_24", "tip")
"""What the arm of thirty joints is held at: three rows each."""


def bent(joints: int) -> tuple[float, ...]:
    """A pose away from every singular one [rad]."""
    return tuple(0.8 * np.sin(1.7 * i + 0.4) for i in range(joints))


SETUPS = {
    3: Setup(
        planar_arm,
        lambda arm: PointOnLine(
            "tip", arm.frame("tip").position, [1.0, 0.0, 0.0], plane_normal=[0.0, 0.0, 1.0]
        ),
        (-3.0, 2.0, 1.0),
        ("joint_1", "joint_2"),
        ("joint_3",),
    ),
    7: Setup(
        spatial_arm,
        lambda arm: PointAtPoint("tip", arm.frame("tip").position),
        (0.8, 0.8, -0.5, 0.8, -0.7, -0.4, -0.2),
        ("joint_3", "joint_5", "joint_6", "joint_7"),
        ("joint_1", "joint_2", "joint_4"),
    ),
    30: Setup(
        lambda passive: Arm.from_urdf(spatial_urdf(30, 0.1, 0.2), passive=passive),
        lambda arm: Stack([PointAtPoint(name, arm.frame(name).position) for name in FAR_FRAMES]),
        bent(30),
    ),
}


class Case(Protocol):
    """What is timed: an arm and a law on it."""

    @property
    def robot(self) -> str:
        """What it is called."""

    @property
    def joints(self) -> int:
        """How many."""

    @property
    def rows(self) -> int:
        """Of the constraint."""

    @property
    def law(self) -> str:
        """For the table."""

    def build(self) -> tuple[ControlLoop, SimulatedArm]:
        """The loop and an arm for it."""


@dataclass(frozen=True)
class TickCase:
    """An arm and a law.

    Attributes:
        joints: Which arm, by its number of joints.
        rows: Rows of the constraint.
        law: ``hybrid`` or ``passive``.
    """

    joints: int
    rows: int
    law: str

    @property
    def robot(self) -> str:
        """An arm is called by its joints."""
        return f"{self.joints} joints"

    def build(self) -> tuple[ControlLoop, SimulatedArm]:
        """The loop and an arm for it, on the way to a set-point near its start."""
        setup = SETUPS[self.joints]
        arm = setup.load(setup.passive if self.law == PASSIVE else ())
        q0 = np.array(setup.start)
        constraint = setup.constraint(arm.update(q0, np.zeros(arm.n)))
        model = ConstrainedArm(arm, constraint, setup.coordinates(arm.twin(), constraint))
        reference = Constant(model.evaluate(q0, np.zeros(arm.n)).theta + DISTANCE)
        gains = MotionGains.from_bandwidth(2.0)
        controller: Controller
        if self.law == PASSIVE:
            controller = PassiveJointController(model, gains, period=PERIOD)
        else:
            controller = ForceController(model, gains, ForceGains(), period=PERIOD)
        limits = Limits.of(arm, effort_rate=1e6)
        plant = Plant(ConstrainedArm(arm.twin(), constraint, tolerance=1e-6), PERIOD)
        return ControlLoop(controller, reference, limits=limits), SimulatedArm(plant, q0)


CASES = tuple(
    TickCase(joints, rows, law) for joints, rows in ((3, 1), (7, 3)) for law in (HYBRID, PASSIVE)
)
LARGE = TickCase(30, 12, HYBRID)
"""Measured beside the others; no bound is promised for it."""

"""What is added to an arm in MuJoCo to hold it, and where its joints are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control.model.arm import Arm
from projected_control.model.constraints.axes import perpendiculars
from projected_control.model.function_kinds import AxisCosine
from projected_control.simulation.mujoco_plates import Plate

Array = NDArray[np.float64]

Settle = Callable[[Arm], list[float]]
"""Positions of a carriage's joints where the arm stands."""


@dataclass(frozen=True)
class Carriage:
    """A body that goes where a constraint lets a frame go.

    Attributes:
        frame: What it carries.
        body: Its name.
        joints: Names of its joints.
        settle: Where these are when the arm is where it is.
        stands: Whether what carries it stands in the world.
    """

    frame: str
    body: str
    joints: tuple[str, ...]
    settle: Settle
    stands: bool


@dataclass(frozen=True)
class Mover:
    """How one equality follows x of a constraint that moves.

    Attributes:
        rows: Which rows of the constraint.
        apply: Called with MuJoCo's model and data, and x of these rows.
        lead: By how long x is to be told early [s]: of a plate on a spring with a damper, D/K;
            None for an equality, whose spring is MuJoCo's own.
    """

    rows: slice
    apply: Callable[[Any, Any, Array], None]
    lead: float | None = None


@dataclass
class Holds:
    """All that holds an arm in MuJoCo.

    Attributes:
        carriages: Bodies that were added.
        lengths: Lengths of tendons by the names of their equalities [m].
        movers: What follows a constraint that moves.
        plates: Surfaces that give, or that can be left.
    """

    carriages: list[Carriage] = field(default_factory=list)
    lengths: dict[str, float] = field(default_factory=dict)
    movers: list[Mover] = field(default_factory=list)
    plates: list[Plate] = field(default_factory=list)


Turns = tuple[Array, list[Array], Callable[[Array], list[float]]]
"""The held rotation where the hinges are at zero, the hinges, and where these are at a rotation."""


def turns_of(angles: Sequence[AxisCosine]) -> Turns | None:
    """How a frame is turned whose axes keep these angles; None where that is not known."""
    sides = [row.side for row in angles if row.side is not None]
    if len(angles) == len(sides) == 3:
        a = np.zeros((3, 3))
        for row, side in zip(angles, sides, strict=True):  # a_j stays along b_j
            a[:, int(np.argmax(np.abs(side)))] = row.axis
        return a.T, [], lambda rotation: []
    if len(angles) == len(sides) == 2:
        axis, along = angles[0].axis, sides[0]
        turn = _onto(axis, along)
        return turn, [along], lambda rotation: [_angle_about(along, rotation @ turn.T)]
    if len(angles) == 1:
        size = float(np.linalg.norm(angles[0].direction))
        about, axis = angles[0].direction / size, angles[0].axis
        cosine = angles[0].offset / size
        across = perpendiculars(about)[0]
        lean = cosine * about + np.sqrt(1.0 - cosine**2) * across
        turn = _onto(axis, lean)

        def turned(rotation: Array) -> list[float]:
            now = rotation @ axis
            first = float(np.arctan2(np.cross(about, across) @ now, across @ now))
            back = _rotation(about, -first) @ rotation @ turn.T
            return [first, _angle_about(lean, back)]

        return turn, [about, lean], turned
    return None


def _rotation(axis: Array, angle: float) -> Array:
    """About a unit vector."""
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K)


def _onto(a: Array, b: Array) -> Array:
    """A rotation that takes one unit vector to another."""
    about = np.cross(a, b)
    size = float(np.linalg.norm(about))
    if size < 1e-12:
        return np.eye(3) if float(a @ b) > 0.0 else _rotation(perpendiculars(a)[0], np.pi)
    return _rotation(about / size, float(np.arctan2(size, a @ b)))


def _angle_about(axis: Array, Q: Array) -> float:
    """Of a rotation about a unit vector [rad]."""
    sine = axis @ np.array([Q[2, 1] - Q[1, 2], Q[0, 2] - Q[2, 0], Q[1, 0] - Q[0, 1]])
    return float(np.arctan2(0.5 * sine, 0.5 * (np.trace(Q) - 1.0)))


def relative_pose(arm: Arm, frame: str, other: str | None) -> tuple[Array, Array]:
    """Place and rotation of a frame in another, or in the world."""
    held = arm.frame(frame)
    if other is None:
        return held.position, held.rotation
    base = arm.frame(other)
    return base.rotation.T @ (held.position - base.position), base.rotation.T @ held.rotation


def set_length(model: Any, equality: str, length: float) -> None:
    """Let the tendon of an equality keep a length [m]."""
    number = model.equality(equality).id
    model.eq_data[number, 0] = length - model.tendon_length0[model.eq_obj1id[number]]

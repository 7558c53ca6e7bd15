"""Constraints on an arm's motion: Φ(q) = x(t), with A = ∂Φ/∂q and the bias Ȧq̇.

A kind of one's own is one class with two methods; the third, `Constraint.bias`, is worked out by
differences unless it is given::

    class TipOnCircle(Constraint):
        rows = 1

        def __init__(self, radius):
            self.radius = radius

        def residual(self, arm):
            x, y, _ = arm.frame("tip").position
            return np.array([np.hypot(x, y) - self.radius])

        def jacobian(self, arm):
            tip = arm.frame("tip")
            x, y, _ = tip.position
            return np.array([[x, y]]) / np.hypot(x, y) @ tip.jacobian[:2]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.scalar_functions import (
    FunctionTable,
    HeadingInPlane,
    PositionAlong,
    ScalarFunction,
)

Array = NDArray[np.float64]

DIFFERENCE_STEP = 1e-5
"""Time over which `Constraint.bias` differentiates A along the motion [s]."""


class Target(NamedTuple):
    """Where a moving constraint wants Φ(q) to be: x, ẋ and ẍ, one number a row."""

    x: Array
    x_rate: Array
    x_acceleration: Array


class Constraint(ABC):
    """What takes motion away from an arm.

    Attributes:
        rows: m, the number of scalar equations. They may depend on each other.
    """

    rows: int

    @abstractmethod
    def residual(self, arm: Arm) -> Array:
        """Φ(q) at the arm's present state, m numbers; zero where the constraint is met."""

    @abstractmethod
    def jacobian(self, arm: Arm) -> Array:
        """A = ∂Φ/∂q, m × n."""

    def bias(self, arm: Arm) -> Array:
        """Ȧq̇, m numbers.

        This default takes central differences of the Jacobian along the motion, at the price of
        two more passes of the dynamics and of half the digits. Give your own for a fast loop.
        """
        probe, step = arm.twin(), DIFFERENCE_STEP
        ahead = self.jacobian(probe.update(arm.q + step * arm.v, arm.v))
        behind = self.jacobian(probe.update(arm.q - step * arm.v, arm.v))
        return (ahead - behind) @ arm.v / (2.0 * step)

    def target(self, time: float) -> Target | None:
        """x(t), ẋ and ẍ of a moving constraint; None for one that stands still."""
        return None

    def multipliers(self, arm: Arm, frame: str, force: Array, torque: Array) -> Array:
        """λ from the wrench that the arm exerts on the constraint at a frame, in world axes.

        λ = A⁺ᵀ Jᵀ w, exact where the wrench is in the range of the constraint. Kinds that know
        their directions override this, so that friction along the free ones is left out.
        """
        wrench = np.concatenate([force, torque])
        return np.linalg.pinv(self.jacobian(arm)).T @ (arm.frame(frame).jacobian.T @ wrench)


class RowConstraint(Constraint):
    """A constraint made of rows that are evaluated together, compiled (see `scalar_functions`)."""

    def __init__(self, equations: Sequence[ScalarFunction]) -> None:
        if not equations:
            raise InvalidValue(
                "a constraint needs at least one equation; leave it out for a free arm"
            )
        self.equations = tuple(equations)
        self.rows = len(self.equations)
        self._table: tuple[Arm, FunctionTable] | None = None

    def _evaluate(self, arm: Arm) -> FunctionTable:
        if self._table is None or self._table[0] is not arm:
            self._table = arm, FunctionTable(arm, self.equations)
        return self._table[1].evaluate()

    def residual(self, arm: Arm) -> Array:
        return self._evaluate(arm).value.copy()

    def jacobian(self, arm: Arm) -> Array:
        return self._evaluate(arm).jacobian.copy()

    def bias(self, arm: Arm) -> Array:
        return self._evaluate(arm).bias.copy()

    def multipliers(self, arm: Arm, frame: str, force: Array, torque: Array) -> Array:
        """λ_i = directionᵢᵀ force for rows on points (their directions being orthonormal)."""
        if not all(isinstance(row, PositionAlong) for row in self.equations):
            return super().multipliers(arm, frame, force, torque)
        normals = np.array(
            [row.direction for row in self.equations if isinstance(row, PositionAlong)]
        )
        return np.linalg.pinv(normals.T) @ force


class PointOnLine(RowConstraint):
    """A frame's origin stays on a line: the slider.

    Two equations in space. For an arm that moves in a plane one of them is void; naming the plane
    leaves the one that counts, and λ is then the single number of the papers.

    Args:
        frame: Name of the frame whose origin is held.
        point: A point of the line [m].
        direction: Of the line.
        plane_normal: Normal of the plane the arm moves in, for a planar arm.
    """

    def __init__(
        self,
        frame: str,
        point: ArrayLike,
        direction: ArrayLike,
        plane_normal: ArrayLike | None = None,
    ) -> None:
        along = validate.direction("direction of the line", direction)
        through = validate.finite_array("point of the line", point, (3,))
        if plane_normal is None:
            normals = _perpendiculars(along)
        else:
            out = validate.direction("normal of the plane", plane_normal)
            if abs(out @ along) > 1e-6:
                raise InvalidValue(
                    f"the line's direction {along.tolist()} is not in the plane with normal "
                    f"{out.tolist()}"
                )
            normals = [np.cross(out, along)]
        super().__init__([PositionAlong(frame, n, float(n @ through)) for n in normals])


class PointOnPlane(RowConstraint):
    """A frame's origin stays on a plane: the wiped table. One equation."""

    def __init__(self, frame: str, point: ArrayLike, normal: ArrayLike) -> None:
        out = validate.direction("normal of the plane", normal)
        through = validate.finite_array("point of the plane", point, (3,))
        super().__init__([PositionAlong(frame, out, float(out @ through))])


class PointAtPoint(RowConstraint):
    """A frame's origin stays at a point: the ball joint. Three equations, or two in a plane."""

    def __init__(self, frame: str, point: ArrayLike, plane_normal: ArrayLike | None = None) -> None:
        place = validate.finite_array("point", point, (3,))
        axes = _axes(plane_normal)
        super().__init__([PositionAlong(frame, axis, float(axis @ place)) for axis in axes])


class LoopClosure(RowConstraint):
    """Two frames of the arm coincide, in a plane or in space: the closed chain.

    Args:
        frame: Name of one frame.
        other: Name of the other.
        plane_normal: Normal of the plane of motion: two equations instead of three.
        heading: Also keep this angle in the plane from `other`'s x axis to `frame`'s [rad], for
            a rigid joint; needs the plane.
    """

    def __init__(
        self,
        frame: str,
        other: str,
        plane_normal: ArrayLike | None = None,
        heading: float | None = None,
    ) -> None:
        axes = _axes(plane_normal)
        equations: list[ScalarFunction] = [PositionAlong(frame, axis, 0.0, other) for axis in axes]
        if heading is not None:
            if plane_normal is None:
                raise InvalidValue("a heading needs the plane it is measured in: give plane_normal")
            angle = validate.finite("heading", heading)
            x_axis = np.array([1.0, 0.0, 0.0])
            equations.append(HeadingInPlane(frame, x_axis, axes[0], axes[1], angle, other))
        super().__init__(equations)


class Stack(Constraint):
    """Several constraints at once. They may repeat or contradict-free overlap each other."""

    def __init__(self, constraints: Sequence[Constraint]) -> None:
        if not constraints:
            raise InvalidValue("a stack needs at least one constraint; leave it out for a free arm")
        self.constraints = tuple(constraints)
        self.rows = sum(c.rows for c in self.constraints)

    def residual(self, arm: Arm) -> Array:
        return np.concatenate([c.residual(arm) for c in self.constraints])

    def jacobian(self, arm: Arm) -> Array:
        return np.concatenate([c.jacobian(arm) for c in self.constraints])

    def bias(self, arm: Arm) -> Array:
        return np.concatenate([c.bias(arm) for c in self.constraints])

    def target(self, time: float) -> Target | None:
        targets = [c.target(time) for c in self.constraints]
        if all(target is None for target in targets):
            return None
        still = [Target(*np.zeros((3, c.rows))) for c in self.constraints]
        parts = [target or zero for target, zero in zip(targets, still, strict=True)]
        return Target(*(np.concatenate(column) for column in zip(*parts, strict=True)))


class Moving(Constraint):
    """A constraint that is driven: Φ(q) = x(t), a rail that travels or a task that is imposed.

    Args:
        constraint: What moves.
        motion: x, ẋ, ẍ at a time [s], each one number a row.
    """

    def __init__(self, constraint: Constraint, motion: Callable[[float], Target]) -> None:
        self.constraint, self.motion = constraint, motion
        self.rows = constraint.rows
        for name, value in motion(0.0)._asdict().items():
            validate.finite_array(f"{name} of the moving constraint", value, (self.rows,))

    def residual(self, arm: Arm) -> Array:
        return self.constraint.residual(arm)

    def jacobian(self, arm: Arm) -> Array:
        return self.constraint.jacobian(arm)

    def bias(self, arm: Arm) -> Array:
        return self.constraint.bias(arm)

    def target(self, time: float) -> Target | None:
        return self.motion(time)

    def multipliers(self, arm: Arm, frame: str, force: Array, torque: Array) -> Array:
        return self.constraint.multipliers(arm, frame, force, torque)


def _perpendiculars(axis: Array) -> list[Array]:
    """Two unit vectors that complete the axis to a right-handed frame."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    first = np.cross(axis, helper)
    first /= np.linalg.norm(first)
    return [first, np.cross(axis, first)]


def _axes(plane_normal: ArrayLike | None) -> list[Array]:
    """The world's axes, or two that span a plane: for the x–y and the x–z plane the world's own."""
    if plane_normal is None:
        return list(np.eye(3))
    return plane_axes(plane_normal)


def plane_axes(plane_normal: ArrayLike) -> list[Array]:
    """Two unit vectors (e₁, e₂) spanning a plane, e₁ as near the world's x axis as can be.

    A positive angle turns e₁ towards e₂, about the normal.
    """
    out = validate.direction("normal of the plane", plane_normal)
    helper = np.array([1.0, 0.0, 0.0]) if abs(out[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    e1 = helper - (helper @ out) * out
    e1 /= np.linalg.norm(e1)
    return [e1, np.cross(out, e1)]

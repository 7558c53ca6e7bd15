"""Where the joints of an arm are along a path of its coordinates.

Between constraint and coordinates, a redundant arm has motions left. They go where the posture
draws them, or stay as small as they can.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from projected_control.errors import InvalidValue, Unreachable
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.function_kinds import AxisCosine
from projected_control.planning.inverse_kinematics import InverseKinematics
from projected_control.planning.tasks import Task

Array = NDArray[np.float64]

ITERATIONS = 60
CONVERGED = 1e-10
LARGEST_STEP = 0.3
"""Of a Newton step [rad or m]."""

CONTINUATION = 12
"""Steps in which the beginning of a path is looked for from where the arm is."""

SINGULAR = 1e-9


@dataclass(frozen=True)
class Square:
    """Coordinates that keep an axis square to the surface on which the frame is held.

    Attributes:
        columns: Which coordinates, each the tilt of the axis towards one direction.
        directions: These directions, one line each.
        sign: One where the axis points along the surface's normal, minus one where against it.
    """

    columns: tuple[int, ...]
    directions: Array
    sign: float


class Follower:
    """Finds the joint positions of an arm for values of its coordinates, one after the other.

    Args:
        model: The arm, its constraint and its coordinates; its own, as it is evaluated here.
        q: Where the arm is, n.
        posture: Where what is left free is drawn to, n; None for nowhere.
        square: Coordinates that follow the surface rather than given values.
        explain: Whether it is looked for what keeps the arm from values, which takes a while.

    Attributes:
        time: When, where the constraint moves [s].
    """

    def __init__(
        self,
        model: ConstrainedArm,
        q: Array,
        posture: Array | None = None,
        square: Square | None = None,
        *,
        explain: bool = True,
    ) -> None:
        if model.coordinates is None:
            raise InvalidValue("a path needs coordinates to be followed: give the model some")
        self.model, self.coordinates = model, model.coordinates
        self.q: Array = np.array(q, dtype=np.float64)
        self._posture, self._square, self._explain = posture, square, explain
        self.time = 0.0
        self._rest = np.zeros(model.n)
        self._targets = np.zeros(model.m)

    def approach(self, values: Array) -> Array:
        """The joint positions for the first values, however far they are; see `at`."""
        self._evaluate()
        here = self.model.theta.copy()
        way = self.coordinates.difference(values, here)
        for share in np.linspace(0.0, 1.0, CONTINUATION + 1)[1:]:
            q = self.at(here + share * way)
        return q

    def at(self, values: Array) -> Array:
        """The joint positions nearest the last ones with these values of the coordinates, n."""
        terms = self.model.terms
        error = np.inf
        for _ in range(ITERATIONS):
            self._evaluate()
            g = np.concatenate([self.model.residual, self._difference(values)])
            G = terms.jacobian
            G_pinv = np.linalg.pinv(G, rcond=SINGULAR)
            step = -G_pinv @ g
            if self._posture is not None:
                back = self._posture - self.q
                step += back - G_pinv @ (G @ back)
            error = float(np.linalg.norm(g))
            if error < CONVERGED and np.abs(step).max() < 1e-8:
                return self.q
            self.q += step * min(1.0, LARGEST_STEP / max(float(np.abs(step).max()), 1e-300))
        if error < 1e-6:
            return self.q
        raise Unreachable(self._why_not(values))

    def _why_not(self, values: Array) -> str:
        """In words, what keeps the arm from these values, and whether another posture has them."""
        names, wanted = ", ".join(self.coordinates.names), np.round(values, 4).tolist()
        if not self._explain:
            return f"the arm does not reach {names} = {wanted} from where it is"
        model = self.model
        ik = InverseKinematics(
            model.arm, model.constraint, [Task(self.coordinates, values, "the path")], restarts=10
        )
        found = ik.solve(self.q, strict=False)
        why = found.phrase
        if found.met:
            why = f"it gets stuck on the way; q = {np.round(found.q, 3).tolist()} would have them"
        return f"the arm cannot follow the path to {names} = {wanted}: {why}"

    @property
    def theta(self) -> Array:
        """θ of the last joint positions, k."""
        return self.model.theta.copy()

    def _evaluate(self) -> None:
        self.model.evaluate(self.q, self._rest, self.time)

    def _difference(self, values: Array) -> Array:
        wanted = values
        if self._square is not None:
            wanted = values.copy()
            square = self._square
            wanted[list(square.columns)] = square.directions @ (square.sign * normal_of(self.model))
        return self.coordinates.difference(self.model.theta, wanted)


def normal_of(model: ConstrainedArm) -> Array:
    """The direction in which the constraint's first row pushes, at the state last evaluated."""
    constraint = model.constraint
    if constraint is None or constraint.frame is None:
        raise InvalidValue("there is no surface to be square to: the constraint has no frame")
    force = constraint.wrench_basis(model.arm, constraint.frame)[:3, 0]
    size = float(np.linalg.norm(force))
    if not size > SINGULAR:
        raise InvalidValue("there is no surface to be square to: the constraint gives no force")
    return np.asarray(force / size)


def square_of(model: ConstrainedArm, q: Array) -> Square | None:
    """The tilts of the held frame that can follow the surface's normal; None where there are none.

    Args:
        model: With the constraint and the coordinates.
        q: Where the arm is, which decides to which side of the surface the axis points.
    """
    constraint, coordinates = model.constraint, model.coordinates
    if constraint is None or coordinates is None or constraint.frame is None:
        return None
    columns, directions, axis = [], [], None
    for i, function in enumerate(coordinates.functions):
        if isinstance(function, AxisCosine) and function.frame == constraint.frame:
            columns.append(i)
            directions.append(np.asarray(function.direction, dtype=np.float64))
            axis = np.asarray(function.axis, dtype=np.float64)
    if axis is None:
        return None
    model.evaluate(q, np.zeros(model.n))
    points = model.arm.frame(constraint.frame).rotation @ axis
    sign = 1.0 if float(points @ normal_of(model)) >= 0.0 else -1.0
    return Square(tuple(columns), np.array(directions), sign)

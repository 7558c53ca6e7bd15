"""An arm along a path of its coordinates: where its joints are, and what its motors have to give.

Between constraint and coordinates, a redundant arm has motions left. They go where the posture
draws them, or stay as small as they can.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from projected_control.control.compensation import NO_COMPENSATION, FrictionCompensation
from projected_control.control.controllers import Controller
from projected_control.errors import InvalidValue, Unreachable
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.function_kinds import AxisCosine
from projected_control.planning.efforts import planned_friction, sent_effort
from projected_control.planning.inverse_kinematics import InverseKinematics
from projected_control.planning.tasks import Task
from projected_control.planning.timing import Bounds

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


@dataclass(frozen=True)
class Way:
    """An arm along one stroke: N places.

    Attributes:
        s: Places along the stroke, N.
        q: Joint positions, N × n.
        theta: Coordinates, N × k.
    """

    s: Array
    q: Array
    theta: Array
    _splines: dict[str, object] = field(default_factory=dict, repr=False)

    def derivative(self, what: str, s: Array, order: int) -> Array:
        """A derivative of ``q`` or ``theta`` by s."""
        if what not in self._splines:
            from scipy.interpolate import make_interp_spline  # takes long to load

            self._splines[what] = make_interp_spline(self.s, getattr(self, what), k=5)
        return np.asarray(self._splines[what](s, order))  # type: ignore[operator]


@dataclass(frozen=True)
class WayLimits:
    """What an arm may be asked for along a path.

    Attributes:
        velocity: Joint rates, n [rad/s or m/s].
        effort: Joint efforts, n [N·m or N].
        motion: Rates, accelerations and jerks of the coordinates, 3 × k.
        speed: Along those coordinates that are lengths, together [m/s].
        lengths: Which these are, k.
    """

    velocity: Array
    effort: Array
    motion: Array
    speed: float
    lengths: NDArray[np.bool_]


def bounds_along(
    controller: Controller,
    way: Way,
    limits: WayLimits,
    force: Array | None = None,
    friction: FrictionCompensation = NO_COMPENSATION,
) -> Bounds:
    """What the limits leave for u and x along a way (see `timing`).

    What friction takes at the fastest is taken off the limits of the efforts, in both directions:
    a path may be gone back.

    Args:
        controller: Whose efforts these are; its model is evaluated here.
        way: Where it goes.
        limits: What it may be asked for.
        force: λ_d, m; zero unless given.
        friction: That is compensated.
    """
    model = controller.model
    n, k, s = model.n, model.k, way.s
    q1, q2 = (way.derivative("q", s, order) for order in (1, 2))
    t1, t2, t3 = (way.derivative("theta", s, order) for order in (1, 2, 3))
    fastest = _fastest(q1, t1, t3, limits)
    largest = np.tile(np.concatenate([limits.effort, limits.motion[1]]), (s.size, 1))
    slope, bend, rest = (np.zeros((s.size, n + k)) for _ in range(3))
    desired = np.zeros(model.m) if force is None else force
    still = np.zeros(n)
    for i in range(s.size):
        model.evaluate(way.q[i], q1[i])
        moving, M = model.arm.h.copy(), model.arm.M.copy()
        model.evaluate(way.q[i], still)
        weight = model.arm.h.copy()
        sent, pressed = sent_effort(controller)
        slope[i, :n] = sent @ (M @ q1[i])
        bend[i, :n] = sent @ (M @ q2[i] + moving - weight)
        rest[i, :n] = sent @ weight + pressed @ desired
        taken = planned_friction(friction, model, fastest[i] * q1[i], desired)
        largest[i, :n] = np.maximum(largest[i, :n] - np.abs(sent @ taken), 0.0)
    slope[:, n:], bend[:, n:] = t1, t2
    names = [f"the effort of {name}" for name in model.arm.joint_names]
    coordinates = model.coordinates.names if model.coordinates is not None else ()
    names += [f"the acceleration of {name}" for name in coordinates]
    jerk = np.stack([t1, t2, t3]) / limits.motion[2]
    return Bounds(s, fastest, slope, bend, rest, largest, tuple(names), jerk)


def _fastest(q1: Array, t1: Array, t3: Array, limits: WayLimits) -> Array:
    """Largest ṡ that rates and speed allow, and jerks at a steady speed, N."""
    with np.errstate(divide="ignore"):
        fastest = np.min(limits.velocity / np.abs(q1), axis=1)
        fastest = np.minimum(fastest, np.min(limits.motion[0] / np.abs(t1), axis=1))
        along = np.linalg.norm(t1[:, limits.lengths], axis=1)
        fastest = np.minimum(fastest, limits.speed / along)
        bent = np.abs(t3) / limits.motion[2]
        fastest = np.minimum(fastest, np.cbrt(0.5 / np.max(bent, axis=1, initial=1e-30)))
    return np.asarray(fastest)

"""A path that is timed for the arm that follows it, within what joints, motors and limits allow.

Along a path the joints are found first (`following`), then what the limits leave for ṡ and s̈, then
when to be where (`timing`); what comes out is a reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.arrays import Array
from projected_control.control.controllers import Controller
from projected_control.control.references import Waypoints
from projected_control.planning.efforts import planned_friction, sent_effort
from projected_control.planning.following import Follower
from projected_control.planning.paths import Stroke, Strokes, closed
from projected_control.planning.timing import PathBounds, Timing, time_path

KNOT_STEPS = 10  # instants of a timing per piece of the reference's table: one piece for 20 ms


@dataclass(frozen=True)
class JointPath:
    """An arm along one stroke: N places."""

    s: Array  # places along the stroke, N
    q: Array  # joint positions, N × n
    theta: Array  # coordinates, N × k
    _splines: dict[str, object] = field(default_factory=dict, repr=False)

    def derivative(self, what: str, s: Array, order: int) -> Array:
        """A derivative of ``q`` or ``theta`` by s."""
        if what not in self._splines:
            from scipy.interpolate import make_interp_spline  # takes long to load

            self._splines[what] = make_interp_spline(self.s, getattr(self, what), k=5)
        return np.asarray(self._splines[what](s, order))  # type: ignore[operator]


@dataclass(frozen=True)
class PathLimits:
    """What an arm may be asked for along a path."""

    velocity: Array  # joint rates, n [rad/s or m/s]
    effort: Array  # joint efforts, n [N·m or N]
    motion: Array  # rates, accelerations and jerks of the coordinates, 3 × k
    speed: float  # along those coordinates that are lengths, together [m/s]
    lengths: NDArray[np.bool_]  # which these are, k


def bounds_along(
    controller: Controller,
    path: JointPath,
    limits: PathLimits,
    force: Array | None = None,
) -> PathBounds:
    """What the limits leave for u and x along a path (see `timing`).

    What friction takes at the fastest is taken off the limits of the efforts, in both directions:
    a path may be gone back.

    Args:
        controller: Whose efforts these are; its model is evaluated here.
        path: Where it goes.
        limits: What it may be asked for.
        force: λ_d, m; zero unless given.
    """
    model = controller.model
    n, k, s = model.n, model.k, path.s
    q1, q2 = (path.derivative("q", s, order) for order in (1, 2))
    t1, t2, t3 = (path.derivative("theta", s, order) for order in (1, 2, 3))
    fastest = _fastest(q1, t1, t3, limits)
    largest = np.tile(np.concatenate([limits.effort, limits.motion[1]]), (s.size, 1))
    slope, bend, rest = (np.zeros((s.size, n + k)) for _ in range(3))
    desired = np.zeros(model.m) if force is None else force
    still = np.zeros(n)
    for i in range(s.size):
        model.evaluate(path.q[i], q1[i])
        moving, M = model.arm.h.copy(), model.arm.M.copy()
        model.evaluate(path.q[i], still)
        weight = model.arm.h.copy()
        sent, pressed = sent_effort(controller)
        slope[i, :n] = sent @ (M @ q1[i])
        bend[i, :n] = sent @ (M @ q2[i] + moving - weight)
        rest[i, :n] = sent @ weight + pressed @ desired
        taken = planned_friction(controller.compensation, model, fastest[i] * q1[i], desired)
        largest[i, :n] = np.maximum(largest[i, :n] - np.abs(sent @ taken), 0.0)
    slope[:, n:], bend[:, n:] = t1, t2
    names = [f"the effort of {name}" for name in model.arm.joint_names]
    coordinates = model.coordinates.names if model.coordinates is not None else ()
    names += [f"the acceleration of {name}" for name in coordinates]
    jerk = np.stack([t1, t2, t3]) / limits.motion[2]
    return PathBounds(s, fastest, slope, bend, rest, largest, tuple(names), jerk)


def _fastest(q1: Array, t1: Array, t3: Array, limits: PathLimits) -> Array:
    """Largest ṡ that rates and speed allow, and jerks at a steady speed, N."""
    with np.errstate(divide="ignore"):
        fastest = np.min(limits.velocity / np.abs(q1), axis=1)
        fastest = np.minimum(fastest, np.min(limits.motion[0] / np.abs(t1), axis=1))
        along = np.linalg.norm(t1[:, limits.lengths], axis=1)
        fastest = np.minimum(fastest, limits.speed / along)
        bent = np.abs(t3) / limits.motion[2]
        fastest = np.minimum(fastest, np.cbrt(0.5 / np.max(bent, axis=1, initial=1e-30)))
    return np.asarray(fastest)


def time_strokes(
    controller: Controller,
    follower: Follower,
    strokes: Strokes,
    columns: Sequence[int],
    here: Array,
    limits: PathLimits,
    desired: Array | None = None,
    *,
    back: bool = False,
    repeats: int = 1,
) -> Waypoints:
    """The path of some strokes, from its beginning at time zero to rest at its end.

    Args:
        controller: What is to follow it; its model is evaluated here.
        follower: Of the same arm, where that is.
        strokes: Where the path leads.
        columns: Which coordinates it moves.
        here: Where all of them are, k; the others stay there.
        limits: What the arm may be asked for.
        desired: λ_d, m; zero unless given.
        back: Whether it is gone back, too.
        repeats: How often it is gone along; one that is not closed is then gone back each time.

    Raises:
        Unreachable: Where the arm cannot follow it.
        InvalidValue: Where it cannot be followed within the limits.
    """
    knots = []
    for stroke in strokes:
        path = _joints_along(follower, stroke, columns, here)
        timing = time_path(bounds_along(controller, path, limits, desired))
        knots.append(_knots(path, timing))
    if back or (repeats > 1 and not closed(strokes)):
        knots += [stroke.reversed() for stroke in reversed(knots)]
    return _reference(knots * repeats)


def _joints_along(
    follower: Follower, stroke: Stroke, columns: Sequence[int], here: Array
) -> JointPath:
    """The arm along a stroke, from wherever the follower is."""
    s = stroke.places()
    wanted = np.tile(here, (s.size, 1))
    wanted[:, columns] = stroke.at(s)
    q, theta = [], []
    follower.approach(wanted[0])
    for values in wanted:
        q.append(follower.at(values).copy())
        theta.append(follower.theta)
    # Angles are found between −π and π; along a path they go on.
    found = wanted + follower.coordinates.difference(np.array(theta), wanted)
    return JointPath(s, np.array(q), found)


class Knots(NamedTuple):
    """A motion along one stroke at some instants."""

    times: Array  # from zero on, N [s]
    # value, rate, acceleration: of the coordinates, N × k.
    value: Array
    rate: Array
    acceleration: Array

    def reversed(self) -> Knots:
        """The same motion back: played backwards it takes the same efforts."""
        times, value, rate, acceleration = (part[::-1] for part in self)
        return Knots(times[0] - times, value, -rate, acceleration)


def _knots(path: JointPath, timing: Timing) -> Knots:
    last = timing.times.size - 1
    chosen = np.unique(np.append(np.arange(0, last, KNOT_STEPS), last))
    t, s, v, a = (column[chosen] for column in timing)
    value, first, second = (path.derivative("theta", s, order) for order in (0, 1, 2))
    acceleration = second * (v**2)[:, None] + first * a[:, None]
    return Knots(t, value, first * v[:, None], acceleration)


def _reference(parts: list[Knots]) -> Waypoints:
    """All strokes one after the other, as pieces that agree in value, rate and acceleration."""
    begin = np.cumsum([0.0, *(part.times[-1] for part in parts)])
    clock = [part.times[1:] + at for part, at in zip(parts, begin, strict=False)]
    value, rate, acceleration = (
        np.concatenate([parts[0][i][:1], *(part[i][1:] for part in parts)]) for i in (1, 2, 3)
    )
    return Waypoints(np.concatenate([[0.0], *clock]), value, rate, acceleration, order=5)

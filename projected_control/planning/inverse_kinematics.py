"""Inverse kinematics with priorities: from a guess to joint positions within their limits.

First all levels are gone for together, step by step (see `steps`); where all can be met this takes
a handful of steps and ends at the configuration nearest the posture. Where they cannot, one level
after the other is made as small as it can be, the higher ones held at what they have reached: a
lower task then costs a higher one nothing, however far it is out of reach. Where a task is still
missed, the search begins again from other configurations, and the best result is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from projected_control import validate
from projected_control.arrays import Array
from projected_control.errors import InvalidValue, Unreachable
from projected_control.model.arm import Arm
from projected_control.model.constraints import Constraint
from projected_control.planning.outcome import (
    KinematicSolution,
    Stop,
    nearest_limit,
    outcomes_of,
)
from projected_control.planning.steps import INDEPENDENT, limited_step
from projected_control.planning.tasks import TOLERANCE, Equations, Task, TaskLevel

DAMPING = 0.02
"""Singular values below this are damped while the error is of order one [m/rad]. It shrinks with
the root of the error, so that the last steps are Newton's also near a singular pose."""

CURVED = 0.5
"""ε of a level that is minimised by itself, in roots of its error: where it cannot become zero, the
arm's own curvature takes the place of σ², and steps that are damped less swing to and fro."""

HARDER, EASIER, HARDEST = 2.0, 0.7, 1e4
"""How that changes after a step that did not help and one that did; beyond the last, none will."""

ITERATIONS = 200
"""Steps at most, together and per level."""

RESTORATIONS = 12
"""Steps at most in which higher levels are brought back after a lower one has moved."""

HOPELESS = 40
"""Steps together after which the error must have come below `CLOSE`."""

CLOSE = 1e-3

SMALLEST_STEP, SMALLEST_SHARE = 1e-13, 1e-12
"""A step up to this, and up to this share of q, is none [rad or m]."""

LEAST_GAIN = 1e-9
"""Share by which a step must make an error smaller; after `PATIENCE` that do not it is left."""

PATIENCE = 5

TRACKING_ITERATIONS, TRACKING_STEP = 60, 0.3
"""Steps at most where limits do not count, and how far any joint goes in one [rad or m]."""

TRACKED, TRACKED_STEP, NEARLY_TRACKED = 1e-10, 1e-8, 1e-6
"""Error and step up to which it is there; and the error that will do after all of them."""

NUDGE = 0.1
"""How far the second start is from the first: off a singular pose that it may be in."""


class _Found(NamedTuple):
    q: Array
    levels: list[TaskLevel]
    iterations: int
    exhausted: bool


class InverseKinematics:
    """Finds joint positions for tasks in order of priority, under what holds the arm.

    Args:
        arm: The arm; its state is left as it was.
        constraint: What holds it, the task of highest priority; None for nothing. Rows may repeat
            each other.
        tasks: In order of priority, the highest first.
        posture: Where what is left free is drawn to, n; the guess unless given.
        lower, upper: Limits of the joints, n; the description's unless given. ``-np.inf`` and
            ``np.inf`` for none.
        tolerance: Of the constraint [m and rad].
        restarts: From how many other configurations to try where a task is missed.
        seed: Of these.

    ``solve`` may be called again and again, for other values and from other guesses, and with
    another ``posture`` or number of ``restarts``.

    Attributes:
        equations: Of constraint and tasks; which coordinates are square to a surface may be set.
    """

    def __init__(
        self,
        arm: Arm,
        constraint: Constraint | None = None,
        tasks: Sequence[Task] = (),
        *,
        posture: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        tolerance: float = TOLERANCE,
        restarts: int = 20,
        seed: int = 0,
    ) -> None:
        self.arm, self.tasks = arm, tuple(tasks)
        self.equations = Equations(
            arm, constraint, self.tasks, validate.positive("tolerance of the constraint", tolerance)
        )
        self.posture = None if posture is None else arm.configuration(posture, "posture")
        self.lower = _bound("lower", lower, arm.limits.lower)
        self.upper = _bound("upper", upper, arm.limits.upper)
        if not (self.lower <= self.upper).all():
            raise InvalidValue(
                f"lower limits {self.lower.tolist()} are not below upper ones {self.upper.tolist()}"
            )
        self.restarts, self._seed = restarts, seed

    def solve(
        self,
        guess: ArrayLike,
        values: Sequence[ArrayLike] | None = None,
        *,
        time: float = 0.0,
        strict: bool = True,
    ) -> KinematicSolution:
        """The joint positions nearest the posture that meet the tasks as well as can be.

        Args:
            guess: Where to look first, n [rad or m].
            values: θ_d of every task from now on; as they are unless given.
            time: Of a moving constraint [s].
            strict: Whether to raise where the constraint or a task is not met.

        Raises:
            Unreachable: Where the constraint or a task is missed, with by how much and why.
        """
        start = self.arm.configuration(guess, "guess")
        if values is not None:
            self.set_values(values)
        best, iterations, attempts = None, 0, 0
        for attempt in self._starts(start):
            found = self._attempt(attempt, start, time)
            iterations, attempts = iterations + found.iterations, attempts + 1
            if best is None or self._better(found, best):
                best = found
            if self._all_met(best.levels):
                break
        assert best is not None
        stop = Stop.ITERATIONS if best.exhausted else Stop.NO_BETTER
        outcomes = outcomes_of(self.equations, best.levels, best.q, self.lower, self.upper)
        solution = KinematicSolution(
            best.q,
            outcomes,
            iterations,
            attempts,
            Stop.MET if all(outcome.met for outcome in outcomes) else stop,
            nearest_limit(best.q, self.lower, self.upper, self.arm.joint_names),
        )
        if strict and not solution.met:
            raise Unreachable(
                f"{self.arm.name!r} cannot do what is asked: {solution.phrase}. The nearest found "
                f"from {attempts} starts is q = {np.array2string(solution.q, precision=4)}"
            )
        return solution

    def follow(
        self, q: ArrayLike, values: Sequence[ArrayLike], *, time: float = 0.0
    ) -> Array | None:
        """Joint positions near the last ones for values near theirs; None where there are none.

        One quick search without restarts, for paths and maps.
        """
        self.set_values(values)
        q = self.arm.configuration(q)
        found = self._together(np.clip(q, self.lower, self.upper), q, time, at_once=True)
        return found.q if self._all_met(found.levels) else None

    def track(
        self, q: ArrayLike, values: Sequence[ArrayLike], *, time: float = 0.0
    ) -> Array | None:
        """Like `follow`, but whatever the joint limits: to see by how much they would be passed.

        Constraint and tasks count as one level, by Newton's steps. What they leave free goes to the
        posture, or moves as little as it can where there is none.
        """
        self.set_values(values)
        q = np.array(self.arm.configuration(q))
        error = np.inf
        for _ in range(TRACKING_ITERATIONS):
            g, J = self.equations.together(q, time)
            # As `steps.free_step` to rounding; the third derivative of a path shows even that.
            inverse = np.linalg.pinv(J, rcond=INDEPENDENT)
            step = -inverse @ g
            if self.posture is not None:
                way = self.arm.difference(q, self.posture)
                step += way - inverse @ (J @ way)
            error, largest = float(np.linalg.norm(g)), float(np.abs(step).max())
            if error < TRACKED and largest < TRACKED_STEP:
                return q
            q = self.arm.moved(q, step * min(1.0, TRACKING_STEP / max(largest, 1e-300)))
        return q if error < NEARLY_TRACKED else None

    def values_at(self, q: Array, time: float = 0.0) -> Array:
        """θ of all tasks at a configuration, one after the other."""
        self.equations.together(q, time)
        return self.equations.model.theta.copy()

    def set_values(self, values: Sequence[ArrayLike]) -> None:
        """θ_d of every task from now on."""
        if len(values) != len(self.tasks):
            raise InvalidValue(
                f"there are {len(self.tasks)} tasks, and {len(values)} lists of values were given"
            )
        parts = [
            validate.finite_array(f"values of the task {t.name!r}", v, (t.coordinates.size,))
            for t, v in zip(self.tasks, values, strict=True)
        ]
        self.equations.values[:] = np.concatenate(parts) if parts else np.empty(0)

    # Starts

    def _starts(self, guess: Array) -> list[Array]:
        random = np.random.default_rng(self._seed)
        others = self.draw(random, guess, self.restarts)
        if others:
            others[0] = self.arm.moved(guess, random.uniform(-NUDGE, NUDGE, self.arm.n))
        return [guess, *others]

    def draw(self, random: np.random.Generator, guess: Array, count: int) -> list[Array]:
        """Configurations at random: in the joints' ranges, half a turn about a guess without."""
        ranged = np.isfinite(self.lower) & np.isfinite(self.upper) & (self.upper - self.lower < 1e2)
        low = np.where(ranged, self.lower, np.maximum(guess - np.pi, self.lower))
        high = np.where(ranged, self.upper, np.minimum(guess + np.pi, self.upper))
        return [random.uniform(low, np.maximum(high, low)) for _ in range(count)]

    def _attempt(self, q: Array, guess: Array, time: float) -> _Found:
        begin = np.clip(q, self.lower, self.upper)
        together = self._together(begin, guess, time)
        if self._all_met(together.levels):
            return together
        staged = self._one_by_one(begin, guess, time)
        return staged._replace(iterations=staged.iterations + together.iterations)

    # All levels together

    def _together(self, q: Array, guess: Array, time: float, at_once: bool = False) -> _Found:
        """All levels and the posture, step by step; `at_once` leaves when all levels are met."""
        goal = guess if self.posture is None else self.posture
        for k in range(ITERATIONS):
            levels = self.equations.at(q, time)
            error = _norm(levels)
            if (k == HOPELESS and error > CLOSE) or (at_once and self._all_met(levels)):
                break
            damping = [_damping(level) for level in levels]
            way = self.arm.difference(q, goal)
            step = limited_step(levels, damping, q, self.lower, self.upper, way)
            q = self.arm.moved(q, step)
            if np.abs(step).max() < SMALLEST_STEP + SMALLEST_SHARE * np.abs(q).max():
                break
        return _Found(q, self.equations.at(q, time), k + 1, k + 1 == ITERATIONS)

    # One level after the other

    def _one_by_one(self, q: Array, guess: Array, time: float) -> _Found:
        goal = guess if self.posture is None else self.posture
        count, exhausted = 0, False
        for i in range(len(self.equations.names) + 1):
            q, taken = self._improve(q, i, goal, time)
            count, exhausted = count + taken, exhausted or taken == ITERATIONS
        return _Found(q, self.equations.at(q, time), count, exhausted)

    def _improve(self, q: Array, i: int, goal: Array, time: float) -> tuple[Array, int]:
        """Make the error of level i, the posture after the last, as small as it can be."""
        kept = [level.error for level in self.equations.at(q, time)[:i]]
        last = i == len(self.equations.names)
        tolerance = 0.0 if last else 0.1 * self.equations.tolerances[i]
        share, idle = CURVED, 0

        def error_at(place: Array) -> TaskLevel:
            if last:
                return TaskLevel(self.arm.difference(goal, place), np.eye(place.size))
            return self.equations.at(place, time)[i]

        here = error_at(q)
        for k in range(ITERATIONS):
            error = float(np.linalg.norm(here.error))
            if error <= tolerance or idle >= PATIENCE:
                return q, k
            above = self._above(q, kept, time)
            damping = share * min(1.0, error) ** 0.5
            step = limited_step(
                above if last else [*above, here],
                [0.0] * i + [damping] * (not last),
                q,
                self.lower,
                self.upper,
                self.arm.difference(q, goal) * min(1.0, CURVED / share) if last else None,
            )
            if np.abs(step).max() < SMALLEST_STEP + SMALLEST_SHARE * np.abs(q).max():
                return q, k
            trial = self._restored(self.arm.moved(q, step), kept, time)
            there = None if trial is None else error_at(trial)
            gain = -np.inf if there is None else error - float(np.linalg.norm(there.error))
            if trial is None or there is None or not gain > 0.0:
                share *= HARDER
                if share > HARDEST:
                    return q, k
                continue
            idle = 0 if gain > LEAST_GAIN * error else idle + 1
            q, here, share = trial, there, max(EASIER * share, DAMPING)
        return q, ITERATIONS

    def _above(self, q: Array, kept: list[Array], time: float) -> list[TaskLevel]:
        """The levels above one, their errors counted from what they have reached."""
        levels = self.equations.at(q, time)[: len(kept)]
        return [
            TaskLevel(level.error - old, level.jacobian)
            for level, old in zip(levels, kept, strict=True)
        ]

    def _restored(self, q: Array, kept: list[Array], time: float) -> Array | None:
        """The nearest place where higher levels are as good as before; None if it is not found."""
        for _ in range(RESTORATIONS):
            above = self._above(q, kept, time)
            off = [float(np.linalg.norm(level.error)) for level in above]
            if all(o <= 0.5 * t for o, t in zip(off, self.equations.tolerances, strict=False)):
                return q
            step = limited_step(above, [0.0] * len(above), q, self.lower, self.upper)
            q = self.arm.moved(q, step)
        return None

    # What was found

    def _all_met(self, levels: list[TaskLevel]) -> bool:
        pairs = zip(levels, self.equations.tolerances, strict=True)
        return all(np.linalg.norm(level.error) <= tolerance for level, tolerance in pairs)

    def _better(self, one: _Found, other: _Found) -> bool:
        """Whether the first level in which two differ is better in one of them."""
        rows = zip(one.levels, other.levels, self.equations.tolerances, strict=True)
        for a, b, tolerance in rows:
            x, y = (max(float(np.linalg.norm(level.error)), tolerance) for level in (a, b))
            if abs(x - y) > 1e-6 * max(x, y):
                return x < y
        return False


def _norm(levels: list[TaskLevel]) -> float:
    return float(np.sqrt(sum(float(level.error @ level.error) for level in levels)))


def _damping(level: TaskLevel) -> float:
    """ε of a level: less and less the nearer it is."""
    return DAMPING * min(1.0, float(np.linalg.norm(level.error)) ** 0.5)


def _bound(name: str, given: ArrayLike | None, described: Array) -> Array:
    if given is None:
        return described.copy()
    bound: Array = np.broadcast_to(np.asarray(given, dtype=np.float64), described.shape).copy()
    if np.isnan(bound).any():
        raise InvalidValue(f"{name} limits must be numbers, got {bound.tolist()}")
    return bound

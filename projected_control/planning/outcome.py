"""What inverse kinematics found: joint positions, what each task misses and why, what is near."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np

from projected_control import validate
from projected_control.arrays import Array
from projected_control.planning.steps import damped_inverse
from projected_control.planning.tasks import Equations, TaskLevel

NOTHING = 1e-3  # share of ‖g‖ max(‖J‖, 1) up to which a gradient counts as none
AT_LIMIT = 1e-6  # distance up to which a joint counts as at its limit [rad or m]


class Stop(Enum):
    """Why the search ended."""

    MET = "all tasks are met"
    NO_BETTER = "no step from any start makes a task better without making one above it worse"
    ITERATIONS = "the iterations were used up"


class TaskOutcome(NamedTuple):
    """One task, or the constraint, at the joint positions found."""

    name: str  # its name; ``constraint`` for what holds the arm
    residual: Array  # θ − θ_d, or Φ − x [m or rad]
    error: float  # ‖residual‖
    met: bool  # whether that is within its tolerance
    rows: tuple[str, ...]  # what the numbers of the residual are called
    units: tuple[str, ...]  # their units
    reason: str = ""  # why it is not met, in words; empty where it is

    @property
    def phrase(self) -> str:
        """In words, by how much it is missed, and why."""
        if self.met:
            return f"{self.name} is met to {self.error:.1e}"
        worst = int(np.argmax(np.abs(self.residual)))
        unit = self.units[worst]
        text = f"{self.name} is missed by {self.error:.3g}"
        if len(self.rows) > 1:
            text += f", most of all {self.rows[worst]}, by {self.residual[worst]:+.3g} {unit}"
        else:
            text += f" {unit}"
        return f"{text}: {self.reason}" if self.reason else text


class NearestLimit(NamedTuple):
    """The joint that is closest to an end of its range."""

    joint: str  # its name
    position: float  # where it is [rad or m]
    limit: float  # the end it is near
    margin: float  # distance from there, in halves of its range: one in the middle, zero at the end

    @property
    def phrase(self) -> str:
        """In words."""
        return (
            f"{self.joint} is closest to its limit: {self.position:.4g} of {self.limit:.4g}, "
            f"{100.0 * self.margin:.0f} % left"
        )


class KinematicSolution(NamedTuple):
    """Joint positions and how they fit what was asked.

    Attributes:
        q: Joint positions, n [rad or m].
        outcomes: The constraint, if there is one, and the tasks, in order of priority.
        iterations: Steps taken, over all starts.
        starts: From how many configurations it was tried.
        stopped: Why the search ended.
        nearest: The joint closest to its limit; None where no joint has a range.
    """

    q: Array
    outcomes: tuple[TaskOutcome, ...]
    iterations: int
    starts: int
    stopped: Stop
    nearest: NearestLimit | None

    @property
    def met(self) -> bool:
        """Whether the constraint and all tasks are."""
        return all(outcome.met for outcome in self.outcomes)

    @property
    def phrase(self) -> str:
        """In words: every task that is missed, by how much and why; else that all are met."""
        missed = [outcome.phrase for outcome in self.outcomes if not outcome.met]
        return "; ".join(missed) if missed else Stop.MET.value

    def task(self, name: str) -> TaskOutcome:
        """The outcome of a task, by its name; ``constraint`` for what holds the arm."""
        known = {outcome.name: outcome for outcome in self.outcomes}
        return known[validate.one_of("task", name, list(known))]


def nearest_limit(
    q: Array, lower: Array, upper: Array, names: Sequence[str]
) -> NearestLimit | None:
    """The joint closest to an end of its range; None where no joint has two ends."""
    ranged = np.isfinite(lower) & np.isfinite(upper)
    if not ranged.any():
        return None
    margin = np.full(q.size, np.inf)
    left = np.minimum(q - lower, upper - q)[ranged]
    margin[ranged] = left / (0.5 * (upper - lower)[ranged])
    j = int(np.argmin(margin))
    end = lower[j] if q[j] - lower[j] < upper[j] - q[j] else upper[j]
    return NearestLimit(names[j], float(q[j]), float(end), float(margin[j]))


def outcomes_of(
    equations: Equations, levels: Sequence[TaskLevel], q: Array, lower: Array, upper: Array
) -> tuple[TaskOutcome, ...]:
    """What each level misses at q, within limits of the joints, and why."""
    errors = [float(np.linalg.norm(level.error)) for level in levels]
    missed = [e > t for e, t in zip(errors, equations.tolerances, strict=True)]
    joints = equations.model.arm.joint_names

    def reason(i: int) -> str:
        """What keeps level i from getting better.

        The direction in which it would is −Jᵀg. Where there is none the arm does not reach further;
        where the levels above leave nothing of it they are in the way; else the joints are that
        would have to pass their limits.
        """
        (error, J), above = levels[i], equations.names[:i]
        wanted = -J.T @ error
        size = NOTHING * float(np.linalg.norm(error)) * max(float(np.linalg.norm(J)), 1.0)
        if np.linalg.norm(wanted) <= size:
            return "it is out of reach: no joint brings it nearer"
        Z = np.eye(q.size)
        for level in levels[:i]:
            Z = Z @ damped_inverse(level.jacobian @ Z, 0.0)[1]
        if np.linalg.norm(Z.T @ wanted) <= size:
            if above == ("constraint",):
                return "it is out of reach along the constraint"
            return f"what is needed for it is taken by {' and '.join(above)}"
        blocked = []
        for joint, place, low, high, way in zip(joints, q, lower, upper, wanted, strict=True):
            if place <= low + AT_LIMIT and way < 0.0:
                blocked.append(f"{joint} at its lower limit {low:.4g}")
            elif place >= high - AT_LIMIT and way > 0.0:
                blocked.append(f"{joint} at its upper limit {high:.4g}")
        if blocked:
            return f"it is kept from it by {', '.join(blocked)}"
        worse = [name for name, miss in zip(above, missed, strict=False) if miss]
        if worse:
            return f"it would make {' and '.join(worse)} worse"
        return "the search ended before it got there; another guess may help"

    rows = zip(equations.names, errors, missed, equations.rows, equations.units, strict=True)
    return tuple(
        TaskOutcome(name, levels[i].error, error, not miss, row, unit, reason(i) if miss else "")
        for i, (name, error, miss, row, unit) in enumerate(rows)
    )

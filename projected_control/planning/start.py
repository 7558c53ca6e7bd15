"""Putting an arm together: the configuration nearest a guess that satisfies what is asked of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from projected_control.arrays import Array
from projected_control.control.references import Reference
from projected_control.errors import InvalidValue, Unreachable
from projected_control.model.arm import Arm
from projected_control.model.consistency import require_consistent
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import Constraint
from projected_control.model.coordinates import Coordinates
from projected_control.planning.inverse_kinematics import InverseKinematics
from projected_control.planning.tasks import Task

ROUNDING = 1e-9
"""Error up to which a configuration is taken where rounding allows no less [m and rad]."""


def assemble(
    arm: Arm,
    constraint: Constraint | None,
    guess: ArrayLike,
    coordinates: Coordinates | None = None,
    values: ArrayLike | None = None,
    *,
    time: float = 0.0,
    tolerance: float = 1e-12,
    beyond_limits: bool = True,
) -> Array:
    """The configuration nearest a guess with Φ(q) = x(t) and, if asked, θ(q) = values.

    Within the joint limits where that is possible, otherwise beyond them: a description's limits
    may be narrower than what a mechanism needs. See `InverseKinematics`, which says more of what it
    found, takes several tasks by priority, and never passes a limit.

    Args:
        arm: The arm; its state is left as it was.
        constraint: What must hold; None for a free arm.
        guess: n joint positions [rad or m].
        coordinates: What else is prescribed.
        values: To which values, k of them.
        time: Time of a moving constraint [s].
        tolerance: On ‖(Φ, θ − values)‖ [m and rad].
        beyond_limits: Whether joints may be beyond their limits where it takes that.

    Raises:
        Unreachable: Where there is no such configuration, with the distance that remains.
    """
    start = arm.configuration(guess, "guess")
    if (coordinates is None) != (values is None):
        raise InvalidValue("coordinates and their values go together: give both or none")
    tasks = []
    if coordinates is not None and values is not None:
        tasks.append(Task(coordinates, values, tolerance=tolerance))
    if constraint is None and coordinates is None:
        return start
    allowed = max(tolerance, ROUNDING)
    found = InverseKinematics(arm, constraint, tasks, tolerance=tolerance).solve(
        start, time=time, strict=False
    )
    if all(outcome.error <= allowed for outcome in found.outcomes):
        return found.q
    if not beyond_limits:
        raise Unreachable(
            f"no configuration of {arm.name!r} within its joints' limits satisfies the constraint "
            f"and coordinates asked for: {found.phrase}. Begin from another guess, or place "
            "constraint and reference where the arm reaches them"
        )
    beyond = InverseKinematics(
        arm, constraint, tasks, tolerance=tolerance, lower=-np.inf, upper=np.inf
    ).solve(start, time=time, strict=False)
    if all(outcome.error <= allowed for outcome in beyond.outcomes):
        return beyond.q
    raise Unreachable(
        f"no configuration of {arm.name!r} satisfies the constraint and coordinates asked for: "
        f"{beyond.phrase}. The nearest found is q = {np.array2string(beyond.q, precision=4)}"
    )


def guess_within(arm: Arm) -> Array:
    """Joint positions within their ranges to look for a start from: zero, else the middle."""
    lower, upper = arm.limits.lower, arm.limits.upper
    middle, ranged = np.zeros(arm.n), np.isfinite(lower) & np.isfinite(upper)
    middle[ranged] = 0.5 * (lower[ranged] + upper[ranged])  # a continuous joint has none
    return np.where((lower <= 0.0) & (upper >= 0.0), 0.0, middle)


class Start(NamedTuple):
    """A state in which a run may begin."""

    # q, v: joint positions and velocities, n [rad or m, and per second].
    q: Array
    v: Array


def start_of(
    model: ConstrainedArm, reference: Reference, guess: ArrayLike, *, time: float = 0.0
) -> Start:
    """The state nearest a guess that is on the constraint and on a reference, position and rate.

    Its joints are within their limits; where they cannot be, it is `Unreachable`. Constraints that
    contradict each other are refused.

    Args:
        model: The arm, its constraint and the coordinates of the reference.
        reference: Where to begin, and how fast.
        guess: n joint positions [rad or m].
        time: When [s].
    """
    if model.coordinates is None:
        raise InvalidValue("a start on a reference needs coordinates: give the model some")
    point = reference.at(time)
    q = assemble(
        model.arm,
        model.constraint,
        guess,
        model.coordinates,
        point.value,
        time=time,
        beyond_limits=False,
    )
    require_consistent(model.arm, model.constraint, q, time)
    at = model.evaluate(q, np.zeros(model.n), time)
    rate = model.coordinates.velocity(point.value, point.rate)
    imposed = np.asarray(at.A @ at.normal_rate)
    equations, rates = np.vstack([at.A, at.J_theta]), np.concatenate([imposed, rate])
    return Start(q, np.linalg.pinv(equations, rcond=1e-9) @ rates / model.sqrt_metric)

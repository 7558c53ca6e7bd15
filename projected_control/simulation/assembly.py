"""Putting an arm together: the configuration nearest a guess that satisfies what is asked of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.control.references import Reference
from projected_control.errors import InvalidValue, Unreachable
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import Constraint
from projected_control.model.coordinates import Coordinates

Array = NDArray[np.float64]
Equations = Callable[[Array], tuple[Array, Array]]

MAX_ITERATIONS = 200
RESTARTS = 20


def assemble(
    arm: Arm,
    constraint: Constraint | None,
    guess: ArrayLike,
    coordinates: Coordinates | None = None,
    values: ArrayLike | None = None,
    *,
    time: float = 0.0,
    tolerance: float = 1e-12,
) -> Array:
    """The configuration nearest a guess with Φ(q) = x(t) and, if asked, θ(q) = values.

    Newton steps towards the equations, and within them towards the guess:
    ``δq = −G⁺ g − (I − G⁺G)(q − q_guess)``. Where they do not settle, least squares from the guess
    and from random configurations has the last word.

    Args:
        arm: The arm; its state is left as it was.
        constraint: What must hold; None for a free arm.
        guess: n joint positions [rad or m].
        coordinates: What else is prescribed.
        values: To which values, k of them.
        time: Time of a moving constraint [s].
        tolerance: On ‖(Φ, θ − values)‖ [m and rad].

    Raises:
        Unreachable: Where there is no such configuration, with the distance that remains.
    """
    start = validate.finite_array("guess", guess, (arm.n,))
    if (coordinates is None) != (values is None):
        raise InvalidValue("coordinates and their values go together: give both or none")
    desired = np.empty(0)
    if coordinates is not None and values is not None:
        desired = validate.finite_array("values", values, (coordinates.size,))
    probe = arm.twin()
    rest = np.zeros(arm.n)
    target = constraint.target(time) if constraint is not None else None

    def equations(q: Array) -> tuple[Array, Array]:
        probe.update(q, rest)
        g: list[Array] = []
        G: list[Array] = []
        if constraint is not None:
            residual = constraint.residual(probe)
            g.append(residual if target is None else residual - target.x)
            G.append(constraint.jacobian(probe))
        if coordinates is not None:
            g.append(coordinates.difference(coordinates.value(probe), desired))
            G.append(coordinates.jacobian(probe))
        return np.concatenate(g), np.concatenate(G)

    if constraint is None and coordinates is None:
        return start
    solution = _nearest(equations, start, tolerance)
    if solution is None:
        solution = _least_squares(equations, start, arm, tolerance)
    return solution


class Start(NamedTuple):
    """A state in which a run may begin.

    Attributes:
        q, v: Joint positions and velocities, n [rad or m, and per second].
    """

    q: Array
    v: Array


def start_of(
    model: ConstrainedArm, reference: Reference, guess: ArrayLike, *, time: float = 0.0
) -> Start:
    """The state nearest a guess that is on the constraint and on a reference, position and rate.

    Args:
        model: The arm, its constraint and the coordinates of the reference.
        reference: Where to begin, and how fast.
        guess: n joint positions [rad or m].
        time: When [s].
    """
    if model.coordinates is None:
        raise InvalidValue("a start on a reference needs coordinates: give the model some")
    point = reference.at(time)
    q = assemble(model.arm, model.constraint, guess, model.coordinates, point.value, time=time)
    at = model.evaluate(q, np.zeros(model.n), time)
    rate = model.coordinates.velocity(point.value, point.rate)
    imposed = np.asarray(at.A @ at.normal_rate)
    equations, rates = np.vstack([at.A, at.J_theta]), np.concatenate([imposed, rate])
    return Start(q, np.linalg.pinv(equations, rcond=1e-9) @ rates / model.sqrt_metric)


def _nearest(equations: Equations, start: Array, tolerance: float) -> Array | None:
    q = start.copy()
    for _ in range(MAX_ITERATIONS):
        g, G = equations(q)
        G_pinv = np.linalg.pinv(G, rcond=1e-9)
        back = start - q
        step = -G_pinv @ g + back - G_pinv @ (G @ back)
        step *= min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-300))
        q += step
        if np.abs(step).max() < 1e-13 + 1e-12 * np.abs(q).max():
            break
    return q if np.linalg.norm(equations(q)[0]) <= tolerance else None


def _least_squares(equations: Equations, start: Array, arm: Arm, tolerance: float) -> Array:
    """A solution within the joint limits if one is found there, else any that is found."""
    from scipy.optimize import least_squares  # slow to load, and seldom needed

    random = np.random.default_rng(0)
    lower = np.where(np.isfinite(arm.limits.lower), arm.limits.lower, start - np.pi)
    upper = np.where(np.isfinite(arm.limits.upper), arm.limits.upper, start + np.pi)
    outside: Array | None = None
    best, best_error = start, np.inf
    for attempt in range(RESTARTS):
        guess = start if attempt == 0 else random.uniform(lower, upper)
        result = least_squares(
            lambda q: equations(q)[0],
            guess,
            jac=lambda q: equations(q)[1],
            xtol=1e-15,
            ftol=1e-15,
            gtol=1e-15,
        )
        error = float(np.linalg.norm(result.fun))
        near = _nearest(equations, result.x, tolerance) if error < 1e-3 else None
        if near is not None:
            if ((near >= lower) & (near <= upper)).all():
                return near
            outside = near if outside is None else outside
        if error < best_error:
            best, best_error = result.x, error
    if outside is not None:
        return outside
    if best_error <= max(tolerance, 1e-9):
        return best
    raise Unreachable(
        f"no configuration of {arm.name!r} satisfies the constraint and coordinates asked for: the "
        f"nearest found, q = {np.array2string(best, precision=4)}, misses them by {best_error:.3g}"
    )

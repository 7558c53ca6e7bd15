"""Gains by LQR in the subspace that the constraint leaves (Xin et al. 2021), for arms and robots.

A motion on the constraint is described by independent coordinates θ. About a rest at θ₀, with the
efforts f₀ that hold it, it is linear in e = θ − θ₀ and in what the motors add, f = f₀ + S u:

    ë = A₂₁ e + A₂₂ ė + B u,    B = J_θ Φ S,    Φ = M_c⁻¹P,

A₂₁ and A₂₂ being differences of J_θ q̈ + J̇_θ q̇ along (J_θ P)⁺: weight that topples is in A₂₁. With
Q and R the Riccati equation gives u = −K x for the least ∫ xᵀQ x + uᵀR u, x = (e, ė). The laws here
ask for accelerations, ë = −G_P e − G_D ė, and do with their model what A₂₁ does; so they get

    [G_P G_D] = −([A₂₁ A₂₂] − B K),    of which they take the diagonal, gains per coordinate.

What that costs beside all of K is the ratio of xᵀX x, of Lyapunov's equation to Riccati's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from projected_control import validate
from projected_control.arrays import Array
from projected_control.errors import InvalidValue, Uncontrollable
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.inverse_dynamics import inverse_dynamics

STEP = 1e-5
"""Of a difference [m or rad, and per second]."""

REACHED = 1e-8
"""Smallest singular value of (J_θ P)⁺'s inverse with which coordinates are independent."""


@dataclass(frozen=True)
class LinearMotion:
    """ẋ = A x + B u of a motion on the constraint, x = (e, ė), 2k, about a rest.

    Attributes:
        A: 2k × 2k.
        B: 2k × motors.
        effort: f₀ of the motors, which holds the rest [N·m or N].
    """

    A: Array
    B: Array
    effort: Array


@dataclass(frozen=True)
class LqrGains:
    """Gains of a quadratic cost.

    Attributes:
        gain: K of u = −K x, motors × 2k, as the Riccati equation has it.
        stiffness, damping: G_P [1/s²] and G_D [1/s] of the coordinates, all of them, k × k.
        cost_ratio: Cost of their diagonals alone over the least there is, for the worst x.
    """

    gain: Array
    stiffness: Array
    damping: Array
    cost_ratio: float


def linearise(model: ConstrainedArm, q: ArrayLike) -> LinearMotion:
    """The motion of a model's coordinates about a rest at q.

    Raises:
        InvalidValue: If the coordinates depend on each other there, or the model has a metric.
        Uncontrollable: If the motors cannot hold the rest.
    """
    n, k = model.n, model.k
    if k == 0:
        raise InvalidValue("gains are per coordinate: give the model coordinates")
    place, rest = np.array(model.arm.configuration(q)), np.zeros(n)
    motors = np.flatnonzero(model.arm.actuated)
    effort = inverse_dynamics(model, place, rest, rest).effort
    model.evaluate(place, rest)
    along = model.J_theta @ model.P
    if np.linalg.svd(along, compute_uv=False)[-1] < REACHED:
        raise InvalidValue(
            "the coordinates depend on each other or on the constraint here: LQR needs independent "
            "ones"
        )
    ways = np.linalg.pinv(along)
    B = model.J_theta @ _answer(model)[:, motors]

    def acceleration(at: Array, v: Array) -> Array:
        model.evaluate(at, v)
        rate = np.linalg.solve(
            _constrained_inertia(model),
            model.P @ (effort - model.h) + model.M @ model.A_pinv @ model.b,
        )
        return np.asarray(model.J_theta @ rate + model.theta_bias)

    stiff, damp = np.empty((k, k)), np.empty((k, k))
    for i, way in enumerate(ways.T):
        ends = [acceleration(model.arm.moved(place, s * STEP * way), rest) for s in (1.0, -1.0)]
        stiff[:, i] = (ends[0] - ends[1]) / (2.0 * STEP)
        ends = [acceleration(place, s * STEP * way) for s in (1.0, -1.0)]
        damp[:, i] = (ends[0] - ends[1]) / (2.0 * STEP)
    model.evaluate(place, rest)
    A = np.block([[np.zeros((k, k)), np.eye(k)], [stiff, damp]])
    return LinearMotion(A, np.vstack([np.zeros_like(B), B]), effort[motors])


def _constrained_inertia(model: ConstrainedArm) -> Array:
    PM = model.P @ model.M
    return np.asarray(model.M + PM - PM.T)


def _answer(model: ConstrainedArm) -> Array:
    """Φ = M_c⁻¹P."""
    return np.asarray(np.linalg.solve(_constrained_inertia(model), model.P))


def lqr(motion: LinearMotion, Q: ArrayLike, R: ArrayLike) -> LqrGains:
    """The gains of least ∫ xᵀQ x + uᵀR u.

    Args:
        motion: See `linearise`.
        Q: Cost of x = (e, ė), its diagonal, 2k.
        R: Cost of the motors' efforts, its diagonal.
    """
    from scipy.linalg import solve_continuous_are, solve_continuous_lyapunov

    A, B = motion.A, motion.B
    size, motors = B.shape
    k = size // 2
    cost = np.diag(validate.spread("cost of the state", Q, size, "number of x"))
    least = np.diag(validate.spread("cost of the efforts", R, motors, "motor"))
    try:
        X = solve_continuous_are(A, B, cost, least)
    except np.linalg.LinAlgError as error:
        raise Uncontrollable(
            f"no gains bring this motion to rest: the Riccati equation has no solution ({error})"
        ) from None
    K = np.linalg.solve(least, B.T @ X)
    gains = -(A - B @ K)[k:]
    stiffness, damping = gains[:, :k], gains[:, k:]
    if not (np.diag(stiffness) > 0.0).all() or not (np.diag(damping) > 0.0).all():
        raise InvalidValue(
            "one coordinate alone would not be stable with these costs: its gains are "
            f"G_P {np.diag(stiffness).round(3).tolist()}, G_D {np.diag(damping).round(3).tolist()}"
        )
    alone = np.hstack([np.diag(np.diag(stiffness)), np.diag(np.diag(damping))])
    # Efforts that make of the motion what the diagonal asks for, of all those the cheapest.
    weighed = np.linalg.solve(least, B[k:].T)
    used = weighed @ np.linalg.solve(B[k:] @ weighed, A[k:] + alone)
    closed = A - B @ used
    spent = solve_continuous_lyapunov(closed.T, -(cost + used.T @ least @ used))
    root = np.linalg.inv(np.linalg.cholesky(X))
    ratio = float(np.linalg.eigvalsh(root @ spent @ root.T)[-1])
    return LqrGains(K, stiffness, damping, ratio)

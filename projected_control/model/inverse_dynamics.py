"""Inverse dynamics of closed chains, as a plain function: from a motion to the motors' torques.

    M q̈ + h = f − Aᵀλ,    A q̈ = b,    f = B f

Projected on the free directions the unknown λ drops out, P f = P (h + M q̈), and what is left is an
equation for the efforts of the motors alone. Where there are more motors than free directions, some
efforts change nothing but λ: with them a wanted internal force is met as well as it can be. All
that is not unique is said. It needs neither ROS nor a controller.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue, Uncontrollable
from projected_control.model.constrained_arm import ConstrainedArm

Array = NDArray[np.float64]

CONSISTENT = 1e-6  # share of the asked acceleration up to which A q̈ − b counts as rounding
NEGLIGIBLE = 1e-9  # singular values below this share of the largest are none


@dataclass(frozen=True)
class InverseDynamics:
    """What the motors have to do for a motion.

    Attributes:
        effort: f, n; zero for joints without a motor [N·m or N].
        multipliers: λ, m; the smallest where rows repeat each other [N or N·m].
        constraint_force: F = Aᵀλ, n; unique.
        internal: Efforts that change no motion but only λ, n × r, orthonormal columns; r = 0 where
            the effort is unique.
        ambiguous: Multipliers that exert no force, m × s, orthonormal columns; s = 0 where λ is
            unique.
        rank: Number of independent constraints.
    """

    effort: Array
    multipliers: Array
    constraint_force: Array
    internal: Array
    ambiguous: Array
    rank: int


def inverse_dynamics(
    model: ConstrainedArm,
    q: ArrayLike,
    v: ArrayLike,
    acceleration: ArrayLike,
    *,
    multipliers: ArrayLike | None = None,
    time: float = 0.0,
) -> InverseDynamics:
    """The efforts of the motors for a motion of a closed chain, and the forces in its joints.

    Args:
        model: The arm, with its passive joints, and what closes it; built without a metric.
        q: Joint positions, n [rad or m].
        v: Joint velocities, n [rad/s or m/s].
        acceleration: q̈, n; it has to satisfy the constraint, A q̈ = b.
        multipliers: Wanted λ, m; met as well as the spare motors can. None for the least effort.
        time: Of a moving constraint [s].

    Raises:
        InvalidValue: If the acceleration breaks the constraint.
        Uncontrollable: If the motors cannot give this motion.
    """
    n, m = model.n, model.m
    if not (model.sqrt_metric == 1.0).all():
        raise InvalidValue("inverse dynamics is in joint units: build the model without a metric")
    wanted = validate.finite_array("acceleration", acceleration, (n,))
    at = model.evaluate(
        validate.finite_array("joint positions", q, (n,)),
        validate.finite_array("joint velocities", v, (n,)),
        time,
    )
    broken = at.A @ wanted - at.b
    if np.linalg.norm(broken) > CONSISTENT * max(1.0, float(np.linalg.norm(wanted))):
        raise InvalidValue(
            f"the acceleration breaks the constraint: A q̈ − b = {np.round(broken, 6).tolist()}; "
            "the nearest that does not is q̈ − A⁺(A q̈ − b)"
        )
    needed = at.h + at.M @ wanted
    motors = np.flatnonzero(model.arm.actuated)
    P_motors = at.P[:, motors]
    u = np.linalg.pinv(P_motors, rcond=NEGLIGIBLE) @ (at.P @ needed)
    missing = at.P @ needed - P_motors @ u
    if np.linalg.norm(missing) > CONSISTENT * max(1.0, float(np.linalg.norm(needed))):
        raise Uncontrollable(
            f"the motors of {[model.arm.joint_names[i] for i in motors]} cannot give this motion: "
            f"{float(np.linalg.norm(missing)):.3g} N·m or N are missing"
        )
    spare = np.zeros((n, 0))
    free = _null_space(P_motors)
    if free.shape[1]:
        spare = np.zeros((n, free.shape[1]))
        spare[motors] = free
    effort = np.zeros(n)
    effort[motors] = u
    to_lambda = at.A_pinv.T
    found = to_lambda @ (effort - needed)
    if multipliers is not None:
        aim = validate.finite_array("wanted multipliers", multipliers, (m,))
        effort = effort + spare @ (np.linalg.pinv(to_lambda @ spare) @ (aim - found))
        found = to_lambda @ (effort - needed)
    return InverseDynamics(effort, found, at.A.T @ found, spare, _null_space(at.A.T), at.rank)


def _null_space(matrix: Array) -> Array:
    """Orthonormal columns that the matrix takes to zero."""
    if not matrix.size:
        return np.eye(matrix.shape[1])
    _, sigma, Vt = np.linalg.svd(matrix)
    rank = int((sigma > NEGLIGIBLE * max(float(sigma[0]), 1e-300)).sum())
    columns: Array = Vt[rank:].T
    return columns

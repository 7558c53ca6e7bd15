"""Kinematics of a frame, and the vectors of three numbers it is made of, for use inside kernels.

Vectors are tuples: a kernel keeps them in registers and allocates nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import Columns, Matrix, Numbers, compiled, kernel

Array = NDArray[np.float64]
Vector = tuple[float, float, float]

TOGETHER = 2.0
"""In the place of a one, for the six columns of a floating base: one joint of Pinocchio's."""


@compiled
def cross(a: Vector, b: Vector) -> Vector:
    """a × b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@compiled
def inner(a: Vector, b: Vector) -> float:
    """aᵀ b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@compiled
def add(a: Vector, b: Vector, factor: float = 1.0) -> Vector:
    """a + factor b."""
    return (a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2])


@compiled
def rotate(R: Array, a: Vector) -> Vector:
    """R a."""
    return (
        R[0, 0] * a[0] + R[0, 1] * a[1] + R[0, 2] * a[2],
        R[1, 0] * a[0] + R[1, 1] * a[1] + R[1, 2] * a[2],
        R[2, 0] * a[0] + R[2, 1] * a[1] + R[2, 2] * a[2],
    )


@compiled
def turn(placement: Array, a: Vector) -> Vector:
    """R a, with R the rotation of a joint's placement, which stands there column by column."""
    return (
        placement[0] * a[0] + placement[3] * a[1] + placement[6] * a[2],
        placement[1] * a[0] + placement[4] * a[1] + placement[7] * a[2],
        placement[2] * a[0] + placement[5] * a[1] + placement[8] * a[2],
    )


@compiled
def place(placement: Array, local: Vector) -> Vector:
    """p + R a: where a point of a joint is in the world [m]."""
    return add(vector(placement, 9), turn(placement, local))


@compiled
def vector(a: Array, start: int) -> Vector:
    """Three numbers out of an array."""
    return (a[start], a[start + 1], a[start + 2])


@kernel
def frame_motion(
    spatial_jacobian: Columns,
    v: Numbers,
    placement: Numbers,
    local: Numbers,
    support: Numbers,
    jacobian: Matrix,
) -> tuple[Vector, Vector, Vector, Vector]:
    """Position, angular velocity, linear and angular bias of a frame's origin, in world axes.

    Pinocchio leaves, after one pass, the spatial Jacobian: column k is the twist (o_k, ω_k) that
    joint k gives, o_k being the velocity of the body's point at the world's origin. From it,

        J_k = (o_k + ω_k × p, ω_k),   d/dt (o_k, ω_k) = 𝒱_k × (o_k, ω_k),   𝒱_k = Σ_{i≤k} J_i q̇_i,

    which spares a second pass for the bias J̇q̇. The six columns of a floating base turn together:
    with the whole 𝒱 of the base, whose own share of J̇q̇ is 𝒱 × 𝒱 = 0.

    Args:
        spatial_jacobian: 6 × n, translation first.
        v: q̇.
        placement: Where the joint is that the frame is attached to (see `Arm.placements`).
        local: The frame's origin in that joint's axes [m].
        support: 1 for each joint that moves the frame, `TOGETHER` for a floating base, else 0.
        jacobian: Result, linear above angular, 6 × n.
    """
    position = place(placement, vector(local, 0))
    zero = (0.0, 0.0, 0.0)
    linear, angular, linear_bias, angular_bias = zero, zero, zero, zero
    for k in range(v.size):
        o, w = zero, zero
        if support[k] != 0.0:
            o = (spatial_jacobian[0, k], spatial_jacobian[1, k], spatial_jacobian[2, k])
            w = (spatial_jacobian[3, k], spatial_jacobian[4, k], spatial_jacobian[5, k])
            linear, angular = add(linear, o, v[k]), add(angular, w, v[k])
            if support[k] != TOGETHER:
                linear_bias = add(linear_bias, add(cross(angular, o), cross(linear, w)), v[k])
                angular_bias = add(angular_bias, cross(angular, w), v[k])
        at_point = add(o, cross(w, position))
        for i in range(3):
            jacobian[i, k] = at_point[i]
            jacobian[i + 3, k] = w[i]
    velocity = add(linear, cross(angular, position))
    linear_bias = add(add(linear_bias, cross(angular_bias, position)), cross(angular, velocity))
    return position, angular, linear_bias, angular_bias


@compiled
def wrap(angle: float) -> float:
    """The same angle in [−π, π]."""
    return angle - 2.0 * np.pi * np.round(angle / (2.0 * np.pi))

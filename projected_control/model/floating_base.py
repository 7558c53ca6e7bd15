"""The configuration of a floating base: six numbers, of which three are a rotation.

A base that floats has a place p and an orientation R in the world, and six velocities: v of its
origin and ω, both in its own axes, as Pinocchio's free flyer has them. Pinocchio writes R as a
quaternion, so that its q has one number more than q̇. Here R is a rotation vector φ, as the
orientations among the coordinates are (`rotations`): then a base takes the places of six joints
in every vector,

    q = (p, φ, joints),    q̇ = (v, ω, joints' rates),

and is added to, subtracted and integrated as what it is:

    q ⊕ d = (p, R) exp(d),    b ⊖ a = log((p, R)_a⁻¹ (p, R)_b),

    ṗ = R v,    φ̇ = (I + K/2 + c K²) ω,    K = φ×,    c = (1 − ϑ/2 cot ϑ/2)/ϑ²,    ϑ = ‖φ‖.

φ is the shortest vector of its rotation. At ‖φ‖ = π it changes its sign, R does not: nothing here
or elsewhere subtracts one φ from another.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import Numbers, compiled, kernel
from projected_control.model.kinematics import Vector, add, cross, inner, vector
from projected_control.model.rotations import (
    Quaternion,
    inverse_rate_factor,
    quaternion_of,
    rotation_vector,
    turn_between,
)

Array = NDArray[np.float64]

BASE = ("base_x", "base_y", "base_z", "base_rx", "base_ry", "base_rz")
"""What the six joints that a floating base stands for are called."""

SIZE = len(BASE)

_SMALL = 1e-3


@compiled
def turned(r: Quaternion, a: Vector) -> Vector:
    """R a, of a unit quaternion w, x, y, z."""
    u = (r[1], r[2], r[3])
    across = cross(u, a)
    return add(add(a, across, 2.0 * r[0]), cross(u, across), 2.0)


@compiled
def turned_on(a: Vector, b: Vector) -> Vector:
    """log(exp(a×) exp(b×)) of two rotation vectors."""
    return turn_between(a, (-b[0], -b[1], -b[2]))


@compiled
def carried(omega: Vector, d: Vector) -> Vector:
    """(I + a K + b K²) d, K = ω×: how far a screw of one second leads."""
    square = inner(omega, omega)
    if square < _SMALL:
        a = 1.0 / 2.0 - square / 24.0 + square * square / 720.0
        b = 1.0 / 6.0 - square / 120.0 + square * square / 5040.0
    else:
        angle = np.sqrt(square)
        a = (1.0 - np.cos(angle)) / square
        b = (1.0 - np.sin(angle) / angle) / square
    across = cross(omega, d)
    return add(add(d, across, a), cross(omega, across), b)


@kernel
def base_rates(q: Numbers, v: Numbers, rates: Numbers) -> None:
    """rates ← (ṗ, φ̇), the first six; the joints' are left as they are."""
    phi, omega = vector(q, 3), vector(v, 3)
    place = turned(quaternion_of(phi), vector(v, 0))
    across = cross(phi, omega)
    turn = add(add(omega, across, 0.5), cross(phi, across), inverse_rate_factor(phi))
    for i in range(3):
        rates[i], rates[3 + i] = place[i], turn[i]


@kernel
def add_to_base(step: Numbers, factor: float, q: Numbers) -> None:
    """q ← q ⊕ factor step, the base's six numbers of them."""
    phi = vector(q, 3)
    zero = (0.0, 0.0, 0.0)
    omega, along = add(zero, vector(step, 3), factor), add(zero, vector(step, 0), factor)
    place = turned(quaternion_of(phi), carried(omega, along))
    turn = turned_on(phi, omega)
    for i in range(3):
        q[i] += place[i]
        q[3 + i] = turn[i]


@kernel
def base_between(a: Numbers, b: Numbers, step: Numbers) -> None:
    """step ← b ⊖ a, the base's six numbers of it: the screw that leads from a to b."""
    phi = vector(a, 3)
    back = quaternion_of((-phi[0], -phi[1], -phi[2]))
    omega = turned_on((-phi[0], -phi[1], -phi[2]), vector(b, 3))
    apart = turned(back, add(vector(b, 0), vector(a, 0), -1.0))
    across = cross(omega, apart)
    along = add(add(apart, across, -0.5), cross(omega, across), inverse_rate_factor(omega))
    for i in range(3):
        step[i], step[3 + i] = along[i], omega[i]


@kernel
def shorten_rotation(q: Numbers) -> None:
    """The shortest φ of the same rotation, ‖φ‖ ≤ π."""
    turn = rotation_vector(quaternion_of(vector(q, 3)))
    for i in range(3):
        q[3 + i] = turn[i]


@kernel
def to_pinocchio(q: Numbers, longer: Numbers) -> None:
    """longer ← Pinocchio's q, one number longer than ours."""
    turn = quaternion_of(vector(q, 3))
    for i in range(3):
        longer[i], longer[3 + i] = q[i], turn[1 + i]
    longer[6] = turn[0]
    for i in range(6, q.size):
        longer[1 + i] = q[i]


def from_pinocchio(q: Array) -> Array:
    """Ours from Pinocchio's q; the quaternion need not have the length one exactly."""
    x, y, z, w = q[3:7] / np.linalg.norm(q[3:7])
    return np.concatenate([q[:3], rotation_vector((w, x, y, z)), q[SIZE + 1 :]])

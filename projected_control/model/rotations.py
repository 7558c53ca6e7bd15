"""Rotations for use inside kernels: rotation vectors, and quaternions on the way between them.

A rotation vector φ stands for R = exp(φ×), a turn by ‖φ‖ about φ. Its rate is not the angular
velocity, but with K = φ×, ϑ = ‖φ‖

    ω = (I + a K + b K²) φ̇,   a = (1 − cos ϑ)/ϑ²,   b = (ϑ − sin ϑ)/ϑ³.

The difference of two rotations is log(R_a R_bᵀ), the turn that leads from b to a, in the world. It
changes with the rate (`difference_rate`)

    ė = (I + K/2 + c K²) (ω_a − ω_b) + ω_a × e,   K = e×,   c = (1 − ϑ/2 cot ϑ/2)/ϑ²,   ϑ = ‖e‖.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import Numbers, compiled, kernel
from projected_control.model.kinematics import Vector, add, cross, inner, vector, wrap

Array = NDArray[np.float64]
Quaternion = tuple[float, float, float, float]


class Topology(IntEnum):
    """What the values of a coordinate are numbers of."""

    LINE = 0
    """A length, or an angle whose turns are counted."""
    CIRCLE = 1
    """An angle: values that differ by 2π are the same."""
    ROTATION = 2
    """The first number of a rotation vector."""
    ROTATION_GOES_ON = 3
    """Its second or third."""


_CIRCLE, _ROTATION, _GOES_ON = 1, 2, 3
_SMALL = 1e-3
_HALF_TURN_MARGIN = 0.1

FARTHEST = np.pi - _HALF_TURN_MARGIN
"""Error beyond which an orientation is out of reach [rad]: at π the way back is not unique."""


@kernel
def quaternion_of(phi: Vector) -> Quaternion:
    """The unit quaternion w, x, y, z of a rotation vector."""
    angle = np.sqrt(inner(phi, phi))
    half = 0.5 * angle
    scale = 0.5 - half * half / 12.0 if angle < 1e-4 else np.sin(half) / angle
    return (np.cos(half), scale * phi[0], scale * phi[1], scale * phi[2])


@kernel
def rotation_vector(r: Quaternion) -> Vector:
    """The shortest rotation vector of a unit quaternion, ‖φ‖ ≤ π."""
    sign = -1.0 if r[0] < 0.0 else 1.0
    length = np.sqrt(r[1] * r[1] + r[2] * r[2] + r[3] * r[3])
    scale = 2.0 * sign if length < 1e-12 else 2.0 * sign * np.arctan2(length, sign * r[0]) / length
    return (scale * r[1], scale * r[2], scale * r[3])


@kernel
def quaternion_of_axes(x: Vector, y: Vector, z: Vector) -> Quaternion:
    """The unit quaternion of the rotation whose columns are x, y, z (Shepperd's method)."""
    trace = x[0] + y[1] + z[2]
    if trace >= x[0] and trace >= y[1] and trace >= z[2]:
        w, i, j, k = 1.0 + trace, y[2] - z[1], z[0] - x[2], x[1] - y[0]
    elif x[0] >= y[1] and x[0] >= z[2]:
        w, i, j, k = y[2] - z[1], 1.0 + 2.0 * x[0] - trace, y[0] + x[1], z[0] + x[2]
    elif y[1] >= z[2]:
        w, i, j, k = z[0] - x[2], y[0] + x[1], 1.0 + 2.0 * y[1] - trace, z[1] + y[2]
    else:
        w, i, j, k = x[1] - y[0], z[0] + x[2], z[1] + y[2], 1.0 + 2.0 * z[2] - trace
    length = np.sqrt(w * w + i * i + j * j + k * k)
    return (w / length, i / length, j / length, k / length)


@kernel
def turn_between(a: Vector, b: Vector) -> Vector:
    """log(exp(a×) exp(b×)ᵀ) of two rotation vectors, by the short way round."""
    p, r = quaternion_of(a), quaternion_of(b)
    u, v = (p[1], p[2], p[3]), (r[1], r[2], r[3])
    turned = add(add((r[0] * u[0], r[0] * u[1], r[0] * u[2]), v, -p[0]), cross(u, v), -1.0)
    return rotation_vector((p[0] * r[0] + inner(u, v), turned[0], turned[1], turned[2]))


@kernel
def angular_motion(phi: Vector, rate: Vector, second: Vector) -> tuple[Vector, Vector]:
    """ω and ω̇ of a rotation vector with these derivatives; for ‖φ‖ < 2π.

    With s = φᵀφ̇:  ω̇ = φ̈ + a K φ̈ + b K² φ̈ + s a₁ K φ̇ + s b₁ K² φ̇ + b φ̇ × K φ̇,
    where ȧ = s a₁ and ḃ = s b₁.
    """
    square = inner(phi, phi)
    if square < _SMALL:
        a = 1.0 / 2.0 - square / 24.0 + square * square / 720.0
        b = 1.0 / 6.0 - square / 120.0 + square * square / 5040.0
        a1 = -1.0 / 12.0 + square / 180.0 - square * square / 6720.0
        b1 = -1.0 / 60.0 + square / 1260.0 - square * square / 60480.0
    else:
        angle = np.sqrt(square)
        a = (1.0 - np.cos(angle)) / square
        b = (1.0 - np.sin(angle) / angle) / square
        a1 = (np.sin(angle) / angle - 2.0 * a) / square
        b1 = (a - 3.0 * b) / square
    k_rate, k_second = cross(phi, rate), cross(phi, second)
    kk_rate, kk_second = cross(phi, k_rate), cross(phi, k_second)
    s = inner(phi, rate)
    omega = add(add(rate, k_rate, a), kk_rate, b)
    alpha = add(add(second, k_second, a), kk_second, b)
    alpha = add(add(alpha, k_rate, s * a1), kk_rate, s * b1)
    return omega, add(alpha, cross(rate, k_rate), b)


@compiled
def inverse_rate_factor(phi: Vector) -> float:
    """c = (1 − ϑ/2 cot ϑ/2)/ϑ², ϑ = ‖φ‖; for ‖φ‖ < 2π."""
    square = inner(phi, phi)
    if square < _SMALL:
        return 1.0 / 12.0 + square / 720.0 + square * square / 30240.0
    half = 0.5 * np.sqrt(square)
    return (1.0 - half * np.cos(half) / np.sin(half)) / square


@kernel
def difference_rate(e: Vector, omega_a: Vector, omega_b: Vector) -> Vector:
    """ė of e = log(R_a R_bᵀ) where a and b turn with these angular velocities; for ‖e‖ < 2π."""
    c = inverse_rate_factor(e)
    apart = add(omega_a, omega_b, -1.0)
    across = cross(e, apart)
    relative = add(add(apart, across, 0.5), cross(e, across), c)
    return add(relative, cross(omega_a, e))


@kernel
def subtract(a: Numbers, b: Numbers, topology: Numbers, difference: Numbers) -> None:
    """difference = a − b of coordinates: angles and rotations by the short way round."""
    for i in range(a.size):
        kind = int(topology[i])
        if kind == _ROTATION:
            turn = turn_between(vector(a, i), vector(b, i))
            difference[i], difference[i + 1], difference[i + 2] = turn
        elif kind != _GOES_ON:
            e = a[i] - b[i]
            difference[i] = wrap(e) if kind == _CIRCLE else e


@compiled
def out_of_reach(a: Array, b: Array, topology: Array) -> bool:
    """Whether some rotation is so far from another that the way between is not unique."""
    far = False
    for i in range(a.size):
        if int(topology[i]) == _ROTATION:
            turn = turn_between(vector(a, i), vector(b, i))
            far = far or inner(turn, turn) > FARTHEST * FARTHEST
    return far

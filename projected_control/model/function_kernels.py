"""The kernels of the scalar functions, one per kind (see `function_kinds`).

Each returns y and its bias, the part of ÿ that is there without any joint acceleration, and adds
∂y/∂q to the gradient. ``geometry`` are the numbers of the function's line, from the fifth on.
With u an axis that turns at ω:  u̇ = ω × u,  ü = ω̇ × u + ω × u̇.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.model.height_map import height_at
from projected_control.model.kinematics import Vector, add, cross, inner, turn, vector
from projected_control.model.linalg import axpy
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]

SIDE = 0.1
"""Cosine above which an axis counts as on the side it is meant to be (see `AxisCosine`)."""


class FrameTerms(NamedTuple):
    """Scratch of `evaluate_functions`: how the frames move, in world axes (see `frame_motion`)."""

    position: Annotated[Array, Part("frames, 3", "Position of the origin [m].")]
    omega: Annotated[Array, Part("frames, 3", "Angular velocity [rad/s].")]
    linear_bias: Annotated[Array, Part("frames, 3", "Acceleration of the origin at q̈ = 0 [m/s²].")]
    angular_bias: Annotated[Array, Part("frames, 3", "Angular acceleration at q̈ = 0 [rad/s²].")]
    jacobian: Annotated[Array, Part("frames, 6, n", "Jacobian, linear above angular.")]


FRAMES = Layout(FrameTerms, "frames", "n")
unpack_frames = FRAMES.unpack


@compiled
def add_gradient(force: Vector, frame: int, f: FrameTerms, gradient: Array) -> None:
    """gradient ← gradient + J_pᵀ force, J_p the Jacobian of the frame's origin."""
    for i in range(3):
        axpy(force[i], f.jacobian[frame, i], gradient)


@compiled
def add_turning(moment: Vector, frame: int, f: FrameTerms, gradient: Array) -> None:
    """gradient ← gradient + J_ωᵀ moment, J_ω the Jacobian of the frame's angular velocity."""
    for i in range(3):
        axpy(moment[i], f.jacobian[frame, 3 + i], gradient)


@compiled
def velocity(frame: int, f: FrameTerms, v: Array) -> Vector:
    """ṗ of a frame's origin."""
    x, y, z = 0.0, 0.0, 0.0
    for k in range(v.size):
        x += f.jacobian[frame, 0, k] * v[k]
        y += f.jacobian[frame, 1, k] * v[k]
        z += f.jacobian[frame, 2, k] * v[k]
    return (x, y, z)


@compiled
def axis_rates(u: Vector, frame: int, f: FrameTerms) -> tuple[Vector, Vector]:
    """u̇ and the bias of ü of an axis that turns with a frame."""
    omega, alpha = vector(f.omega[frame], 0), vector(f.angular_bias[frame], 0)
    rate = cross(omega, u)
    return rate, add(cross(alpha, u), cross(omega, rate))


@compiled
def position_along(
    geometry: Array, frame: int, f: FrameTerms, sign: float, gradient: Array
) -> tuple[float, float]:
    """directionᵀ p of a frame and its bias; sign times its Jacobian is added to the gradient."""
    for i in range(3):
        axpy(sign * geometry[i], f.jacobian[frame, i], gradient)
    direction = vector(geometry, 0)
    y = inner(direction, vector(f.position[frame], 0))
    return y, inner(direction, vector(f.linear_bias[frame], 0))


@compiled
def turning_position(
    u: Vector, frame: int, other: int, axes: int, f: FrameTerms, v: Array, gradient: Array
) -> tuple[float, float]:
    """y = uᵀ r with r = p − p_other and u turning with the frame `axes`.

    ẏ = uᵀ ṙ + (u × r)ᵀ ω,   ÿ = uᵀ r̈ + 2 u̇ᵀ ṙ + üᵀ r.
    """
    r, r_bias = vector(f.position[frame], 0), vector(f.linear_bias[frame], 0)
    r_rate = velocity(frame, f, v)
    add_gradient(u, frame, f, gradient)
    if other >= 0:
        r = add(r, vector(f.position[other], 0), -1.0)
        r_rate = add(r_rate, velocity(other, f, v), -1.0)
        r_bias = add(r_bias, vector(f.linear_bias[other], 0), -1.0)
        add_gradient((-u[0], -u[1], -u[2]), other, f, gradient)
    u_rate, u_second = axis_rates(u, axes, f)
    add_turning(cross(u, r), axes, f, gradient)
    bias = inner(u, r_bias) + 2.0 * inner(u_rate, r_rate) + inner(u_second, r)
    return inner(u, r), bias


@compiled
def heading(
    geometry: Array, d: Vector, frame: int, f: FrameTerms, sign: float, gradient: Array
) -> tuple[float, float]:
    """ψ = atan2(y, x) with x = e₁ᵀd, y = e₂ᵀd and ḋ = ω × d, for any rotation, in the plane or not.

        ψ̇ = (x ẏ − y ẋ)/ρ²,  ψ̈ = (x ÿ − y ẍ)/ρ² − 2 ψ̇ (x ẋ + y ẏ)/ρ²,  ρ² = x² + y².

    Returns ψ and its bias; sign times ∂ψ/∂q is added to the gradient.
    """
    e1, e2 = vector(geometry, 3), vector(geometry, 6)
    omega, alpha = vector(f.omega[frame], 0), vector(f.angular_bias[frame], 0)
    rate = cross(omega, d)
    second = add(cross(alpha, d), cross(omega, rate))
    x, y, x_rate, y_rate = inner(e1, d), inner(e2, d), inner(e1, rate), inner(e2, rate)
    square = x * x + y * y
    psi_rate = (x * y_rate - y * x_rate) / square
    slip = 2.0 * psi_rate * (x * x_rate + y * y_rate)
    J = f.jacobian[frame]
    for k in range(gradient.size):
        turn = cross((J[3, k], J[4, k], J[5, k]), d)
        gradient[k] += sign * (x * inner(e2, turn) - y * inner(e1, turn)) / square
    return np.arctan2(y, x), (x * inner(e2, second) - y * inner(e1, second) - slip) / square


@compiled
def axis_cosine(
    a: Vector, b: Vector, frame: int, other: int, f: FrameTerms, gradient: Array
) -> tuple[float, float]:
    """y = aᵀ b of an axis a of a frame and one of another, or of the world where other < 0.

    ẏ = (a × b)ᵀ (ω − ω_other),   ÿ = äᵀ b + 2 ȧᵀ ḃ + aᵀ b̈.
    """
    a_rate, a_second = axis_rates(a, frame, f)
    turn = cross(a, b)
    add_turning(turn, frame, f, gradient)
    bias = inner(a_second, b)
    if other >= 0:
        b_rate, b_second = axis_rates(b, other, f)
        bias += 2.0 * inner(a_rate, b_rate) + inner(a, b_second)
        add_turning((-turn[0], -turn[1], -turn[2]), other, f, gradient)
    return inner(a, b), bias


@compiled
def on_side(a: Vector, side: Vector, y: float) -> float:
    """y, or ±1 where the axis a points away from its side; a zero side is none."""
    if side[0] == 0.0 and side[1] == 0.0 and side[2] == 0.0:
        return y
    if inner(a, side) > SIDE:
        return y
    return 1.0 if y >= 0.0 else -1.0


@compiled
def distance(
    geometry: Array, frame: int, other: int, f: FrameTerms, v: Array, gradient: Array
) -> tuple[float, float]:
    """y = ‖d‖, d = S r, r = p − p_other − point, S = I − a aᵀ.

    With n = d/y:  ẏ = nᵀ ṙ,   ÿ = nᵀ r̈ + (‖ḋ‖² − ẏ²)/y.
    """
    axis = vector(geometry, 3)
    r = add(vector(f.position[frame], 0), vector(geometry, 0), -1.0)
    r_rate, r_bias = velocity(frame, f, v), vector(f.linear_bias[frame], 0)
    if other >= 0:
        r = add(r, vector(f.position[other], 0), -1.0)
        r_rate = add(r_rate, velocity(other, f, v), -1.0)
        r_bias = add(r_bias, vector(f.linear_bias[other], 0), -1.0)
    d, d_rate = add(r, axis, -inner(axis, r)), add(r_rate, axis, -inner(axis, r_rate))
    y = np.sqrt(inner(d, d))
    n = (d[0] / y, d[1] / y, d[2] / y)
    y_rate = inner(n, d_rate)
    add_gradient(n, frame, f, gradient)
    if other >= 0:
        add_gradient((-n[0], -n[1], -n[2]), other, f, gradient)
    return y, inner(n, r_bias) + (inner(d_rate, d_rate) - y_rate * y_rate) / y


@compiled
def height_above(
    geometry: Array, surface: Array, frame: int, f: FrameTerms, v: Array, gradient: Array
) -> tuple[float, float]:
    """y = z − s(x, y), the height over a surface, x, y, z the place along its sides and normal.

    ÿ = (e₃ − s_x e₁ − s_y e₂)ᵀ p̈ − s_xx ẋ² − 2 s_xy ẋ ẏ − s_yy ẏ².
    """
    e1, e2 = vector(geometry, 3), vector(geometry, 6)
    e3 = cross(e1, e2)
    r = add(vector(f.position[frame], 0), vector(geometry, 0), -1.0)
    rate = velocity(frame, f, v)
    s, s_x, s_y, s_xx, s_xy, s_yy = height_at(surface, inner(e1, r), inner(e2, r))
    normal = add(add(e3, e1, -s_x), e2, -s_y)
    add_gradient(normal, frame, f, gradient)
    x, y = inner(e1, rate), inner(e2, rate)
    bend = s_xx * x * x + 2.0 * s_xy * x * y + s_yy * y * y
    return inner(e3, r) - s, inner(normal, vector(f.linear_bias[frame], 0)) - bend


@compiled
def angle_about(
    geometry: Array, frame: int, f: FrameTerms, v: Array, gradient: Array
) -> tuple[float, float]:
    """ψ = atan2(y, x), x = e₁ᵀr, y = e₂ᵀr, r = p − point; see `heading` for its derivatives."""
    e1, e2 = vector(geometry, 3), vector(geometry, 6)
    r = add(vector(f.position[frame], 0), vector(geometry, 0), -1.0)
    rate, second = velocity(frame, f, v), vector(f.linear_bias[frame], 0)
    x, y, x_rate, y_rate = inner(e1, r), inner(e2, r), inner(e1, rate), inner(e2, rate)
    square = x * x + y * y
    slip = 2.0 * (x * y_rate - y * x_rate) / square * (x * x_rate + y * y_rate)
    for i in range(3):
        axpy((x * e2[i] - y * e1[i]) / square, f.jacobian[frame, i], gradient)
    return np.arctan2(y, x), (x * inner(e2, second) - y * inner(e1, second) - slip) / square


@compiled
def centre_along(
    geometry: Array, shares: Array, first: int, bodies: int, f: FrameTerms, gradient: Array
) -> tuple[float, float]:
    """directionᵀ c, c = Σ shares p over the bodies' centres of mass, frames from the first on."""
    y, bias = 0.0, 0.0
    direction = vector(geometry, 0)
    for body in range(bodies):
        share, frame = shares[body], first + body
        for i in range(3):
            axpy(share * direction[i], f.jacobian[frame, i], gradient)
        y += share * inner(direction, vector(f.position[frame], 0))
        bias += share * inner(direction, vector(f.linear_bias[frame], 0))
    return y, bias


@compiled
def turned_inertia(d: Vector, placement: Array, inertia: Array) -> Vector:
    """R I Rᵀ d of a body whose inertia is given in the axes of its joint."""
    x, y = turn(placement, (1.0, 0.0, 0.0)), turn(placement, (0.0, 1.0, 0.0))
    z = turn(placement, (0.0, 0.0, 1.0))
    own = (inner(x, d), inner(y, d), inner(z, d))
    whole = (0.0, 0.0, 0.0)
    whole = add(whole, x, inner(vector(inertia, 0), own))
    whole = add(whole, y, inner(vector(inertia, 3), own))
    return add(whole, z, inner(vector(inertia, 6), own))


@compiled
def momentum_about(
    geometry: Array,
    bodies: Array,
    first: int,
    count: int,
    anchors: Array,
    placements: Array,
    f: FrameTerms,
    gradient: Array,
) -> float:
    """The bias of dᵀL, L = Σ m r × ṗ + I ω, r = p − c; its row is added to the gradient.

    L̇ = Σ m r × p̈ + I ω̇ + ω × I ω, as Σ m ṙ × ṗ = 0.
    """
    d, c, mass, bias = vector(geometry, 0), (0.0, 0.0, 0.0), 0.0, 0.0
    for body in range(count):
        mass += bodies[10 * body]
        c = add(c, vector(f.position[first + body], 0), bodies[10 * body])
    for body in range(count):
        frame, numbers = first + body, bodies[10 * body : 10 * body + 10]
        r = add(vector(f.position[frame], 0), c, -1.0 / mass)
        across = add((0.0, 0.0, 0.0), cross(d, r), numbers[0])
        placement = placements[int(anchors[frame, 0])]
        turned = turned_inertia(d, placement, numbers[1:])
        omega = vector(f.omega[frame], 0)
        spin = turned_inertia(omega, placement, numbers[1:])
        add_gradient(across, frame, f, gradient)
        add_turning(turned, frame, f, gradient)
        bias += inner(across, vector(f.linear_bias[frame], 0))
        bias += inner(turned, vector(f.angular_bias[frame], 0)) + inner(d, cross(omega, spin))
    return bias

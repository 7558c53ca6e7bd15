"""Scalar functions of the configuration, from which constraints and coordinates are made.

A row is one number y(q): a component of a point's position, the heading of a frame in a plane, a
joint's angle. Each has a Jacobian ∂y/∂q and a bias, the part of ÿ that is there without any joint
acceleration, so that ``ÿ = (∂y/∂q) q̈ + bias``. A constraint sets rows to zero, a coordinate
follows them: the mathematics is the same, and so is the compiled code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled

if TYPE_CHECKING:
    from projected_control.model.arm import Arm

Array = NDArray[np.float64]

_POINT, _HEADING, _JOINT = 0, 1, 2
_WORLD = -1
_OFFSET, _GEOMETRY, _COLUMNS = 3, 4, 16


@dataclass(frozen=True)
class PointRow:
    """``y = directionᵀ (p − p_other) − offset`` [m], p the origin of a frame in the world.

    Attributes:
        frame: Name of the frame.
        direction: Unit vector in the world.
        offset: [m].
        other: Name of a second frame of the arm; None for the world's origin.
    """

    frame: str
    direction: Array
    offset: float = 0.0
    other: str | None = None


@dataclass(frozen=True)
class HeadingRow:
    """``y = ψ − ψ_other − offset`` [rad], ψ = atan2(e₂ᵀ d, e₁ᵀ d), d an axis of a frame.

    Attributes:
        frame: Name of the frame.
        axis: Unit vector in the frame.
        e1: Unit vector in the world from which the angle counts.
        e2: Unit vector in the world at +90°.
        offset: [rad].
        other: Name of a second frame of the arm, the same axis of which is ψ_other; None for 0.
    """

    frame: str
    axis: Array
    e1: Array
    e2: Array
    offset: float = 0.0
    other: str | None = None


@dataclass(frozen=True)
class JointRow:
    """``y = q_joint − offset`` [rad or m]."""

    joint: str
    offset: float = 0.0


Row = PointRow | HeadingRow | JointRow


class RowTable:
    """Rows laid out for one arm as arrays that a kernel can walk through.

    A line of the table holds the row's kind, its frame or joint, its other frame, its offset and
    up to twelve numbers of geometry; a line of the anchors holds a frame's place on its joint and a
    one for each joint that moves it.

    Attributes:
        arguments: What `evaluate_rows` takes, up to where it writes; the last is the layout,
            anchors before table.
        value: y, one number a row; written by `evaluate`, as are the next two.
        jacobian: ∂y/∂q, rows × n.
        bias: The part of ÿ that is not due to q̈.
    """

    def __init__(self, arm: Arm, rows: Sequence[Row]) -> None:
        frames = _frames_of(rows)
        attachments = [arm.attachment(name) for name in frames]
        self._arm = arm
        self.value = np.zeros(len(rows))
        self.jacobian = np.zeros((len(rows), arm.n))
        self.bias = np.zeros(len(rows))
        table = np.zeros((len(rows), _COLUMNS))
        for i, row in enumerate(rows):
            geometry = table[i, _GEOMETRY:]
            table[i, _OFFSET] = row.offset
            if isinstance(row, JointRow):
                table[i, :3] = _JOINT, arm.joint_index(row.joint), _WORLD
                continue
            frame = frames.index(row.frame)
            other = _WORLD if row.other is None else frames.index(row.other)
            if isinstance(row, PointRow):
                table[i, :3] = _POINT, frame, other
                geometry[:3] = row.direction
            else:
                table[i, :3] = _HEADING, frame, other
                geometry[:3] = attachments[frame].rotation @ row.axis
                geometry[3:6], geometry[6:9] = row.e1, row.e2
                if row.other is not None:
                    geometry[9:] = attachments[other].rotation @ row.axis
        anchors = attachments or [arm.attachment(arm.root_frame)]
        self.arguments = (
            arm.spatial_jacobian,
            arm.q,
            arm.v,
            tuple(a.joint_rotation for a in anchors),
            tuple(a.joint_translation for a in anchors),
            np.concatenate([[*a.translation, *a.support] for a in anchors] + [table.ravel()]),
        )
        self._memory = np.empty(row_memory(len(anchors), arm.n))

    def evaluate(self) -> RowTable:
        """Value, Jacobian and bias for the arm's present state."""
        evaluate_rows(*self.arguments, self.value, self.jacobian, self.bias, self._memory)
        return self


def _frames_of(rows: Sequence[Row]) -> list[str]:
    names: list[str] = []
    for row in rows:
        if not isinstance(row, JointRow):
            names += [row.frame] if row.other is None else [row.frame, row.other]
    return list(dict.fromkeys(names))


Vector = tuple[float, float, float]


@compiled
def cross(a: Vector, b: Vector) -> Vector:
    """a × b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@compiled
def dot(a: Vector, b: Vector) -> float:
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
def vector(a: Array, start: int) -> Vector:
    """Three numbers out of an array."""
    return (a[start], a[start + 1], a[start + 2])


@compiled
def frame_motion(
    spatial_jacobian: Array,
    v: Array,
    rotation: Array,
    translation: Array,
    local: Array,
    support: Array,
    jacobian: Array,
) -> tuple[Vector, Vector, Vector, Vector]:
    """Position, angular velocity, linear and angular bias of a frame's origin, in world axes.

    Pinocchio leaves, after one pass, the spatial Jacobian: column k is the twist (o_k, ω_k) that
    joint k gives, o_k being the velocity of the body's point at the world's origin. From it,

        J_k = (o_k + ω_k × p, ω_k),   d/dt (o_k, ω_k) = 𝒱_k × (o_k, ω_k),   𝒱_k = Σ_{i≤k} J_i q̇_i,

    which spares a second pass for the bias J̇q̇.

    Args:
        spatial_jacobian: 6 × n, translation first.
        v: q̇.
        rotation: Of the joint the frame is attached to, 3 × 3.
        translation: Of that joint [m].
        local: The frame's origin in that joint's axes [m].
        support: 1 for each joint that moves the frame, else 0.
        jacobian: Result, linear above angular, 6 × n.
    """
    position = add(vector(translation, 0), rotate(rotation, vector(local, 0)))
    zero = (0.0, 0.0, 0.0)
    linear, angular, linear_bias, angular_bias = zero, zero, zero, zero
    for k in range(v.size):
        o, w = zero, zero
        if support[k] != 0.0:
            o = (spatial_jacobian[0, k], spatial_jacobian[1, k], spatial_jacobian[2, k])
            w = (spatial_jacobian[3, k], spatial_jacobian[4, k], spatial_jacobian[5, k])
            linear, angular = add(linear, o, v[k]), add(angular, w, v[k])
            linear_bias = add(linear_bias, add(cross(angular, o), cross(linear, w)), v[k])
            angular_bias = add(angular_bias, cross(angular, w), v[k])
        at_point = add(o, cross(w, position))
        for i in range(3):
            jacobian[i, k] = at_point[i]
            jacobian[i + 3, k] = w[i]
    velocity = add(linear, cross(angular, position))
    linear_bias = add(add(linear_bias, cross(angular_bias, position)), cross(angular, velocity))
    return position, angular, linear_bias, angular_bias


def row_memory(frames: int, n: int) -> int:
    """How many numbers `evaluate_rows` needs for intermediate results."""
    return 12 * frames + 6 * n * frames + n


@compiled
def evaluate_rows(
    spatial_jacobian: Array,
    q: Array,
    v: Array,
    rotations: tuple[Array, ...],
    translations: tuple[Array, ...],
    layout: Array,
    value: Array,
    jacobian: Array,
    bias: Array,
    memory: Array,
) -> None:
    """Fill value, Jacobian and bias of every row (see `RowTable` for the layout).

    The memory holds at least `row_memory` numbers for intermediate results.
    """
    n, frames = v.size, len(rotations)
    anchors = layout[: frames * (3 + n)].reshape((frames, 3 + n))
    table = layout[frames * (3 + n) :].reshape((value.size, _COLUMNS))
    motion = memory[: 12 * frames].reshape((frames, 12))
    o = 12 * frames + 6 * n * frames
    jacobians = memory[12 * frames : o].reshape((frames, 6, n))
    gradient = memory[o : o + n]
    for f in range(frames):
        position, omega, linear_bias, angular_bias = frame_motion(
            spatial_jacobian,
            v,
            rotations[f],
            translations[f],
            anchors[f, :3],
            anchors[f, 3:],
            jacobians[f],
        )
        for i in range(3):
            motion[f, i], motion[f, 3 + i] = position[i], omega[i]
            motion[f, 6 + i], motion[f, 9 + i] = linear_bias[i], angular_bias[i]
    for r in range(value.size):
        kind, a, b = int(table[r, 0]), int(table[r, 1]), int(table[r, 2])
        value[r] = -table[r, _OFFSET]
        bias[r] = 0.0
        for k in range(n):
            jacobian[r, k] = 0.0
        if kind == _JOINT:
            value[r] += q[a]
            jacobian[r, a] = 1.0
        elif kind == _POINT:
            for i in range(3):
                d = table[r, _GEOMETRY + i]
                value[r] += d * motion[a, i]
                bias[r] += d * motion[a, 6 + i]
                for k in range(n):
                    jacobian[r, k] += d * jacobians[a, i, k]
                if b != _WORLD:
                    value[r] -= d * motion[b, i]
                    bias[r] -= d * motion[b, 6 + i]
                    for k in range(n):
                        jacobian[r, k] -= d * jacobians[b, i, k]
        else:
            geometry = table[r, _GEOMETRY:]
            psi, bias[r] = heading(rotations[a], motion[a], jacobians[a], geometry, 0, gradient)
            for k in range(n):
                jacobian[r, k] = gradient[k]
            if b != _WORLD:
                psi_b, bias_b = heading(
                    rotations[b], motion[b], jacobians[b], geometry, 9, gradient
                )
                psi -= psi_b
                bias[r] -= bias_b
                for k in range(n):
                    jacobian[r, k] -= gradient[k]
            value[r] = wrap(psi + value[r])


@compiled
def wrap(angle: float) -> float:
    """The same angle in [−π, π]."""
    return angle - 2.0 * np.pi * np.round(angle / (2.0 * np.pi))


@compiled
def heading(
    rotation: Array,
    motion: Array,
    frame_jacobian: Array,
    geometry: Array,
    axis: int,
    gradient: Array,
) -> tuple[float, float]:
    """ψ = atan2(y, x) with x = e₁ᵀd, y = e₂ᵀd and ḋ = ω × d, for any rotation, in the plane or not.

    The axis that gives d starts at the place `axis` of the geometry.

    ψ̇ = (x ẏ − y ẋ)/ρ²,  ψ̈ = (x ÿ − y ẍ)/ρ² − 2 ψ̇ (x ẋ + y ẏ)/ρ²,  ρ² = x² + y².

    Fills the gradient ∂ψ/∂q and returns ψ and its bias.
    """
    e1, e2 = vector(geometry, 3), vector(geometry, 6)
    omega, alpha = vector(motion, 3), vector(motion, 9)
    d = rotate(rotation, vector(geometry, axis))
    rate = cross(omega, d)
    second = add(cross(alpha, d), cross(omega, rate))
    x, y, x_rate, y_rate = dot(e1, d), dot(e2, d), dot(e1, rate), dot(e2, rate)
    square = x * x + y * y
    psi_rate = (x * y_rate - y * x_rate) / square
    slip = 2.0 * psi_rate * (x * x_rate + y * y_rate)
    for k in range(gradient.size):
        turn = cross((frame_jacobian[3, k], frame_jacobian[4, k], frame_jacobian[5, k]), d)
        gradient[k] = (x * dot(e2, turn) - y * dot(e1, turn)) / square
    return np.arctan2(y, x), (x * dot(e2, second) - y * dot(e1, second) - slip) / square

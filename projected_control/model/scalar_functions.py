"""Scalar functions of the configuration, from which constraints and coordinates are made.

A scalar function is one number y(q): a component of a point's position, the heading of a frame in
a plane, a joint's position. Each has a Jacobian ∂y/∂q and a bias, the part of ÿ that is there
without any joint acceleration, so that ``ÿ = (∂y/∂q) q̈ + bias``. A constraint sets such functions
to zero, and each is then one of its rows; a coordinate follows one. The mathematics is the same,
and so is the compiled code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.model.kinematics import (
    add,
    cross,
    frame_motion,
    inner,
    rotate,
    vector,
    wrap,
)

if TYPE_CHECKING:
    from projected_control.model.arm import Arm

Array = NDArray[np.float64]

_POINT, _HEADING, _JOINT = 0, 1, 2
_WORLD = -1
_OFFSET, _GEOMETRY, _COLUMNS = 3, 4, 16


@dataclass(frozen=True)
class PositionAlong:
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
class HeadingInPlane:
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
class JointPosition:
    """``y = q_joint − offset`` [rad or m]."""

    joint: str
    offset: float = 0.0


ScalarFunction = PositionAlong | HeadingInPlane | JointPosition


class FunctionTable:
    """Scalar functions laid out for one arm as arrays that a kernel can walk through.

    A line of the table holds a function's kind, its frame or joint, its other frame, its offset and
    up to twelve numbers of geometry; a line of the anchors holds a frame's place on its joint and a
    one for each joint that moves it.

    Attributes:
        arguments: What `evaluate_functions` takes, up to where it writes; the last is the layout,
            anchors before table.
        value: y, one number per function; written by `evaluate`, as are the next two.
        jacobian: ∂y/∂q, functions × n.
        bias: The part of ÿ that is not due to q̈.
    """

    def __init__(self, arm: Arm, functions: Sequence[ScalarFunction]) -> None:
        frames = _frames_of(functions)
        attachments = [arm.attachment(name) for name in frames]
        self._arm = arm
        self.value = np.zeros(len(functions))
        self.jacobian = np.zeros((len(functions), arm.n))
        self.bias = np.zeros(len(functions))
        table = np.zeros((len(functions), _COLUMNS))
        for i, function in enumerate(functions):
            geometry = table[i, _GEOMETRY:]
            table[i, _OFFSET] = function.offset
            if isinstance(function, JointPosition):
                table[i, :3] = _JOINT, arm.joint_index(function.joint), _WORLD
                continue
            frame = frames.index(function.frame)
            other = _WORLD if function.other is None else frames.index(function.other)
            if isinstance(function, PositionAlong):
                table[i, :3] = _POINT, frame, other
                geometry[:3] = function.direction
            else:
                table[i, :3] = _HEADING, frame, other
                geometry[:3] = attachments[frame].rotation @ function.axis
                geometry[3:6], geometry[6:9] = function.e1, function.e2
                if function.other is not None:
                    geometry[9:] = attachments[other].rotation @ function.axis
        anchors = attachments or [arm.attachment(arm.root_frame)]
        self.arguments = (
            arm.spatial_jacobian,
            arm.q,
            arm.v,
            tuple(a.joint_rotation for a in anchors),
            tuple(a.joint_translation for a in anchors),
            np.concatenate([[*a.translation, *a.support] for a in anchors] + [table.ravel()]),
        )
        self._scratch = np.empty(function_scratch_size(len(anchors), arm.n))

    def evaluate(self) -> FunctionTable:
        """Value, Jacobian and bias for the arm's present state."""
        evaluate_functions(*self.arguments, self.value, self.jacobian, self.bias, self._scratch)
        return self


def _frames_of(functions: Sequence[ScalarFunction]) -> list[str]:
    names: list[str] = []
    for function in functions:
        if not isinstance(function, JointPosition):
            names += (
                [function.frame] if function.other is None else [function.frame, function.other]
            )
    return list(dict.fromkeys(names))


def function_scratch_size(frames: int, n: int) -> int:
    """How many numbers `evaluate_functions` needs for intermediate results."""
    return 12 * frames + 6 * n * frames + n


@compiled
def evaluate_functions(
    spatial_jacobian: Array,
    q: Array,
    v: Array,
    rotations: tuple[Array, ...],
    translations: tuple[Array, ...],
    layout: Array,
    value: Array,
    jacobian: Array,
    bias: Array,
    scratch: Array,
) -> None:
    """Fill value, Jacobian and bias of every function (see `FunctionTable` for the layout).

    The scratch holds at least `function_scratch_size` numbers for intermediate results.
    """
    n, frames = v.size, len(rotations)
    anchors = layout[: frames * (3 + n)].reshape((frames, 3 + n))
    table = layout[frames * (3 + n) :].reshape((value.size, _COLUMNS))
    motion = scratch[: 12 * frames].reshape((frames, 12))
    o = 12 * frames + 6 * n * frames
    jacobians = scratch[12 * frames : o].reshape((frames, 6, n))
    gradient = scratch[o : o + n]
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
    x, y, x_rate, y_rate = inner(e1, d), inner(e2, d), inner(e1, rate), inner(e2, rate)
    square = x * x + y * y
    psi_rate = (x * y_rate - y * x_rate) / square
    slip = 2.0 * psi_rate * (x * x_rate + y * y_rate)
    for k in range(gradient.size):
        turn = cross((frame_jacobian[3, k], frame_jacobian[4, k], frame_jacobian[5, k]), d)
        gradient[k] = (x * inner(e2, turn) - y * inner(e1, turn)) / square
    return np.arctan2(y, x), (x * inner(e2, second) - y * inner(e1, second) - slip) / square

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
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.model.kinematics import (
    Vector,
    add,
    cross,
    frame_motion,
    inner,
    turn,
    vector,
    wrap,
)
from projected_control.model.linalg import axpy, fill
from projected_control.workspace import Layout, Part

if TYPE_CHECKING:
    from projected_control.model.arm import Arm, Attachment

Array = NDArray[np.float64]

_POSITION, _HEADING, _JOINT = 0, 1, 2
_WORLD = -1
_OFFSET, _GEOMETRY, _COLUMNS = 3, 4, 16


@dataclass(frozen=True)
class PositionAlong:
    """``y = directionᵀ (p − p_other) − offset`` [m], p the origin of a frame in the world.

    Attributes:
        frame: Name of the frame.
        direction: Unit vector in the world.
        offset: Constant that is subtracted [m].
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
        offset: Constant that is subtracted [rad].
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


class TableTerms(NamedTuple):
    """Scalar functions of one arm as numbers that a kernel can walk through."""

    anchors: Annotated[
        Array,
        Part(
            "frames, 4 + n",
            "A frame's joint, its origin in that joint's axes [m], a one for each joint that "
            "moves it.",
        ),
    ]
    lines: Annotated[
        Array,
        Part(
            f"functions, {_COLUMNS}",
            "Kind, frame or joint, other frame, offset, and up to twelve numbers of geometry.",
        ),
    ]


class FrameTerms(NamedTuple):
    """Scratch of `evaluate_functions`: how the frames move, in world axes (see `frame_motion`)."""

    position: Annotated[Array, Part("frames, 3", "Position of the origin [m].")]
    omega: Annotated[Array, Part("frames, 3", "Angular velocity [rad/s].")]
    linear_bias: Annotated[Array, Part("frames, 3", "Acceleration of the origin at q̈ = 0 [m/s²].")]
    angular_bias: Annotated[Array, Part("frames, 3", "Angular acceleration at q̈ = 0 [rad/s²].")]
    jacobian: Annotated[Array, Part("frames, 6, n", "Jacobian, linear above angular.")]


TABLE = Layout(TableTerms, "frames", "functions", "n")
FRAMES = Layout(FrameTerms, "frames", "n")
unpack_table, unpack_frames = TABLE.unpack, FRAMES.unpack


class FunctionTable:
    """Scalar functions of one arm, with room for what they evaluate to.

    Attributes:
        table: An array of `TableTerms`.
        frames: How many frames the functions name, at least one.
        value: y, one number per function; written by `evaluate`, as are the next two.
        jacobian: ∂y/∂q, functions × n.
        bias: The part of ÿ that is not due to q̈.
    """

    def __init__(self, arm: Arm, functions: Sequence[ScalarFunction]) -> None:
        names = _frame_names(functions)
        attachments = [arm.attachment(name) for name in names or [arm.root_frame]]
        self.value = np.zeros(len(functions))
        self.jacobian = np.zeros((len(functions), arm.n))
        self.bias = np.zeros(len(functions))
        sizes = {"frames": len(attachments), "functions": len(functions), "n": arm.n}
        self.table, self.frames = TABLE.new(**sizes), len(attachments)
        anchors, lines = TABLE.view(self.table, **sizes)
        for anchor, attachment in zip(anchors, attachments, strict=True):
            anchor[:] = attachment.joint, *attachment.translation, *attachment.support
        for line, function in zip(lines, functions, strict=True):
            _write_line(line, function, arm, names, attachments)
        self._arm = arm
        self._scratch = FRAMES.new(frames=len(attachments), n=arm.n)

    def evaluate(self) -> FunctionTable:
        """Value, Jacobian and bias for the arm's present state."""
        arm = self._arm
        evaluate_functions(
            arm.q,
            arm.v,
            arm.spatial_jacobian,
            arm.placements,
            self.table,
            self.frames,
            self.value,
            self.jacobian,
            self.bias,
            self._scratch,
        )
        return self


def _write_line(
    line: Array,
    function: ScalarFunction,
    arm: Arm,
    names: Sequence[str],
    attachments: Sequence[Attachment],
) -> None:
    """Write one line of the table."""
    geometry = line[_GEOMETRY:]
    line[_OFFSET] = function.offset
    if isinstance(function, JointPosition):
        line[:3] = _JOINT, arm.joint_index(function.joint), _WORLD
        return
    frame = names.index(function.frame)
    other = _WORLD if function.other is None else names.index(function.other)
    if isinstance(function, PositionAlong):
        line[:3] = _POSITION, frame, other
        geometry[:3] = function.direction
        return
    line[:3] = _HEADING, frame, other
    geometry[:3] = attachments[frame].rotation @ function.axis
    geometry[3:6], geometry[6:9] = function.e1, function.e2
    if function.other is not None:
        geometry[9:] = attachments[other].rotation @ function.axis


def _frame_names(functions: Sequence[ScalarFunction]) -> list[str]:
    """The frames that the functions name, each once."""
    names: list[str] = []
    for function in functions:
        if not isinstance(function, JointPosition):
            names.append(function.frame)
            if function.other is not None:
                names.append(function.other)
    return list(dict.fromkeys(names))


@compiled
def evaluate_frames(
    spatial_jacobian: Array,
    v: Array,
    placements: Array,
    anchors: Array,
    f: FrameTerms,
) -> None:
    """Fill the motion of every frame (see `FunctionTable` for the arguments)."""
    for a in range(anchors.shape[0]):
        position, omega, linear_bias, angular_bias = frame_motion(
            spatial_jacobian,
            v,
            placements[int(anchors[a, 0])],
            anchors[a, 1:4],
            anchors[a, 4:],
            f.jacobian[a],
        )
        for i in range(3):
            f.position[a, i], f.omega[a, i] = position[i], omega[i]
            f.linear_bias[a, i], f.angular_bias[a, i] = linear_bias[i], angular_bias[i]


@compiled
def evaluate_functions(
    q: Array,
    v: Array,
    spatial_jacobian: Array,
    placements: Array,
    table: Array,
    frames: int,
    value: Array,
    jacobian: Array,
    bias: Array,
    scratch: Array,
) -> None:
    """Fill value, Jacobian and bias of every function (see `FunctionTable` for the arguments).

    The scratch is an array of `FrameTerms`, or longer.
    """
    n = v.size
    f = unpack_frames(scratch, frames, n)
    anchors, lines = unpack_table(table, frames, value.size, n)
    evaluate_frames(spatial_jacobian, v, placements, anchors, f)
    for i in range(value.size):
        kind, a, other = int(lines[i, 0]), int(lines[i, 1]), int(lines[i, 2])
        offset, geometry, gradient = lines[i, _OFFSET], lines[i, _GEOMETRY:], jacobian[i]
        fill(gradient, 0.0)
        if kind == _JOINT:
            gradient[a] = 1.0
            value[i], bias[i] = q[a] - offset, 0.0
        elif kind == _POSITION:
            y, y_bias = position_along(geometry, a, f, 1.0, gradient)
            if other != _WORLD:
                y_other, bias_other = position_along(geometry, other, f, -1.0, gradient)
                y, y_bias = y - y_other, y_bias - bias_other
            value[i], bias[i] = y - offset, y_bias
        else:
            d = turn(placements[int(anchors[a, 0])], vector(geometry, 0))
            y, y_bias = heading(geometry, d, a, f, 1.0, gradient)
            if other != _WORLD:
                d = turn(placements[int(anchors[other, 0])], vector(geometry, 9))
                y_other, bias_other = heading(geometry, d, other, f, -1.0, gradient)
                y, y_bias = y - y_other, y_bias - bias_other
            value[i], bias[i] = wrap(y - offset), y_bias


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
        d_rate = cross((J[3, k], J[4, k], J[5, k]), d)
        gradient[k] += sign * (x * inner(e2, d_rate) - y * inner(e1, d_rate)) / square
    return np.arctan2(y, x), (x * inner(e2, second) - y * inner(e1, second) - slip) / square

"""Scalar functions of the configuration, from which constraints and coordinates are made.

A scalar function is one number y(q): a component of a point's position, the cosine between two
axes, a distance, a joint's position (see `function_kinds`). Each has a Jacobian ∂y/∂q and a bias,
the part of ÿ that is there without any joint acceleration, so that ``ÿ = (∂y/∂q) q̈ + bias``. A
constraint sets such functions to zero, and each is then one of its rows; a coordinate follows one.
The mathematics is the same, and so is the compiled code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import Columns, Matrix, Numbers, compiled, kernel
from projected_control.errors import InvalidValue
from projected_control.model.floating_base import BASE
from projected_control.model.function_kernels import (
    FRAMES,
    FrameTerms,
    angle_about,
    axis_cosine,
    centre_along,
    distance,
    heading,
    height_above,
    momentum_about,
    on_side,
    position_along,
    turning_position,
    unpack_frames,
)
from projected_control.model.function_kinds import (
    WORLD,
    FunctionKind,
    ScalarFunction,
    frame_names,
)
from projected_control.model.kinematics import Vector, frame_motion, turn, vector, wrap
from projected_control.model.linalg import axpy, fill
from projected_control.model.rotations import quaternion_of_axes, rotation_vector
from projected_control.workspace import Layout, Part

if TYPE_CHECKING:
    from projected_control.model.arm import Arm, Attachment

Array = NDArray[np.float64]

_GEOMETRY, COLUMNS = 4, 16
_OFFSET, _STORED = 3, 13
_POSITION, _HEADING, _JOINT, _TURNING = 0, 1, 2, 3
_COSINE, _DISTANCE, _HEIGHT, _ROUND, _CENTRE, _ORIENTATION, _MOMENTUM = 4, 5, 6, 7, 8, 9, 10
assert list(FunctionKind) == list(range(_MOMENTUM + 1))


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
            f"functions, {COLUMNS}",
            "Kind, frame or joint, other frame, offset, and up to twelve numbers of geometry.",
        ),
    ]
    more: Annotated[Array, Part("extra", "What does not fit into a line: height maps, masses.")]


TABLE = Layout(TableTerms, "frames", "functions", "n", "extra")
unpack_table = TABLE.unpack


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
        places = _Places(arm, functions)
        written = np.zeros((len(functions), COLUMNS))
        for line, function in zip(written, functions, strict=True):
            function.write(line, places)
        attachments = places.attachments
        self.value = np.zeros(len(functions))
        self.jacobian = np.zeros((len(functions), arm.n))
        self.bias = np.zeros(len(functions))
        sizes = {"frames": len(attachments), "functions": len(functions), "n": arm.n}
        sizes["extra"] = len(places.more)
        self.table, self.frames = TABLE.new(**sizes), len(attachments)
        anchors, lines, more = TABLE.view(self.table, **sizes)
        lines[:], more[:] = written, places.more
        for anchor, attachment in zip(anchors, attachments, strict=True):
            anchor[:] = attachment.joint, *attachment.translation, *attachment.support
        self._more, self._lines = TABLE.offsets(**sizes)["more"], lines
        self._arm = arm
        self._scratch = FRAMES.new(frames=len(attachments), n=arm.n)

    def stored(self, row: int) -> int:
        """Where in the table lie the numbers that do not fit into a function's line."""
        return self._more + int(self._lines[row, _STORED])

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


class _Places:
    """Frames, joints and room for numbers that functions of one table share (see `Places`)."""

    def __init__(self, arm: Arm, functions: Sequence[ScalarFunction]) -> None:
        self._arm = arm
        self._names = frame_names(functions) or [arm.root_frame]
        self.attachments: list[Attachment] = [arm.attachment(name) for name in self._names]
        self.more: list[float] = []
        self._bodies: tuple[int, Array] | None = None

    def frame(self, name: str | None) -> int:
        return WORLD if name is None else self._names.index(name)

    def turned(self, name: str | None, axis: Array) -> Array:
        return axis if name is None else self.attachments[self.frame(name)].rotation @ axis

    def moves(self, name: str) -> bool:
        return bool(self._arm.attachment(name).support.any())

    def joint(self, name: str) -> int:
        if self._arm.floats and name in BASE:
            raise InvalidValue(
                f"{name} is no joint of the description but part of the floating base, of which no "
                "number alone is a coordinate: take link.x, link.rx or centre_of_mass.x"
            )
        return self._arm.joint_index(name)

    def store(self, numbers: Array) -> int:
        begin = len(self.more)
        self.more.extend(numbers.tolist())
        return begin

    def bodies(self) -> tuple[int, Array]:
        if self._bodies is None:
            places, shares = self._arm.mass_centres()
            self._bodies = len(self.attachments), shares
            self.attachments.extend(places)
        return self._bodies

    def inertias(self, direction: Array) -> Array:
        return self._arm.body_inertias(direction)


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
def axis_of(anchors: Array, placements: Array, frame: int, axis: Vector) -> Vector:
    """An axis of the joint that carries a frame, in the world."""
    return turn(placements[int(anchors[frame, 0])], axis)


@kernel
def evaluate_functions(
    q: Numbers,
    v: Numbers,
    spatial_jacobian: Columns,
    placements: Matrix,
    table: Numbers,
    frames: int,
    value: Numbers,
    jacobian: Matrix,
    bias: Numbers,
    scratch: Numbers,
) -> None:
    """Fill value, Jacobian and bias of every function (see `FunctionTable` for the arguments).

    The scratch is an array of `FrameTerms`, or longer.
    """
    n = v.size
    f = unpack_frames(scratch, frames, n)
    extra = table.size - frames * (4 + n) - value.size * COLUMNS
    parts = unpack_table(table, frames, value.size, n, extra)
    anchors, lines, numbers = parts.anchors, parts.lines, parts.more
    evaluate_frames(spatial_jacobian, v, placements, anchors, f)
    for i in range(value.size):
        kind, a, other = int(lines[i, 0]), int(lines[i, 1]), int(lines[i, 2])
        offset, geometry, gradient = lines[i, _OFFSET], lines[i, _GEOMETRY:], jacobian[i]
        fill(gradient, 0.0)
        if kind == _POSITION:
            y, y_bias = position_along(geometry, a, f, 1.0, gradient)
            if other >= 0:
                y_other, bias_other = position_along(geometry, other, f, -1.0, gradient)
                y, y_bias = y - y_other, y_bias - bias_other
            value[i], bias[i] = y - offset, y_bias
        elif kind == _JOINT:
            gradient[a] = 1.0
            value[i], bias[i] = q[a] - offset, 0.0
            if other >= 0:
                gradient[other] -= geometry[0]
                value[i] -= geometry[0] * q[other]
        elif kind == _HEADING:
            d = axis_of(anchors, placements, a, vector(geometry, 0))
            y, y_bias = heading(geometry, d, a, f, 1.0, gradient)
            if other >= 0:
                d = axis_of(anchors, placements, other, vector(geometry, 9))
                y_other, bias_other = heading(geometry, d, other, f, -1.0, gradient)
                y, y_bias = y - y_other, y_bias - bias_other
            value[i], bias[i] = wrap(y - offset), y_bias
        elif kind == _TURNING:
            axes = int(geometry[3])
            u = axis_of(anchors, placements, axes, vector(geometry, 0))
            y, bias[i] = turning_position(u, a, other, axes, f, v, gradient)
            value[i] = y - offset
        elif kind == _COSINE:
            d = axis_of(anchors, placements, a, vector(geometry, 0))
            b, side = vector(geometry, 3), vector(geometry, 6)
            if other >= 0:
                b, side = (
                    axis_of(anchors, placements, other, b),
                    axis_of(anchors, placements, other, side),
                )
            y, bias[i] = axis_cosine(d, b, a, other, f, gradient)
            value[i] = on_side(d, side, y - offset)
        elif kind == _DISTANCE:
            y, bias[i] = distance(geometry, a, other, f, v, gradient)
            value[i] = y - offset
        elif kind == _HEIGHT:
            surface = numbers[int(geometry[9]) :]
            y, bias[i] = height_above(geometry, surface, a, f, v, gradient)
            value[i] = y - offset
        elif kind == _ROUND:
            y, bias[i] = angle_about(geometry, a, f, v, gradient)
            value[i] = going_on(y - offset, value[i])
        elif kind == _ORIENTATION:
            x = axis_of(anchors, placements, a, vector(geometry, 0))
            y_axis = axis_of(anchors, placements, a, vector(geometry, 3))
            z = axis_of(anchors, placements, a, vector(geometry, 6))
            number = int(geometry[9])
            value[i] = rotation_vector(quaternion_of_axes(x, y_axis, z))[number]
            axpy(1.0, f.jacobian[a, 3 + number], gradient)
            bias[i] = f.angular_bias[a, number]
        elif kind == _MOMENTUM:
            bodies = numbers[int(geometry[3]) :]
            bias[i] = momentum_about(geometry, bodies, a, other, anchors, placements, f, gradient)
            value[i] = 0.0
        else:
            shares = numbers[int(geometry[3]) :]
            y, bias[i] = centre_along(geometry, shares, a, other, f, gradient)
            value[i] = y - offset


@compiled
def going_on(angle: float, last: float) -> float:
    """The angle, counted on from its last value by the short way round."""
    return last + wrap(angle - last) if np.isfinite(last) else wrap(angle)

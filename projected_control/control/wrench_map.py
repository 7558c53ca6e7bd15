"""From a measured wrench to λ where the directions change with the configuration: W⁺(q).

Column i of W is the wrench that λ_i = 1 exerts on the surroundings, at the sensor's frame:

    position of f along d:  (d, (p_f − p) × d)
    heading of f's axis a:  (0, a × (x e₂ − y e₁)/ρ²),  x = e₁ᵀa, y = e₂ᵀa, ρ² = x² + y²
    along d that turns:     the same, applied at the end that d does not turn with
    cosine of a and b:      (0, a × b)
    distance:               (n, (p_f − p) × n),  n = d/‖d‖, d = S (p_f − p_other)
    height over a surface:  a position along e₃ − s_x e₁ − s_y e₂, which `bend_directions` writes
    angle about a point:    a position along (x e₂ − y e₁)/ρ², written there too

The pseudo-inverse is taken with the moment about the origin of the constraint's own frame (see
`Constraint.multiplier_map`, which says the same in Python): (X W)⁺ X, X moving the moment there.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import Matrix, Numbers, compiled, kernel
from projected_control.model.arm import Arm
from projected_control.model.constraints import Constraint, FunctionConstraint, Moving, Stack
from projected_control.model.constraints.base import RANK_TOLERANCE
from projected_control.model.constraints.wrenches import ends_felt
from projected_control.model.function_kinds import (
    AngleAbout,
    AxisCosine,
    CentreOfMassAlong,
    DistanceTo,
    HeadingInPlane,
    HeightAbove,
    JointPosition,
    PositionAlong,
    ScalarFunction,
)
from projected_control.model.height_map import height_at
from projected_control.model.kinematics import Vector, add, cross, inner, place, turn, vector
from projected_control.model.linalg import fill
from projected_control.model.projection import relative_pseudo_inverse
from projected_control.model.scalar_functions import FunctionTable
from projected_control.model.span import ROWS, SPAN
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]

_SIGN, _KIND, _JOINT, _LOCAL, _AXIS, _E1, _E2, _COLUMNS = 0, 1, 2, 3, 6, 9, 12, 15
_OTHER_JOINT = _E2
_POSITION, _HEADING, _TURNING, _COSINE, _DISTANCE = 0.0, 1.0, 2.0, 3.0, 4.0
_STRAIGHT, _ROUND, _BEND_COLUMNS = 0.0, -1.0, 10


class WrenchTerms(NamedTuple):
    """How the force of m rows is measured."""

    origins: Annotated[
        Array, Part("2, 4", "Joint and place there [m] of the sensor's frame, of the constraint's.")
    ]
    ends: Annotated[
        Array,
        Part(
            f"m, 2, {_COLUMNS}",
            "For each row the frames whose force is felt: sign (0 for none), kind, joint, place "
            "there [m], direction in the world or axis in the joint, e₁ or what lies on the other "
            "frame, e₂ or the other frame's joint.",
        ),
    ]
    bends: Annotated[
        Array,
        Part(
            f"m, {_BEND_COLUMNS}",
            "For each row whose direction follows from where its frame is: where the table of "
            "functions has its height map (0 for a straight row, -1 for an angle about a point), "
            "origin [m], e₁, e₂.",
        ),
    ]
    directions: Annotated[Array, Part("m, 6", "(X W)ᵀ.")]
    inverse: Annotated[Array, Part("6, m", "Its pseudo-inverse.")]
    span: Annotated[Array, Part(SPAN.length_with(n="6"), "Its decomposition.")]
    scratch: Annotated[Array, Part(ROWS.length_with(n="6"), "Of the decomposition.")]


WRENCH = Layout(WrenchTerms, "m")
unpack_wrench = WRENCH.unpack


@compiled
def set_direction(w: WrenchTerms, row: int, direction: Array) -> None:
    """Another direction of a row that is a position along one, in the world."""
    for i in range(3):
        w.ends[row, 0, _AXIS + i] = direction[i]


@compiled
def origin_of(origin: Array, placements: Array) -> Vector:
    """Where a frame is in the world [m]."""
    return place(placements[int(origin[0])], vector(origin, 1))


@compiled
def felt_wrench(end: Array, placements: Array, at: Vector) -> tuple[Vector, Vector]:
    """Force and moment about a point that one end of a row exerts with λ = 1."""
    placement, axis = placements[int(end[_JOINT])], vector(end, _AXIS)
    none = (0.0, 0.0, 0.0)
    if end[_KIND] == _POSITION:
        lever = add(place(placement, vector(end, _LOCAL)), at, -1.0)
        return axis, cross(lever, axis)
    if end[_KIND] != _HEADING:
        return felt_between(end, placement, placements[int(end[_OTHER_JOINT])], at)
    a, e1, e2 = turn(placement, axis), vector(end, _E1), vector(end, _E2)
    x, y = inner(e1, a), inner(e2, a)
    across = add(add(none, e2, x), e1, -y)
    return none, add(none, cross(a, across), 1.0 / (x * x + y * y))


@compiled
def felt_between(end: Array, placement: Array, other: Array, at: Vector) -> tuple[Vector, Vector]:
    """`felt_wrench` of a row between two frames, or a frame and the world, which is joint zero."""
    axis, none = vector(end, _AXIS), (0.0, 0.0, 0.0)
    if end[_KIND] == _COSINE:
        return none, cross(turn(placement, axis), turn(other, vector(end, _E1)))
    p = place(placement, vector(end, _LOCAL))
    lever = add(p, at, -1.0)
    if end[_KIND] == _TURNING:
        u = turn(other, axis)
        return u, cross(lever, u)
    r = add(p, place(other, vector(end, _E1)), -1.0)
    d = add(r, axis, -inner(axis, r))
    n = add(none, d, 1.0 / np.sqrt(inner(d, d)))
    return n, cross(lever, n)


@kernel
def bend_directions(placements: Matrix, functions: Numbers, w: WrenchTerms) -> None:
    """Give rows on curved surfaces the direction that they have here; before `update_map`.

    Args:
        placements: Where the joints are (see `Arm.placements`).
        functions: The model's table of functions, which holds the height maps.
        w: How the force is measured.
    """
    for j in range(w.bends.shape[0]):
        bend, end = w.bends[j], w.ends[j, 0]
        if bend[0] == _STRAIGHT:
            continue
        e1, e2 = vector(bend, 4), vector(bend, 7)
        at = place(placements[int(end[_JOINT])], vector(end, _LOCAL))
        r = add(at, vector(bend, 1), -1.0)
        x, y = inner(e1, r), inner(e2, r)
        if bend[0] == _ROUND:
            square = x * x + y * y
            direction = add(add((0.0, 0.0, 0.0), e2, x / square), e1, -y / square)
        else:
            _, s_x, s_y, _, _, _ = height_at(functions[int(bend[0]) :], x, y)
            direction = add(add(cross(e1, e2), e1, -s_x), e2, -s_y)
        for i in range(3):
            end[_AXIS + i] = direction[i]


@compiled
def fill_basis(placements: Array, w: WrenchTerms, basis: Array) -> None:
    """Fill W, 6 × m, the moment about the sensor's frame; for what a simulated sensor shows.

    Args:
        placements: Where the joints are (see `Arm.placements`).
        w: How the force is measured.
        basis: Result.
    """
    sensor = origin_of(w.origins[0], placements)
    for j in range(basis.shape[1]):
        for i in range(6):
            basis[i, j] = 0.0
        for end in range(2):
            sign = w.ends[j, end, _SIGN]
            if sign != 0.0:
                force, moment = felt_wrench(w.ends[j, end], placements, sensor)
                for i in range(3):
                    basis[i, j] += sign * force[i]
                    basis[3 + i, j] += sign * moment[i]


@kernel
def update_map(placements: Matrix, w: WrenchTerms, to_lambda: Matrix) -> None:
    """Fill W⁺, m × 6; NaN at a state that is not finite.

    Args:
        placements: Where the joints are (see `Arm.placements`).
        w: How the force is measured.
        to_lambda: Result.
    """
    sensor, own = origin_of(w.origins[0], placements), origin_of(w.origins[1], placements)
    finite, largest = True, 0.0
    for j in range(to_lambda.shape[0]):
        fill(w.directions[j], 0.0)
        for end in range(2):
            sign = w.ends[j, end, _SIGN]
            if sign != 0.0:
                # X W at once: the moment about the constraint's own frame.
                force, moment = felt_wrench(w.ends[j, end], placements, own)
                for i in range(3):
                    w.directions[j, i] += sign * force[i]
                    w.directions[j, 3 + i] += sign * moment[i]
        for i in range(6):
            finite = finite and np.isfinite(w.directions[j, i])
            largest = max(largest, abs(w.directions[j, i]))
    if not finite or largest < RANK_TOLERANCE:  # or nothing is felt here, but for rounding
        for j in range(to_lambda.shape[0]):
            fill(to_lambda[j], 0.0 if finite else np.nan)
        return
    relative_pseudo_inverse(w.directions, RANK_TOLERANCE, w.inverse, w.span, w.scratch)
    lever = add(sensor, own, -1.0)
    for j in range(to_lambda.shape[0]):
        on_moment = (w.inverse[3, j], w.inverse[4, j], w.inverse[5, j])
        moved = cross(on_moment, lever)  # the share of X: (y X)_f = y_f + y_m × (p − p_own)
        for i in range(3):
            to_lambda[j, i] = w.inverse[i, j] + moved[i]
            to_lambda[j, 3 + i] = on_moment[i]


def measured_functions(constraint: Constraint) -> list[ScalarFunction] | None:
    """The functions of a constraint whose wrench follows from them, or None."""
    kind = type(constraint)
    if isinstance(constraint, Moving) and kind is Moving:
        return measured_functions(constraint.constraint)
    if kind.multiplier_map is not Constraint.multiplier_map:
        return None
    if isinstance(constraint, FunctionConstraint):
        plain = kind.wrench_basis is FunctionConstraint.wrench_basis
        return list(constraint.functions) if plain and constraint.is_its_functions else None
    if isinstance(constraint, Stack) and kind.wrench_basis is Stack.wrench_basis:
        parts = [measured_functions(part) for part in constraint.constraints]
        if all(part is not None for part in parts):
            return [function for part in parts if part for function in part]
    return None


def write_map(
    arm: Arm,
    constraint: Constraint,
    frame: str,
    w: WrenchTerms,
    table: FunctionTable | None = None,
) -> bool:
    """Write down how a constraint's force is measured at a frame; False where Python has to say.

    Args:
        arm: Whose frames.
        constraint: What holds it.
        frame: Where the sensor sits.
        w: Where to write.
        table: The constraint's functions first of all; needed for height maps.
    """
    functions = measured_functions(constraint)
    if functions is None or not all(isinstance(function, _KNOWN) for function in functions):
        return False
    if table is None and any(isinstance(function, HeightAbove) for function in functions):
        return False
    w.bends[:] = 0.0
    for row, function in enumerate(functions):
        if isinstance(function, HeightAbove) and table is not None:
            numbers = (table.stored(row), *function.origin, *function.e1, *function.e2)
            w.bends[row] = numbers
        elif isinstance(function, AngleAbout):
            w.bends[row] = _ROUND, *function.point, *function.e1, *function.e2
    for origin, name in zip(w.origins, (frame, constraint.frame or frame), strict=True):
        attachment = arm.attachment(name)
        origin[:] = attachment.joint, *attachment.translation
    w.ends[:] = 0.0
    for lines, function in zip(w.ends, functions, strict=True):
        inner_force = isinstance(function, (JointPosition, CentreOfMassAlong))
        ends = [] if inner_force else ends_felt(arm, function, frame)
        for line, end in zip(lines, ends, strict=False):
            _write_end(line, arm, function, end, 1.0 if end == function.frames[0] else -1.0)
    return True


_KNOWN = (
    AngleAbout,
    AxisCosine,
    CentreOfMassAlong,
    DistanceTo,
    HeadingInPlane,
    HeightAbove,
    JointPosition,
    PositionAlong,
)
"""Functions whose wrench the kernel knows; for others, Python says it."""


def _write_place(line: Array, arm: Arm, frame: str | None) -> None:
    """Where the force acts; the world's origin for None."""
    line[_JOINT], line[_LOCAL:_AXIS] = 0.0, 0.0
    if frame is not None:
        attachment = arm.attachment(frame)
        line[_JOINT], line[_LOCAL:_AXIS] = attachment.joint, attachment.translation


def _write_end(line: Array, arm: Arm, function: ScalarFunction, end: str, sign: float) -> None:
    attachment = arm.attachment(end)
    line[_SIGN], line[_JOINT] = sign, attachment.joint
    line[_LOCAL:_AXIS] = attachment.translation
    if isinstance(function, PositionAlong) and function.axes is None:
        line[_KIND], line[_AXIS:_E1] = _POSITION, function.direction
    elif isinstance(function, PositionAlong) and function.axes is not None:
        turns_with = arm.attachment(function.axes)
        still = function.other if function.axes == function.frame else function.frame
        _write_place(line, arm, still)
        line[_KIND], line[_AXIS:_E1] = _TURNING, turns_with.rotation @ function.direction
        line[_OTHER_JOINT] = turns_with.joint
    elif isinstance(function, AxisCosine):
        own = arm.attachment(function.frame)
        line[_KIND], line[_JOINT] = _COSINE, own.joint
        line[_AXIS:_E1], line[_E1:_E2] = own.rotation @ function.axis, function.direction
        if function.other is not None:
            other = arm.attachment(function.other)
            line[_E1:_E2], line[_OTHER_JOINT] = other.rotation @ function.direction, other.joint
    elif isinstance(function, DistanceTo):
        _write_place(line, arm, function.frame)
        line[_KIND], line[_AXIS:_E1] = _DISTANCE, 0.0 if function.axis is None else function.axis
        line[_E1:_E2] = 0.0 if function.point is None else function.point
        if function.other is not None:
            other = arm.attachment(function.other)
            line[_E1:_E2], line[_OTHER_JOINT] = other.translation, other.joint
    elif isinstance(function, HeadingInPlane):
        line[_KIND] = _HEADING
        line[_AXIS:_E1] = attachment.rotation @ function.axis
        line[_E1:_E2], line[_E2:] = function.e1, function.e2

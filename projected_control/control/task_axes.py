"""The axes in which stiffness, damping, inertia and selection are said: those of a named frame.

With coordinates link.x, link.y and link.z, a matrix X in the axes of a frame whose rotation is R
becomes T X Tᵀ in the coordinates, T having R for each three coordinates that are the components
of a vector in the world (positions along x, y, z; an orientation) and one for all others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import Matrix, compiled, kernel
from projected_control.control.task_terms import TaskTerms, unpack_task
from projected_control.control.terms import ControlTerms
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.coordinates import Coordinates
from projected_control.model.function_kinds import PositionAlong
from projected_control.model.kinematics import turn
from projected_control.model.linalg import copy, dot, fill
from projected_control.model.rotations import Topology

Array = NDArray[np.float64]


def write_axes(arm: Arm, coordinates: Coordinates, frame: str, s: TaskTerms) -> None:
    """Say matrices in the axes of this frame; empty for the coordinates' own.

    Raises:
        UnknownName: Where the arm has no such frame.
        InvalidValue: Where no three coordinates are a vector's components.
    """
    s.triples[:] = 0.0
    for i in range(coordinates.size):
        s.T[i] = np.eye(coordinates.size)[i]
    if not frame:
        return
    place = arm.attachment(frame)
    s.axes_joint[0], s.axes[:] = place.joint, place.rotation
    s.triples[:] = _triples(coordinates)
    if not s.triples.any():
        raise InvalidValue(
            f"the axes of frame {frame!r} are of no use: no three coordinates are components of a "
            "vector; name link.x, link.y and link.z in this order, or link.rx, .ry and .rz, got "
            f"{', '.join(coordinates.names)}"
        )


def _triples(coordinates: Coordinates) -> Array:
    found, functions = np.zeros(coordinates.size), coordinates.functions
    for i in range(coordinates.size - 2):
        first, three = functions[i], functions[i : i + 3]
        if coordinates.topology[i] == Topology.ROTATION:
            found[i] = 1.0
        elif isinstance(first, PositionAlong):
            along = [PositionAlong(first.frame, axis) for axis in np.eye(3)]
            found[i] = float(all(_same(a, b) for a, b in zip(three, along, strict=True)))
    return found


def _same(function: object, other: PositionAlong) -> bool:
    return (
        isinstance(function, PositionAlong)
        and (function.frame, function.other, function.axes) == (other.frame, None, None)
        and np.array_equal(function.direction, other.direction)
    )


@compiled
def axes_named(s: TaskTerms) -> bool:
    """Whether a task is in other axes than its coordinates'; T is the identity where not."""
    named = False
    for i in range(s.triples.size):
        named = named or s.triples[i] != 0.0
    return named


@kernel
def locate_axes(placements: Matrix, n: int, c: ControlTerms) -> None:
    """Fill T where axes are named; before a law is applied."""
    s = unpack_task(c.task, n, c.a.size)
    if not axes_named(s):
        return
    joint = placements[int(s.axes_joint[0])]
    for i in range(s.triples.size):
        if s.triples[i] == 0.0:
            continue
        for column in range(3):
            axis = turn(joint, (s.axes[0, column], s.axes[1, column], s.axes[2, column]))
            for row in range(3):
                s.T[i + row, i + column] = axis[row]


@compiled
def into_coordinates(X: Array, s: TaskTerms, result: Array) -> None:
    """result = T X Tᵀ, with X in rows one after the other."""
    k = s.T.shape[0]
    if not axes_named(s):
        for i in range(k):
            copy(X[i * k : (i + 1) * k], result[i])
        return
    for i in range(k):
        fill(s.buffer[i], 0.0)
        for j in range(k):
            if s.T[i, j] != 0.0:
                for r in range(k):
                    s.buffer[i, r] += s.T[i, j] * X[j * k + r]
    for i in range(k):
        for j in range(k):
            result[i, j] = dot(s.buffer[i], s.T[j])

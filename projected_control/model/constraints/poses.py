"""Rows that hold a frame in some of the six directions of another, or of the world."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.errors import InvalidValue
from projected_control.model.constraints.axes import perpendiculars
from projected_control.model.function_kinds import AxisCosine, PositionAlong, ScalarFunction

Array = NDArray[np.float64]

DIRECTIONS = ("tx", "ty", "tz", "rx", "ry", "rz")
"""Along and about the axes of what a frame is held in. (Not x, y, z: to ROS, y means true.)"""

ALONG = DIRECTIONS[:3]


def rotation_matrix(name: str, orientation: Sequence[float] | Array) -> Array:
    """Roll, pitch and yaw [rad], as in URDF, as a rotation matrix."""
    roll, pitch, yaw = validate.finite_array(name, orientation, (3,))
    (cr, sr), (cp, sp), (cy, sy) = ((np.cos(a), np.sin(a)) for a in (roll, pitch, yaw))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def directions_of(name: str, given: Sequence[str]) -> tuple[str, ...]:
    """Names of directions, each once and in order."""
    for direction in given:
        validate.one_of(name, direction, DIRECTIONS)
    if not given or len(set(given)) != len(given):
        raise InvalidValue(
            f"{name} must be some of {', '.join(DIRECTIONS)}, each once, got {list(given)}"
        )
    return tuple(direction for direction in DIRECTIONS if direction in given)


def position_rows(
    frame: str, directions: Sequence[str], point: Array, other: str | None
) -> list[ScalarFunction]:
    """The frame's origin stays at a point, given in the axes of `other`, along some of them."""
    rows: list[ScalarFunction] = []
    for direction in directions:
        if direction in ALONG:
            i = ALONG.index(direction)
            rows.append(PositionAlong(frame, np.eye(3)[i], float(point[i]), other, other))
    return rows


def rotation_rows(
    frame: str, directions: Sequence[str], rotation: Array, other: str | None
) -> list[ScalarFunction]:
    """The frame's axes stay as `rotation` has them in those of `other`, about some of these.

    Near there each row is the small angle about its axis. How it is made depends on how many there
    are, since a row must keep its rank however far the arm turns about the axes that are free:

    * one, about z: the frame's x stays at right angles to the other's y;
    * two, free about z: the frame's z stays at right angles to the other's x and y;
    * three: each axis at right angles to the next.

    Turned by half a turn the same cosines vanish; that side is told apart (see `AxisCosine`).
    """
    held = ["xyz".index(d[1]) for d in directions if d in ("rx", "ry", "rz")]
    b = np.eye(3)
    a = rotation.T @ b  # columns: the other's axes, in the frame's, where the rows are zero
    rows: list[ScalarFunction] = []
    free = next((i for i in range(3) if i not in held), None) if len(held) == 2 else None
    for i in held:
        if free is None:
            j, k = (i + 1) % 3, (i + 2) % 3
            side = b[j] if len(held) == 3 else None
            rows.append(AxisCosine(frame, a[:, j], b[k], 0.0, other, side))
        else:  # a turn by φ about b_i moves the free axis by φ b_i × b_free
            rows.append(AxisCosine(frame, a[:, free], np.cross(b[i], b[free]), 0.0, other, b[free]))
    return rows


def parallel_rows(
    frame: str, axis: Array, direction: Array, other: str | None
) -> list[ScalarFunction]:
    """An axis of the frame stays along a direction of `other`: two rows, and not antiparallel."""
    return [
        AxisCosine(frame, axis, normal, 0.0, other, direction)
        for normal in perpendiculars(direction)
    ]

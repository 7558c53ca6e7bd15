"""The weld, and what is left of it: a frame held in any of six directions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue
from projected_control.model.constraints.function_constraint import FunctionConstraint
from projected_control.model.constraints.kinds import (
    ConstraintKind,
    ConstraintSettings,
    Setting,
)
from projected_control.model.constraints.poses import (
    ALONG,
    DIRECTIONS,
    directions_of,
    position_rows,
    rotation_matrix,
    rotation_rows,
)
from projected_control.model.constraints.shapes import Point, Shape
from projected_control.model.function_kinds import PositionAlong

Array = NDArray[np.float64]


class FrameFixed(FunctionConstraint):
    """A frame stays where it is in some of six directions, in the world or in another frame.

    Held in all six it is welded; in tz, rx and ry it lies flat, as a pad on a table does.

    Args:
        frame: Name of the frame that is held.
        directions: Some of tx, ty, tz (along) and rx, ry, rz (about); the axes are the world's, or
            those of `other`.
        point: Where its origin is held [m], in these axes.
        orientation: Roll, pitch and yaw of its axes [rad], in these axes.
        other: Name of the frame in which it is held; None for the world.
    """

    def __init__(
        self,
        frame: str,
        directions: Sequence[str] = DIRECTIONS,
        point: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = (0.0, 0.0, 0.0),
        other: str | None = None,
    ) -> None:
        held = directions_of("directions", directions)
        self._point, self._other = validate.finite_array("point", point, (3,)), other
        turn = rotation_matrix("orientation", np.asarray(orientation, dtype=np.float64))
        rows = position_rows(frame, held, self._point, other)
        rows += rotation_rows(frame, held, turn, other)
        super().__init__(rows, held)

    def shapes_at(self, x: Array) -> list[Shape]:
        return [Point(self._point, self._other)]


def _make(settings: ConstraintSettings) -> FrameFixed:
    return FrameFixed(
        settings.frame,
        settings.directions or DIRECTIONS,
        settings.point,
        settings.orientation or (0.0, 0.0, 0.0),
        settings.other_frame or None,
    )


def _way(settings: ConstraintSettings) -> PositionAlong:
    """Of a drawer, which one direction is left: from the point on, along that [m]."""
    held = directions_of("directions", settings.directions or DIRECTIONS)
    free = [direction for direction in DIRECTIONS if direction not in held]
    if len(free) != 1 or free[0] not in ALONG:
        raise InvalidValue(
            "a way along frame_fixed needs one direction left of tx, ty and tz, as of a drawer; "
            f"this one leaves {', '.join(free) or 'none'}"
        )
    point = validate.finite_array("point", settings.point, (3,))
    i, other = ALONG.index(free[0]), settings.other_frame or None
    return PositionAlong(settings.frame, np.eye(3)[i], float(point[i]), other, other)


RECORD = ConstraintKind(
    "frame_fixed",
    "a frame held in any of six directions",
    _make,
    needs=(
        Setting("frame", "link that is held"),
        Setting("point", "where its origin is held, in the axes it is held in", "m"),
    ),
    takes=(
        Setting("directions", "some of tx, ty, tz, rx, ry, rz; empty for all"),
        Setting("orientation", "roll, pitch and yaw in which it is held; empty for none", "rad"),
        Setting("other_frame", "link in whose axes it is held; empty for the world"),
    ),
    way=_way,
)

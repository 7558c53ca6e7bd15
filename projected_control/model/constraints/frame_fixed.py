"""The weld, and what is left of it: a frame held in any of six directions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.model.constraints.function_constraint import FunctionConstraint
from projected_control.model.constraints.kinds import (
    ConstraintKind,
    ConstraintSettings,
    Setting,
)
from projected_control.model.constraints.poses import (
    DIRECTIONS,
    directions_of,
    position_rows,
    rotation_matrix,
    rotation_rows,
)
from projected_control.model.constraints.shapes import Point, Shape

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
)

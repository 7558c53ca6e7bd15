"""The rod: a fixed distance between two points."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue
from projected_control.model.constraints.function_constraint import FunctionConstraint
from projected_control.model.constraints.kinds import (
    FRAME,
    ConstraintKind,
    ConstraintSettings,
    Setting,
)
from projected_control.model.constraints.shapes import Point, Shape
from projected_control.model.function_kinds import DistanceTo

Array = NDArray[np.float64]


class Distance(FunctionConstraint):
    """A frame's origin keeps its distance from a point or from another frame: a rod, a cable.

    One row, ‖p − p_other‖ − length; λ is the force with which the rod is stretched.

    Args:
        frame: Name of the frame at one end.
        length: Length of the rod [m].
        other: Name of the frame at the other end; None where that is a point in the world.
        point: That point [m].
    """

    def __init__(
        self,
        frame: str,
        length: float,
        other: str | None = None,
        point: ArrayLike | None = None,
    ) -> None:
        if (other is None) == (point is None):
            raise InvalidValue("a distance is from a point or from another frame: give one of both")
        place = None if point is None else validate.finite_array("point", point, (3,))
        rod = DistanceTo(frame, validate.positive("length", length), other, place)
        self._end = Point(np.zeros(3), other) if place is None else Point(place)
        self._frame = frame
        super().__init__([rod])

    def shapes_at(self, x: Array) -> list[Shape]:
        return [Point(np.zeros(3), self._frame), self._end]


def _make(settings: ConstraintSettings) -> Distance:
    point = settings.point if len(settings.point) else None
    return Distance(settings.frame, settings.length, settings.other_frame or None, point)


RECORD = ConstraintKind(
    "distance",
    "a point at a distance from another",
    _make,
    needs=(FRAME, Setting("length", "length of the rod between them", "m")),
    takes=(
        Setting("point", "the other end in the world", "m"),
        Setting("other_frame", "link at the other end, instead of a point"),
    ),
)

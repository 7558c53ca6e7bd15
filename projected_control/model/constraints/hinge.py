"""The hinge: doors, flaps, and the joints that close a chain."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue
from projected_control.model.constraints.axes import perpendiculars, plane_axes
from projected_control.model.constraints.function_constraint import FunctionConstraint
from projected_control.model.constraints.kinds import (
    AXIS,
    ConstraintKind,
    ConstraintSettings,
    Setting,
)
from projected_control.model.constraints.poses import ALONG, parallel_rows, position_rows
from projected_control.model.constraints.shapes import Line, Shape
from projected_control.model.function_kinds import HeadingInPlane

Array = NDArray[np.float64]


class Hinge(FunctionConstraint):
    """A frame may turn about one axis and nothing else: five rows.

    Args:
        frame: Name of the frame that turns; its origin lies on the axis.
        axis: The axis of the hinge in this frame.
        point: Where the frame's origin is held [m], in the world or in `other`.
        direction: The axis of the hinge in the world or in `other`.
        other: Name of the frame that carries the hinge; None for the world.
    """

    def __init__(
        self,
        frame: str,
        axis: ArrayLike,
        point: ArrayLike,
        direction: ArrayLike,
        other: str | None = None,
    ) -> None:
        self._point = validate.finite_array("point of the hinge", point, (3,))
        self._along = validate.direction("direction of the hinge", direction)
        self._other = other
        turning = validate.direction("axis of the hinge", axis)
        rows = position_rows(frame, ALONG, self._point, other)
        rows += parallel_rows(frame, turning, self._along, other)
        super().__init__(rows, (*ALONG, "tilt_1", "tilt_2"))

    def shapes_at(self, x: Array) -> list[Shape]:
        return [Line(self._point, self._along, self._other)]


def _make(settings: ConstraintSettings) -> Hinge:
    point = settings.point if len(settings.point) else (0.0, 0.0, 0.0)
    other = settings.other_frame or None
    return Hinge(settings.frame, settings.axis, point, settings.direction, other)


def _way(settings: ConstraintSettings) -> HeadingInPlane:
    """The angle of an axis of the link across the hinge, about that [rad]."""
    if settings.other_frame:
        raise InvalidValue(
            "a way round a hinge needs one that stands in the world; where a link carries it, "
            "take a joint of the chain"
        )
    e1, e2 = plane_axes(validate.direction("direction of the hinge", settings.direction))
    across, _ = perpendiculars(validate.direction("axis of the hinge", settings.axis))
    return HeadingInPlane(settings.frame, across, e1, e2)


RECORD = ConstraintKind(
    "hinge",
    "a frame that may turn about one axis only",
    _make,
    needs=(
        Setting("frame", "link that turns; its origin lies on the axis"),
        AXIS,
        Setting("direction", "axis of the hinge, in the world or in other_frame"),
    ),
    takes=(
        Setting(
            "point", "where the hinge is, in the world or in other_frame; empty for the origin", "m"
        ),
        Setting("other_frame", "link that carries the hinge; empty for the world"),
    ),
    way=_way,
)

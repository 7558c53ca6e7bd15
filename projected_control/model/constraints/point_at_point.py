"""The ball joint: a point at a point."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.model.constraints.axes import axes_of_motion
from projected_control.model.constraints.function_constraint import FunctionConstraint
from projected_control.model.constraints.kinds import (
    FRAME,
    PLANE_NORMAL,
    ConstraintKind,
    ConstraintSettings,
    Setting,
)
from projected_control.model.constraints.shapes import Point, Shape
from projected_control.model.function_kinds import PositionAlong

Array = NDArray[np.float64]


class PointAtPoint(FunctionConstraint):
    """A frame's origin stays at a point: the ball joint. Three equations, or two in a plane.

    Args:
        frame: Name of the frame whose origin is held.
        point: Where [m].
        plane_normal: Normal of the plane the arm moves in, for a planar arm.
    """

    def __init__(self, frame: str, point: ArrayLike, plane_normal: ArrayLike | None = None) -> None:
        self._point = validate.finite_array("point", point, (3,))
        self._axes = np.array(axes_of_motion(plane_normal))
        super().__init__([PositionAlong(frame, a, float(a @ self._point)) for a in self._axes])

    def shapes_at(self, x: Array) -> list[Shape]:
        return [Point(self._point + x @ self._axes)]


def _make(settings: ConstraintSettings) -> PointAtPoint:
    plane = settings.plane_normal if len(settings.plane_normal) else None
    return PointAtPoint(settings.frame, settings.point, plane)


RECORD = ConstraintKind(
    "point_at_point",
    "a point at a point",
    _make,
    needs=(FRAME, Setting("point", "where it is held, in the world", "m")),
    takes=(PLANE_NORMAL,),
)

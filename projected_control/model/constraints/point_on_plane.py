"""The wiped table: a point on a plane."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.model.constraints.function_constraint import FunctionConstraint
from projected_control.model.constraints.kinds import (
    FRAME,
    ConstraintKind,
    ConstraintSettings,
    Setting,
)
from projected_control.model.constraints.shapes import Plane, Shape
from projected_control.model.function_kinds import PositionAlong

Array = NDArray[np.float64]


class PointOnPlane(FunctionConstraint):
    """A frame's origin stays on a plane: the wiped table. One equation.

    Args:
        frame: Name of the frame whose origin is held.
        point: A point of the plane [m].
        normal: Normal of the plane; a positive λ presses along it.
        extent: Where it ends, for pictures: x, y and z of two corners of a box [m].
    """

    def __init__(
        self, frame: str, point: ArrayLike, normal: ArrayLike, extent: ArrayLike | None = None
    ) -> None:
        given = None if extent is None else validate.finite_array("extent", extent, (6,))
        self._box = None if given is None else np.sort(given.reshape(2, 3), axis=0)
        self._normal = validate.direction("normal of the plane", normal)
        self._point = validate.finite_array("point of the plane", point, (3,))
        row = PositionAlong(frame, self._normal, float(self._normal @ self._point))
        super().__init__([row], ["normal"])

    def shapes_at(self, x: Array) -> list[Shape]:
        return [Plane(self._point + x[0] * self._normal, self._normal, box=self._box)]


def _make(settings: ConstraintSettings) -> PointOnPlane:
    extent = settings.extent if len(settings.extent) else None
    return PointOnPlane(settings.frame, settings.point, settings.direction, extent)


RECORD = ConstraintKind(
    "point_on_plane",
    "a point on a plane",
    _make,
    needs=(
        FRAME,
        Setting("point", "a point of the plane, in the world", "m"),
        Setting("direction", "normal of the plane, in the world"),
    ),
)

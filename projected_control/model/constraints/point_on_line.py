"""The slider: a point on a line."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue
from projected_control.model.constraints.axes import perpendiculars
from projected_control.model.constraints.function_constraint import FunctionConstraint
from projected_control.model.constraints.kinds import (
    FRAME,
    PLANE_NORMAL,
    ConstraintKind,
    ConstraintSettings,
    Setting,
)
from projected_control.model.constraints.shapes import Line, Shape
from projected_control.model.function_kinds import PositionAlong

Array = NDArray[np.float64]


class PointOnLine(FunctionConstraint):
    """A frame's origin stays on a line: the slider.

    Two equations in space. For an arm that moves in a plane one of them is void; naming the plane
    leaves the one that counts, and λ is then the single number of the papers.

    Args:
        frame: Name of the frame whose origin is held.
        point: A point of the line [m].
        direction: Direction of the line.
        plane_normal: Normal of the plane the arm moves in, for a planar arm.
    """

    def __init__(
        self,
        frame: str,
        point: ArrayLike,
        direction: ArrayLike,
        plane_normal: ArrayLike | None = None,
    ) -> None:
        along = validate.direction("direction of the line", direction)
        through = validate.finite_array("point of the line", point, (3,))
        if plane_normal is None:
            normals = perpendiculars(along)
        else:
            out = validate.direction("normal of the plane", plane_normal)
            if abs(out @ along) > 1e-6:
                raise InvalidValue(
                    f"the line's direction {along.tolist()} is not in the plane with normal "
                    f"{out.tolist()}"
                )
            normals = [np.cross(out, along)]
        self._point, self._along, self._normals = through, along, np.array(normals)
        super().__init__([PositionAlong(frame, n, float(n @ through)) for n in normals])

    def shapes_at(self, x: Array) -> list[Shape]:
        return [Line(self._point + x @ self._normals, self._along)]


def _make(settings: ConstraintSettings) -> PointOnLine:
    plane = settings.plane_normal if len(settings.plane_normal) else None
    return PointOnLine(settings.frame, settings.point, settings.direction, plane)


def _way(settings: ConstraintSettings) -> PositionAlong:
    """From the line's point on, along its direction [m]."""
    along = validate.direction("direction of the line", settings.direction)
    through = validate.finite_array("point of the line", settings.point, (3,))
    return PositionAlong(settings.frame, along, float(along @ through))


RECORD = ConstraintKind(
    "point_on_line",
    "a point on a line",
    _make,
    needs=(
        FRAME,
        Setting("point", "a point of the line, in the world", "m"),
        Setting("direction", "direction of the line, in the world"),
    ),
    takes=(PLANE_NORMAL,),
    way=_way,
)

"""The crank, the door, the valve: a point on a circle."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue
from projected_control.model.constraints.axes import perpendiculars, plane_axes
from projected_control.model.constraints.function_constraint import FunctionConstraint
from projected_control.model.constraints.kinds import (
    FRAME,
    PLANE_NORMAL,
    ConstraintKind,
    ConstraintSettings,
    Setting,
)
from projected_control.model.constraints.shapes import Curve, Shape
from projected_control.model.function_kinds import (
    AngleAbout,
    DistanceTo,
    PositionAlong,
    ScalarFunction,
)

Array = NDArray[np.float64]


class PointOnCircle(FunctionConstraint):
    """A frame's origin stays on a circle: the handle of a crank, a door or a valve.

    Two rows, along the axis and along the radius; for an arm that moves in the circle's plane the
    second alone.

    Args:
        frame: Name of the frame whose origin is held.
        centre: Centre of the circle [m].
        normal: Axis of the circle.
        radius: Radius of the circle [m].
        plane_normal: Normal of the plane the arm moves in, for a planar arm.
    """

    def __init__(
        self,
        frame: str,
        centre: ArrayLike,
        normal: ArrayLike,
        radius: float,
        plane_normal: ArrayLike | None = None,
    ) -> None:
        self._normal = validate.direction("axis of the circle", normal)
        self._centre = validate.finite_array("centre of the circle", centre, (3,))
        self._radius = validate.positive("radius of the circle", radius)
        axial = PositionAlong(frame, self._normal, float(self._normal @ self._centre))
        radial = DistanceTo(frame, self._radius, None, self._centre, self._normal)
        rows: list[ScalarFunction] = [axial, radial]
        names = ["axial", "radial"]
        if plane_normal is not None:
            out = validate.direction("normal of the plane", plane_normal)
            if np.linalg.norm(np.cross(out, self._normal)) > 1e-6:
                raise InvalidValue(
                    f"the circle's axis {self._normal.tolist()} is not along the normal "
                    f"{out.tolist()} of the plane the arm moves in"
                )
            rows, names = [radial], ["radial"]
        super().__init__(rows, names)

    def shapes_at(self, x: Array) -> list[Shape]:
        along = float(x[0]) if self.rows == 2 else 0.0
        centre = self._centre + along * self._normal
        return [circle(centre, self._normal, self._radius + float(x[-1]))]


def circle(centre: Array, normal: Array, radius: float, pieces: int = 72) -> Curve:
    """A circle to draw."""
    first, second = perpendiculars(normal)
    angles = np.linspace(0.0, 2.0 * np.pi, pieces + 1)[:, None]
    return Curve(centre + radius * (np.cos(angles) * first + np.sin(angles) * second))


def _make(settings: ConstraintSettings) -> PointOnCircle:
    plane = settings.plane_normal if len(settings.plane_normal) else None
    return PointOnCircle(settings.frame, settings.point, settings.direction, settings.radius, plane)


def _way(settings: ConstraintSettings) -> AngleAbout:
    """Round the axis, turns counted [rad]."""
    e1, e2 = plane_axes(validate.direction("axis of the circle", settings.direction))
    centre = validate.finite_array("centre of the circle", settings.point, (3,))
    return AngleAbout(settings.frame, centre, e1, e2)


RECORD = ConstraintKind(
    "point_on_circle",
    "a point on a circle",
    _make,
    needs=(
        FRAME,
        Setting("point", "centre of the circle, in the world", "m"),
        Setting("direction", "axis of the circle, in the world"),
        Setting("radius", "radius of the circle", "m"),
    ),
    takes=(PLANE_NORMAL,),
    way=_way,
)

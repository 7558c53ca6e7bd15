"""Curved surfaces: a point on a sphere, on a cylinder, on a height map."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue
from projected_control.model.constraints.axes import perpendiculars, plane_axes
from projected_control.model.constraints.function_constraint import FunctionConstraint
from projected_control.model.constraints.kinds import (
    FRAME,
    ConstraintKind,
    ConstraintSettings,
    Setting,
    is_empty,
)
from projected_control.model.constraints.point_on_circle import circle
from projected_control.model.constraints.shapes import Curve, Line, Shape
from projected_control.model.function_kinds import DistanceTo, HeightAbove
from projected_control.model.height_map import HeightMap

Array = NDArray[np.float64]

SURFACES = ("sphere", "cylinder", "height_map")  # surfaces that ``surface`` can name


class PointOnSphere(FunctionConstraint):
    """A frame's origin stays on a sphere. One row, the distance from it; λ > 0 presses outwards.

    Args:
        frame: Name of the frame whose origin is held.
        centre: Centre of the sphere [m].
        radius: Radius of the sphere [m].
    """

    def __init__(self, frame: str, centre: ArrayLike, radius: float) -> None:
        self._centre = validate.finite_array("centre of the sphere", centre, (3,))
        self._radius = validate.positive("radius of the sphere", radius)
        super().__init__([DistanceTo(frame, self._radius, None, self._centre)], ["normal"])

    def shapes_at(self, x: Array) -> list[Shape]:
        radius = self._radius + float(x[0])
        return [circle(self._centre, axis, radius) for axis in np.eye(3)]


class PointOnCylinder(FunctionConstraint):
    """A frame's origin stays on a cylinder. One row, the distance from it; λ > 0 presses outwards.

    Args:
        frame: Name of the frame whose origin is held.
        point: A point of the axis [m].
        axis: Direction of the axis.
        radius: Radius of the cylinder [m].
    """

    def __init__(self, frame: str, point: ArrayLike, axis: ArrayLike, radius: float) -> None:
        self._point = validate.finite_array("point of the cylinder's axis", point, (3,))
        self._axis = validate.direction("axis of the cylinder", axis)
        self._radius = validate.positive("radius of the cylinder", radius)
        row = DistanceTo(frame, self._radius, None, self._point, self._axis)
        super().__init__([row], ["normal"])

    def shapes_at(self, x: Array) -> list[Shape]:
        radius, sides = self._radius + float(x[0]), perpendiculars(self._axis)
        lines = [Line(self._point + s * radius * e, self._axis) for e in sides for s in (-1.0, 1.0)]
        return [circle(self._point, self._axis, radius), *lines]


class PointOnHeightMap(FunctionConstraint):
    """A frame's origin stays on a surface given by heights on a grid (see `HeightMap`). One row.

    Args:
        frame: Name of the frame whose origin is held.
        surface: The heights.
        origin: Where the corner of the grid lies in the world [m].
        normal: Direction of the heights; the grid's x axis is as near the world's as can be.
    """

    def __init__(
        self, frame: str, surface: HeightMap, origin: ArrayLike, normal: ArrayLike = (0, 0, 1)
    ) -> None:
        self._origin = validate.finite_array("origin of the height map", origin, (3,))
        self._e1, self._e2 = plane_axes(normal)
        self._surface = surface
        row = HeightAbove(frame, surface, self._origin, self._e1, self._e2)
        super().__init__([row], ["normal"])

    def shapes_at(self, x: Array) -> list[Shape]:
        """A net of lines on the surface."""
        e3 = np.cross(self._e1, self._e2)
        xs, ys = (np.linspace(0.0, side, 21) for side in self._surface.size)

        def at(u: float, v: float) -> Array:
            height = self._surface(u, v) + float(x[0])
            place: Array = self._origin + u * self._e1 + v * self._e2 + height * e3
            return place

        along = [Curve(np.array([at(u, v) for v in ys])) for u in xs[::4]]
        return [*along, *(Curve(np.array([at(u, v) for u in xs])) for v in ys[::4])]


def read_heights(path: str | Path) -> Array:
    """Heights from a text file, one line of numbers per place along x, or from a ``.npy`` file."""
    try:
        if str(path).endswith(".npy"):
            return np.load(path, allow_pickle=False)
        return np.loadtxt(path, delimiter="," if str(path).endswith(".csv") else None, ndmin=2)
    except (OSError, ValueError) as error:
        raise InvalidValue(f"cannot read heights from {path}: {error}") from None


def _make(settings: ConstraintSettings) -> FunctionConstraint:
    surface = validate.one_of("surface", settings.surface, SURFACES)
    needed = {
        "sphere": ("radius",),
        "cylinder": ("radius", "direction"),
        "height_map": ("heights_file", "spacing"),
    }
    missing = [f"constraint.{n}" for n in needed[surface] if is_empty(getattr(settings, n))]
    if missing:
        raise InvalidValue(f"surface {surface!r} needs {' and '.join(missing)}")
    if surface == "sphere":
        return PointOnSphere(settings.frame, settings.point, settings.radius)
    if surface == "cylinder":
        return PointOnCylinder(settings.frame, settings.point, settings.direction, settings.radius)
    heights = HeightMap(read_heights(settings.heights_file), settings.spacing)
    normal = settings.direction if len(settings.direction) else (0.0, 0.0, 1.0)
    return PointOnHeightMap(settings.frame, heights, settings.point, normal)


RECORD = ConstraintKind(
    "point_on_surface",
    "a point on a curved surface",
    _make,
    needs=(
        FRAME,
        Setting("surface", f"which one: {', '.join(SURFACES)}"),
        Setting("point", "centre, a point of the axis, or corner of the grid, in the world", "m"),
    ),
    takes=(
        Setting("radius", "of sphere and cylinder", "m"),
        Setting("direction", "axis of the cylinder, or where heights point; empty for up"),
        Setting("heights_file", "heights on a grid: text, .csv or .npy", "m"),
        Setting("spacing", "distance between heights, along x and y", "m"),
    ),
)

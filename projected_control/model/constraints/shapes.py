"""What a constraint looks like: plain data that RViz, a figure or a web page can draw.

A shape is given in the axes of the frame it moves with, or in the world's where it stands still.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from projected_control.model.constraints.axes import perpendiculars

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Point:
    """A place at which something is held."""

    position: Array  # position of the point [m]
    frame: str | None = None  # name of the frame it moves with; None for the world


@dataclass(frozen=True)
class Line:
    """An infinite line."""

    point: Array  # any point of the line [m]
    direction: Array  # unit vector along the line
    frame: str | None = None  # name of the frame it moves with; None for the world


@dataclass(frozen=True)
class Plane:
    """A plane, infinite unless it ends somewhere."""

    point: Array  # any point of the plane [m]
    normal: Array  # unit vector
    frame: str | None = None  # name of the frame it moves with; None for the world
    # Two corners of the box in which it is, 2 × 3 [m]; None for everywhere.
    box: Array | None = None

    def piece(self, middle: Array, half: tuple[float, float]) -> tuple[Array, Array, Array]:
        """A rectangle of it: its centre, and from there to the middles of two sides [m].

        Args:
            middle: Place above which it lies, in the axes of the frame [m].
            half: How far it goes to each side, where it does not end before [m].
        """
        axes = np.array(perpendiculars(self.normal))
        centre = middle - self.normal * float((middle - self.point) @ self.normal)
        least, most = -np.array(half), np.array(half)
        if self.box is not None:
            far = float(np.linalg.norm(centre - self.box, axis=1).max())
            corners = far * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
            for axis in range(3):
                for side, edge in zip((1.0, -1.0), self.box, strict=True):
                    limit = side * (centre[axis] - edge[axis])
                    corners = _cut(corners, side * axes[:, axis], limit)
            if len(corners):
                least = np.clip(corners.min(axis=0), least, most)
                most = np.clip(corners.max(axis=0), least, most)
        middle = centre + 0.5 * (least + most) @ axes
        first, second = 0.5 * (most - least)[:, None] * axes
        return middle, first, second


def _cut(corners: Array, slope: Array, offset: float) -> Array:
    """What of a convex polygon in the plane has slopeᵀx + offset ≥ 0, as its corners."""
    kept: list[Array] = []
    heights = corners @ slope + offset
    for i, (corner, height) in enumerate(zip(corners, heights, strict=True)):
        before, below = corners[i - 1], heights[i - 1]
        if (height >= 0.0) != (below >= 0.0):
            kept.append(before + below / (below - height) * (corner - before))
        if height >= 0.0:
            kept.append(corner)
    return np.array(kept).reshape(-1, 2)


@dataclass(frozen=True)
class Curve:
    """A curve as a sequence of points that are joined by straight lines: a circle, a groove."""

    points: Array  # one point per line of the array, at least two [m]
    frame: str | None = None  # name of the frame it moves with; None for the world


Shape = Point | Line | Plane | Curve

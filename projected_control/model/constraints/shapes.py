"""What a constraint looks like: plain data that RViz, a figure or a web page can draw.

A shape is given in the axes of the frame it moves with, or in the world's where it stands still.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Point:
    """A place at which something is held.

    Attributes:
        position: Position of the point [m].
        frame: Name of the frame it moves with; None for the world.
    """

    position: Array
    frame: str | None = None


@dataclass(frozen=True)
class Line:
    """An infinite line.

    Attributes:
        point: Any point of the line [m].
        direction: Unit vector along the line.
        frame: Name of the frame it moves with; None for the world.
    """

    point: Array
    direction: Array
    frame: str | None = None


@dataclass(frozen=True)
class Plane:
    """An infinite plane.

    Attributes:
        point: Any point of the plane [m].
        normal: Unit vector.
        frame: Name of the frame it moves with; None for the world.
    """

    point: Array
    normal: Array
    frame: str | None = None


@dataclass(frozen=True)
class Curve:
    """A curve as a sequence of points that are joined by straight lines: a circle, a groove.

    Attributes:
        points: One point per line of the array, at least two [m].
        frame: Name of the frame it moves with; None for the world.
    """

    points: Array
    frame: str | None = None


Shape = Point | Line | Plane | Curve

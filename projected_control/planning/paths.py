"""Paths: where coordinates go, without when. Lines, circles, spirals, rasters, and points to pass.

A path is a list of strokes, each a smooth curve y(s) over its own length. Between two strokes the
motion stops: at a corner that is too sharp to be rounded. When the arm is where on a stroke is
decided by `timing`.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path as File
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from projected_control import validate
from projected_control.arrays import Array
from projected_control.errors import InvalidValue

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

BOX = 9  # samples in each of the three moving averages that round a corner

SHARP = np.cos(np.radians(150.0))
"""Cosine of the turn from which on a corner is not rounded: the motion stops there."""

STRAIGHT = 1e-6  # turns up to this are none [rad]
POINTS_PER_TURN = 180  # points through which a circle or a winding of a spiral is drawn
CLOSED = 1e-6  # distance up to which the two ends of a path are one [m or rad]

FINE = 8001
EVENLY = 250
PER_RADIAN = 12
"""Of the places at which a stroke is looked at: how finely its bends are measured, how many are
spread evenly, and how many more there are per radian that it turns."""

MOST_SAMPLES = 50_000
"""Samples of one stroke, at most: beyond, the blend is too small for the path's length."""


@dataclass(frozen=True)
class Stroke:
    """A smooth curve y(s) that is gone along without a stop."""

    curve: BSpline  # a spline of the fifth degree, one number per coordinate that moves
    length: float  # the largest s; y(s) goes through about one unit per unit of s [m or rad]

    def at(self, s: ArrayLike, derivative: int = 0) -> Array:
        """y, or one of its derivatives by s, at one or more places."""
        return np.asarray(self.curve(s, derivative), dtype=np.float64)

    def places(self) -> Array:
        """Values of s at which the curve is looked at: evenly, and closer where it bends."""
        fine = np.linspace(0.0, self.length, FINE)
        bend = np.linalg.norm(self.at(fine, 2), axis=1)
        density = EVENLY / self.length + PER_RADIAN * bend
        count = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
        count *= self.length / (FINE - 1)
        return np.interp(np.linspace(0.0, count[-1], int(np.ceil(count[-1])) + 1), count, fine)


Strokes = tuple[Stroke, ...]


def smooth(points: ArrayLike) -> Stroke:
    """A curve through points that already lie close together on a smooth one."""
    return _spline(_distinct(_table("points of a path", points)))


def through(points: ArrayLike, blend: float) -> Strokes:
    """Straight from point to point, with rounded corners.

    A corner is rounded by averaging over the distance `blend` before and behind it, three times
    over, so that position, direction, curvature and its change are continuous. It is cut by at most
    three tenths of `blend`. Where it turns by more than 150°, or `blend` is zero, a stroke ends.

    Args:
        points: Two or more, one line each.
        blend: Distance before a corner at which the rounding begins [m or rad].
    """
    corners = _distinct(_table("points of a path", points))
    blend = validate.not_negative("blend", blend)
    legs = np.diff(corners, axis=0)
    legs /= np.linalg.norm(legs, axis=1)[:, None]
    cosines = np.einsum("ij,ij->i", legs[:-1], legs[1:])
    stops = cosines < (SHARP if blend > 0.0 else np.cos(STRAIGHT))
    cuts = [0, *(np.flatnonzero(stops) + 1), len(corners) - 1]
    pieces = [corners[a : b + 1] for a, b in pairwise(cuts)]
    return tuple(_rounded(piece, blend) for piece in pieces)


def line(centre: ArrayLike, size: ArrayLike) -> Strokes:
    """Straight from centre − size/2 to centre + size/2, in as many coordinates as there are."""
    middle = np.atleast_1d(np.asarray(centre, dtype=np.float64))
    extent = np.broadcast_to(np.asarray(size, dtype=np.float64), middle.shape)
    return through(np.stack([middle - 0.5 * extent, middle + 0.5 * extent]), 0.0)


def circle(centre: ArrayLike, radius: float, turns: float = 1.0, phase: float = 0.0) -> Strokes:
    """Round a centre in two coordinates, from the angle `phase` on; backwards if turns are < 0."""
    middle = validate.finite_array("centre of the circle", centre, (2,))
    validate.positive("radius of the circle", radius)
    if turns == 0.0:
        raise InvalidValue("turns of the circle must not be zero")
    count = max(int(np.ceil(abs(turns) * POINTS_PER_TURN)), 8)
    angles = phase + np.linspace(0.0, 2.0 * np.pi * turns, count + 1)
    return (smooth(middle + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)),)


def spiral(centre: ArrayLike, radius: float, spacing: float, phase: float = 0.0) -> Strokes:
    """From near a centre outwards to a radius, windings a spacing apart, in two coordinates.

    It begins half a spacing away from the centre: at the centre itself a spiral's curvature is not
    bounded.
    """
    middle = validate.finite_array("centre of the spiral", centre, (2,))
    validate.positive("radius of the spiral", radius)
    validate.positive("spacing of the spiral", spacing)
    inner = 0.5 * spacing
    if radius <= inner:
        raise InvalidValue(
            f"radius of the spiral must be more than half its spacing, got {radius:g} and "
            f"{spacing:g}"
        )
    turns = (radius - inner) / spacing
    count = max(int(np.ceil(turns * POINTS_PER_TURN)), 8)
    share = np.linspace(0.0, 1.0, count + 1)
    angles = phase + 2.0 * np.pi * turns * share
    radii = inner + (radius - inner) * share
    return (smooth(middle + radii[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)),)


def raster(centre: ArrayLike, size: ArrayLike, spacing: float, blend: float) -> Strokes:
    """To and fro over a rectangle in two coordinates: lines along the first, steps of the second.

    Args:
        centre: Of the rectangle.
        size: Its length along the first coordinate and along the second.
        spacing: Largest distance between two lines; they are spread evenly.
        blend: Of the corners, at most half the distance between two lines.
    """
    middle = validate.finite_array("centre of the raster", centre, (2,))
    extent = validate.finite_array("size of the raster", size, (2,))
    validate.positive("spacing of the raster", spacing)
    if not (extent > 0.0).all():
        raise InvalidValue(f"size of the raster must be positive, got {extent.tolist()}")
    lines = int(np.ceil(extent[1] / spacing - 1e-9)) + 1
    across = np.linspace(-0.5, 0.5, lines) * extent[1]
    ends = 0.5 * extent[0] * np.array([-1.0, 1.0])
    points = [
        (x, y) for i, y in enumerate(across) for x in (ends if i % 2 == 0 else reversed(ends))
    ]
    step = extent[1] / (lines - 1)
    return through(middle + np.array(points), min(blend, 0.5 * step))


def closed(strokes: Strokes) -> bool:
    """Whether a path ends where it begins."""
    first, last = strokes[0], strokes[-1]
    return bool(np.linalg.norm(last.at(last.length) - first.at(0.0)) < CLOSED)


class Listed(NamedTuple):
    """Points from a file."""

    names: tuple[str, ...]  # coordinates, one per column
    points: Array  # one line per point [m or rad]
    times: Array | None  # when to be there [s]; None where the file does not say


def read_points(file: File | str) -> Listed:
    """Read a CSV file: a line with the names of coordinates, and ``time`` if it has times."""
    place = File(file)
    try:
        with place.open(newline="", encoding="utf-8") as stream:
            rows = [row for row in csv.reader(stream) if row and not row[0].startswith("#")]
    except (OSError, UnicodeError) as error:
        raise InvalidValue(f"cannot read the points of {place}: {error}") from None
    if len(rows) < 3:
        raise InvalidValue(f"{place} must have a line of names and two points or more")
    names = [name.strip() for name in rows[0]]
    try:
        numbers = np.array([[float(cell) for cell in row] for row in rows[1:]])
    except ValueError as error:
        raise InvalidValue(
            f"{place} must have {len(names)} numbers on each line below the names: {error}"
        ) from None
    if numbers.ndim != 2 or numbers.shape[1] != len(names) or not np.isfinite(numbers).all():
        raise InvalidValue(f"{place} must have {len(names)} finite numbers on each line")
    if "time" not in names:
        return Listed(tuple(names), numbers, None)
    when = names.index("time")
    rest = [i for i in range(len(names)) if i != when]
    return Listed(tuple(names[i] for i in rest), numbers[:, rest], numbers[:, when])


def _table(what: str, points: ArrayLike) -> Array:
    table = validate.finite_array(what, points, (None, None))
    if len(table) < 2:
        raise InvalidValue(f"{what} must be two or more, got {len(table)}")
    return table


def _distinct(points: Array) -> Array:
    """Without points that repeat the one before."""
    keep = np.linalg.norm(np.diff(points, axis=0), axis=1) > 1e-12
    found: Array = points[np.concatenate([[True], keep])]
    if len(found) < 2:
        raise InvalidValue("a path must lead somewhere, and all its points are the same")
    return found


def _rounded(corners: Array, blend: float) -> Stroke:
    if len(corners) == 2:
        return _spline(corners[0] + np.linspace(0.0, 1.0, 12)[:, None] * (corners[1] - corners[0]))
    at = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(corners, axis=0), axis=1))])
    half = 3 * (BOX // 2)
    step = blend / half
    count = int(np.ceil(at[-1] / step)) + 1
    if count > MOST_SAMPLES:
        raise InvalidValue(
            f"a path of length {at[-1]:.3g} with a blend of {blend:g} takes too many numbers; the "
            f"blend must be at least {half * at[-1] / MOST_SAMPLES:.2g}"
        )
    step = at[-1] / (count - 1)
    places = step * np.arange(-half, count + half)
    columns = np.stack([np.interp(places, at, corners[:, i]) for i in range(corners.shape[1])])
    first, last = (corners[1] - corners[0]) / at[1], (corners[-1] - corners[-2]) / (at[-1] - at[-2])
    columns += np.outer(first, np.minimum(places, 0.0))
    columns += np.outer(last, np.maximum(places - at[-1], 0.0))
    for _ in range(3):
        box = np.full(BOX, 1.0 / BOX)
        columns = np.stack([np.convolve(column, box, "valid") for column in columns])
    return _spline(columns.T)


def _spline(points: Array) -> Stroke:
    from scipy.interpolate import make_interp_spline  # takes long to load, and few need it

    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    degree = min(5, len(points) - 1)
    return Stroke(make_interp_spline(s, points, k=degree), float(s[-1]))

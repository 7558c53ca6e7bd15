"""Lines, planes and circles through points that a guided arm has passed, and how sure they are.

Total least squares: the sum of squared distances from the shape is the least there is. Its
confidence comes from what is left, σ² = Σ d²/(N − p), and from how far the points spread. Points of
a guided motion follow each other closely, so that their errors do too; N counts as

    N_e = N (1 − ρ)/(1 + ρ),   ρ the correlation of one residual with the next.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue
from projected_control.model.constraints.axes import perpendiculars

Array = NDArray[np.float64]

CONFIDENCE = 1.96  # standard deviations that hold 95 % of what may be
SPREAD = 5.0  # how much farther the points must spread along a shape than they lie off it


@dataclass(frozen=True)
class Fit:
    """A shape through points."""

    kind: str  # the kind of constraint that holds a point on it
    point: Array  # a point of the line or plane, amid the points; the centre of a circle [m]
    direction: Array  # along the line; normal of the plane; axis of the circle
    radius: float | None  # of a circle, else None [m]
    residual: float  # RMS distance of the points from it [m]
    largest: float  # largest distance [m]
    # Half the width of the 95 % interval of its place [m]: across a line or plane, of a
    # circle's centre.
    place_bound: float
    direction_bound: float  # of its direction [rad]
    radius_bound: float | None  # of the radius [m]; None for a line or plane
    points: int  # how many there were

    def constraint(self, frame: str) -> dict[str, object]:
        """The group ``constraint`` that controllers load."""
        block: dict[str, object] = {
            "kind": self.kind,
            "frame": frame,
            "point": [round(float(x), 7) for x in self.point],
            "direction": [round(float(x), 9) for x in self.direction],
        }
        if self.radius is not None:
            block["radius"] = round(self.radius, 7)
        return block


def fit_plane(points: ArrayLike, towards: ArrayLike | None = None) -> Fit:
    """The plane nearest some points; its normal points to the side of `towards`, else upwards."""
    table = _points(points, 4)
    middle, sizes, axes = _spread(table)
    normal = _turned(axes[2], towards)
    off = (table - middle) @ normal
    _require_spread("plane", sizes[1], sizes[2], "in two directions")
    sigma, count = _noise(off, 3)
    return Fit(
        "point_on_plane",
        middle,
        normal,
        None,
        _rms(off),
        float(np.abs(off).max()),
        CONFIDENCE * sigma / np.sqrt(count),
        CONFIDENCE * sigma / (np.sqrt(count) * float(sizes[1])),
        None,
        len(table),
    )


def fit_line(points: ArrayLike, towards: ArrayLike | None = None) -> Fit:
    """The line nearest some points; it points to the side of `towards`, else as they were gone."""
    table = _points(points, 3)
    middle, sizes, axes = _spread(table)
    along = _turned(axes[0], table[-1] - table[0] if towards is None else towards)
    _require_spread("line", sizes[0], sizes[1], "along it")
    across = (table - middle) @ np.stack(perpendiculars(along)).T
    off = np.linalg.norm(across, axis=1)
    sigma, count = _noise(across[:, 0], 2)
    other, least = _noise(across[:, 1], 2)
    sigma, count = max(sigma, other), min(count, least)
    return Fit(
        "point_on_line",
        middle,
        along,
        None,
        _rms(off),
        float(off.max()),
        CONFIDENCE * sigma / np.sqrt(count),
        CONFIDENCE * sigma / (np.sqrt(count) * float(sizes[0])),
        None,
        len(table),
    )


def fit_circle(points: ArrayLike, towards: ArrayLike | None = None) -> Fit:
    """The circle nearest some points; its axis points to the side of `towards`, else upwards."""
    table = _points(points, 5)
    plane = fit_plane(table, towards)
    first, second = perpendiculars(plane.direction)
    flat = (table - plane.point) @ np.stack([first, second]).T
    start = np.linalg.lstsq(
        np.column_stack([2.0 * flat, np.ones(len(flat))]), (flat**2).sum(axis=1), rcond=None
    )[0]
    unknown = np.array([*start[:2], np.sqrt(max(start[2] + start[0] ** 2 + start[1] ** 2, 1e-12))])
    for _ in range(50):  # Gauss and Newton, from the algebraic fit
        away = flat - unknown[:2]
        distance = np.linalg.norm(away, axis=1)
        jacobian = np.column_stack([-away / distance[:, None], -np.ones(len(flat))])
        step = np.linalg.lstsq(jacobian, -(distance - unknown[2]), rcond=None)[0]
        unknown += step
        if np.abs(step).max() < 1e-12:
            break
    radial = np.linalg.norm(flat - unknown[:2], axis=1) - unknown[2]
    height = (table - plane.point) @ plane.direction
    sigma, count = _noise(radial, 3)
    covariance = np.linalg.pinv(jacobian.T @ jacobian) * len(flat) / count
    bound = CONFIDENCE * sigma * np.sqrt(np.maximum(np.diag(covariance), 0.0))
    if not unknown[2] > 0.0 or bound[2] > unknown[2]:
        raise InvalidValue(
            "the points do not make a circle: its radius cannot be told; guide the arm along more "
            "of it"
        )
    off = np.hypot(radial, height)
    return Fit(
        "point_on_circle",
        np.asarray(plane.point + unknown[0] * first + unknown[1] * second),
        plane.direction,
        float(unknown[2]),
        _rms(off),
        float(off.max()),
        float(np.hypot(*bound[:2])),
        plane.direction_bound,
        float(bound[2]),
        len(table),
    )


SHAPES = {"line": fit_line, "plane": fit_plane, "circle": fit_circle}  # what can be fitted, by name


def _points(points: ArrayLike, least: int) -> Array:
    table = validate.finite_array("points", points, (None, 3))
    if len(table) < least:
        raise InvalidValue(f"{least} points or more are needed, got {len(table)}")
    return table


def _spread(table: Array) -> tuple[Array, Array, Array]:
    """Mean, RMS spread along the principal axes, largest first, and these axes."""
    middle = table.mean(axis=0)
    _, sizes, axes = np.linalg.svd(table - middle, full_matrices=False)
    return np.asarray(middle), np.asarray(sizes / np.sqrt(len(table))), np.asarray(axes)


def _turned(axis: Array, towards: ArrayLike | None) -> Array:
    """An axis or its opposite: to the side of a direction, else with its largest number > 0."""
    side = axis[np.argmax(np.abs(axis))] if towards is None else axis @ np.asarray(towards)
    return axis if side >= 0.0 else -axis


def _require_spread(shape: str, wide: float, thin: float, where: str) -> None:
    if not wide > SPREAD * max(thin, 1e-9):
        raise InvalidValue(
            f"the points do not make a {shape}: they spread {1e3 * wide:.3g} mm and lie "
            f"{1e3 * thin:.3g} mm off it; guide the arm farther, {where}"
        )


def _noise(off: Array, parameters: int) -> tuple[float, float]:
    """Standard deviation of residuals, and how many of them are independent."""
    sigma = float(np.sqrt(np.sum(off**2) / max(len(off) - parameters, 1)))
    if sigma == 0.0:
        return 0.0, float(len(off))
    centred = off - off.mean()
    power = float(centred @ centred)
    rho = float(centred[1:] @ centred[:-1]) / power if power > 0.0 else 0.0
    rho = min(max(rho, 0.0), 1.0 - 2.0 / len(off))
    return sigma, max(len(off) * (1.0 - rho) / (1.0 + rho), 1.0)


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))

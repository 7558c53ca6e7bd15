"""Surfaces given by heights on a grid: bicubic splines, twice continuously differentiable.

The heights are interpolated by a uniform bicubic B-spline with natural ends: the surface goes
through every height, and its second derivatives have no jumps, so that Ȧq̇ has none. Beyond the
grid the outermost pieces go on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.compiled import Numbers, compiled, kernel
from projected_control.errors import InvalidValue

Array = NDArray[np.float64]

FEWEST = 4
"""Heights per side from which there is something to interpolate."""

_HEAD = 4


class HeightMap:
    """A surface z = s(x, y) through heights on a regular grid.

    Args:
        heights: One line of numbers per place along x, one number per place along y [m].
        spacing: Distance between neighbours, one number, or one along x and one along y [m].

    Attributes:
        numbers: For kernels: numbers of coefficients along x and y, the spacings, the coefficients.
    """

    def __init__(self, heights: ArrayLike, spacing: ArrayLike) -> None:
        grid = validate.finite_array("heights", heights, (None, None))
        if min(grid.shape) < FEWEST:
            raise InvalidValue(
                f"a height map needs at least {FEWEST} × {FEWEST} heights to be twice "
                f"differentiable, got {grid.shape[0]} × {grid.shape[1]}"
            )
        given = np.atleast_1d(np.asarray(spacing, dtype=np.float64))
        if given.shape not in ((1,), (2,)):
            raise InvalidValue(
                f"spacing must be one number, or one along x and one along y, got {given.size}"
            )
        dx, dy = (
            validate.positive("spacing of the height map", float(d))
            for d in np.broadcast_to(given, (2,))
        )
        coefficients = _spline(_spline(grid).T).T
        self.size = (grid.shape[0] - 1) * dx, (grid.shape[1] - 1) * dy
        self.numbers: Array = np.array([*coefficients.shape, dx, dy, *coefficients.ravel()])

    def __call__(self, x: float, y: float) -> float:
        """The height at a place [m]."""
        return float(height_at(self.numbers, x, y)[0])

    def derivatives(self, x: float, y: float) -> tuple[float, ...]:
        """s, s_x, s_y, s_xx, s_xy, s_yy at a place."""
        return tuple(map(float, height_at(self.numbers, x, y)))


def _spline(values: Array) -> Array:
    """Coefficients of the cubic B-spline through values along the first axis, natural ends.

    Row i of the system is (c_{i−1} + 4 c_i + c_{i+1})/6 = value_i; at the ends the second
    difference of the coefficients is zero.
    """
    n = values.shape[0]
    system = np.zeros((n + 2, n + 2))
    for i in range(n):
        system[i + 1, i : i + 3] = 1.0 / 6.0, 4.0 / 6.0, 1.0 / 6.0
    system[0, :3] = system[-1, -3:] = 1.0, -2.0, 1.0
    right = np.zeros((n + 2, *values.shape[1:]))
    right[1:-1] = values
    solution: Array = np.linalg.solve(system, right)
    return solution


@compiled
def basis(t: float, order: int) -> tuple[float, float, float, float]:
    """The four cubic B-splines on a piece at 0 ≤ t ≤ 1, or their first or second derivatives."""
    s = 1.0 - t
    if order == 0:
        return (
            s * s * s / 6.0,
            (3.0 * t * t * t - 6.0 * t * t + 4.0) / 6.0,
            (3.0 * s * s * s - 6.0 * s * s + 4.0) / 6.0,
            t * t * t / 6.0,
        )
    if order == 1:
        return (-s * s / 2.0, 1.5 * t * t - 2.0 * t, -1.5 * s * s + 2.0 * s, t * t / 2.0)
    return (s, 3.0 * t - 2.0, 3.0 * s - 2.0, t)


@kernel
def height_at(
    numbers: Numbers, x: float, y: float
) -> tuple[float, float, float, float, float, float]:
    """s, s_x, s_y, s_xx, s_xy, s_yy of a height map at a place; NaN where the place is."""
    nx, ny, dx, dy = int(numbers[0]), int(numbers[1]), numbers[2], numbers[3]
    if not (np.isfinite(x) and np.isfinite(y)):
        return (np.nan, np.nan, np.nan, np.nan, np.nan, np.nan)
    i = int(min(max(np.floor(x / dx), 0.0), nx - 4.0))
    j = int(min(max(np.floor(y / dy), 0.0), ny - 4.0))
    t, u = x / dx - i, y / dy - j
    a0, a1, a2 = basis(t, 0), basis(t, 1), basis(t, 2)
    b0, b1, b2 = basis(u, 0), basis(u, 1), basis(u, 2)
    s, s_x, s_y, s_xx, s_xy, s_yy = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(4):
        for m in range(4):
            c = numbers[_HEAD + (i + k) * ny + j + m]
            s += c * a0[k] * b0[m]
            s_x += c * a1[k] * b0[m]
            s_y += c * a0[k] * b1[m]
            s_xx += c * a2[k] * b0[m]
            s_xy += c * a1[k] * b1[m]
            s_yy += c * a0[k] * b2[m]
    return (s, s_x / dx, s_y / dy, s_xx / (dx * dx), s_xy / (dx * dy), s_yy / (dy * dy))

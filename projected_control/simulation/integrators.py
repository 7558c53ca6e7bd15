"""Fixed-step explicit Runge–Kutta methods, as the coefficients of a tableau."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Tableau(NamedTuple):
    """Coefficients of an explicit Runge–Kutta method (Butcher)."""

    order: int  # order of the method; the error of one step is one order higher
    nodes: Array  # times of the stages, as fractions of the step
    stages: Array  # row s weighs the slopes before stage s
    weights: Array  # weights of the slopes in the result

    @property
    def following(self) -> Array:
        """Line s weighs the slopes up to stage s in what follows it: a stage, or the result."""
        count = self.weights.size
        lines = np.zeros((count, count))
        for s in range(1, count):
            lines[s - 1, :s] = self.stages[s, :s]
        lines[-1] = self.weights
        return lines


RK4 = Tableau(
    4,
    np.array([0.0, 0.5, 0.5, 1.0]),
    np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 1.0]]),
    np.array([1.0, 2.0, 2.0, 1.0]) / 6.0,
)
"""The classical method of order four."""

DORMAND_PRINCE = Tableau(
    5,
    np.array([0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0]),
    np.array(
        [
            [0.0, 0.0, 0.0, 0.0, 0.0],
            [1 / 5, 0.0, 0.0, 0.0, 0.0],
            [3 / 40, 9 / 40, 0.0, 0.0, 0.0],
            [44 / 45, -56 / 15, 32 / 9, 0.0, 0.0],
            [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0.0],
            [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
        ]
    ),
    np.array([35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84]),
)
"""Order five (Dormand and Prince 1980)."""

TABLEAUX = {"rk4": RK4, "dormand-prince": DORMAND_PRINCE}

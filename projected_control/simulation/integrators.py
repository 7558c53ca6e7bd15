"""Fixed-step explicit Runge–Kutta methods, as the coefficients of a tableau."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import RK45

Array = NDArray[np.float64]


class Tableau(NamedTuple):
    """Coefficients of an explicit Runge–Kutta method (Butcher).

    Attributes:
        order: Order of the method; the error of one step is one order higher.
        nodes: Times of the stages, as fractions of the step.
        stages: Row s weighs the slopes before stage s.
        weights: Weights of the slopes in the result.
    """

    order: int
    nodes: Array
    stages: Array
    weights: Array

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

DORMAND_PRINCE = Tableau(5, RK45.C, RK45.A, RK45.B)
"""Order five, with SciPy's coefficients."""

TABLEAUX = {"rk4": RK4, "dormand-prince": DORMAND_PRINCE}

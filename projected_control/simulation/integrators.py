"""Fixed-step explicit Runge–Kutta integration, from the coefficients of any tableau."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import RK45

from projected_control.compiled import compiled

Array = NDArray[np.float64]
Derivative = Callable[[float, Array, Array], None]
"""A function of time and state that writes the slope into its third argument."""


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


@compiled
def along(y: Array, step: float, weights: Array, slopes: Array, result: Array) -> None:
    """y + step Σ weight_s slope_s, over as many slopes as there are weights."""
    for i in range(y.size):
        total = 0.0
        for s in range(weights.size):
            total += weights[s] * slopes[s, i]
        result[i] = y[i] + step * total


def integrate_step(
    tableau: Tableau, derivative: Derivative, time: float, y: Array, step: float
) -> Array:
    """y one step later, for ẏ = derivative(t, y)."""
    slopes, stage = np.empty((tableau.weights.size, y.size)), np.empty_like(y)
    for s in range(tableau.weights.size):
        along(y, step, tableau.stages[s, :s], slopes, stage)
        derivative(time + tableau.nodes[s] * step, stage, slopes[s])
    along(y, step, tableau.weights, slopes, stage)
    return stage

"""How well an arm moves its coordinates from where it is, in the directions that are left to it.

Of q̇ with ‖q̇‖ ≤ 1 along the constraint, θ̇ = J_θ P q̇ fills an ellipsoid. Its axes are the singular
values of J_θ P; their product is Yoshikawa's measure, √det(J_θ P J_θᵀ), which is zero where a
direction is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import ConstrainedArm

Array = NDArray[np.float64]


class Manipulability(NamedTuple):
    """The ellipsoid of θ̇ for ‖q̇‖ ≤ 1 along the constraint.

    Attributes:
        measure: Product of the axes' half-lengths, √det(J_θ P J_θᵀ).
        axes: These half-lengths, largest first, k [m or rad per rad].
        directions: In which they point, one column each, k × k.
    """

    measure: float
    axes: Array
    directions: Array

    @property
    def isotropy(self) -> float:
        """The shortest axis as a share of the longest: one for a sphere, zero at singular poses."""
        return float(self.axes[-1] / self.axes[0]) if self.axes[0] > 0.0 else 0.0


def manipulability(
    model: ConstrainedArm, q: Array | None = None, columns: Sequence[int] | None = None
) -> Manipulability:
    """How well a model's coordinates can be moved; ‖q̇‖ is in the model's metric.

    Args:
        model: The arm, its constraint and its coordinates.
        q: Where, n; where it was evaluated last unless given.
        columns: Which coordinates; all unless given.
    """
    if model.k == 0:
        raise InvalidValue("manipulability is of coordinates: give the model some")
    if q is not None:
        model.evaluate(np.asarray(q, dtype=np.float64), np.zeros(model.n))
    free = model.J_theta @ model.P
    chosen = free if columns is None else free[list(columns)]
    U, sigma, _ = np.linalg.svd(chosen)
    axes = np.zeros(chosen.shape[0])
    axes[: sigma.size] = sigma
    return Manipulability(float(np.prod(axes)), axes, U)

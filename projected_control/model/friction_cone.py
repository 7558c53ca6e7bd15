"""The cone of friction as rows: within it a contact sticks, ‖λ_t‖ ≤ µ λ_n.

As facets it is a pyramid inside of the cone: for k = 0 … F − 1, φ = (2 k + 1) π / F,

    cos φ λ_t1 + sin φ λ_t2 ≤ µ cos(π/F) λ_n.

Four facets lose 29 % of µ in the worst direction, 8 lose 7.6 %, 16 lose 1.9 %. With one direction
along the surface, as in a plane, two rows are the cone itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.errors import InvalidValue

Array = NDArray[np.float64]

FACETS = 8  # unless said otherwise


def cone_rows(friction: float, tangents: int, facets: int = FACETS) -> Array:
    """C with C (λ_n, λ_t) ≤ 0 for a contact that sticks.

    Args:
        friction: µ.
        tangents: Directions along the surface: 1 in a plane, 2 in space.
        facets: Of the pyramid in space.

    Returns:
        Lines of (−µ', tangents), the normal force in the first column.
    """
    mu = validate.not_negative("friction µ", friction)
    if tangents == 1:
        return np.array([[-mu, 1.0], [-mu, -1.0]])
    if tangents != 2:
        raise InvalidValue(f"a contact slides in 1 or 2 directions, got {tangents}")
    if facets < 3:
        raise InvalidValue(f"a cone needs 3 facets or more, got {facets}")
    angles = (2.0 * np.arange(facets) + 1.0) * np.pi / facets
    inscribed = np.full(facets, -mu * np.cos(np.pi / facets))
    return np.column_stack([inscribed, np.cos(angles), np.sin(angles)])

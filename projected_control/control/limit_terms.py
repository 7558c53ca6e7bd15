"""What keeping limits is made of: its workspace, and what binds (see `keep_limits`)."""

from __future__ import annotations

from enum import IntFlag
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.contact import MAX_FACETS
from projected_control.model.level_step import LEVELS, LevelTerms
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]


class Binding(IntFlag):
    """What keeps a joint from what the closed form asks of it."""

    TORQUE = 1
    RATE = 2
    RANGE = 4
    VELOCITY = 8


_ROWS = f"6 * n + {3 + MAX_FACETS // 2} * m + k"
_LEVELS = "k + 8"
_PROBLEM = LEVELS.length_with(r=f"({_ROWS})", l=f"({_LEVELS})")


class LimitTerms(NamedTuple):
    """Of one solution: n joints, m constraint rows, k coordinates.

    Efforts, Φ and accelerations are in the coordinates of the metric, bounds of joints in joint
    units. y is what is added to the closed form's efforts.
    """

    lower: Annotated[Array, Part("n", "Least effort: of the motor, and within one step.")]
    upper: Annotated[Array, Part("n", "Largest effort, the same.")]
    acceleration: Annotated[Array, Part("n", "q̈ of the closed form.")]
    multipliers: Annotated[Array, Part("m", "λ of the closed form [N or N·m].")]
    kept: Annotated[Array, Part("m", "λ that is left of it [N or N·m].")]
    ranges: Annotated[Array, Part("2, n", "q̈ that leaves room to stop in the range [rad/s²].")]
    brakes: Annotated[Array, Part("1", "Time within which all have to be able to stop [s].")]
    held: Annotated[Array, Part("n", "Effort that brakes no motion.")]
    pull: Annotated[Array, Part("n", "Effort that brakes q̇ within one second, on top.")]
    reach: Annotated[Array, Part("n", "What braking adds to the closed form in this tick.")]
    P: Annotated[Array, Part("n, n", "Projector on N(A).")]
    A_pinv: Annotated[Array, Part("n, m", "A⁺.")]
    Phi: Annotated[Array, Part("n, n", "Φ = M_c⁻¹ P.")]
    MPhi: Annotated[Array, Part("n, n", "M Φ.")]
    to_force: Annotated[Array, Part("m, n", "How λ follows an effort, A⁺ᵀ(I − M Φ).")]
    root: Annotated[Array, Part("n, n", "M = L Lᵀ.")]
    warm: Annotated[Array, Part("1", "1 where the tick before was solved, else 0.")]
    levels: Annotated[Array, Part(_PROBLEM, "See `LevelTerms`.")]


LIMITS = Layout(LimitTerms, "n", "m", "k")
unpack_limits = LIMITS.unpack
unpack_levels = LEVELS.unpack


@compiled
def problem_of(w: LimitTerms, k: int) -> LevelTerms:
    """The problem's own parts."""
    n, m = w.lower.size, w.multipliers.size
    return unpack_levels(w.levels, n, 6 * n + (3 + MAX_FACETS // 2) * m + k, k + 8)

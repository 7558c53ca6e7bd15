"""Least squares by levels within bounds: what gives way is what stands lowest.

Of all x in a box, first those are kept that break the rows of level 1 the least, of these the ones
that break level 2 the least, and so on:

    least ≤ x ≤ most                                   always, to the last bit
    min ‖v₁‖,  then  min ‖v₂‖,  …                       v = distance of C x from [lower, upper]

A row with lower = upper is a target, one with an infinite bound is one-sided. A row that a level
could keep is kept for all below; what it had to give up is given up by no more than that.

One *primal* active set per level: x stays in the box and keeps what levels above have reached, in
every iteration. So it may stop anywhere: at the cap on iterations, x as it is keeps the box and all
levels that were finished. With V the rows of the level that are broken (of targets all), N what is
free, r what is missing in V:

    p = N (C_V N)⁺ r;  along p to the least ‖v‖, or to the first row above that is hit: it joins
    no way down left:  Σ µᵢ aᵢ = −C_Vᵀ r;  the held row with the most negative µᵢ leaves
    none:              the level is done: rows with µᵢ > 0 and the directions of C_V stay for good

‖v‖² is smooth where rows begin or cease to be broken, so the search along p goes on past these
places (`search_along`). Everything is found again from x, so that nothing is remembered from one
problem to the next but x itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue
from projected_control.model.active_set import solve_levels
from projected_control.model.level_step import LEVELS

Array = NDArray[np.float64]

ITERATIONS = 60  # cap on the steps of all levels together, for up to 14 unknowns


@dataclass(frozen=True)
class Level:
    """Rows that count the same: lower ≤ C x ≤ upper; a target where the two are equal."""

    C: ArrayLike
    lower: ArrayLike
    upper: ArrayLike

    @classmethod
    def target(cls, C: ArrayLike, value: ArrayLike) -> Level:
        """C x = value, or as near as can be."""
        return cls(C, value, value)


@dataclass(frozen=True)
class Solution:
    """What a problem by levels comes to."""

    x: Array  # the unknowns
    loss: Array  # ‖v‖ of each level; NaN of one that was not finished
    steps: int  # how many steps it took
    whole: bool  # whether all levels were finished before the cap


def solve(
    levels: Sequence[Level],
    least: ArrayLike,
    most: ArrayLike,
    start: ArrayLike | None = None,
    steps: int = ITERATIONS,
) -> Solution:
    """Solve a problem by levels, the highest first.

    Args:
        levels: The rows.
        least, most: The box; infinite where there is no bound.
        start: Where to begin; zero, or what of the box is nearest to it, unless given.
        steps: Cap on the steps.
    """
    least, most = (np.atleast_1d(np.asarray(b, dtype=np.float64)) for b in (least, most))
    n = least.size
    if most.shape != (n,) or not (least <= most).all():
        raise InvalidValue(
            f"the box must have least ≤ most for every unknown, got {least.tolist()} and "
            f"{most.tolist()}"
        )
    first = np.zeros(len(levels) + 1)
    rows = []
    for number, level in enumerate(levels):
        C = validate.finite_array(f"C of level {number + 1}", level.C, (None, n))
        asked = (np.asarray(bound, float) for bound in (level.lower, level.upper))
        bounds = [np.broadcast_to(bound, C.shape[:1]) for bound in asked]
        if not (bounds[0] <= bounds[1]).all():
            raise InvalidValue(
                f"level {number + 1} must have lower ≤ upper in every row, got "
                f"{bounds[0].tolist()} and {bounds[1].tolist()}"
            )
        rows.append((C, *bounds))
        first[number + 1] = first[number] + len(C)
    sizes = {"n": n, "r": int(first[-1]), "l": len(levels)}
    s = LEVELS.view(LEVELS.new(**sizes), **sizes)
    s.least[:], s.most[:], s.first[:] = least, most, first
    for begin_row, (C, lower, upper) in zip(first[:-1].astype(int), rows, strict=True):
        place = slice(begin_row, begin_row + len(C))
        s.C[place], s.lower[place], s.upper[place] = C, lower, upper
    s.x[:] = 0.0 if start is None else validate.finite_array("start", start, (n,))
    whole = bool(solve_levels(steps, s))
    return Solution(s.x.copy(), s.loss.copy(), int(s.steps[0]), whole)

"""One step of a level: what would make up for all that is missing in its rows, by least squares.

With N the directions that are free (`held_rows`), C_V the rows that are broken and r what is
missing in them, p = N (C_V N)⁺ r is the least change of x that leaves the least of r. One
decomposition serves both: its directions are those that the level fixes where it is done.

    C_V N = [L 0] Qᵀ      by reflections of the free directions, the longest row first
    u = L⁺ r,  p = Q u    L is triangular where its rows are independent, else by reflections of L
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.model.held_rows import (
    HELD,
    HeldTerms,
    reflect_directions,
    reflection_of,
)
from projected_control.model.linalg import axpy, dot, fill
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]

RANK = 1e-9
"""Share of the longest row of a level below which what is left of a row counts as nothing."""


class LevelTerms(NamedTuple):
    """A problem of n unknowns and r rows in l levels, its solution, and what finds it."""

    least: Annotated[Array, Part("n", "Smallest x.")]
    most: Annotated[Array, Part("n", "Largest x.")]
    C: Annotated[Array, Part("r, n", "The rows, level by level.")]
    lower: Annotated[Array, Part("r", "Smallest C x; overwritten by what was reached.")]
    upper: Annotated[Array, Part("r", "Largest C x; overwritten by what was reached.")]
    first: Annotated[Array, Part("l + 1", "First row of each level, and their number.")]
    x: Annotated[Array, Part("n", "Where to begin; then the solution.")]
    steps: Annotated[Array, Part("1", "Steps that were made.")]
    finished: Annotated[Array, Part("1", "Levels that were finished; all but at the cap.")]
    loss: Annotated[Array, Part("l", "‖v‖ of each level; NaN of one that was not finished.")]
    side: Annotated[
        Array, Part("n + r", "−1 at its lower, 1 at its upper bound; of x, then of C x.")
    ]
    value: Annotated[Array, Part("r", "C x.")]
    slope: Annotated[Array, Part("r", "C p.")]
    size: Annotated[Array, Part("r", "‖a‖ of each row.")]
    p: Annotated[Array, Part("n", "The step.")]
    gradient: Annotated[Array, Part("n", "C_Vᵀ (what the level's rows are off by).")]
    broken: Annotated[Array, Part("r", "1 for each row of V, else 0.")]
    picked: Annotated[Array, Part("r", "Numbers of the rows of V.")]
    missing: Annotated[Array, Part("r", "What is missing in V.")]
    G: Annotated[Array, Part("r, n", "C_V N, then its triangle.")]
    L: Annotated[Array, Part("r, n", "A copy of that triangle.")]
    u: Annotated[Array, Part("r", "The step in free directions.")]
    unit: Annotated[Array, Part("n", "A row of the box.")]
    held: Annotated[Array, Part(HELD.length, "See `HeldTerms`.")]


LEVELS = Layout(LevelTerms, "n", "r", "l")
unpack_levels = LEVELS.unpack


@compiled
def off_by(value: float, lower: float, upper: float) -> float:
    """How far a value is above (positive) or below (negative) its bounds."""
    if value > upper:
        return value - upper
    return value - lower if value < lower else 0.0


@compiled
def is_broken(r: int, tolerance: float, s: LevelTerms) -> bool:
    """Whether a row belongs to V: a target, or one that is off by more than rounding."""
    off = off_by(s.value[r], s.lower[r], s.upper[r])
    return s.lower[r] == s.upper[r] or abs(off) > tolerance


@compiled
def pick_rows(begins: int, ends: int, tolerance: float, s: LevelTerms) -> int:
    """V, and what is missing in it; how many rows it has."""
    count = 0
    for r in range(begins, ends):
        s.broken[r] = 0.0
        if is_broken(r, tolerance, s):
            s.broken[r] = 1.0
            s.picked[count] = r
            s.missing[count] = -off_by(s.value[r], s.lower[r], s.upper[r])
            count += 1
    return count


@compiled
def others_broken(begins: int, ends: int, tolerance: float, s: LevelTerms) -> bool:
    """Whether V has changed since it was picked."""
    changed = False
    for r in range(begins, ends):
        changed = changed or is_broken(r, tolerance, s) != (s.broken[r] != 0.0)
    return changed


@compiled
def triangle(count: int, size: float, s: LevelTerms, held: HeldTerms) -> int:
    """C_V N = [L 0]: the first free directions become those of C_V; how many they are."""
    n, taken = s.x.size, int(held.taken[0])
    free = n - taken
    for e in range(count):
        row = s.C[int(s.picked[e])]
        for j in range(free):
            s.G[e, j] = dot(held.Q[taken + j], row)
    rank = 0
    while rank < min(count, free):
        best, longest = rank, 0.0
        for e in range(rank, count):
            rest = 0.0
            for j in range(rank, free):
                rest += s.G[e, j] * s.G[e, j]
            if rest > longest:
                best, longest = e, rest
        if longest <= (RANK * size) ** 2:
            break
        if best != rank:
            s.picked[rank], s.picked[best] = s.picked[best], s.picked[rank]
            s.missing[rank], s.missing[best] = s.missing[best], s.missing[rank]
            for j in range(free):
                s.G[rank, j], s.G[best, j] = s.G[best, j], s.G[rank, j]
        w = held.reflection
        for j in range(rank, free):
            w[j] = s.G[rank, j]
        beta = reflection_of(w, rank, free)
        reflect_rows(w, rank, free, rank + 1, count, s)
        reflect_directions(w, rank, taken, held)
        s.G[rank, rank] = beta
        rank += 1
    return rank


@compiled
def reflect_rows(w: Array, first: int, last: int, begins: int, ends: int, s: LevelTerms) -> None:
    """Rows of G from ``begins`` on, reflected by w in their entries from ``first`` on."""
    if w[first] == 0.0:
        return
    size = 0.0
    for j in range(first, last):
        size += w[j] * w[j]
    for e in range(begins, ends):
        along = 0.0
        for j in range(first, last):
            along += w[j] * s.G[e, j]
        for j in range(first, last):
            s.G[e, j] -= 2.0 * along / size * w[j]


@compiled
def least_squares(count: int, rank: int, s: LevelTerms) -> None:
    """u of least ‖L u − missing‖; L is ``count`` × ``rank``, triangular above, of full rank."""
    u, L = s.u, s.L
    if count == rank:
        for i in range(rank):
            u[i] = s.missing[i]
            for j in range(i):
                u[i] -= s.G[i, j] * u[j]
            u[i] /= s.G[i, i]
        return
    for e in range(count):
        u[e] = s.missing[e]
        for j in range(rank):
            L[e, j] = s.G[e, j] if j <= e else 0.0
    for j in range(rank):  # L = Q R, by reflections of its columns
        behind = 0.0
        for e in range(j + 1, count):
            behind += L[e, j] * L[e, j]
        if behind == 0.0:
            continue
        size = np.sqrt(L[j, j] * L[j, j] + behind)
        beta = -size if L[j, j] > 0.0 else size
        head = L[j, j] - beta
        square = head * head + behind
        for k in range(j + 1, rank + 1):
            along = head * (L[j, k] if k < rank else u[j])
            for e in range(j + 1, count):
                along += L[e, j] * (L[e, k] if k < rank else u[e])
            along *= 2.0 / square
            if k < rank:
                L[j, k] -= along * head
                for e in range(j + 1, count):
                    L[e, k] -= along * L[e, j]
            else:
                u[j] -= along * head
                for e in range(j + 1, count):
                    u[e] -= along * L[e, j]
        L[j, j] = beta
    for i in range(rank - 1, -1, -1):
        for j in range(i + 1, rank):
            u[i] -= L[i, j] * u[j]
        u[i] /= L[i, i]


@compiled
def find_step(rank: int, s: LevelTerms, held: HeldTerms) -> None:
    """p, as a sum of the free directions of C_V."""
    taken = int(held.taken[0])
    fill(s.p, 0.0)
    for j in range(rank):
        axpy(s.u[j], held.Q[taken + j], s.p)

"""The kernels of `lexicographic`: one primal active set per level."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled, kernel
from projected_control.model.held_rows import (
    HeldTerms,
    find_multipliers,
    hold_nothing,
    hold_row,
    let_go,
    unpack_held,
)
from projected_control.model.level_step import (
    RANK,
    LevelTerms,
    find_step,
    least_squares,
    off_by,
    others_broken,
    pick_rows,
    triangle,
)
from projected_control.model.linalg import axpy, dot, fill, matvec

Array = NDArray[np.float64]

STILL = 1e-12
"""Share of a level's numbers below which a change of them is rounding."""

POSITIVE = 1e-10
"""The same for a multiplier."""

WHOLE = 1e-9
"""Share of a step that is rounding."""

DEPENDS = 1e-9
"""Share of a row that a held one may have in it and is not needed for it."""

STEEP = 1e-10
"""Share of ‖a‖ ‖p‖ below which aᵀp is rounding."""


@compiled
def begin(s: LevelTerms, held: HeldTerms) -> None:
    """x into the box; what is at its bounds there is held."""
    n = s.x.size
    hold_nothing(held)
    fill(s.side, 0.0)
    fill(s.broken, 0.0)
    for r in range(int(s.first[s.loss.size])):
        s.size[r] = np.sqrt(dot(s.C[r], s.C[r]))
    for i in range(n):
        x = s.x[i]
        s.x[i] = min(max(x, s.least[i]), s.most[i]) if np.isfinite(x) else 0.0
        s.x[i] = min(max(s.x[i], s.least[i]), s.most[i])
        if s.least[i] == s.most[i]:
            hold_bound(i, 1.0, 1.0, s, held)
        elif s.x[i] == s.least[i]:
            hold_bound(i, -1.0, 0.0, s, held)
        elif s.x[i] == s.most[i]:
            hold_bound(i, 1.0, 0.0, s, held)


@compiled
def hold_bound(i: int, side: float, settled: float, s: LevelTerms, held: HeldTerms) -> bool:
    """Unknown i is held where it is, or row i − n."""
    n = s.x.size
    if i >= n:
        joined = hold_row(s.C[i - n], i, settled, held)
    else:
        fill(s.unit, 0.0)
        s.unit[i] = 1.0
        joined = hold_row(s.unit, i, settled, held)
    if joined:
        s.side[i] = side
    return joined


@compiled
def first_hit(begins: int, s: LevelTerms) -> tuple[int, float, float]:
    """The first bound of the box, or of a row above the level, along p: which, how far, which side.

    −1 where none is.
    """
    n, hit, far, side = s.x.size, -1, np.inf, 0.0
    length = np.sqrt(dot(s.p, s.p))
    for i in range(n):
        if s.side[i] != 0.0 or abs(s.p[i]) <= STEEP * length:
            continue
        room = (s.most[i] if s.p[i] > 0.0 else s.least[i]) - s.x[i]
        if room / s.p[i] < far:
            hit, far, side = i, max(room / s.p[i], 0.0), 1.0 if s.p[i] > 0.0 else -1.0
    for r in range(begins):
        if s.side[n + r] != 0.0 or abs(s.slope[r]) <= STEEP * length * s.size[r]:
            continue
        room = (s.upper[r] if s.slope[r] > 0.0 else s.lower[r]) - s.value[r]
        if room / s.slope[r] < far:
            hit, far = n + r, max(room / s.slope[r], 0.0)
            side = 1.0 if s.slope[r] > 0.0 else -1.0
    return hit, far, side


@compiled
def search_along(begins: int, ends: int, s: LevelTerms) -> float:
    """How far along p ‖v‖ is least: a root of a rising, piecewise straight function."""
    at = 0.0
    for _ in range(2 * (ends - begins) + 1):
        rises, steep, turn = 0.0, 0.0, np.inf
        for r in range(begins, ends):
            slope = s.slope[r]
            if slope == 0.0:
                continue
            value = s.value[r] + at * slope
            to_lower, to_upper = (s.lower[r] - value) / slope, (s.upper[r] - value) / slope
            target = s.lower[r] == s.upper[r]
            if target or off_by(value + WHOLE * slope, s.lower[r], s.upper[r]) != 0.0:
                rises += off_by(value, s.lower[r], s.upper[r]) * slope
                steep += slope * slope
            if not target and to_lower > WHOLE:
                turn = min(turn, to_lower)
            if not target and to_upper > WHOLE:
                turn = min(turn, to_upper)
        if rises >= 0.0 or steep == 0.0:
            return at
        root = -rises / steep
        if root <= turn:
            return at + root
        at += turn
    return at


@compiled
def move(far: float, ends: int, s: LevelTerms) -> None:
    """x ← x + far p, inside the box to the last bit."""
    for i in range(s.x.size):
        if s.side[i] == 0.0:
            s.x[i] = min(max(s.x[i] + far * s.p[i], s.least[i]), s.most[i])
    for r in range(ends):
        s.value[r] += far * s.slope[r]


@compiled
def join(i: int, side: float, s: LevelTerms, held: HeldTerms) -> None:
    """Hold a bound that was hit, exactly there."""
    n = s.x.size
    hold_bound(i, side, 0.0, s, held)
    if i < n:
        s.x[i] = s.most[i] if side > 0.0 else s.least[i]
    else:
        s.value[i - n] = s.upper[i - n] if side > 0.0 else s.lower[i - n]


@compiled
def worst_held(count: int, tolerance: float, plain: bool, s: LevelTerms, held: HeldTerms) -> int:
    """Place of the held row that keeps the level from more, −1 for none; leaves all multipliers.

    The most negative multiplier; the first negative one where it has to be plain (Bland's rule).
    """
    fill(s.gradient, 0.0)
    for e in range(count):
        r = int(s.picked[e])
        axpy(-off_by(s.value[r], s.lower[r], s.upper[r]), s.C[r], s.gradient)
    find_multipliers(s.gradient, held)
    worst, at, lowest = -tolerance, -1, np.inf
    for i in range(int(held.taken[0])):
        if held.settled[i] != 0.0:
            continue
        number = int(held.row[i])
        multiplier = s.side[number] * held.multiplier[i] * row_size(number, s)
        if plain:
            if multiplier < -tolerance and number < lowest:
                at, lowest = i, float(number)
        elif multiplier < worst:
            at, worst = i, multiplier
    return at


@compiled
def row_size(number: int, s: LevelTerms) -> float:
    """‖a‖ of a bound of the box, which is one, or of a row."""
    return 1.0 if number < s.x.size else s.size[number - s.x.size]


@compiled
def settle(
    count: int, rank: int, size: float, tolerance: float, s: LevelTerms, held: HeldTerms
) -> None:
    """What a finished level has fixed stays for good: rows with µᵢ > 0, and C_V x.

    Rows that are rounding beside the longest, of this size, fix nothing.
    """
    n, waiting = s.x.size, 0
    for i in range(int(held.taken[0])):
        if held.settled[i] == 0.0:
            number = int(held.row[i])
            if s.side[number] * held.multiplier[i] * row_size(number, s) > tolerance:
                held.settled[i] = 1.0
            else:
                waiting += 1
    for e in range(rank):
        r = int(s.picked[e])
        settle_row(n + r, s.C[r], s.G[e], e, held)
    for e in range(count):
        r = int(s.picked[e])
        s.side[n + r] = 1.0  # it cannot be hit any more
        counts = e >= rank and s.size[r] > RANK * size
        if counts and waiting > 0 and exchange(r, s, held):
            waiting -= 1


@compiled
def settle_row(number: int, a: Array, triangle_row: Array, e: int, held: HeldTerms) -> None:
    """Row e of the level's triangle is held for good."""
    at = int(held.taken[0])
    fill(held.L[at], 0.0)
    for j in range(at - e):
        held.L[at, j] = dot(held.Q[j], a)
    for j in range(e + 1):
        held.L[at, at - e + j] = triangle_row[j]
    held.row[at], held.settled[at] = number, 1.0
    held.taken[0] = at + 1.0


@compiled
def exchange(r: int, s: LevelTerms, held: HeldTerms) -> bool:
    """A row that depends on held ones that may still leave takes the place of one of these."""
    find_multipliers(s.C[r], held)
    most, at = DEPENDS * s.size[r], -1
    for i in range(int(held.taken[0])):
        if held.settled[i] == 0.0:
            share = abs(held.multiplier[i]) * row_size(int(held.row[i]), s)
            if share > most:
                most, at = share, i
    if at < 0:
        return False
    s.side[int(held.row[at])] = 0.0
    let_go(at, held)
    hold_row(s.C[r], s.x.size + r, 1.0, held)
    return True


@compiled
def solve_level(level: int, most_steps: int, s: LevelTerms, held: HeldTerms) -> bool:
    """One level; False where the cap on steps came first."""
    n, begins, ends = s.x.size, int(s.first[level]), int(s.first[level + 1])
    size, scale = 0.0, 0.0
    for r in range(begins, ends):
        s.value[r] = dot(s.C[r], s.x)
        size = max(size, s.size[r])
        off = off_by(s.value[r], s.lower[r], s.upper[r])
        scale = max(scale, abs(s.value[r]) + abs(off))
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(s.x[i]))
    scale += size * largest
    still, flat = STILL * scale, POSITIVE * scale * size
    count, rank, here = 0, 0, 0
    while True:
        count = pick_rows(begins, ends, still, s)
        if count == 0:
            break
        if int(s.steps[0]) >= most_steps:
            return False
        s.steps[0] += 1.0
        here += 1
        rank = triangle(count, size, s, held)
        least_squares(count, rank, s)
        find_step(rank, s, held)
        change = 0.0
        matvec(s.C[:ends], s.p, s.slope)
        for r in range(begins, ends):
            change = max(change, abs(s.slope[r]))
        if change > still:
            hit, far, side = first_hit(begins, s)
            wanted = search_along(begins, ends, s)
            if hit >= 0 and far < wanted:
                move(far, ends, s)
                join(hit, side, s, held)
                continue
            move(wanted, ends, s)
            if others_broken(begins, ends, still, s) or abs(wanted - 1.0) > WHOLE:
                continue
        at = worst_held(count, flat, here > 2 * n, s, held)
        if at < 0:
            break
        s.side[int(held.row[at])] = 0.0
        let_go(at, held)
    if count > 0:
        settle(count, rank, size, flat, s, held)
    total = 0.0
    for r in range(begins, ends):
        off = off_by(s.value[r], s.lower[r], s.upper[r])
        total += off * off
        s.lower[r] = min(s.lower[r], s.value[r])
        s.upper[r] = max(s.upper[r], s.value[r])
    s.loss[level] = np.sqrt(total)
    return True


@kernel
def solve_levels(most_steps: int, s: LevelTerms) -> bool:
    """Solve the problem that stands in s; False where the cap on steps came first.

    Then x keeps the box and the levels that were finished.
    """
    held = unpack_held(s.held, s.x.size)
    s.steps[0] = s.finished[0] = 0.0
    for level in range(s.loss.size):
        s.loss[level] = np.nan
    begin(s, held)
    for level in range(s.loss.size):
        if not solve_level(level, most_steps, s, held):
            return False
        s.finished[0] += 1.0
    return True

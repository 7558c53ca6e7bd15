"""Random problems by levels, and what shows that a solution of one is the best there is."""

import numpy as np
from scipy.optimize import lsq_linear

from projected_control.model.lexicographic import Level


def random_problem(random, n):
    """Targets and bounds in one to six levels, rows repeated and dependent; last the least ‖x‖."""
    levels = []
    for _ in range(random.integers(1, 7)):
        m = int(random.integers(1, n + 3))
        C = random.normal(size=(m, n))
        if random.random() < 0.3:
            C[-1] = C[0] * random.normal()
        if random.random() < 0.2:
            half = max(1, m // 2)
            C = random.normal(size=(m, half)) @ random.normal(size=(half, n))
        if random.random() < 0.5:
            levels.append(Level.target(C, random.normal(size=m) * random.choice([0.1, 1.0, 5.0])))
        else:
            lower = random.normal(size=m) - 2.0 * random.exponential(size=m)
            upper = lower + 2.0 * random.exponential(size=m)
            lower[random.random(m) < 0.4] = -np.inf
            upper[random.random(m) < 0.3] = np.inf
            levels.append(Level(C, lower, upper))
    levels.append(Level.target(np.eye(n), np.zeros(n)))
    return levels, -random.exponential(size=n), random.exponential(size=n)


def off_by(level, x):
    """By how much each row of a level is above or below its bounds."""
    value = np.asarray(level.C) @ x
    return np.maximum(value - level.upper, 0.0) + np.minimum(value - level.lower, 0.0)


def bounds_above(levels, least, most, x):
    """Yield, for each level, the rows that hold x there: a x = b, then a x ≤ b.

    These are the box and what the levels above have reached at x.
    """
    n = x.size
    equal, above = (
        [np.zeros((0, n)), np.zeros(0)],
        [
            np.vstack([np.eye(n), -np.eye(n)]),
            np.concatenate([most, -np.asarray(least)]),
        ],
    )
    for level in levels:
        yield level, tuple(equal), tuple(above)
        C, off = np.asarray(level.C, float), off_by(level, x)
        lower, upper = (np.broadcast_to(b, len(C)) for b in (level.lower, level.upper))
        fixed = (lower == upper) | (np.abs(off) > 1e-9)
        equal = [np.vstack([equal[0], C[fixed]]), np.concatenate([equal[1], C[fixed] @ x])]
        for sign, bound in ((1.0, upper), (-1.0, -np.asarray(lower))):
            kept = ~fixed & np.isfinite(bound)
            above = [
                np.vstack([above[0], sign * C[kept]]),
                np.concatenate([above[1], bound[kept]]),
            ]


def shortcomings(levels, least, most, x):
    """How far x is from the best of each level: what is left of its gradient, and what x breaks.

    x is best where −Cᵀv = Σ µ a with µ ≥ 0 over the bounds that x is at, which is what scipy's
    bounded least squares looks for: no solver of such problems has a part in it.
    """
    found = []
    for level, (fixed, value), (rows, bound) in bounds_above(levels, least, most, x):
        off, C = off_by(level, x), np.asarray(level.C, float)
        broken = max(
            np.max(rows @ x - bound, initial=0.0), np.abs(fixed @ x - value).max(initial=0.0)
        )
        at = rows[rows @ x > bound - 1e-7]
        left = -C.T @ off
        if len(at) or len(fixed):
            signs = np.concatenate([np.zeros(len(at)), np.full(len(fixed), -np.inf)])
            columns = np.vstack([at, fixed]).T
            best = lsq_linear(columns, left, (signs, np.inf), method="bvls", tol=1e-14)
            left = best.fun
        found.append((np.linalg.norm(left) / max(1.0, np.abs(C).max()), broken))
    return np.array(found)

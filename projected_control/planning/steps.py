"""One step of inverse kinematics: each level in the null space of those above it, damped.

    δ ← 0,  Z ← I;  for each level:   δ ← δ + Z (J Z)^# (−g − J δ),   Z ← Z null(J Z)

Z is an orthonormal basis of what the levels above leave free: a lower level does not move a higher
one, to first order. Last comes the way to a posture, δ ← δ + Z Zᵀ (way − δ). (J Z)^# is the
pseudo-inverse, with every singular value σ inverted as

    σ / max(σ, ε)²,

that is 1/σ for σ ≥ ε and at most 1/ε near a singular pose: ‖(J Z)^# r‖ ≤ ‖r‖/ε always.
A joint that the step would carry over its limit goes to the limit, and the rest is worked out anew
without it (the saturation in the null space of Flacco, De Luca and Khatib, 2012).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from projected_control.arrays import Array
from projected_control.planning.tasks import TaskLevel

INDEPENDENT = 1e-9
"""Share of a level's largest singular value up to which a direction is left to lower levels."""

LARGEST_STEP = 0.5  # of any joint [rad or m]


def damped_inverse(J: Array, damping: float) -> tuple[Array, Array]:
    """J^#, and an orthonormal basis of N(J) as columns.

    Args:
        J: m × n.
        damping: ε, from which on singular values are inverted as they are.
    """
    if not J.size:
        return np.zeros(J.shape[::-1]), np.eye(J.shape[1])
    U, sigma, Vt = np.linalg.svd(J)
    cut = INDEPENDENT * max(float(sigma[0]), INDEPENDENT)
    rank = int((sigma > cut).sum())
    gains = sigma[:rank] / np.maximum(sigma[:rank], damping) ** 2
    return (Vt[:rank].T * gains) @ U[:, :rank].T, Vt[rank:].T


def free_step(levels: Sequence[TaskLevel], damping: Sequence[float], way: Array) -> Array:
    """δ of all levels in order, whatever the joint limits, n.

    Args:
        levels: Highest priority first.
        damping: ε of each.
        way: Step to a posture, n, of which what all levels leave free is gone; zero for none.
    """
    n = way.size
    step, Z = np.zeros(n), np.eye(n)
    for level, epsilon in zip(levels, damping, strict=True):
        inverse, left = damped_inverse(level.jacobian @ Z, epsilon)
        step = step + Z @ (inverse @ (-level.error - level.jacobian @ step))
        Z = Z @ left
    return step + Z @ (Z.T @ (way - step))


def limited_step(
    levels: Sequence[TaskLevel],
    damping: Sequence[float],
    q: Array,
    lower: Array,
    upper: Array,
    way: Array | None = None,
) -> Array:
    """δ of all levels in order, with q + δ within the joint limits; no joint by too much.

    Args:
        levels: Highest priority first.
        damping: ε of each.
        q: Where the arm is, n.
        lower, upper: Limits of the joints, n; infinite where there are none, as for a floating
            base, for which q + δ says nothing.
        way: Step to a posture, n; none unless given.
    """
    moving, fixed = np.arange(q.size), np.zeros(q.size)
    way = fixed if way is None else way
    while True:
        left = [TaskLevel(g + J @ fixed, J[:, moving]) for g, J in levels]
        step = fixed.copy()
        step[moving] = free_step(left, damping, way[moving])
        step *= min(1.0, LARGEST_STEP / max(float(np.abs(step).max()), 1e-300))
        place = q + step
        over = np.maximum(lower - place, place - upper)[moving]
        if not moving.size or not over.max() > 0.0:
            return np.clip(place, lower, upper) - q
        worst = moving[int(np.argmax(over))]
        fixed[worst] = np.clip(place[worst], lower[worst], upper[worst]) - q[worst]
        moving = moving[moving != worst]

"""Whether what the rows of a constraint ask for can be had at all.

Rows may repeat each other, and often do. Where they do and ask for different things, as the same
plane twice of which one moves, no motion has A q̇ = ẋ and A q̈ = b, and A⁺ gives an average. That is
refused before anything moves; a tick that meets it says so (`control.tick`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constraints import Constraint
from projected_control.model.projection import TOLERANCE

Array = NDArray[np.float64]

DEPENDENT = 1e-9
"""Singular values of rows of unit length up to this: rows that depend on each other."""

CONTRADICTION = 1e-6  # share of what rows ask for by which such rows may differ: rounding
APART = 1e-5  # by how much places of rows may differ that are the same function of q [m or rad]

PLACES, SPREAD = 3, 0.3
"""Number of configurations beside the present one at which rows are compared, and how far these
are away [rad or m]."""

SECONDS, INSTANTS = 10.0, 401
"""How much of a constraint's motion is looked at [s], and at how many instants."""


class Dependences(NamedTuple):
    """How rows depend on each other, r ways."""

    left: Array  # of rows of unit length, m × r: leftᵀ D⁻¹ A = 0, its columns orthonormal
    size: Array  # D, lengths of the rows, m; infinite for rows that vanish, which say nothing

    @classmethod
    def of(cls, A: Array, tolerance: float = TOLERANCE) -> Dependences:
        """Those of the rows of A."""
        size = np.linalg.norm(A, axis=1)
        rows = np.flatnonzero(size > tolerance)
        U, sigma, _ = np.linalg.svd(A[rows] / size[rows, None])
        null = U[:, int((sigma > DEPENDENT).sum()) :]
        left = np.zeros((size.size, null.shape[1]))
        left[rows] = null
        return cls(left, np.where(size > tolerance, size, np.inf))

    def contradicting(self, wanted: Array, allowed: float = 0.0) -> list[int]:
        """Rows of which no x has A x = wanted, m; none where they differ by rounding.

        Args:
            wanted: What each row asks for, m.
            allowed: By how much rows may differ besides, in the units of what they ask for.
        """
        each = wanted / self.size
        off = np.abs(self.left @ (self.left.T @ each))
        bound = CONTRADICTION * (1.0 + np.abs(each).max(initial=0.0)) + allowed / self.size
        if not (off > bound).any():
            return []
        return [int(row) for row in np.flatnonzero(off > 0.1 * off.max())]


def contradiction(arm: Arm, constraint: Constraint | None, q: Array, time: float = 0.0) -> str:
    """In words, which rows of a constraint contradict each other at q; empty where none do.

    What can be known is looked at: velocities and accelerations now, and, of rows that are the same
    function of q wherever the arm is, their places now and their velocities for a while.

    Args:
        arm: Its state is left as it was.
        constraint: None for a free arm.
        q: Joint positions, n [rad or m].
        time: When [s].
    """
    if constraint is None or constraint.rows < 2:
        return ""
    twin = arm.twin().update(q, np.zeros(arm.n))
    A, value = constraint.jacobian(twin), constraint.residual(twin)
    if not np.isfinite(A).all() or not (here := Dependences.of(A)).left.size:
        return ""
    x, rate, acceleration = constraint.target(time) or np.zeros((3, constraint.rows))
    v = np.linalg.pinv(A, rcond=DEPENDENT) @ rate
    b = acceleration - constraint.bias(twin.update(q, v))
    for what, wanted in (("velocities", rate), ("accelerations", b)):
        if rows := here.contradicting(wanted):
            return _said(constraint, rows, what, wanted)
    always = Dependences.of(_around(twin, constraint, q))
    if rows := always.contradicting(value - x, APART):
        return _said(constraint, rows, "distances", value - x)
    for instant in time + np.linspace(0.0, SECONDS, INSTANTS):
        target = constraint.target(float(instant))
        if target is None:
            return ""
        if rows := always.contradicting(target.x_rate):
            return _said(constraint, rows, f"velocities (at {instant:.3g} s)", target.x_rate)
    return ""


def require_consistent(arm: Arm, constraint: Constraint | None, q: Array, time: float) -> None:
    """Raise where rows of a constraint contradict each other at q; see `contradiction`."""
    if found := contradiction(arm, constraint, q, time):
        raise InvalidValue(found)


def _around(twin: Arm, constraint: Constraint, q: Array) -> Array:
    """A at q and around it, side by side: rows that depend on each other here do so anywhere."""
    random, rest = np.random.default_rng(0), np.zeros(q.size)
    places = [q, *(q + random.uniform(-SPREAD, SPREAD, (PLACES, q.size)))]
    found = [constraint.jacobian(twin.update(place, rest)) for place in places]
    return np.hstack(found) / np.sqrt(len(found))


def _said(constraint: Constraint, rows: list[int], what: str, wanted: Array) -> str:
    named = ", ".join(constraint.row_names[row] for row in rows)
    return (
        f"the rows {named} of the constraint depend on each other and contradict each other: their "
        f"{what} are {np.round(wanted[rows], 6).tolist()}, and no motion has them all; name each "
        "constraint once, and have all that hold one body move alike"
    )

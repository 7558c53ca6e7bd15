"""Motion control: inverse dynamics (IDC) and projected inverse dynamics (PIDC).

    u_p solves [J_θ; A] u_p = [θ̈_d + G_D ė + G_P e − J̇_θ q̇; b]

    IDC:   f  = h + M u_p
    PIDC:  f∥ = P (h + M u_p)                                                (Aghili 43, 44)

Both give ë + G_D ė + G_P e = 0. PIDC does it with the least torque: what IDC has on top lies in
R(Aᵀ), moves nothing and only presses on the constraint.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.base import Controller
from projected_control.control.gains import MotionGains
from projected_control.model import ConstrainedArm
from projected_control.projection import pseudo_inverse
from projected_control.rows import wrap

Array = NDArray[np.float64]


class MotionLaw(IntEnum):
    """What becomes of h + M u_p."""

    PIDC = 0
    """Its projection: the least torque for the motion."""
    IDC = 1
    """All of it, and feedback on Φ as well: stiff in the constrained directions too."""


@compiled
def motion_kernel(
    stop: bool,
    stiff: bool,
    M: Array,
    h: Array,
    v: Array,
    A: Array,
    b: Array,
    residual: Array,
    P: Array,
    A_pinv: Array,
    J_theta: Array,
    theta: Array,
    theta_rate: Array,
    theta_bias: Array,
    periodic: NDArray[np.bool_],
    motion: Array,
    gains: Array,
    tolerance: float,
    error: Array,
    margins: Array,
    full: Array,
    tangent: Array,
) -> None:
    """full = h + M u_p and its projection; see `Controller` for the arrays.

    Args:
        stop: Leave the reference aside and brake all motion instead.
        stiff: Add feedback on Φ to b, as IDC does.
    """
    n, m, k = h.size, b.size, theta.size
    u = np.zeros(n)
    for j in range(m):
        right = b[j]
        if stiff:
            rate = 0.0
            for i in range(n):
                rate += A[j, i] * v[i]
            right -= gains[1, 0] * rate + gains[0, 0] * residual[j]
        for i in range(n):
            u[i] += A_pinv[i, j] * right
    wanted = np.empty(k)
    for c in range(k):
        e = motion[0, c] - theta[c]
        error[0, c] = wrap(e) if periodic[c] else e
        error[1, c] = motion[1, c] - theta_rate[c]
        wanted[c] = (
            motion[2, c] + gains[1, c] * error[1, c] + gains[0, c] * error[0, c] - theta_bias[c]
        )
        for i in range(n):
            wanted[c] -= J_theta[c, i] * u[i]
    J_free = np.zeros((k, n))
    for c in range(k):
        for i in range(n):
            for j in range(n):
                J_free[c, i] += J_theta[c, j] * P[j, i]
    J_pinv, margins[0] = pseudo_inverse(J_free, tolerance)
    for i in range(n):
        along = 0.0
        for c in range(k):
            along += J_pinv[i, c] * wanted[c]
        leftover = 0.0
        for j in range(n):
            free = P[i, j]
            if not stop:
                for c in range(k):
                    free -= J_pinv[i, c] * J_free[c, j]
            leftover += free * v[j]
        u[i] -= gains[2, 0] * leftover
        if not stop:
            u[i] += along
    for i in range(n):
        full[i] = h[i]
        for j in range(n):
            full[i] += M[i, j] * u[j]
    for i in range(n):
        tangent[i] = 0.0
        for j in range(n):
            tangent[i] += P[i, j] * full[j]


@compiled
def motion_law(idc: bool, stop: bool, motion_arguments, root: Array, effort: Array) -> None:  # type: ignore[no-untyped-def]
    """effort rows: tangent, normal, total, in joint units."""
    n = root.size
    full, tangent = np.empty(n), np.empty(n)
    motion_kernel(stop, idc and not stop, *motion_arguments, full, tangent)
    for i in range(n):
        effort[0, i] = tangent[i] * root[i]
        effort[1, i] = (full[i] - tangent[i]) * root[i] if idc else 0.0
        effort[2, i] = effort[0, i] + effort[1, i]


class MotionController(Controller):
    """IDC or PIDC.

    Args:
        model: The arm, its constraint and its coordinates.
        gains: On the coordinates.
        law: PIDC unless the baseline is wanted.
        period: Of the loop [s].
    """

    def __init__(
        self,
        model: ConstrainedArm,
        gains: MotionGains,
        law: MotionLaw = MotionLaw.PIDC,
        period: float = 1e-3,
    ) -> None:
        super().__init__(model, gains, period)
        self.law = law

    def _compute(self, stop: bool) -> None:
        motion_law(
            self.law == MotionLaw.IDC, stop, self._motion_arguments, self.model.root, self._effort
        )

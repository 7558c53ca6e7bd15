"""Motion control: inverse dynamics (IDC) and projected inverse dynamics (PIDC).

    u_p solves [J_θ; A] u_p = [θ̈_d + G_D ė + G_P e − J̇_θ q̇; b]

    IDC:   f  = h + M u_p
    PIDC:  f∥ = P (h + M u_p)                                                (Aghili 43, 44)

Both give ë + G_D ė + G_P e = 0. PIDC does it with the least torque: what IDC has on top lies in
R(Aᵀ), moves nothing and only presses on the constraint.
"""

from __future__ import annotations

from enum import Enum

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.base import (
    INDEPENDENCE_TOLERANCE,
    Controller,
    ControlTerms,
    unpack_control,
)
from projected_control.control.gains import MotionGains
from projected_control.model import Arguments, ConstrainedArm, Terms, evaluate_model
from projected_control.projection import pseudo_inverse
from projected_control.rows import wrap

Array = NDArray[np.float64]


class MotionLaw(Enum):
    """What becomes of h + M u_p."""

    PIDC = "pidc"
    """Its projection: the least torque for the motion."""
    IDC = "idc"
    """All of it, and feedback on Φ as well: stiff in the constrained directions too."""


@compiled
def motion_kernel(stop: bool, stiff: bool, t: Terms, c: ControlTerms) -> tuple[Array, Array]:
    """h + M u_p and its projection f∥, in the metric's coordinates.

    Args:
        stop: Leave the reference aside and brake all motion instead.
        stiff: Add feedback on Φ to b, as IDC does.
        t: The evaluated model.
        c: Reference and gains; error and margins are written.
    """
    n, m, k = t.h.size, t.b.size, t.theta.size
    u = np.zeros(n)
    for j in range(m):
        right = t.b[j]
        if stiff:
            rate = 0.0
            for i in range(n):
                rate += t.A[j, i] * t.v[i]
            right -= c.gains[1, 0] * rate + c.gains[0, 0] * t.residual[j]
        for i in range(n):
            u[i] += t.A_pinv[i, j] * right
    wanted = np.empty(k)
    J_free = np.zeros((k, n))
    for r in range(k):
        e = c.motion[0, r] - t.theta[r]
        c.error[0, r] = wrap(e) if c.periodic[r] != 0.0 else e
        c.error[1, r] = c.motion[1, r] - t.theta_rate[r]
        wanted[r] = c.motion[2, r] + c.gains[1, r] * c.error[1, r] + c.gains[0, r] * c.error[0, r]
        wanted[r] -= t.theta_bias[r]
        for i in range(n):
            wanted[r] -= t.J_theta[r, i] * u[i]
            for j in range(n):
                J_free[r, i] += t.J_theta[r, j] * t.P[j, i]
    J_pinv, c.margins[0] = pseudo_inverse(J_free, INDEPENDENCE_TOLERANCE)
    for i in range(n):
        along, undescribed = 0.0, 0.0
        for j in range(n):
            undescribed += t.P[i, j] * t.v[j]
        if not stop:
            for r in range(k):
                along += J_pinv[i, r] * wanted[r]
                for j in range(n):
                    undescribed -= J_pinv[i, r] * J_free[r, j] * t.v[j]
        u[i] += along - c.gains[2, 0] * undescribed
    full, tangent = t.h.copy(), np.zeros(n)
    for i in range(n):
        for j in range(n):
            full[i] += t.M[i, j] * u[j]
    for i in range(n):
        for j in range(n):
            tangent[i] += t.P[i, j] * full[j]
    return full, tangent


@compiled
def motion_law(idc: bool, stop: bool, model: Arguments, own: Array) -> None:
    """IDC or PIDC, from the prepared model to the effort in the controller's workspace."""
    t = evaluate_model(*model)
    c, n = unpack_control(own, t), t.h.size
    full, tangent = motion_kernel(stop, idc and not stop, t, c)
    for i in range(n):
        c.effort[0, i] = tangent[i] * t.root[i]
        c.effort[1, i] = (full[i] - tangent[i]) * t.root[i] if idc else 0.0
        c.effort[2, i] = c.effort[0, i] + c.effort[1, i]


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
        motion_law(self.law is MotionLaw.IDC, stop, *self._arguments)

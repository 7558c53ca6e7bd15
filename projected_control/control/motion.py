"""Motion control: inverse dynamics (IDC) and projected inverse dynamics (PIDC).

    u_p solves [J_θ; A] u_p = [θ̈_d + G_D ė + G_P e − J̇_θ q̇; b]

    IDC:   f  = h + M u_p
    PIDC:  f∥ = P (h + M u_p)                                                (Aghili 43, 44)

Both give ë + G_D ė + G_P e = 0. PIDC does it with the least torque: what IDC has on top lies in
R(Aᵀ), moves nothing and only presses on the constraint.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.terms import ControlTerms
from projected_control.model.constrained_arm import Terms
from projected_control.model.kinematics import wrap
from projected_control.model.linalg import copy
from projected_control.model.projection import pseudo_inverse

Array = NDArray[np.float64]


INDEPENDENCE_TOLERANCE = 1e-6
"""Singular values of J_θ P below this: a coordinate the constraint does not let move."""

STOP_DAMPING = 10.0
"""Of all free motions in a stop, unless the gains damp more [1/s]."""


@compiled
def motion_effort(stop: bool, stiff: bool, t: Terms, c: ControlTerms) -> None:
    """full = h + M u_p and tangent = P full, in the metric's coordinates; error and margins too.

    Args:
        stop: Leave the reference aside and brake all motion instead.
        stiff: Add feedback on Φ to b, as IDC does.
        t: The evaluated model.
        c: Reference and gains, and what is computed.
    """
    n, m, k = t.h.size, t.b.size, t.theta.size
    u = c.scratch[0]
    u[:] = 0.0
    for j in range(m):
        right = t.b[j]
        if stiff:
            rate = -t.target[1, j]
            for i in range(n):
                rate += t.A[j, i] * t.v[i]
            right -= c.gains[1, 0] * rate + c.gains[0, 0] * t.residual[j]
        for i in range(n):
            u[i] += t.A_pinv[i, j] * right
    for r in range(k):
        for i in range(n):
            c.J_free[r, i] = 0.0
            for j in range(n):
                c.J_free[r, i] += t.J_theta[r, j] * t.P[j, i]
    c.margins[0] = pseudo_inverse(c.J_free, INDEPENDENCE_TOLERANCE, c.J_pinv, t.memory)
    wanted, along = c.scratch[1], c.scratch[2]
    damping = max(c.gains[2, 0], STOP_DAMPING) if stop else c.gains[2, 0]
    for i in range(n):
        wanted[i] = 0.0
        for j in range(n):
            wanted[i] -= damping * t.P[i, j] * t.v[j]
    copy(wanted, along)
    for r in range(k):
        e = c.motion[0, r] - t.theta[r]
        c.error[0, r] = wrap(e) if c.periodic[r] != 0.0 else e
        c.error[1, r] = c.motion[1, r] - t.theta_rate[r]
        if stop:
            continue
        missing = c.motion[2, r] + c.gains[1, r] * c.error[1, r] + c.gains[0, r] * c.error[0, r]
        missing -= t.theta_bias[r]
        for i in range(n):
            missing -= t.J_theta[r, i] * u[i] + c.J_free[r, i] * wanted[i]
        for i in range(n):
            along[i] += c.J_pinv[i, r] * missing
    for i in range(n):
        c.full[i] = t.h[i]
        for j in range(n):
            c.full[i] += t.M[i, j] * (u[j] + along[j])
    for i in range(n):
        c.tangent[i] = 0.0
        for j in range(n):
            c.tangent[i] += t.P[i, j] * c.full[j]


@compiled
def motion_law(idc: bool, stop: bool, t: Terms, c: ControlTerms) -> None:
    """IDC or PIDC."""
    motion_effort(stop, idc and not stop, t, c)
    for i in range(t.h.size):
        c.normal[i] = c.full[i] - c.tangent[i] if idc else 0.0

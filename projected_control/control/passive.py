"""Motion control of arms with passive joints: f = (I + H) f∥ (Aghili 60).

f∥ may ask a joint without a motor for torque. Adding f⊥ = H f∥ ∈ R(Aᵀ), which moves nothing, takes
that part away: with B the projector on the joints with a motor,

    Q = (I − B)(I − P),    H = −(I − P) Q⁺ (I − B),    f = (I + H) f∥,

the solution of least norm. Only the rows of I − P that belong to passive joints matter in Q; they
are called Q_p here. Their smallest singular value is the sine of the smallest angle between a
motion of passive joints alone and the motions the constraint permits. Where it is zero, some free
motion is out of the motors' reach (Aghili 62): that is reported, and no torque is asked of anybody.

What freedom is left in f⊥ serves a force reference: of the wanted normal effort g, the part
((I − P) − Q_p⁺ Q_p) g can be had without touching a passive joint.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.force import force_feedback, normal_effort
from projected_control.control.motion import motion_effort
from projected_control.control.terms import ControlTerms
from projected_control.model.constrained_arm import ConstrainedArm, Terms
from projected_control.model.projection import pseudo_inverse

Array = NDArray[np.float64]

CONTROLLABILITY_TOLERANCE = 1e-3
"""Sine of the angle below which a passive joint counts as out of the motors' reach."""


@compiled
def passive_rows(P: Array, passive: NDArray[np.int64], Q: Array) -> None:
    """Fill Q_p: the rows of I − P that belong to passive joints."""
    for r in range(passive.size):
        for i in range(P.shape[0]):
            Q[r, i] = -P[passive[r], i]
        Q[r, passive[r]] += 1.0


@compiled
def drop_refused_integral(Q: Array, Q_pinv: Array, t: Terms, c: ControlTerms) -> None:
    """Take from the integral what passive joints refuse: y ← y − A⁺ᵀ Q_p⁺ Q_p Aᵀ y.

    It could only grow, and would come through where the arm moves on to other directions.
    """
    n, m, p = t.h.size, t.b.size, Q.shape[0]
    pressed, refused = c.scratch[0], c.scratch[1]
    for i in range(n):
        pressed[i] = 0.0
        for j in range(m):
            pressed[i] += t.A[j, i] * c.memory[1, j]
    for r in range(p):
        refused[r] = 0.0
        for i in range(n):
            refused[r] += Q[r, i] * pressed[i]
    for j in range(m):
        for i in range(n):
            for r in range(p):
                c.memory[1, j] -= t.A_pinv[i, j] * Q_pinv[i, r] * refused[r]


@compiled
def passive_law(
    stop: bool, with_force: bool, passive: NDArray[np.int64], t: Terms, c: ControlTerms
) -> None:
    """tangent = f∥ and normal = H f∥, with what is left for a force; zero where control is lost."""
    n, p = t.h.size, passive.size
    motion_effort(stop, False, t, c)
    last = t.memory.size - 2 * p * n  # the end of the memory, where nobody else writes
    Q = t.memory[last : last + p * n].reshape((p, n))
    Q_pinv = t.memory[last + p * n :].reshape((n, p))
    passive_rows(t.P, passive, Q)
    c.margins[1] = pseudo_inverse(Q, CONTROLLABILITY_TOLERANCE, Q_pinv, t.memory)
    lost = c.margins[1] <= CONTROLLABILITY_TOLERANCE
    if with_force:
        force_feedback(stop or lost, c)
    if lost:
        c.tangent[:] = 0.0
        c.normal[:] = 0.0
        return
    if with_force and not stop:
        drop_refused_integral(Q, Q_pinv, t, c)
        normal_effort(t, c)
    else:
        c.normal[:] = 0.0
    for r in range(passive.size):
        asked = c.tangent[passive[r]]
        for j in range(n):
            asked += Q[r, j] * c.normal[j]
        c.scratch[0, r] = asked
    for i in range(n):
        for r in range(passive.size):
            c.normal[i] -= Q_pinv[i, r] * c.scratch[0, r]


def achievable_force_directions(model: ConstrainedArm) -> int:
    """How many directions of λ the motors can still choose: rank − number of passive joints."""
    passive = np.flatnonzero(model.arm.actuated == 0.0)
    Q = np.empty((passive.size, model.n))
    passive_rows(model.P, passive, Q)
    free = np.eye(model.n) - model.P - np.linalg.pinv(Q) @ Q
    return max(round(float(np.trace(free))), 0)

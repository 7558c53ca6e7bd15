"""Hybrid motion and force by a selection matrix, the textbook way (Raibert and Craig, Khatib).

Of the coordinates, directions of a task frame, S selects those that are moved; in the others a
force acts. The motion knows of no constraint, Λ and J̄ are those of the free arm:

    f = h + Jᵀ [Λ (S a − J̇ q̇) + (I − S) F_u] + (null space),    a = θ̈_d + G_D ė + G_P e

F_u is the output u_λ of the force loop (see `force`) in the coordinates' directions:
Jᵀ F_u = Aᵀ u_λ.

Where the directions with S = 0 are exactly those that the constraint takes away, this does what
hybrid projected control does. Where they are not, as the surface lies otherwise than the task frame
says, S asks for motion against the constraint, and for force along it: that is what to compare.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.force import force_feedback
from projected_control.control.law_kinds import FORCE, LAWS, Law, LawKind
from projected_control.control.motion import brake, carry_all, find_effort, keep_all, prepare_motion
from projected_control.control.operational_space import follow_levels
from projected_control.control.task_terms import TaskTerms, unpack_task
from projected_control.control.terms import ControlTerms
from projected_control.model.constrained_arm import Terms
from projected_control.model.linalg import (
    axpy,
    matvec,
    matvec_transposed,
    matvec_transposed_add,
)

Array = NDArray[np.float64]


@compiled
def selection_matrix(s: TaskTerms) -> None:
    """S = T diag(selected) Tᵀ."""
    k = s.selected.size
    for i in range(k):
        for j in range(k):
            s.S[i, j] = 0.0
            for r in range(k):
                s.S[i, j] += s.T[i, r] * s.selected[r] * s.T[j, r]


@compiled
def select_motion(t: Terms, c: ControlTerms, s: TaskTerms) -> None:
    """a = S (θ̈_d + G_D ė + G_P e + K_I ∫ e) − J̇_θ q̇."""
    for i in range(c.a.size):
        s.share[i] = c.feedforward[i] + c.gains[1, i] * c.error[1, i] + c.integral[i]
        s.share[i] += c.gains[0, i] * c.error[0, i]
    matvec(s.S, s.share, c.a)
    axpy(-1.0, t.theta_bias, c.a)


@compiled
def select_force(t: Terms, c: ControlTerms, s: TaskTerms) -> None:
    """force = (I − S) F_u, with F_u = J⁺ᵀ Aᵀ u_λ."""
    matvec_transposed(t.A, c.u_lambda, c.load)
    matvec_transposed(c.J_free_pinv, c.load, s.force)
    matvec(s.S, s.force, s.share)
    axpy(-1.0, s.share, s.force)


@compiled
def selection_law(stop: bool, t: Terms, c: ControlTerms) -> None:
    """f = h + M u_p + Jᵀ (I − S) F_u, J u_p = S a − J̇ q̇."""
    prepare_motion(stop, False, t, c)
    force_feedback(stop, t, c)
    if stop:
        brake(t, c)
        carry_all(t, c)
        return
    s = unpack_task(c.task, t.v.size, t.theta.size)
    selection_matrix(s)
    select_motion(t, c, s)
    follow_levels(t, c, s)
    find_effort(t, c)
    select_force(t, c, s)
    matvec_transposed_add(t.J_theta, s.force, c.full)
    matvec(t.P, c.full, c.tangent)
    keep_all(t, c)


LAWS.add(
    LawKind(
        "selection",
        "motion and force by directions of a task frame (selection.*), for comparison",
        Law.SELECTION,
        (FORCE,),
    )
)

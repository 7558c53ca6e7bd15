"""A direction that drops out of the constraint leaves the law's projector slowly.

In a singular configuration a row of A vanishes, and with it a direction of R(Aᵀ): from one tick to
the next P would have it among the free ones. A mechanism that passes through does not move there.
With P = I for that one tick, null-space damping and posture would act on the motion itself (the
slider-crank at 1 rad/s: 20 N·m), the coordinates would be served by other joints than before, and
f∥ would be all of f. So the projector that a law uses keeps what was constrained, and lets go of it
within `LET_GO` seconds, if it does not come back:

    P ← P − s (P K + Kᵀ P)/2,    K = (I − P₀) N,    s = 1 − x² (3 − 2x),    x = t/`LET_GO`,

P₀ being the last one before the rank fell and N the projector on N(A). The range stays within N(A):
what A says now holds as ever, A u_p = b. What comes back counts at once.

Where a singular value goes through the tolerance slowly, as of rows that are nearly parallel, the
model's own fade does the same without a memory: see `model.projection.share_kept`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.terms import ControlTerms
from projected_control.model.constrained_arm import Terms
from projected_control.model.linalg import axpy, copy, dot, fill, matmul
from projected_control.model.projection import unpack_svd

Array = NDArray[np.float64]

LET_GO = 0.1
"""Time within which a direction that dropped out of A becomes a free one [s]."""


@compiled
def keep_directions(t: Terms, c: ControlTerms) -> None:
    """P of the model becomes that of the law; after `evaluate_model`, before anything else.

    The decomposition of A is still in the model's scratch.
    """
    if t.b.size == 0:
        return
    held, x = t.rank[0] < c.kept_rank[0], 1.0
    if held:
        c.kept_for[0] += c.period[0]
        x = c.kept_for[0] / LET_GO
    if x >= 1.0:
        remember(t, c)
        held = False
    if is_projector(t, c):
        return
    cut_projector(t, c.cut_P)
    if not held:
        return
    n = t.v.size
    for i in range(n):
        for j in range(n):
            c.PM[i, j] = c.cut_P[i, j] - dot(c.kept_P[i], c.cut_P[j])  # (I − P₀) N
    matmul(t.P, c.PM, c.M_c)
    share = 1.0 - x * x * (3.0 - 2.0 * x)
    for i in range(n):
        for j in range(n):
            t.P[i, j] -= 0.5 * share * (c.M_c[i, j] + c.M_c[j, i])


@compiled
def cut_projector(t: Terms, N: Array) -> None:
    """N: the projector without what fades, from the decomposition in the model's scratch."""
    n = t.v.size
    s = unpack_svd(t.scratch, t.b.size, n)
    for i in range(n):
        fill(N[i], 0.0)
        N[i, i] = 1.0
    for r in range(t.sigma.size):
        if t.sigma[r] > t.tolerance[0]:
            for i in range(n):
                axpy(-s.V[r, i], s.V[r], N[i])


@compiled
def remember(t: Terms, c: ControlTerms) -> None:
    """The projector of this tick is the one to go on from."""
    c.kept_rank[0], c.kept_for[0] = t.rank[0], 0.0
    for i in range(t.v.size):
        copy(t.P[i], c.kept_P[i])


@compiled
def counts_as_full(t: Terms, c: ControlTerms) -> bool:
    """Whether no row depends on others, or did so only for a moment."""
    return max(t.rank[0], c.kept_rank[0]) >= t.b.size


@compiled
def is_projector(t: Terms, c: ControlTerms) -> bool:
    """Whether P P = P: no direction is on its way in or out."""
    whole = c.kept_rank[0] == t.rank[0]
    for r in range(t.sigma.size):
        whole = whole and not (t.fades_from[0] < t.sigma[r] < t.tolerance[0])
    return whole

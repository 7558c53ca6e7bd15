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
model's own fade does the same without a memory: see `model.span.share_kept`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.terms import ControlTerms
from projected_control.model.constrained_arm import Terms
from projected_control.model.linalg import axpy, copy, fill, matmul
from projected_control.model.on_constraint import form_projector, is_whole, span_of
from projected_control.model.span import unpack_span

Array = NDArray[np.float64]

LET_GO = 0.1
"""Time within which a direction that dropped out of A becomes a free one [s]."""


@compiled
def keep_directions(t: Terms, c: ControlTerms) -> None:
    """P of the model becomes that of the law; after `evaluate_model`, before anything else."""
    if t.b.size == 0:
        return
    holds, x = t.rank[0] < c.kept_rank[0], 1.0
    if holds:
        c.kept_for[0] += c.period[0]
        x = c.kept_for[0] / LET_GO
    if x >= 1.0:
        remember(t, c)
        holds = False
    if is_projector(t, c):
        return
    cut_projector(t, c.cut_P)
    if not holds:
        return
    n = t.v.size
    form_projector(t, t.held_P)
    kept = unpack_span(c.kept_span, t.b.size, n)
    for i in range(n):  # (I − P₀) N
        fill(t.PM[i], 0.0)
        for r in range(kept.share.size):
            axpy(kept.share[r] * kept.V[r, i], kept.V[r], t.PM[i])
    matmul(t.PM, c.cut_P, t.M_c)
    matmul(t.held_P, t.M_c, t.PM)
    share = 1.0 - x * x * (3.0 - 2.0 * x)
    for i in range(n):
        for j in range(n):
            t.held_P[i, j] -= 0.5 * share * (t.PM[i, j] + t.PM[j, i])
    t.held[0] = 1.0


@compiled
def cut_projector(t: Terms, N: Array) -> None:
    """N: the projector without what fades."""
    s = span_of(t)
    for i in range(t.v.size):
        fill(N[i], 0.0)
        N[i, i] = 1.0
    for r in range(t.b.size):
        if s.share[r] == 1.0:
            for i in range(t.v.size):
                axpy(-s.V[r, i], s.V[r], N[i])


@compiled
def remember(t: Terms, c: ControlTerms) -> None:
    """The projector of this tick is the one to go on from."""
    c.kept_rank[0], c.kept_for[0] = t.rank[0], 0.0
    copy(t.span, c.kept_span)


@compiled
def counts_as_full(t: Terms, c: ControlTerms) -> bool:
    """Whether no row depends on others, or did so only for a moment."""
    return max(t.rank[0], c.kept_rank[0]) >= t.b.size


@compiled
def is_projector(t: Terms, c: ControlTerms) -> bool:
    """Whether P P = P: no direction is on its way in or out."""
    return c.kept_rank[0] == t.rank[0] and is_whole(t)

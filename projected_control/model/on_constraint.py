"""What a constraint makes of motions and efforts, at an evaluated model: kernels over its `Terms`.

P and A⁺ are products with what A was decomposed into (`span`); only where a direction is held that
has dropped out of A (`control.rank_change`) does P stand somewhere as a matrix.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.model.constrained_arm import Terms
from projected_control.model.dynamics import acceleration_kernel
from projected_control.model.inertia_factor import factor_inertia, respond, unpack_inertia
from projected_control.model.linalg import copy, fill, matvec, matvec_add
from projected_control.model.span import (
    SpanTerms,
    invert_add,
    invert_transposed,
    keep_span,
    subtract_span,
    take_span_out,
    unpack_span,
)

Array = NDArray[np.float64]


@compiled
def span_of(t: Terms) -> SpanTerms:
    """A as it was decomposed."""
    return unpack_span(t.span, t.b.size, t.v.size)


@compiled
def free_part(t: Terms, x: Array, y: Array) -> None:
    """y ← P x."""
    if t.held[0] != 0.0:
        matvec(t.held_P, x, y)
        return
    copy(x, y)
    take_span_out(span_of(t), y)


@compiled
def normal_part(t: Terms, x: Array, y: Array) -> None:
    """y ← (I − P) x."""
    if t.held[0] != 0.0:
        copy(x, y)
        matvec_add(t.held_P, x, y, -1.0)
        return
    keep_span(span_of(t), x, y)


@compiled
def least_motion_add(t: Terms, b: Array, x: Array) -> None:
    """x ← x + A⁺ b."""
    invert_add(span_of(t), b, x)


@compiled
def least_motion(t: Terms, b: Array, x: Array) -> None:
    """x ← A⁺ b."""
    fill(x, 0.0)
    invert_add(span_of(t), b, x)


@compiled
def multipliers_of(t: Terms, f: Array, multipliers: Array) -> None:
    """multipliers ← A⁺ᵀ f."""
    invert_transposed(span_of(t), f, multipliers)


@compiled
def form_projector(t: Terms, P: Array) -> None:
    """P of the decomposition, as a matrix, n × n."""
    for i in range(t.v.size):
        fill(P[i], 0.0)
        P[i, i] = 1.0
    subtract_span(span_of(t), P)


@compiled
def is_whole(t: Terms) -> bool:
    """Whether P P = P: no direction fades or is held."""
    whole, s = t.held[0] == 0.0, span_of(t)
    for r in range(t.b.size):
        whole = whole and (s.share[r] == 1.0 or s.share[r] == 0.0)
    return whole


@compiled
def can_respond(t: Terms) -> bool:
    """Whether M is safely positive definite and P a projector; M is decomposed if it was not."""
    if not is_whole(t):
        return False
    if t.factored[0] == 0.0:
        s = span_of(t)
        good = factor_inertia(t.M, s.V, s.share, unpack_inertia(t.inertia, t.v.size, t.b.size))
        t.factored[0] = 1.0 if good else -1.0
    return t.factored[0] > 0.0


@compiled
def find_acceleration(t: Terms, tangent: Array, b: Array, acceleration: Array) -> None:
    """q̈ with M_c q̈ = P (f − h) + M A⁺b, M_c = M + PM − (PM)ᵀ (Aghili 22, 23): A q̈ = b.

    Where M is regular and P a projector it is found with M's own factor, for less: what an effort
    has in R(Aᵀ) makes no difference there, so that f − h does for its tangent part.

    Args:
        t: The evaluated model.
        tangent: P (f − h), n.
        b: What A q̈ has to be, m.
        acceleration: Result, n.
    """
    if can_respond(t):
        matvec(span_of(t).X, b, t.normal_rates)
        copy(tangent, acceleration)
        respond(t.normal_rates, unpack_inertia(t.inertia, t.v.size, t.b.size), acceleration)
        return
    if t.held[0] == 0.0:
        form_projector(t, t.held_P)
    normal = t.scratch[: t.v.size]
    least_motion(t, b, normal)
    acceleration_kernel(t.M, t.held_P, tangent, normal, acceleration, t.PM, t.M_c)

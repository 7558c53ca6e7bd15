"""M = Lᵀ L, and what an arm on a constraint does under an effort, without ever inverting M.

    q̈ = M⁻¹ (f + Vᵀ y),    V q̈ = c,    (V M⁻¹ Vᵀ) y = c − V M⁻¹ f

V are orthonormal rows (see `span`), so that rows of A which repeat others, and near-singular ones,
cost no accuracy: V M⁻¹ Vᵀ is as well conditioned as M. −Vᵀ y is the force of the constraint.

L is lower triangular, and M is taken apart from its last joint on: where two joints are on
different branches of the arm, M has a zero, and L has it too (Featherstone 2005).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.model.linalg import (
    axpy,
    copy,
    dot,
    fill,
    matvec_add,
    matvec_transposed,
    matvec_transposed_add,
)
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]

MASSLESS = 1e-12
"""Share of the largest entry of M's diagonal, up to which a joint carries nothing of its own."""


class InertiaTerms(NamedTuple):
    """n joints, m rows of V."""

    L: Annotated[Array, Part("n, n", "M = Lᵀ L.")]
    G: Annotated[Array, Part("n, m", "L⁻ᵀ Vᵀ.")]
    S: Annotated[Array, Part("m, m", "V M⁻¹ Vᵀ = Cᵀ C, C in its place.")]
    y: Annotated[Array, Part("m", "Multipliers of V.")]
    column: Annotated[Array, Part("max(n, m)", "For products.")]


INERTIA = Layout(InertiaTerms, "n", "m")
unpack_inertia = INERTIA.unpack


@compiled
def factor_symmetric(L: Array, least: float, column: Array) -> bool:
    """Turn a positive definite matrix, of which the lower triangle counts, into L with M = Lᵀ L.

    Args:
        L: M at first.
        least: False is returned where a pivot is not above this: nothing in L then means anything.
        column: For intermediate results, n.
    """
    n = L.shape[0]
    for k in range(n - 1, -1, -1):
        row = L[k, : k + 1]
        for j in range(k + 1, n):
            column[j] = L[j, k]
        matvec_transposed_add(L[k + 1 :], column[k + 1 : n], row, -1.0)
        if not row[k] > least:
            return False
        pivot = np.sqrt(row[k])
        row[k] = pivot
        for i in range(k):
            row[i] *= 1.0 / pivot
    return True


@compiled
def solve_transposed(L: Array, x: Array) -> None:
    """x ← L⁻ᵀ x."""
    for k in range(x.size - 1, -1, -1):
        x[k] /= L[k, k]
        axpy(-x[k], L[k, :k], x)


@compiled
def solve_triangular(L: Array, x: Array) -> None:
    """x ← L⁻¹ x."""
    for i in range(x.size):
        x[i] = (x[i] - dot(L[i, :i], x)) / L[i, i]


@compiled
def factor_inertia(M: Array, V: Array, share: Array, d: InertiaTerms) -> bool:
    """L, G and C of M and of the rows of V that count (those whose share is not zero).

    False where M is not safely positive definite.
    """
    n, m = M.shape[0], share.size
    largest = 0.0
    for i in range(n):
        copy(M[i], d.L[i])
        largest = max(largest, M[i, i])
        for r in range(m):
            d.G[i, r] = V[r, i]
    if not factor_symmetric(d.L, MASSLESS * largest, d.column):
        return False
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            d.column[j] = d.L[j, k]
        matvec_transposed_add(d.G[k + 1 :], d.column[k + 1 :], d.G[k], -1.0)
        for r in range(m):
            d.G[k, r] /= d.L[k, k]
    for r in range(m):
        for k in range(n):
            d.column[k] = d.G[k, r]
        fill(d.S[r], 0.0)
        matvec_transposed_add(d.G, d.column, d.S[r, : r + 1])
        if share[r] == 0.0:
            d.S[r, r] = 1.0
    return factor_symmetric(d.S, 0.0, d.column)


@compiled
def respond(c: Array, d: InertiaTerms, x: Array) -> None:
    """x ← q̈ under the effort x, with V q̈ = c."""
    solve_transposed(d.L, x)
    matvec_transposed(d.G, x, d.y)
    for r in range(c.size):
        d.y[r] = c[r] - d.y[r]
    solve_transposed(d.S, d.y)
    solve_triangular(d.S, d.y)
    matvec_add(d.G, d.y, x)
    solve_triangular(d.L, x)

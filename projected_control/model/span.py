"""What the rows of a matrix span: its projector and its pseudo-inverse, from one decomposition.

    A⁺ = Vᵀ X,    P = I − Vᵀ W V,    V Vᵀ = I,    W = diag(w)

V are orthonormal rows that span those of A ∈ ℝᵐˣⁿ, X ∈ ℝᵐˣᵐ says what A makes of them. P and A⁺ are
not formed: a product with either is one with V and a small one.

**Where A is safely regular**, V and X come from a QR decomposition of Aᵀ, row by row (see `qr`):
A = L V and X = L⁻¹. A row that depends on others is left out of V, as far as that is rounding; L
then has more lines than columns, and X = L⁺.

**Near the edge of rank** singular values decide: L = R Σ Uᵀ, by Jacobi rotations of the small L
rather than of A's long rows, for which the QR decomposition is the best start (Drmač and Veselić
2008). Each direction then gets its share w and its divisor by its σ: it fades below the tolerance
(`share_kept`), and is damped in a singular range (`damped`).

**The switch cannot be seen.** ‖L⁻¹‖_F is at least 1/σ of the smallest σ: where its inverse lies
above the tolerance and the singular range, every share is one and nothing is damped, and both give
the same P and A⁺ but for rounding. Where this bound is too careful, (Σ 1/σ⁴)^¼ is asked as well.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled, kernel
from projected_control.model.linalg import (
    axpy,
    copy,
    dot,
    fill,
    matvec,
    matvec_transposed,
    matvec_transposed_add,
    svd,
)
from projected_control.model.qr import append_row, take_out
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]


class SvdTerms(NamedTuple):
    """Scratch of the singular value decomposition of a matrix of m rows and n columns."""

    U: Annotated[Array, Part("m, m", "Left singular vectors, as columns.")]
    V: Annotated[Array, Part("m, n", "Right singular vectors, as rows.")]
    sigma: Annotated[Array, Part("m", "Singular values.")]


SVD = Layout(SvdTerms, "m", "n")
unpack_svd = SVD.unpack


class SpanTerms(NamedTuple):
    """A matrix of m rows and n columns, decomposed."""

    V: Annotated[Array, Part("m, n", "Orthonormal rows that span those of A; zero where w is.")]
    X: Annotated[Array, Part("m, m", "A⁺ = Vᵀ X.")]
    share: Annotated[Array, Part("m", "w: 1, less where a direction fades, 0 beyond the rank.")]
    along: Annotated[Array, Part("m", "For products.")]


SPAN = Layout(SpanTerms, "m", "n")
unpack_span = SPAN.unpack


class DecompositionTerms(NamedTuple):
    """Scratch of `decompose`."""

    L: Annotated[Array, Part("m, m", "A = L V.")]
    line: Annotated[Array, Part("m", "For products, as is the next.")]
    again: Annotated[Array, Part("m", "")]
    inverse: Annotated[Array, Part("m, m", "L⁻¹, or U⁻¹.")]
    T: Annotated[Array, Part("m, m", "Lᵀ, or orthonormal rows with Lᵀ = U T.")]
    U: Annotated[Array, Part("m, m", "Lower triangular.")]
    turned: Annotated[Array, Part("m, n", "Right singular vectors of A.")]
    svd: Annotated[Array, Part(SVD.length_with(n="m"), "Of Lᵀ.")]


ROWS = Layout(DecompositionTerms, "m", "n")
unpack_rows = ROWS.unpack


@kernel
def share_kept(sigma: float, fades_from: float, tolerance: float) -> float:
    """w: one above the tolerance, zero up to where it fades from, smooth in between."""
    if sigma > tolerance:
        return 1.0
    if not sigma > fades_from:
        return 0.0
    s = (sigma - fades_from) / (tolerance - fades_from)
    return s * s * (3.0 - 2.0 * s)


@compiled
def damped(sigma: float, epsilon: float) -> float:
    """What to divide by instead of σ: (σ² + δ²)/σ, δ² = ¼ (ε² − σ²), below ε.

    1/σ then stays below 1.16/ε (2/√3, at σ = ε/√3), and goes to zero with σ.
    """
    if sigma >= epsilon:
        return sigma
    return (sigma * sigma + 0.25 * (epsilon * epsilon - sigma * sigma)) / sigma


@compiled
def factorise(Q: Array, r: DecompositionTerms) -> int:
    """Turn the rows of A, which stand in Q, into orthonormal ones, A = L Q; how many there are.

    Rows that depend on those before them, as far as that is rounding, give no new one; L then has
    more lines than columns. None where a row is not finite.
    """
    count = 0
    for i in range(Q.shape[0]):
        q = Q[count]
        if count < i:
            copy(Q[i], q)
        fill(r.L[i], 0.0)
        size = take_out(count, Q, q, r.L[i], r.again)
        if not size < np.inf:
            return 0
        if size > 0.0:
            r.L[i, count] = size
            for k in range(q.size):
                q[k] *= 1.0 / size
            count += 1
    return count


@compiled
def invert_lower(count: int, L: Array, inverse: Array) -> float:
    """inverse ← L⁻¹ of the first rows, lower triangular; the sum of its squares, Σ 1/σ²."""
    total = 0.0
    for i in range(count):
        row = inverse[i]
        fill(row, 0.0)
        for j in range(i):
            axpy(-L[i, j], inverse[j, : j + 1], row)
        for j in range(i):
            row[j] /= L[i, i]
            total += row[j] * row[j]
        row[i] = 1.0 / L[i, i]
        total += row[i] * row[i]
    return total


@compiled
def is_regular(count: int, squares: float, edge: float, inverse: Array) -> bool:
    """Whether all singular values of L lie above the edge, for certain; see `invert_lower`."""
    bound = edge * edge * squares
    if bound < 1.0:
        return True
    if not bound < count:
        return False
    total = 0.0  # of the squares of L⁻¹ L⁻ᵀ, which is Σ 1/σ⁴
    for i in range(count):
        for j in range(i + 1):
            product = dot(inverse[i, : j + 1], inverse[j, : j + 1])
            total += (1.0 if i == j else 2.0) * product * product
    return edge * edge * np.sqrt(total) < 1.0


@compiled
def decompose(
    fades_from: float, tolerance: float, epsilon: float, s: SpanTerms, scratch: Array
) -> tuple[int, float]:
    """Decompose the matrix whose rows stand in V; its rank, and how small σ are at least.

    Args:
        fades_from: Singular values up to this have no part (see `share_kept`).
        tolerance: And above this all of it; they make up the rank.
        epsilon: Singular values below this are damped (see `damped`); zero for none.
        s: V is A at first.
        scratch: An array of `DecompositionTerms`, or longer.
    """
    m, n = s.V.shape
    r = unpack_rows(scratch, m, n)
    count = factorise(s.V, r)
    for i in range(m):
        fill(s.X[i], 0.0)
        s.share[i] = 1.0 if i < count else 0.0
        if i >= count:
            fill(s.V[i], 0.0)
    if count == 0:
        return 0, np.inf if m == 0 else 0.0
    edge = max(tolerance, epsilon)
    if count == m:
        squares = invert_lower(m, r.L, r.inverse)
        if is_regular(m, squares, edge, r.inverse):
            for i in range(m):
                copy(r.inverse[i], s.X[i])
            return m, 1.0 / np.sqrt(squares)
    elif leave_out_dependent(count, edge, s, r):
        return count, 0.0
    return weigh_directions(count, fades_from, tolerance, epsilon, s, r)


@compiled
def leave_out_dependent(count: int, edge: float, s: SpanTerms, r: DecompositionTerms) -> bool:
    """X = L⁺ where L has more lines than columns: Lᵀ = U T, L⁺ = U⁻ᵀ T; False near the edge.

    Args:
        count: How many columns L has.
        edge: Singular values of L above this are regular.
        s, r: The decomposition.
    """
    m, line = s.share.size, r.line
    for i in range(count):
        for j in range(m):
            line[j] = r.L[j, i]
        append_row(line, i, r.T, r.U, r.again)
    if not is_regular(count, invert_lower(count, r.U, r.inverse), edge, r.inverse):
        return False
    for i in range(count):
        for j in range(i, count):
            axpy(r.inverse[j, i], r.T[j], s.X[i])
    return True


@compiled
def weigh_directions(
    count: int,
    fades_from: float,
    tolerance: float,
    epsilon: float,
    s: SpanTerms,
    r: DecompositionTerms,
) -> tuple[int, float]:
    """V, X and w by singular values, Lᵀ = U Σ R: V ← Uᵀ V, X = Σ⁻¹ R; see `decompose`."""
    m = s.share.size
    d = unpack_svd(r.svd, count, m)
    T = r.T[:count]
    for i in range(count):
        for j in range(m):
            T[i, j] = r.L[j, i]
    svd(T, d.U, d.sigma, d.V)
    rank, smallest = 0, np.inf if count == m else 0.0
    for i in range(count):
        sigma = d.sigma[i]
        smallest = min(smallest, sigma)
        if sigma > tolerance:
            rank += 1
        share = share_kept(sigma, fades_from, tolerance)
        s.share[i] = share
        fill(r.turned[i], 0.0)
        if share > 0.0:
            for j in range(count):
                axpy(d.U[j, i], s.V[j], r.turned[i])
            divisor = damped(sigma, epsilon) / share
            for j in range(m):
                s.X[i, j] = d.V[i, j] / divisor
    for i in range(count):
        copy(r.turned[i], s.V[i])
    return rank, smallest


@compiled
def measure_along(s: SpanTerms, x: Array) -> None:
    """along ← W V x."""
    matvec(s.V, x, s.along)
    for i in range(s.share.size):
        s.along[i] *= s.share[i]


@compiled
def take_span_out(s: SpanTerms, x: Array) -> None:
    """x ← P x."""
    measure_along(s, x)
    matvec_transposed_add(s.V, s.along, x, -1.0)


@compiled
def keep_span(s: SpanTerms, x: Array, y: Array) -> None:
    """y ← (I − P) x."""
    measure_along(s, x)
    matvec_transposed(s.V, s.along, y)


@compiled
def invert_add(s: SpanTerms, b: Array, y: Array, scale: float = 1.0) -> None:
    """y ← y + scale A⁺ b."""
    matvec(s.X, b, s.along)
    matvec_transposed_add(s.V, s.along, y, scale)


@compiled
def invert_transposed(s: SpanTerms, f: Array, y: Array) -> None:
    """y ← A⁺ᵀ f."""
    matvec(s.V, f, s.along)
    matvec_transposed(s.X, s.along, y)


@compiled
def subtract_span(s: SpanTerms, P: Array) -> None:
    """P ← P − Vᵀ W V."""
    for r in range(s.share.size):
        if s.share[r] > 0.0:
            for i in range(P.shape[0]):
                axpy(-s.share[r] * s.V[r, i], s.V[r], P[i])


@compiled
def fill_inverse(s: SpanTerms, A_pinv: Array) -> None:
    """A_pinv ← A⁺, n × m."""
    m, n = s.V.shape
    for i in range(n):
        fill(A_pinv[i], 0.0)
        for r in range(m):
            axpy(s.V[r, i], s.X[r], A_pinv[i])

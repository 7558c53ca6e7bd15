"""Rows made of orthonormal ones, A = L Q: the QR decomposition of Aᵀ, which grows row by row.

    A = L Q,    Q Qᵀ = I,    L lower triangular with a positive diagonal,    Q ∈ ℝʳˣⁿ

Then A⁺ = Qᵀ L⁻¹, P = I − Qᵀ Q, and the x nearest to x₀ with A x = b is x₀ + Qᵀ L⁻¹ (b − A x₀).
A row is added at the end (`append_row`) and taken out anywhere (`remove_row`) for the price of a
few products with Q: what chooses among rows, as a solver of inequalities does, never begins anew.

Gram and Schmidt's way, each row once more where most of it cancelled (Daniel, Gragg, Kaufman and
Stewart 1976): Q is orthonormal to rounding however nearly the rows depend on each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import Matrix, Numbers, compiled, kernel
from projected_control.model.linalg import copy, dot, fill, matvec, matvec_transposed_add

Array = NDArray[np.float64]

CANCELLED = 0.01
"""Share of ‖row‖² that is left, below which what is left is made orthogonal once more."""

DEPENDENT = 1e-14
"""Share of ‖row‖ that is left, up to which it is rounding: the row depends on those before it."""


@compiled
def take_out(count: int, Q: Array, row: Array, shares: Array, again: Array) -> float:
    """row ← (I − Qᵀ Q) row, for the first rows of Q; its norm, zero where the row depends on them.

    Args:
        count: How many rows of Q there are.
        Q: Orthonormal rows.
        row: Is overwritten.
        shares: Result: what of the row lies along each of Q.
        again: For intermediate results, as long as shares.
    """
    before = dot(row, row)
    if count == 0:
        return np.sqrt(before)
    matvec(Q[:count], row, shares)
    matvec_transposed_add(Q[:count], shares, row, -1.0)
    after = dot(row, row)
    if after < CANCELLED * before:
        matvec(Q[:count], row, again)
        matvec_transposed_add(Q[:count], again, row, -1.0)
        for i in range(count):
            shares[i] += again[i]
        after = dot(row, row)
    if after <= DEPENDENT * DEPENDENT * before:
        return 0.0
    return np.sqrt(after)


@kernel
def append_row(row: Numbers, count: int, Q: Matrix, L: Matrix, scratch: Numbers) -> float:
    """Add a row to the first ones of Q and L; how far it is from depending on them.

    Where that is zero, or less than the caller wants, the caller does not count the row: what was
    written at this place is overwritten by the next.

    Args:
        row: The new row of A, n. Not changed.
        count: How many rows there are.
        Q: Orthonormal rows, capacity × n; the new one is written behind the others.
        L: Capacity × capacity; its line is written behind the others.
        scratch: For intermediate results, capacity.

    Returns:
        The distance of the row from the span of the others, L's new diagonal.
    """
    q = Q[count]
    copy(row, q)
    fill(L[count], 0.0)
    size = take_out(count, Q, q, L[count], scratch)
    L[count, count] = size
    if not size > 0.0:
        fill(q, 0.0)
        return size
    for k in range(q.size):
        q[k] /= size
    return size


@compiled
def rotate_out(index: int, count: int, Q: Array, L: Array) -> None:
    """Take a row out; the direction that the others do without is then the last one of Q."""
    for i in range(index, count - 1):
        copy(L[i + 1], L[i])
    for i in range(index, count - 1):
        a, b = L[i, i], L[i, i + 1]
        size = np.sqrt(a * a + b * b)
        cosine, sine = a / size, b / size
        for j in range(i, count - 1):
            a, b = L[j, i], L[j, i + 1]
            L[j, i] = cosine * a + sine * b
            L[j, i + 1] = cosine * b - sine * a
        L[i, i + 1] = 0.0
        for k in range(Q.shape[1]):
            a, b = Q[i, k], Q[i + 1, k]
            Q[i, k] = cosine * a + sine * b
            Q[i + 1, k] = cosine * b - sine * a


@kernel
def remove_row(index: int, count: int, Q: Matrix, L: Matrix) -> None:
    """Take a row of A out: its line leaves L, rotations of Q make the rest triangular again.

    Args:
        index: Which row, counted from zero.
        count: How many rows there are, with this one.
        Q, L: As in `append_row`; their last rows are zero afterwards.
    """
    rotate_out(index, count, Q, L)
    fill(L[count - 1], 0.0)
    fill(Q[count - 1], 0.0)


@kernel
def solve_lower(count: int, L: Matrix, x: Numbers) -> None:
    """x ← L⁻¹ x, of the first rows."""
    for i in range(count):
        rest = x[i]
        for j in range(i):
            rest -= L[i, j] * x[j]
        x[i] = rest / L[i, i]


@kernel
def solve_lower_transposed(count: int, L: Matrix, x: Numbers) -> None:
    """x ← L⁻ᵀ x, of the first rows."""
    for i in range(count - 1, -1, -1):
        x[i] /= L[i, i]
        for j in range(i):
            x[j] -= L[i, j] * x[i]

"""Linear algebra of very small matrices, for use inside the kernels.

LAPACK is made for matrices a hundred times larger than an arm's: called from a kernel it spends
most of its microseconds on checking and copying. The products and the two decompositions a tick
needs are written out here; all are tested against NumPy's.

Products write into an array they are given, the last but the scale; it must not be one of those
they read. Those that end in ``_add`` add to what is there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import COMPILED, Matrix, Numbers, compiled, kernel

Array = NDArray[np.float64]

MAX_SWEEPS = 40
"""Sweeps of the Jacobi iteration; convergence is quadratic, four to eight are usual."""

ROUNDING = 2.3e-16
"""A unit in the last place of 1.0: rows whose cosine is below this count as orthogonal."""


@kernel
def copy(source: Numbers, target: Numbers) -> None:
    """target ← source, both of one dimension; a kernel's slices would first check for overlap."""
    for i in range(source.size):
        target[i] = source[i]


@kernel
def fill(target: Numbers, number: float) -> None:
    """target ← number, of one dimension."""
    for i in range(target.size):
        target[i] = number


@kernel
def dot(a: Numbers, b: Numbers) -> float:
    """aᵀ b."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@kernel
def axpy(scale: float, x: Numbers, y: Numbers) -> None:
    """y ← y + scale x."""
    for i in range(x.size):
        y[i] += scale * x[i]


@kernel
def matvec(A: Matrix, x: Numbers, y: Numbers, scale: float = 1.0) -> None:
    """y ← scale A x."""
    for i in range(A.shape[0]):
        y[i] = 0.0
    matvec_add(A, x, y, scale)


@kernel
def matvec_add(A: Matrix, x: Numbers, y: Numbers, scale: float = 1.0) -> None:
    """y ← y + scale A x.

    Four rows at a time: a sum waits for its last addition, four sums do not wait for each other.
    """
    m = A.shape[0]
    for i in range(0, m - 3, 4):
        p, q, r, s = A[i], A[i + 1], A[i + 2], A[i + 3]
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for k in range(x.size):
            a += p[k] * x[k]
            b += q[k] * x[k]
            c += r[k] * x[k]
            d += s[k] * x[k]
        y[i] += scale * a
        y[i + 1] += scale * b
        y[i + 2] += scale * c
        y[i + 3] += scale * d
    for i in range(m - m % 4, m):
        y[i] += scale * dot(A[i], x)


@kernel
def matvec_transposed_add(A: Matrix, x: Numbers, y: Numbers, scale: float = 1.0) -> None:
    """y ← y + scale Aᵀ x, of as many columns of A as y is long.

    Four rows at a time, so that y is read and written once for them.
    """
    m = A.shape[0]
    for i in range(0, m - 3, 4):
        p, q, r, s = A[i], A[i + 1], A[i + 2], A[i + 3]
        a, b, c, d = scale * x[i], scale * x[i + 1], scale * x[i + 2], scale * x[i + 3]
        for k in range(y.size):
            y[k] = (((y[k] + a * p[k]) + b * q[k]) + c * r[k]) + d * s[k]
    for i in range(m - m % 4, m):
        axpy(scale * x[i], A[i, : y.size], y)


@kernel
def matvec_transposed(A: Matrix, x: Numbers, y: Numbers, scale: float = 1.0) -> None:
    """y ← scale Aᵀ x."""
    fill(y, 0.0)
    matvec_transposed_add(A, x, y, scale)


@kernel
def matmul(A: Matrix, B: Matrix, C: Matrix) -> None:
    """C ← A B."""
    for i in range(A.shape[0]):
        matvec_transposed(B, A[i], C[i])


@kernel
def svd_by_jacobi(A: Matrix, U: Matrix, sigma: Numbers, V: Matrix) -> None:
    """Singular value decomposition ``A = U diag(sigma) V`` by one-sided Jacobi rotations.

    The rows of A are rotated against each other until they are orthogonal (Hestenes 1958). Every
    singular value comes out with high *relative* accuracy, which a test against an absolute
    tolerance near singular configurations needs, and the result does not depend on the machine's
    BLAS. The singular values are not sorted.

    Args:
        A: Matrix, m × n, any rank. Not changed.
        U: Result, m × m, orthogonal.
        sigma: Result, m singular values; those past the rank are zero to rounding.
        V: Result, m × n; row i is the i-th right singular vector, zero where sigma[i] is zero.
    """
    m, n = A.shape
    U[:, :] = 0.0
    largest = 0.0
    for i in range(m):
        U[i, i] = 1.0
        copy(A[i], V[i])
        largest = max(largest, dot(V[i], V[i]))
    floor = largest * ROUNDING * ROUNDING
    for _ in range(MAX_SWEEPS):
        rotated = False
        for i in range(m - 1):
            for j in range(i + 1, m):
                ii = dot(V[i], V[i])
                jj = dot(V[j], V[j])
                ij = dot(V[i], V[j])
                if min(ii, jj) <= floor or ij * ij <= ROUNDING * ROUNDING * ii * jj:
                    continue
                rotated = True
                zeta = (jj - ii) / (2.0 * ij)
                tangent = 1.0 / (abs(zeta) + np.sqrt(1.0 + zeta * zeta))
                if zeta < 0.0:
                    tangent = -tangent
                cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
                sine = cosine * tangent
                for k in range(n):
                    a, b = V[i, k], V[j, k]
                    V[i, k] = cosine * a - sine * b
                    V[j, k] = sine * a + cosine * b
                for k in range(m):
                    a, b = U[k, i], U[k, j]
                    U[k, i] = cosine * a - sine * b
                    U[k, j] = sine * a + cosine * b
        if not rotated:
            break
    for i in range(m):
        sigma[i] = np.sqrt(dot(V[i], V[i]))
        if sigma[i] > 0.0:
            for k in range(n):
                V[i, k] /= sigma[i]


def svd_by_lapack(A: Array, U: Array, sigma: Array, V: Array) -> None:
    """What `svd_by_jacobi` does, by LAPACK: faster where there is no compiler."""
    m, n = A.shape
    k = min(m, n)
    try:
        U[:, :], sigma[:k], full_V = np.linalg.svd(A, full_matrices=True)
    except np.linalg.LinAlgError:  # numbers that are not finite
        U[:, :], sigma[:], V[:, :] = np.nan, np.nan, np.nan
        return
    sigma[k:] = 0.0
    V[:k] = full_V[:k]
    V[k:] = 0.0


@kernel
def solve_by_elimination(A: Matrix, b: Numbers) -> None:
    """Turn b into the solution of ``A x = b`` by Gaussian elimination with partial pivoting.

    A singular A gives values that are not finite; nothing is raised.

    Args:
        A: Square matrix, n × n. Overwritten.
        b: Right-hand side, n; becomes x.
    """
    n = b.size
    for column in range(n):
        pivot = column
        for row in range(column + 1, n):
            if abs(A[row, column]) > abs(A[pivot, column]):
                pivot = row
        if pivot != column:
            for k in range(column, n):
                A[column, k], A[pivot, k] = A[pivot, k], A[column, k]
            b[column], b[pivot] = b[pivot], b[column]
        for row in range(column + 1, n):
            factor = A[row, column] / A[column, column]
            for k in range(column, n):
                A[row, k] -= factor * A[column, k]
            b[row] -= factor * b[column]
    for row in range(n - 1, -1, -1):
        for k in range(row + 1, n):
            b[row] -= A[row, k] * b[k]
        b[row] /= A[row, row]


@compiled
def solve_columns_by_elimination(A: Array, B: Array) -> None:
    """Turn B into the solution of ``A X = B`` for all columns at once; see `solve_by_elimination`.

    Args:
        A: Square matrix, n × n. Overwritten.
        B: Right-hand sides, n × k; becomes X.
    """
    n = A.shape[0]
    for column in range(n):
        pivot = column
        for row in range(column + 1, n):
            if abs(A[row, column]) > abs(A[pivot, column]):
                pivot = row
        if pivot != column:
            for k in range(column, n):
                A[column, k], A[pivot, k] = A[pivot, k], A[column, k]
            for k in range(B.shape[1]):
                B[column, k], B[pivot, k] = B[pivot, k], B[column, k]
        for row in range(column + 1, n):
            factor = A[row, column] / A[column, column]
            for k in range(column, n):
                A[row, k] -= factor * A[column, k]
            axpy(-factor, B[column], B[row])
    for row in range(n - 1, -1, -1):
        for k in range(row + 1, n):
            axpy(-A[row, k], B[k], B[row])
        for k in range(B.shape[1]):
            B[row, k] /= A[row, row]


def solve_columns_by_lapack(A: Array, B: Array) -> None:
    """What `solve_columns_by_elimination` does, by LAPACK."""
    try:
        B[:] = np.linalg.solve(A, B)
    except np.linalg.LinAlgError:
        B[:] = np.nan


@compiled
def cholesky(A: Array, L: Array) -> None:
    """Fill the lower triangle of L with A = L Lᵀ, zeros above; NaN where A is not positive."""
    n = A.shape[0]
    for i in range(n):
        for j in range(n):
            L[i, j] = 0.0
        for j in range(i + 1):
            rest = A[i, j]
            for k in range(j):
                rest -= L[i, k] * L[j, k]
            if i == j:
                L[i, i] = np.sqrt(rest) if rest > 0.0 else np.nan
            else:
                L[i, j] = rest / L[j, j]


def solve_by_lapack(A: Array, b: Array) -> None:
    """What `solve_by_elimination` does, by LAPACK."""
    try:
        b[:] = np.linalg.solve(A, b)
    except np.linalg.LinAlgError:
        b[:] = np.nan


svd = svd_by_jacobi if COMPILED else svd_by_lapack
solve = solve_by_elimination if COMPILED else solve_by_lapack
solve_columns = solve_columns_by_elimination if COMPILED else solve_columns_by_lapack

"""The small products and decompositions against NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projected_control.compiled import KERNELS
from projected_control.model import linalg


def plain(kernel):
    """A kernel as Python runs it."""
    return KERNELS[f"{linalg.__name__}.{kernel.__name__}"]


SVDS = {
    "jacobi": linalg.svd_by_jacobi,
    "jacobi, not compiled": plain(linalg.svd_by_jacobi),
    "lapack": linalg.svd_by_lapack,
}
SOLVERS = {
    "elimination": linalg.solve_by_elimination,
    "elimination, not compiled": plain(linalg.solve_by_elimination),
    "lapack": linalg.solve_by_lapack,
}


def solution(solve, A, b):
    """x of A x = b; both are overwritten, so copies are given."""
    x = b.copy()
    assert solve(A.copy(), x) is None
    return x


def decompose(svd, A):
    m, n = A.shape
    U, sigma, V = np.full((m, m), np.nan), np.full(m, np.nan), np.full((m, n), np.nan)
    svd(A, U, sigma, V)
    return U, sigma, V


@st.composite
def matrices(draw):
    """Wide, tall, empty; rows that are zero, repeated, dependent, of very different size."""
    m, n = draw(st.integers(0, 8)), draw(st.integers(1, 12))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    A = random.normal(size=(m, n))
    for row in range(m):
        kind = draw(st.sampled_from(["as it is"] * 3 + ["zero", "repeated", "dependent", "scaled"]))
        if kind == "zero":
            A[row] = 0.0
        elif kind == "repeated":
            A[row] = A[0]
        elif kind == "dependent":
            A[row] = random.normal(size=row) @ A[:row] if row else 0.0
        elif kind == "scaled":
            A[row] *= 10.0 ** draw(st.integers(-7, 7))
    return A


@pytest.mark.parametrize("svd", SVDS.values(), ids=SVDS.keys())
@given(A=matrices())
def test_singular_value_decomposition(svd, A):
    m, n = A.shape
    before = A.copy()
    U, sigma, V = decompose(svd, A)
    size = np.linalg.norm(A, 2) if A.size else 0.0
    np.testing.assert_array_equal(A, before)
    assert np.linalg.norm((U * sigma) @ V - A) <= 1e-13 * size
    assert np.linalg.norm(U.T @ U - np.eye(m)) <= 1e-13
    kept = V[sigma > 1e-9 * size]
    assert np.linalg.norm(kept @ kept.T - np.eye(len(kept))) <= 1e-13 * max(1, len(kept))
    expected = np.zeros(m)
    expected[: min(m, n)] = np.linalg.svd(A, compute_uv=False)
    np.testing.assert_allclose(np.sort(sigma)[::-1], expected, rtol=0, atol=1e-14 * size + 1e-300)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("svd", SVDS.values(), ids=SVDS.keys())
def test_numbers_that_are_not_finite_raise_nothing_and_hide_nothing(svd, bad):
    U, sigma, V = decompose(svd, np.array([[1.0, bad, 0.0], [0.0, 1.0, 2.0]]))
    assert not np.isfinite(np.concatenate([U.ravel(), sigma, V.ravel()])).all()


@given(A=matrices())
def test_compiled_decomposition_is_the_same(A):
    size = np.linalg.norm(A, 2) if A.size else 0.0
    results = [decompose(SVDS[name], A) for name in ("jacobi", "jacobi, not compiled")]
    (U, sigma, V), (U_plain, sigma_plain, V_plain) = results
    np.testing.assert_allclose(sigma, sigma_plain, rtol=0, atol=1e-12 * size + 1e-300)
    kept, kept_plain = sigma > 1e-9 * size, sigma_plain > 1e-9 * size
    projector = V[kept].T @ V[kept]
    np.testing.assert_allclose(projector, V_plain[kept_plain].T @ V_plain[kept_plain], atol=1e-12)
    np.testing.assert_allclose(np.abs(U), np.abs(U_plain), atol=1e-12)


@pytest.mark.parametrize("small", [1e-4, 1e-8, 1e-12])
def test_jacobi_finds_small_singular_values_to_full_relative_precision(small):
    """Rows (1, 1) and small·(1, −½): σ₁σ₂ = |det| and σ₁² + σ₂² = ‖A‖²."""
    A = np.array([[1.0, 1.0], [small, -0.5 * small]])
    determinant, square = 1.5 * small, 2.0 + 1.25 * small**2
    largest = np.sqrt(0.5 * (square + np.sqrt(square**2 - 4.0 * determinant**2)))
    sigma = np.sort(decompose(linalg.svd_by_jacobi, A)[1])
    np.testing.assert_allclose(sigma, [determinant / largest, largest], rtol=1e-14)


@pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS.keys())
@given(n=st.integers(0, 12), seed=st.integers(0, 2**32 - 1), scale=st.integers(-8, 8))
def test_solution_of_linear_equations(solve, n, seed, scale):
    """Backward stable: the residual is rounding, however the matrix is conditioned."""
    random = np.random.default_rng(seed)
    A, b = random.normal(size=(n, n)), random.normal(size=n)
    if n:
        A[seed % n] *= 10.0**scale
    x = solution(solve, A, b)
    if n:
        size = np.linalg.norm(A, 2) * np.linalg.norm(x) + np.linalg.norm(b)
        assert np.linalg.norm(A @ x - b) <= 1e-13 * size
        expected = np.linalg.solve(A, b)
        error = 1e-14 * np.linalg.cond(A) * np.linalg.norm(expected)
        assert np.linalg.norm(x - expected) <= max(error, 1e-12 * np.linalg.norm(expected))


@given(n=st.integers(1, 12), seed=st.integers(0, 2**32 - 1))
def test_compiled_solution_is_the_same(n, seed):
    random = np.random.default_rng(seed)
    A, b = random.normal(size=(n, n)) + 5.0 * np.eye(n), random.normal(size=n)
    compiled, interpreted = (solution(SOLVERS[k], A, b) for k in list(SOLVERS)[:2])
    np.testing.assert_allclose(compiled, interpreted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS.keys())
def test_elimination_exchanges_rows(solve):
    x = solution(solve, np.array([[0.0, 2.0], [4.0, 1.0]]), np.array([2.0, 9.0]))
    np.testing.assert_allclose(x, [2.0, 1.0], rtol=1e-15)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS.keys())
def test_singular_equations_give_no_finite_numbers_and_raise_nothing(solve):
    x = solution(solve, np.array([[1.0, 2.0], [2.0, 4.0]]), np.ones(2))
    assert not np.isfinite(x).all()


def products(A, B, x, y, w, scale):
    """Each product by its name: kernel, arguments up to the result, the result and NumPy's."""
    m, n, k = *A.shape, B.shape[1]
    old_y, old_w = y.copy(), w.copy()
    return {
        "matvec": (linalg.matvec, (A, x), np.full(m, np.nan), (scale,), scale * A @ x),
        "matvec, no scale": (linalg.matvec, (A, x), np.full(m, np.nan), (), A @ x),
        "matvec_add": (linalg.matvec_add, (A, x), y, (scale,), old_y + scale * A @ x),
        "matvec_add, no scale": (linalg.matvec_add, (A, x), y, (), old_y + A @ x),
        "matvec_transposed": (
            linalg.matvec_transposed,
            (A, old_y),
            np.full(n, np.nan),
            (scale,),
            scale * A.T @ old_y,
        ),
        "matvec_transposed_add": (
            linalg.matvec_transposed_add,
            (A, old_y),
            w,
            (scale,),
            old_w + scale * A.T @ old_y,
        ),
        "matmul": (linalg.matmul, (A, B), np.full((m, k), np.nan), (), A @ B),
        "axpy": (linalg.axpy, (scale, x), w, (), old_w + scale * x),
        "copy": (linalg.copy, (x,), w, (), x),
    }


PRODUCTS = [
    "matvec",
    "matvec, no scale",
    "matvec_add",
    "matvec_add, no scale",
    "matvec_transposed",
    "matvec_transposed_add",
    "matmul",
    "axpy",
    "copy",
]


@pytest.mark.parametrize("as_python", [False, True], ids=["compiled", "not compiled"])
@pytest.mark.parametrize("name", PRODUCTS)
@given(
    m=st.integers(0, 8),
    n=st.integers(0, 8),
    k=st.integers(0, 8),
    seed=st.integers(0, 2**32 - 1),
)
def test_products(name, as_python, m, n, k, seed):
    """Of any size, also none; what is read is left as it was."""
    random = np.random.default_rng(seed)
    A, B = random.normal(size=(m, n)), random.normal(size=(n, k))
    x, y, w = random.normal(size=n), random.normal(size=m), random.normal(size=n)
    kernel, arguments, result, scale, expected = products(A, B, x, y, w, random.normal())[name]
    before = [np.copy(argument) for argument in arguments]
    assert (plain(kernel) if as_python else kernel)(*arguments, result, *scale) is None
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-13)
    for argument, was in zip(arguments, before, strict=True):
        np.testing.assert_array_equal(argument, was)


@given(n=st.integers(0, 12), seed=st.integers(0, 2**32 - 1))
def test_inner_product_and_fill(n, seed):
    a, b = np.random.default_rng(seed).normal(size=(2, n))
    for kernel in (linalg.dot, plain(linalg.dot)):
        assert kernel(a, b) == pytest.approx(a @ b, abs=1e-13)
    for kernel in (linalg.fill, plain(linalg.fill)):
        kernel(a, 2.5)
        assert (a == 2.5).all()

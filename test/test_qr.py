"""Rows that come and go, as combinations of orthonormal ones, beside NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projected_control.compiled import KERNELS
from projected_control.model import qr

KINDS = ["compiled", "not compiled"]


class Rows:
    """A, L and Q, with the kernels as the library has them or as Python runs them."""

    def __init__(self, kind, capacity, n):
        self.kind, self.n, self.A = kind, n, np.zeros((0, n))
        self.Q, self.L = np.full((capacity, n), np.nan), np.full((capacity, capacity), np.nan)
        self._scratch = np.full(capacity, np.nan)

    def call(self, kernel, *arguments):
        plain = KERNELS[f"{qr.__name__}.{kernel.__name__}"]
        return (kernel if self.kind == "compiled" else plain)(*arguments)

    def append(self, row):
        before = row.copy()
        size = self.call(qr.append_row, row, len(self.A), self.Q, self.L, self._scratch)
        np.testing.assert_array_equal(row, before)
        if size > 0.0:
            self.A = np.vstack([self.A, row])
        return size

    def remove(self, index):
        self.call(qr.remove_row, index, len(self.A), self.Q, self.L)
        self.A = np.delete(self.A, index, axis=0)

    def check(self):
        r = len(self.A)
        Q, L = self.Q[:r], self.L[:r, :r]
        np.testing.assert_allclose(Q @ Q.T, np.eye(r), rtol=0, atol=3e-14)
        np.testing.assert_array_equal(L, np.tril(L))
        assert (np.diag(L) > 0.0).all()
        sizes = np.linalg.norm(self.A, axis=1, keepdims=True)
        assert (np.abs(L @ Q - self.A) <= 1e-13 * sizes).all()


@st.composite
def histories(draw):
    """What happens to the rows: new ones of all sorts, and places from which one is taken."""
    n = draw(st.integers(1, 12))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    steps, count = [], 0
    for _ in range(draw(st.integers(1, 25))):
        if (count and draw(st.booleans())) or count == n:
            steps.append(("remove", draw(st.integers(0, count - 1))))
            count -= 1
        else:
            nearly = draw(st.sampled_from([None, None, 1e-2, 1e-5, 1e-8]))
            scale = 10.0 ** draw(st.integers(-5, 5))
            steps.append(("append", (random.normal(size=n), random.normal(size=n), nearly, scale)))
            count += 1
    return n, steps


@pytest.mark.parametrize("kind", KINDS)
@given(histories())
def test_rows_come_and_go(kind, history):
    n, steps = history
    rows = Rows(kind, n + 1, n)
    for what, given_ in steps:
        if what == "remove":
            if given_ < len(rows.A):
                rows.remove(given_)
        elif len(rows.A) < n:
            row, other, nearly, scale = given_
            if nearly is not None and len(rows.A):
                row = rows.A.T @ other[: len(rows.A)] + nearly * row
            outside = row - rows.Q[: len(rows.A)].T @ (rows.Q[: len(rows.A)] @ row)
            size = rows.append(scale * row)
            expected = scale * np.linalg.norm(outside)
            assert size == pytest.approx(expected, abs=1e-13 * scale * np.linalg.norm(row))
        rows.check()


@pytest.mark.parametrize("kind", KINDS)
@given(histories(), st.integers(0, 2**32 - 1))
def test_solutions_are_those_of_the_pseudo_inverse(kind, history, seed):
    n, steps = history
    rows = Rows(kind, n, n)
    for what, given_ in steps:
        if what == "append" and len(rows.A) < n:
            rows.append(given_[0])
    random, r = np.random.default_rng(seed), len(rows.A)
    b, f, Q = random.normal(size=r), random.normal(size=n), rows.Q[:r]
    inverse = np.linalg.pinv(rows.A)
    x = b.copy()
    rows.call(qr.solve_lower, r, rows.L, x)
    bound = 1e-13 * np.linalg.norm(inverse) * max(1.0, np.linalg.norm(rows.A)) + 1e-13
    bound *= max(1.0, np.linalg.norm(inverse))
    np.testing.assert_allclose(Q.T @ x, inverse @ b, rtol=0, atol=bound)
    y = Q @ f
    rows.call(qr.solve_lower_transposed, r, rows.L, y)
    np.testing.assert_allclose(y, inverse.T @ f, rtol=0, atol=bound)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_that_depends_on_others_says_so_and_does_no_harm(kind):
    rows = Rows(kind, 4, 5)
    A = np.random.default_rng(3).normal(size=(2, 5))
    assert rows.append(A[0]) == pytest.approx(np.linalg.norm(A[0]))
    rows.append(A[1])
    for dependent in (A[0], 2.0 * A[0] - 1e3 * A[1], np.zeros(5)):
        assert rows.append(dependent) == 0.0
        rows.check()
    assert rows.append(A[0] + 1e-9 * np.eye(5)[4]) == pytest.approx(1e-9, rel=0.9)
    rows.check()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_row_that_is_not_finite_is_not_a_row(kind, bad):
    rows = Rows(kind, 3, 4)
    rows.append(np.arange(4.0))
    assert not rows.append(np.array([0.0, bad, 1.0, 0.0])) < np.inf
    rows.A = rows.A[:1]
    rows.check()

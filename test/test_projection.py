"""The projector, its pseudo-inverse, and the metric of joint space."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projected_control.errors import InvalidValue
from projected_control.model.projection import MAX_TOLERANCE, Metric, Projection, pseudo_inverse


@st.composite
def jacobians(draw):
    """m × n of known rank, non-zero singular values well above the tolerance."""
    n, independent = draw(st.integers(1, 12)), draw(st.integers(0, 8))
    rank = min(n, independent)
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    basis, _ = np.linalg.qr(random.normal(size=(n, n)))
    A = random.uniform(0.1, 3.0, (rank, 1)) * basis[:rank]
    for _ in range(draw(st.integers(0, 8 - rank))):
        kind = draw(st.sampled_from(["zero", "repeated", "dependent"]))
        if kind == "zero" or not rank:
            row = np.zeros(n)
        elif kind == "repeated":
            row = A[random.integers(rank)]
        else:
            row = random.normal(size=rank) @ A[:rank]
        A = np.vstack([A, row])
    return random.permutation(A), rank


@given(jacobians())
def test_projector_and_pseudo_inverse(case):
    A, rank = case
    m, n = A.shape
    projection = Projection.of(A)
    P, G = projection.P, projection.A_pinv
    assert projection.rank == rank
    assert projection.redundant == (rank < m)
    np.testing.assert_allclose(P @ P, P, atol=1e-13)
    np.testing.assert_allclose(P, P.T, atol=1e-15)
    np.testing.assert_allclose(A @ P, 0.0, atol=1e-13)
    assert np.trace(P) == pytest.approx(n - rank, abs=1e-12)
    np.testing.assert_allclose(A @ G @ A, A, atol=1e-12)
    np.testing.assert_allclose(G @ A @ G, G, atol=1e-11)
    np.testing.assert_allclose(A @ G, (A @ G).T, atol=1e-12)
    np.testing.assert_allclose(G @ A, (G @ A).T, atol=1e-12)
    assert (np.diff(projection.singular_values) <= 0.0).all()
    assert projection.singular_values.shape == (m,)


@given(jacobians(), st.integers(0, 2**32 - 1))
def test_tangent_and_normal_parts_are_orthogonal_and_complete(case, seed):
    A, _ = case
    x = np.random.default_rng(seed).normal(size=A.shape[1])
    projection = Projection.of(A)
    tangent, normal = projection.tangent(x), projection.normal(x)
    np.testing.assert_allclose(tangent + normal, x, atol=1e-14)
    assert abs(tangent @ normal) <= 1e-12
    np.testing.assert_allclose(A @ tangent, 0.0, atol=1e-12)


@given(jacobians())
def test_pseudo_inverse_with_the_smallest_singular_value(case):
    A, _ = case
    (m, n), inverse = A.shape, np.full(A.T.shape, np.nan)
    smallest = pseudo_inverse(A, 1e-4, inverse, np.full(m * (m + n + 1), np.nan))
    projection = Projection.of(A)
    np.testing.assert_allclose(inverse, projection.A_pinv, atol=1e-12)
    expected = projection.singular_values[-1] if len(A) else np.inf
    assert smallest == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-4, 1e-6])
def test_tolerance_is_absolute(tolerance):
    """The single row of a slider, which no relative tolerance would ever drop."""
    direction = np.array([[0.6, 0.0, -0.8]])
    kept = Projection.of(1.01 * tolerance * direction, tolerance)
    dropped = Projection.of(0.99 * tolerance * direction, tolerance)
    assert (kept.rank, dropped.rank) == (1, 0)
    np.testing.assert_array_equal(dropped.P, np.eye(3))
    np.testing.assert_array_equal(dropped.A_pinv, 0.0)
    np.testing.assert_allclose(kept.P, np.eye(3) - direction.T @ direction, atol=1e-15)


def test_large_tolerance_is_refused():
    assert Projection.of([[1.0, 0.0]], MAX_TOLERANCE).rank == 1
    with pytest.raises(InvalidValue, match=r"at most 0\.001, got 0\.0011"):
        Projection.of([[1.0, 0.0]], 1.1e-3)
    with pytest.raises(InvalidValue, match="must be positive, got 0"):
        Projection.of([[1.0, 0.0]], 0.0)


def test_without_constraint_all_is_free():
    projection = Projection.of(np.empty((0, 4)))
    np.testing.assert_array_equal(projection.P, np.eye(4))
    assert projection.rank == 0
    assert not projection.redundant


@pytest.mark.parametrize(
    ("A", "message"),
    [
        ([[1.0, np.nan]], "must be finite"),
        ([[np.inf, 0.0]], "must be finite"),
        ([1.0, 2.0], "shape any × any, got 2"),
        ("text", "must be numbers"),
        ([[1.0], [1.0, 2.0]], "must be numbers"),
    ],
)
def test_bad_jacobians_are_refused(A, message):
    with pytest.raises(InvalidValue, match=message):
        Projection.of(A)


def weighted_projected_effort(A, f, metric):
    """Joint efforts that do what f does along the constraint, least in the metric's norm."""
    return metric.sqrt_metric * Projection.of(A, metric=metric).tangent(f / metric.sqrt_metric)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-3, 1e-2, 39.37, 1e3]))
def test_unit_of_length_does_not_matter_with_a_characteristic_length(seed, unit):
    """Metres or millimetres of the prismatic joints: the same forces, the same torques.

    In units of which `unit` make a metre, a coordinate counts unit·q, its force f/unit.
    """
    random = np.random.default_rng(seed)
    prismatic = np.array([False, True, False, True, False])
    scale = np.where(prismatic, unit, 1.0)
    A, f = random.normal(size=(2, 5)), random.normal(size=5)
    effort = weighted_projected_effort(A, f, Metric.from_length(0.3, prismatic))
    metric = Metric.from_length(0.3 * unit, prismatic)
    other = weighted_projected_effort(A / scale, f / scale, metric)
    np.testing.assert_allclose(other * scale, effort, atol=1e-11)


def test_unit_of_length_does_matter_without():
    A, f = np.array([[1.0, 1.0]]), np.array([1.0, 2.0])
    scale = np.array([1.0, 1000.0])
    plain = Metric.identity(2)
    effort = weighted_projected_effort(A, f, plain)
    other = scale * weighted_projected_effort(A / scale, f / scale, plain)
    assert np.abs(other - effort).max() > 0.1


@given(jacobians(), st.integers(0, 2**32 - 1))
def test_effort_is_least_relative_to_the_limits(case, seed):
    """Any other effort with the same motion, f + Aᵀλ, costs more of what the motors can give."""
    A, rank = case
    random = np.random.default_rng(seed)
    limits = random.uniform(1.0, 20.0, A.shape[1])
    f = random.normal(size=A.shape[1])
    effort = weighted_projected_effort(A, f, Metric.from_limits(limits))
    change = np.linalg.lstsq(A.T, effort - f, rcond=1e-10)[0] if rank else np.zeros(len(A))
    np.testing.assert_allclose(A.T @ change, effort - f, atol=1e-10)
    for _ in range(5):
        other = effort + A.T @ random.normal(size=len(A))
        assert np.linalg.norm(effort / limits) <= np.linalg.norm(other / limits) * (1 + 1e-12)


@given(jacobians(), st.floats(1e-6, 1e6), st.sampled_from([1e-6, 1e-4, 1e-3]))
def test_a_uniform_metric_changes_nothing(case, size, tolerance):
    A, rank = case
    plain = Projection.of(A, tolerance)
    scaled = Projection.of(A, tolerance, Metric(np.full(A.shape[1], size)))
    assert scaled.rank == plain.rank == rank
    np.testing.assert_array_equal(scaled.P, plain.P)
    np.testing.assert_array_equal(scaled.A_pinv, plain.A_pinv)


@given(jacobians(), st.integers(0, 2**32 - 1), st.floats(1e-6, 1e6))
def test_a_common_factor_of_the_metric_changes_nothing(case, seed, size):
    A, _ = case
    weights = np.random.default_rng(seed).uniform(0.1, 10.0, A.shape[1])
    one, other = Metric(weights), Metric(size * weights)
    np.testing.assert_allclose(other.sqrt_metric, one.sqrt_metric, rtol=1e-12)
    assert np.prod(one.sqrt_metric) == pytest.approx(1.0, rel=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_no_metric_drops_what_is_above_the_tolerance_in_joint_units(seed, rows):
    """Rows that are just above the largest tolerance there is, under limits a hundredfold apart."""
    random = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(random.normal(size=(6, 6)))
    A = 1.001 * MAX_TOLERANCE * basis[:rows]
    metric = Metric.from_limits(10.0 ** random.uniform(0.0, 2.0, 6))
    assert Projection.of(A, MAX_TOLERANCE, metric).rank == rows


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Metric.from_limits([1.0, 0.0]), r"positive for every joint, got \[1.0, 0.0\]"),
        (lambda: Metric.from_limits([1.0, np.inf]), "must be finite"),
        (lambda: Metric.from_length(-1.0, [True]), "characteristic length must be positive"),
        (lambda: Projection.of(np.ones((1, 3)), metric=Metric.identity(2)), "shape 3, got 2"),
    ],
)
def test_bad_metrics_are_refused(make, message):
    with pytest.raises(InvalidValue, match=message):
        make()

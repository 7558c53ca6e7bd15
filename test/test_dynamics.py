"""Four roads to one acceleration, and what they share with the papers and with other software."""

import numpy as np
import pinocchio
import pytest
from arms import (
    UNIT_LINKS,
    pinocchio_solution,
    place_in,
    random_state,
    random_urdf,
    three_link_arm,
)
from hypothesis import assume, given
from hypothesis import strategies as st

from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import LoopClosure, PointAtPoint, PointOnPlane, Stack
from projected_control.model.dynamics import (
    Problem,
    Regularisation,
    acceleration_kernel,
    block_matrix,
    condition_numbers,
    constraint_inertia,
    cross_coupling,
    dagger_terms,
    gauss,
    inertia_weighted_inverse,
    is_decoupled,
    moves_mass,
    operational_space,
    projected,
    regularisation_matrix,
)
from projected_control.model.projection import Projection
from projected_control.planning import assemble

SEEDS = st.integers(0, 2**32 - 1)
MASSLESS_KINDS = (Regularisation.IDENTITY, Regularisation.SCALED, Regularisation.OPTIMAL)


def positive_matrix(random, n, massless=0):
    """Symmetric, condition number up to 1e3, the first `massless` eigenvalues zero."""
    basis, _ = np.linalg.qr(random.normal(size=(n, n)))
    eigenvalues = 10.0 ** random.uniform(-1.5, 1.5, n)
    eigenvalues[:massless] = 0.0
    M = basis @ np.diag(eigenvalues) @ basis.T
    return 0.5 * (M + M.T)


def constraint_rows(random, n, rank):
    """Full row rank, singular values between 0.2 and 3."""
    basis, _ = np.linalg.qr(random.normal(size=(n, n)))
    mix, _ = np.linalg.qr(random.normal(size=(rank, rank)))
    return mix @ (random.uniform(0.2, 3.0, (rank, 1)) * basis[:rank])


@st.composite
def problems(draw, redundant=True):
    """n ≤ 12 joints, m ≤ 8 rows, some of them repeated, dependent or zero; b in the range of A."""
    n = draw(st.integers(1, 12))
    rank = draw(st.integers(0, min(n, 8)))
    random = np.random.default_rng(draw(SEEDS))
    rows = list(constraint_rows(random, n, rank))
    for _ in range(draw(st.integers(0, 8 - rank)) if redundant else 0):
        kind = draw(st.sampled_from(["zero", "repeated", "dependent"]))
        if kind == "zero" or not rank:
            rows.append(np.zeros(n))
        elif kind == "repeated":
            rows.append(rows[random.integers(rank)])
        else:
            rows.append(random.normal(size=rank) @ np.array(rows[:rank]))
    A = random.permutation(np.array(rows).reshape(len(rows), n))
    return Problem(
        positive_matrix(random, n),
        random.normal(size=n),
        random.normal(size=n),
        A,
        A @ random.normal(size=n),
    )


def roads(problem):
    """Every way to the solution, by name."""
    ways = {kind.value: projected(problem, kind) for kind in Regularisation}
    ways["operational space"] = operational_space(problem)
    ways["gauss"] = gauss(problem)
    if not problem.projection.redundant:
        ways["block matrix"] = block_matrix(problem)
    return ways


def assert_close(a, b, tolerance, scale=None):
    size = max(np.linalg.norm(b), 1e-3) if scale is None else scale
    assert np.linalg.norm(np.asarray(a) - b) <= tolerance * size


@given(problems())
def test_all_roads_agree(problem):
    ways = roads(problem)
    first = ways["R2"]
    effort = np.linalg.norm(problem.f) + np.linalg.norm(problem.h)
    effort += np.linalg.norm(problem.M @ first.acceleration)
    for way in ways.values():
        assert_close(way.acceleration, first.acceleration, 1e-10)
        assert_close(way.constraint_force, first.constraint_force, 1e-10, effort)
        assert_close(problem.A @ way.acceleration, problem.b, 1e-10)
        balance = problem.M @ way.acceleration + problem.h + way.constraint_force
        assert_close(balance, problem.f, 1e-10, effort)
        assert_close(problem.A.T @ way.multipliers, first.constraint_force, 1e-10, effort)
        assert way.rank == np.linalg.matrix_rank(problem.A, tol=1e-4)
        assert way.multipliers_unique == (way.rank == len(problem.A))
        if way.multipliers_unique:
            assert_close(way.multipliers, first.multipliers, 1e-9, 1.0 + effort)


@given(problems())
def test_compiled_kernel_is_the_projected_road(problem):
    projection = problem.projection
    net = projection.tangent(problem.f - problem.h)
    normal = projection.A_pinv @ problem.b
    acceleration, scratch = np.full(len(problem.M), np.nan), np.full((2, *problem.M.shape), np.nan)
    acceleration_kernel(problem.M, projection.P, net, normal, acceleration, *scratch)
    assert_close(acceleration, projected(problem).acceleration, 1e-11)


@given(problems())
def test_inertia_weighted_inverse_is_a_constraint_inertia_away_from_the_plain_one(problem):
    """Moura, lemma 3: Ā = M_c⁻¹ R A⁺ and (I − ĀA) M⁻¹ = M_c⁻¹ P, for every R."""
    projection = problem.projection
    P, M, A = projection.P, problem.M, problem.A
    A_bar = inertia_weighted_inverse(M, projection, A)
    free_mobility = (np.eye(len(M)) - A_bar @ A) @ np.linalg.inv(M)
    for kind in Regularisation:
        M_c = constraint_inertia(kind, M, P)
        R = regularisation_matrix(kind, M, P)
        np.testing.assert_allclose(
            np.linalg.solve(M_c, R @ projection.A_pinv), A_bar, rtol=1e-9, atol=1e-9
        )
        np.testing.assert_allclose(np.linalg.solve(M_c, P), free_mobility, rtol=1e-9, atol=1e-9)


@given(problems(), SEEDS)
def test_optimal_regularisation_is_never_beaten(problem, seed):
    """Moura, lemma 2; and its condition number is that of the inertia in the free directions."""
    P, M = problem.projection.P, problem.M
    numbers = condition_numbers(M, P)
    assert set(numbers) == {"M", "R1", "R2", "R3", "R4", "Rstar"}
    R = np.random.default_rng(seed).uniform(0.0, 1.0, M.shape)
    numbers["random"] = np.linalg.cond(P @ M + R @ (np.eye(len(M)) - P))
    assert numbers["Rstar"] <= min(numbers.values()) * (1.0 + 1e-9)
    free = round(np.trace(P))
    Z = np.linalg.eigh(P)[1][:, len(P) - free :]
    expected = np.linalg.cond(Z.T @ M @ Z) if free else 1.0
    assert numbers["Rstar"] == pytest.approx(expected, rel=1e-9)


@given(problems())
def test_constraint_inertias_have_the_forms_of_the_papers(problem):
    P, M = problem.projection.P, problem.M
    N = np.eye(len(M)) - P
    M_c = {kind: constraint_inertia(kind, M, P) for kind in Regularisation}
    size = 1e-12 * np.linalg.norm(M)
    np.testing.assert_allclose(M_c[Regularisation.INERTIA], M + P @ M - (P @ M).T, atol=size)
    reflected = M_c[Regularisation.REFLECTED]
    np.testing.assert_allclose(reflected, P @ M @ P + N @ M @ N, atol=size)
    np.testing.assert_allclose(reflected, reflected.T, atol=size)
    optimal = M_c[Regularisation.OPTIMAL] - P @ M @ P
    mu = np.trace(optimal) / max(np.trace(N), 1e-300)
    np.testing.assert_allclose(optimal, mu * N, atol=1e-12 * (np.linalg.norm(M) + abs(mu)))
    assert np.linalg.eigvalsh(M_c[Regularisation.INERTIA] + M_c[Regularisation.INERTIA].T)[0] > 0.0


@st.composite
def massless_cases(draw):
    """M with d massless directions, which m ≥ d constraints carry (Johnson 33)."""
    n = draw(st.integers(2, 10))
    m = draw(st.integers(1, n - 1))
    d = draw(st.integers(0, m))
    random = np.random.default_rng(draw(SEEDS))
    M = positive_matrix(random, n, d)
    A = constraint_rows(random, n, m)
    if d:  # turn A towards the massless directions, so that it carries them well
        massless = np.linalg.eigh(M)[1][:, :d]
        A[:d] += 2.0 * massless.T
    return M, A, d


@given(massless_cases())
def test_identities_of_the_block_matrix(case):
    """Johnson (11)–(18), with singular M; (17) and (18) with semi-definite for definite."""
    M, A, d = case
    n, m = M.shape[0], A.shape[0]
    assume(np.linalg.svd(A, compute_uv=False)[-1] > 1e-2 and moves_mass(M, A))
    terms = dagger_terms(M, A)
    inverse, A_dagger, apparent = terms.M_dagger, terms.A_dagger, terms.Lambda_dagger
    block = np.block([[inverse, A_dagger.T], [A_dagger, apparent]])
    tolerance = 1e-12 * np.linalg.norm(block, 2) * (np.linalg.norm(M, 2) + np.linalg.norm(A, 2))
    for product, expected in [
        (M @ inverse + A.T @ A_dagger, np.eye(n)),  # (11)
        (inverse @ M + A_dagger.T @ A, np.eye(n)),
        (M @ A_dagger.T + A.T @ apparent, np.zeros((n, m))),  # (12)
        (A_dagger @ M + apparent @ A, np.zeros((m, n))),
        (A @ inverse, np.zeros((m, n))),  # (13)
        (inverse @ A.T, np.zeros((n, m))),
        (A @ A_dagger.T, np.eye(m)),  # (14)
        (A_dagger @ A.T, np.eye(m)),
        (apparent, -A_dagger @ M @ A_dagger.T),
    ]:
        np.testing.assert_allclose(product, expected, atol=tolerance * 10)
    massless = np.linalg.eigh(M)[1][:, :d]
    np.testing.assert_allclose(apparent @ (A @ massless), 0.0, atol=tolerance * 10)  # (15), (16)
    np.testing.assert_allclose(inverse, inverse.T, atol=tolerance)
    np.testing.assert_allclose(apparent, apparent.T, atol=tolerance)
    small = 1e-9 * np.linalg.norm(block, 2)
    eigenvalues = np.linalg.eigvalsh(inverse)
    assert eigenvalues[0] >= -small
    assert np.sum(np.abs(eigenvalues) <= small) == m  # (17)
    eigenvalues = np.linalg.eigvalsh(apparent)
    assert eigenvalues[-1] <= small
    assert np.sum(np.abs(eigenvalues) <= small) == d  # (18)


def test_massless_second_link_of_the_slider_crank():
    """Johnson (34), (35), to the digit."""
    terms = dagger_terms([[1.0, 0.0], [0.0, 0.0]], [[2.0, -1.0]])
    np.testing.assert_array_equal(terms.M_dagger, [[1.0, 2.0], [2.0, 4.0]])
    np.testing.assert_array_equal(terms.A_dagger, [[0.0, -1.0]])
    np.testing.assert_array_equal(terms.Lambda_dagger, [[0.0]])


@given(massless_cases(), SEEDS)
def test_massless_links(case, seed):
    """R1, R4 and R* need no inverse of M, only that every free motion moves some mass."""
    M, A, d = case
    assume(np.linalg.svd(A, compute_uv=False)[-1] > 1e-2 and moves_mass(M, A))
    random = np.random.default_rng(seed)
    n = M.shape[0]
    problem = Problem(M, random.normal(size=n), random.normal(size=n), A, A @ random.normal(size=n))
    expected = block_matrix(problem)
    error = 1e-13 * max(
        np.linalg.cond(constraint_inertia(k, M, problem.projection.P)) for k in MASSLESS_KINDS
    )
    for kind in MASSLESS_KINDS:
        solution = projected(problem, kind)
        assert_close(solution.acceleration, expected.acceleration, max(1e-10, 10 * error))
        assert_close(solution.multipliers, expected.multipliers, max(1e-9, 100 * error), 10.0)
    if d:
        for road in (operational_space, gauss):
            with pytest.raises(InvalidValue, match=r"inertia matrix is singular.*massless links"):
                road(problem)


def test_inertia_regularisations_refuse_what_they_cannot_do():
    """Two massless joints: M_c with R2 or R3 has rank two of three at most."""
    problem = Problem(
        np.diag([1.0, 0.0, 0.0]),
        np.zeros(3),
        np.array([1.0, 2.0, 3.0]),
        np.array([[1.0, -1.0, 0.3], [1.0, 0.2, -1.0]]),
        np.zeros(2),
    )
    assert moves_mass(problem.M, problem.A)
    expected = block_matrix(problem).acceleration
    for kind in MASSLESS_KINDS:
        np.testing.assert_allclose(projected(problem, kind).acceleration, expected, rtol=1e-12)
    for kind in (Regularisation.INERTIA, Regularisation.REFLECTED):
        with pytest.raises(InvalidValue, match=f"with {kind.value} is singular.*R1, R4 or R"):
            projected(problem, kind)


def test_block_matrix_says_why_it_is_singular():
    with pytest.raises(InvalidValue, match="2 rows of which only 1 are independent"):
        dagger_terms(np.eye(3), [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]])
    with pytest.raises(InvalidValue, match=r"moves no mass \(Johnson 33\)"):
        dagger_terms(np.diag([1.0, 0.0, 0.0]), [[1.0, 1.0, 0.0]])
    assert not moves_mass(np.diag([1.0, 0.0, 0.0]), [[1.0, 1.0, 0.0]])
    problem = Problem(np.diag([1.0, 0.0]), np.zeros(2), np.ones(2), [[1.0, 0.0]], [0.0])
    for kind in Regularisation:
        with pytest.raises(InvalidValue, match="singular"):
            projected(problem, kind)


@given(st.integers(2, 10), SEEDS, st.booleans())
def test_decoupling(n, seed, decoupled):
    """Aghili, Prop. 3 as corrected: µP vanishes if and only if M maps N(A) into itself."""
    random = np.random.default_rng(seed)
    A = constraint_rows(random, n, int(random.integers(1, n)))
    P = Projection.of(A).P
    N = np.eye(n) - P
    M = positive_matrix(random, n)
    if decoupled:
        M = P @ M @ P + N @ M @ N
    leak = N @ M @ P
    coupling = cross_coupling(M, P)
    np.testing.assert_allclose(coupling @ P @ M @ P, leak, atol=1e-10 * np.linalg.norm(M))
    assert is_decoupled(M, P) == decoupled
    assert (np.linalg.norm(coupling) <= 1e-9) == decoupled
    M_c = constraint_inertia(Regularisation.INERTIA, M, P)
    assert np.linalg.norm(N @ M @ np.linalg.inv(M_c)) > 1e-3  # µ itself never vanishes
    b = A @ random.normal(size=n)
    f, h = random.normal(size=(2, n))
    push = P @ random.normal(size=n)
    force = [projected(Problem(M, h, effort, A, b)).constraint_force for effort in (f, f + push)]
    np.testing.assert_allclose(force[1] - force[0], -coupling @ push, atol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"M": [[1.0, 2.0], [0.0, 1.0]]}, "square and symmetric"),
        ({"M": np.ones((2, 3))}, "square and symmetric"),
        ({"M": [[1.0, 0.0], [0.0, -1.0]]}, "has the eigenvalue -1"),
        ({"f": [1.0, np.nan]}, "effort f must be finite"),
        ({"h": [1.0]}, "h must have shape 2, got 1"),
        ({"A": [[1.0, 0.0, 0.0]]}, "A must have shape any × 2, got 1 × 3"),
        ({"b": [1.0, 2.0]}, "b must have shape 1, got 2"),
    ],
)
def test_bad_problems_are_refused(change, message):
    terms = {"M": np.eye(2), "h": [0.0, 0.0], "f": [1.0, 0.0], "A": [[1.0, 0.0]], "b": [0.0]}
    with pytest.raises(InvalidValue, match=message):
        Problem(**(terms | change))


def consistent_state(arm, constraint, seed, start=None):
    """A random state whose velocity satisfies the constraint, and a random effort."""
    q, v = random_state(arm, seed)
    q = q if start is None else start
    model = ConstrainedArm(arm, constraint).evaluate(q, v)
    v = model.P @ v
    return q, v, np.random.default_rng(seed + 1).normal(size=arm.n), model.evaluate(q, v)


@pytest.mark.parametrize("seed", range(6))
def test_ball_joint_against_pinocchio(seed):
    arm = Arm.from_urdf(random_urdf(seed, 7, kinds=("revolute", "prismatic")))
    q, _ = random_state(arm, seed)
    tip = arm.update(q, np.zeros(7)).frame("end_7").position
    q, v, f, model = consistent_state(arm, PointAtPoint("end_7", tip), seed)
    solution = projected(Problem.of(model, f))
    contact = pinocchio.RigidConstraintModel(
        pinocchio.ContactType.CONTACT_3D,
        arm.pinocchio_model,
        *place_in(arm, "end_7"),
        pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED,
    )
    acceleration, force = pinocchio_solution(arm, q, v, f, contact)
    assert solution.multipliers_unique
    np.testing.assert_allclose(solution.acceleration, acceleration, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(solution.multipliers, force, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_loop_against_pinocchio(seed):
    arm = Arm.from_urdf(random_urdf(seed, 9, branching=True))
    joints = [place_in(arm, f"end_{i}")[0] for i in range(1, 10)]
    supports = [set(arm.pinocchio_model.supports[j]) for j in joints]
    other = next(i for i in range(8, 0, -1) if len(supports[i - 1] ^ supports[8]) >= 4)
    loop = LoopClosure("end_9", f"end_{other}")
    start = assemble(arm, loop, random_state(arm, seed)[0])
    q, v, f, model = consistent_state(arm, loop, seed, start)
    solution = projected(Problem.of(model, f))
    contact = pinocchio.RigidConstraintModel(
        pinocchio.ContactType.CONTACT_3D,
        arm.pinocchio_model,
        *place_in(arm, f"end_{other}"),
        *place_in(arm, "end_9"),
        pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED,
    )
    acceleration, _ = pinocchio_solution(arm, q, v, f, contact)
    np.testing.assert_allclose(solution.acceleration, acceleration, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_inverse_dynamics_of_pinocchio_closes_the_balance(seed):
    """RNEA(q, q̇, q̈) = f − F, redundant rows or not."""
    arm = Arm.from_urdf(random_urdf(seed, 6, branching=True, kinds=("revolute", "prismatic")))
    table = PointOnPlane("end_6", [0.0, 0.0, 0.2], [0.1, 0.2, 1.0])
    other = PointOnPlane("end_3", [0.0, 0.0, 0.2], [1.0, 0.0, 0.0])
    q, v, f, model = consistent_state(arm, Stack([table, other, table]), seed)
    assert (model.m, model.rank) == (3, 2)
    for solution in roads(Problem.of(model, f)).values():
        pinocchio_model = arm.pinocchio_model
        data = pinocchio_model.createData()
        torque = pinocchio.rnea(pinocchio_model, data, q, v, solution.acceleration)
        np.testing.assert_allclose(torque, f - solution.constraint_force, atol=1e-10)
        assert not solution.multipliers_unique


def test_inertia_and_bias_against_mujoco():
    mujoco = pytest.importorskip("mujoco")
    arm = three_link_arm(**UNIT_LINKS)
    other = mujoco.MjModel.from_xml_string(arm.urdf)
    data = mujoco.MjData(other)
    for seed in range(5):
        q, v = random_state(arm, seed)
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(other, data)
        M = np.empty((3, 3))
        for column, unit in enumerate(np.eye(3)):
            product = np.empty(3)
            mujoco.mj_mulM(other, data, product, unit)
            M[:, column] = product
        arm.update(q, v)
        np.testing.assert_allclose(arm.M, M, atol=1e-9)
        np.testing.assert_allclose(arm.h, data.qfrc_bias, atol=1e-9)


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_rows_that_contradict_each_other_are_refused(rate):
    """The same plane twice, one of them moving: the average used to be taken without a word."""
    M, h, f = np.eye(3), np.zeros(3), np.zeros(3)
    A = np.array([[1.0, 0.5, 0.0], [1.0, 0.5, 0.0], [0.0, 0.0, 1.0]])
    b = np.array([0.1, 0.1 + rate, 0.2])
    if rate:
        with pytest.raises(InvalidValue, match=r"rows \[0, 1\] of the constraint depend on each"):
            Problem(M, h, f, A, b)
    else:
        assert projected(Problem(M, h, f, A, b)).rank == 2

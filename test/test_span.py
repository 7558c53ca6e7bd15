"""The decomposition of a tick: its switch cannot be seen, and its laws are those of 32 digits.

mpmath has its own singular values, its own solver and no idea of what is done here; it is given the
model's M, h, A, b, J_θ and J̇_θq̇ as they are, and follows the equations of docs/equations.md with P,
A⁺ and M_c as matrices.
"""

import mpmath
import numpy as np
import pytest
from arms import random_urdf, slider_model
from mpmath import mp

from projected_control.control import (
    ForceController,
    ForceGains,
    MotionGains,
    PassiveJointController,
)
from projected_control.control.independence import CONTROLLABILITY_TOLERANCE
from projected_control.control.motion import INDEPENDENCE_TOLERANCE, SINGULAR_RANGE
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointAtPoint, PointOnPlane, Stack
from projected_control.model.coordinates import Coordinates
from projected_control.model.projection import FADED, TOLERANCE, Metric, project
from projected_control.model.span import ROWS, SPAN

DIGITS = 32
SAMPLE, ALL = 200, 10_000
SEED = 20
ROUNDINGS = 20.0
"""How many times what the last bits of A and J_θ do an effort may be off, where that is much."""


def decomposed(A, tolerance, fades_from):
    """P and A⁺ as a tick has them."""
    m, n = A.shape
    P, A_pinv = np.empty((n, n)), np.empty((n, m))
    rank = project(A, fades_from, tolerance, P, A_pinv, SPAN.new(m=m, n=n), ROWS.new(m=m, n=n))
    return P, A_pinv, rank


def by_singular_values(A, tolerance, fades_from):
    """The same by LAPACK's singular values."""
    U, sigma, V = np.linalg.svd(A, full_matrices=False)
    s = np.clip((sigma - fades_from) / (tolerance - fades_from), 0.0, 1.0)
    share = s * s * (3.0 - 2.0 * s)
    inverse = np.divide(share, sigma, out=np.zeros_like(sigma), where=share > 0.0)
    return np.eye(A.shape[1]) - (V.T * share) @ V, (V.T * inverse) @ U.T


def in_many_digits(A, tolerance, fades_from):
    """The same by mpmath's."""
    P, A_pinv = mp.eye(A.shape[1]), mp.zeros(A.shape[1], A.shape[0])
    for sigma, u, direction in directions(exact(A)):
        s = min(max((sigma - fades_from) / (tolerance - fades_from), mp.mpf(0)), mp.mpf(1))
        share = s * s * (3 - 2 * s)
        P -= share * direction * direction.T
        if share > 0:
            A_pinv += share / sigma * direction * u.T
    return (np.array(found.tolist(), dtype=float) for found in (P, A_pinv))


@pytest.mark.parametrize("m", [1, 2, 4, 6])
@pytest.mark.parametrize("dependent", [0, 2])
def test_the_switch_to_singular_values_cannot_be_seen(m, dependent):
    """σ goes through the places where another road is taken: P and A⁺ stay on one curve.

    From the careful bound, m^½ above the tolerance, over the tolerance to where nothing is left of
    it. What differs from singular values all the way is rounding: of A⁺, against the largest 1/σ.
    """
    tolerance, fades_from = TOLERANCE, FADED * TOLERANCE
    random = np.random.default_rng(m + 10 * dependent)
    V = np.linalg.qr(random.normal(size=(8, 8)))[0][:m]
    U = np.linalg.qr(random.normal(size=(m, m)))[0]
    shares = random.normal(size=(dependent, m))
    seen = set()
    course = np.geomspace(0.05 * tolerance, 20.0 * np.sqrt(m) * tolerance, 400)
    for number, least in enumerate(course):
        sigma = np.append(np.linspace(0.5, 1.5, m - 1), least)
        A = (U * sigma) @ V
        A = np.vstack([A, shares @ A])
        P, A_pinv, rank = decomposed(A, tolerance, fades_from)
        expected_P, expected_pinv = by_singular_values(A, tolerance, fades_from)
        assert np.abs(P - expected_P).max() <= 1e-10
        assert np.abs(A_pinv - expected_pinv).max() <= 1e-11 / least
        if number % 80 == 0:  # and both roads against 50 digits
            with mpmath.workdps(50):
                exact_P, exact_pinv = in_many_digits(A, tolerance, fades_from)
            assert np.abs(P - exact_P).max() <= 1e-10
            assert np.abs(A_pinv - exact_pinv).max() <= 1e-11 / least
        seen.add(rank)
    assert seen == {m - 1, m}


def test_numbers_that_are_not_finite_leave_nothing_that_looks_like_an_answer():
    for bad in (np.nan, np.inf):
        A = np.eye(3, 5)
        A[1, 1] = bad
        P, A_pinv, rank = decomposed(A, TOLERANCE, TOLERANCE)
        assert rank == 0
        np.testing.assert_array_equal(P, np.eye(5))
        np.testing.assert_array_equal(A_pinv, 0.0)


class Mechanism:
    """A random tree, points of it held on random planes: some twice, some nearly so, in a metric.

    Attributes:
        controller: The hybrid law, or that for passive joints, with references that are set.
        kinds: Of what it is made, for the count.
    """

    def __init__(self, seed):
        self.random = random = np.random.default_rng([SEED, seed])
        n = int(random.integers(3, 9))
        text = random_urdf(seed, n, branching=bool(random.integers(2)))
        arm = Arm.from_urdf(text)
        self.q, self.v = random.uniform(-1.5, 1.5, (2, n))
        arm.update(self.q, self.v)
        self.kinds, held, free = set(), [], n
        while free > 1 and (not held or random.random() < 0.6):
            frame, normal = f"end_{random.integers(1, n + 1)}", random.normal(size=3)
            place = arm.frame(frame).position
            kind = str(random.choice(["plane", "repeated", "nearly", "point"]))
            if kind == "point":
                held.append(PointAtPoint(frame, place))
            else:
                held.append(PointOnPlane(frame, place, normal))
            if kind == "repeated":
                held.append(PointOnPlane(frame, place, 3.0 * normal))
            elif kind == "nearly":
                tilt = 10.0 ** random.uniform(-9.0, -1.0) * random.normal(size=3)
                held.append(PointOnPlane(frame, place, normal / np.linalg.norm(normal) + tilt))
            free -= {"point": 3, "nearly": 2}.get(kind, 1)
            self.kinds.add(kind)
        joints = [f"joint_{i}" for i in random.permutation(n) + 1]
        followed = joints[: max(free, 1)]
        passive = joints[n - int(random.integers(1, n)) :] if random.random() < 0.4 else []
        arm = Arm.from_urdf(text, passive=tuple(passive))
        metric = Metric(random.uniform(0.3, 3.0, n)) if random.random() < 0.5 else None
        self.kinds |= {"passive"} if passive else set()
        self.kinds |= {"metric"} if metric is not None else set()
        model = ConstrainedArm(arm, Stack(held), Coordinates.of_joints(followed), metric=metric)
        gains = MotionGains(random.uniform(50.0, 500.0), random.uniform(10.0, 50.0), 3.0)
        if passive:
            self.controller = PassiveJointController(model, gains)
        else:
            self.controller = ForceController(model, gains, ForceGains())
            self.controller.force.set_reference(random.normal(size=model.m))
        theta = np.array([self.q[arm.joint_index(name)] for name in followed])
        self.controller.motion[0] = theta + random.uniform(-0.5, 0.5, len(followed))
        self.controller.motion[1:] = random.normal(size=(2, len(followed)))
        singular = model.evaluate(self.q, self.v).singular_values
        self.kinds |= {"singular"} if model.rank < model.m else set()
        edge = (singular > FADED * model.tolerance) & (singular < model.tolerance)
        self.kinds |= {"fading"} if edge.any() else set()


def exact(array):
    """An array as mpmath has it."""
    return mp.matrix(np.atleast_2d(array).tolist())


def column(array):
    return mp.matrix(list(map(float, array)))


def directions(A):
    """σ, u and v of a matrix, as columns."""
    U, sigma, V = mp.svd_r(A)
    return [(sigma[i], U[:, i], V[i, :].T) for i in range(len(sigma))]


def damped(sigma):
    """What 1/σ is replaced by."""
    if sigma <= INDEPENDENCE_TOLERANCE:
        return mp.mpf(0)
    epsilon = mp.mpf(SINGULAR_RANGE)
    return sigma / (sigma**2 + max(epsilon**2 - sigma**2, mp.mpf(0)) / 4)


def law_in_many_digits(mechanism):
    """Joint efforts, and the size of what they were computed from; None where no motor reaches."""
    controller = mechanism.controller
    model, arm = controller.model, controller.model.arm
    n, m = model.n, model.m
    scale = mp.diag(list(map(float, model.sqrt_metric)))
    inverse = scale**-1
    M, h = inverse * exact(arm.M) * inverse, inverse * column(arm.h)
    A = exact(model.terms.jacobian[:m]) * inverse
    J = exact(model.terms.jacobian[m:]) * inverse
    b, v = -column(model.terms.bias[:m]), scale * column(mechanism.v)
    tolerance, faded = mp.mpf(model.tolerance), mp.mpf(FADED * model.tolerance)
    P, A_pinv, N, rank = mp.eye(n), mp.zeros(n, m), mp.eye(n), 0
    for sigma, u, direction in directions(A):
        s = min(max((sigma - faded) / (tolerance - faded), mp.mpf(0)), mp.mpf(1))
        share = s * s * (3 - 2 * s)
        P -= share * direction * direction.T
        if sigma > tolerance:
            N -= direction * direction.T
            rank += 1
        if share > 0:
            A_pinv += share / sigma * direction * u.T
    J_pinv = mp.zeros(n, model.k)
    for sigma, u, direction in directions(J * P):
        J_pinv += damped(sigma) * direction * u.T
    G_P, G_D, damping = (controller.gains.array(model.k)[i] for i in range(3))
    theta_d, rate_d, acceleration_d = controller.motion
    theta, rate = model.theta, (J * v)
    a = mp.matrix(
        [
            float(acceleration_d[i])
            + float(G_D[i]) * (float(rate_d[i]) - rate[i])
            + float(G_P[i]) * (mp.mpf(float(theta_d[i])) - float(theta[i]))
            - float(model.theta_bias[i])
            for i in range(model.k)
        ]
    )
    u_p = -float(damping[0]) * (P * v) + A_pinv * b
    u_p += J_pinv * (a - J * u_p)
    full = h + M * u_p
    size = max(abs(x) for x in full)
    tangent = P * full
    if controller.passive.size:
        passive = [int(i) for i in controller.passive]
        for projector in (N, P):
            Q = mp.matrix(
                [[(1 if i == j else 0) - projector[i, j] for j in range(n)] for i in passive]
            )
            Q_pinv = mp.zeros(n, len(passive))
            reach = mp.inf if len(passive) <= n else mp.mpf(0)
            for sigma, u, direction in directions(Q):
                reach = min(reach, sigma)
                if sigma > CONTROLLABILITY_TOLERANCE:
                    Q_pinv += direction * u.T / sigma
            if reach <= CONTROLLABILITY_TOLERANCE:
                return None, size
        asked = mp.matrix([tangent[i] for i in passive])
        normal = -((mp.eye(n) - P) * (Q_pinv * asked))
    else:
        multipliers = column(controller.force.desired)
        if rank < m:
            multipliers = A * (A_pinv * multipliers)
        M_c = M + P * M - (P * M).T
        acceleration = mp.lu_solve(M_c, tangent - P * h + M * (A_pinv * b))
        normal = (mp.eye(n) - P) * (h + M * acceleration) + A.T * multipliers
    effort = scale * (tangent + normal)
    for i in controller.passive:
        effort[int(i)] = 0
    found = np.array([float(x) for x in effort])
    return found, max(float(size), np.abs(found).max())


def moved_by_rounding(mechanism, expected):
    """By how much the efforts of many digits change with the last bits of A and J_θ [N·m or N]."""
    jacobian = mechanism.controller.model.terms.jacobian
    kept = jacobian.copy()
    jacobian *= 1.0 + np.finfo(float).eps * mechanism.random.choice([-1, 0, 1], jacobian.shape)
    moved, _ = law_in_many_digits(mechanism)
    jacobian[:] = kept
    return np.abs(moved - expected).max()


@pytest.mark.parametrize(
    "seeds",
    [
        range(SAMPLE),
        pytest.param(range(SAMPLE, ALL), marks=[pytest.mark.long, pytest.mark.timeout(3600)]),
    ],
)
def test_random_mechanisms_have_the_efforts_of_many_digits(seeds):
    counted, worst, sensitive = {}, 0.0, 0
    with mpmath.workdps(DIGITS):
        for seed in seeds:
            mechanism = Mechanism(seed)
            controller = mechanism.controller
            effort = controller.update(mechanism.q, mechanism.v).total
            expected, size = law_in_many_digits(mechanism)
            if expected is None:
                assert not controller.controllable
                expected = np.zeros(controller.model.n)
                mechanism.kinds.add("out of reach")
            away = np.abs(effort - expected).max() / max(1.0, size)
            worst = max(worst, away)
            if away > 1e-10:  # no more than rounding of what is given does, in many digits
                sensitive += 1
                by_rounding = max(moved_by_rounding(mechanism, expected) for _ in range(8))
                assert away <= ROUNDINGS * by_rounding / max(1.0, size), (seed, away)
            for kind in mechanism.kinds:
                counted[kind] = counted.get(kind, 0) + 1
    print(f"\nlargest difference {worst:.2e} of the effort, {sensitive} above 1e-10; {counted}")
    assert sensitive <= len(seeds) / 1000
    assert min(counted.values()) >= len(seeds) / 100
    assert len(counted) == 9


class Pose:
    """A controller at a state, for `law_in_many_digits`."""

    def __init__(self, controller, q, v):
        self.controller, self.q, self.v = controller, q, v
        self.random = np.random.default_rng(SEED)


def nearly_twice(tilt):
    """Six joints whose end is on one plane twice, the second turned by so much."""
    arm = Arm.from_urdf(random_urdf(4, 6))
    q, v = np.random.default_rng(SEED).uniform(-1.0, 1.0, (2, 6))
    place, normal = arm.update(q, v).frame("end_6").position, np.array([0.0, 0.6, 0.8])
    planes = [PointOnPlane("end_6", place, normal + turned) for turned in ([0, 0, 0], [tilt, 0, 0])]
    joints = Coordinates.of_joints(["joint_2", "joint_4"])
    model = ConstrainedArm(arm, Stack(planes), joints)
    controller = ForceController(model, MotionGains(100.0, 20.0), ForceGains())
    controller.force.set_reference(np.array([2.0, -1.0]))
    controller.motion[0] = q[[1, 3]] + 0.1
    return Pose(controller, q, v)


def nearly_stretched(bend):
    """The 3R arm on its slider, bent so little that tip and heading move as one."""
    model = slider_model()
    q, v = np.array([-0.4, bend, 0.9]), np.array([0.3, -0.2, 0.5])
    controller = ForceController(model, MotionGains(100.0, 20.0), ForceGains())
    controller.force.set_reference(np.array([2.0]))
    controller.motion[0] = model.evaluate(q, v).theta + 0.01
    return Pose(controller, q, v)


@pytest.mark.parametrize(
    ("posed", "sizes"),
    [
        (nearly_twice, np.geomspace(0.05 * TOLERANCE, 200.0 * TOLERANCE, 16)),
        (nearly_stretched, np.geomspace(1e-8, 1.0, 16)),
    ],
)
def test_efforts_do_not_tell_where_the_switch_is(posed, sizes):
    """Rows, then coordinates on a constraint, that come to depend: efforts as of 32 digits."""
    with mpmath.workdps(DIGITS):
        ranks, shares = set(), set()
        for size in sizes:
            pose = posed(size)
            effort = pose.controller.update(pose.q, pose.v).total
            expected, scale = law_in_many_digits(pose)
            model = pose.controller.model
            ranks.add(model.rank)
            least = np.linalg.svd(model.J_theta @ model.P, compute_uv=False)[-1]
            shares.add(least > SINGULAR_RANGE)
            away = np.abs(effort - expected).max()
            if away > 1e-10 * scale:
                by_rounding = max(moved_by_rounding(pose, expected) for _ in range(8))
                assert away <= ROUNDINGS * by_rounding, size
    assert len(ranks) + len(shares) == 3  # one of the two goes over its edge

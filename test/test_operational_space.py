"""Operational space control: Moura's equivalence, priorities, singular poses, passive joints."""

import numpy as np
import pinocchio
import pytest
from arms import planar_chain_model, random_urdf, spatial_model, state_on
from hypothesis import given
from hypothesis import strategies as st
from per_test import PerTest

from projected_control.control import (
    ForceGains,
    MotionController,
    MotionGains,
    OperationalSpaceController,
    PassiveJointController,
    Posture,
)
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointOnPlane, Stack
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.model.dynamics import Problem, projected
from projected_control.model.projection import Metric

HOME = np.full(7, 0.4)
GAINS = MotionGains([100.0, 80.0, 60.0, 50.0, 40.0], [20.0, 15.0, 14.0, 12.0, 10.0], 6.0)
WEIGHTS = np.linspace(0.5, 2.0, 7)


def model(redundant=False, repeats=False, metric=None):
    """Seven joints, the end on a plane; tasks of 2 + 2 + 1 coordinates.

    Args:
        redundant: The constraint says the same thing twice.
        repeats: So do the tasks: within a level, between two, and against the constraint.
        metric: See `Metric`.
    """
    arm = Arm.from_urdf(random_urdf(3, 7))
    place = arm.update(HOME, np.zeros(7)).frame("end_7").position
    plane = PointOnPlane("end_7", place, [0.0, 0.0, 1.0])
    constraint = Stack([plane, PointOnPlane("end_7", place, [0.0, 0.0, 1.0])])
    along = [1.0, 1.0, 0.5]
    members = [
        Coordinate.position("end_7", "x"),
        Coordinate.position("end_7", "z" if repeats else "y"),
        Coordinate.position("end_7", "x", "again") if repeats else Coordinate.joint("joint_2"),
        Coordinate.position("end_5", along, "elbow"),
        Coordinate.joint("joint_5"),
    ]
    return ConstrainedArm(
        arm, constraint if redundant else plane, Coordinates(members), metric=metric
    )


LEVELS = (1, 1, 2, 2, 3)


def controller(posture=True, **kind):
    made = OperationalSpaceController(model(**kind), GAINS, LEVELS)
    if posture:
        made.set_posture(Posture(HOME + 0.3, 50.0, 3.0))
    return made


CASES = PerTest(
    {
        "full rank": lambda: controller(),
        "redundant constraint": lambda: controller(redundant=True),
        "tasks that repeat": lambda: controller(repeats=True),
        "both": lambda: controller(redundant=True, repeats=True),
        "with a metric": lambda: controller(metric=Metric.from_limits(WEIGHTS)),
        "no posture": lambda: controller(posture=False, redundant=True),
    }
)


def put_on(at, made, seed):
    """A random state on the constraint and a random reference near it."""
    q, v = state_on(at, seed, HOME, 0.3)
    random = np.random.default_rng(seed)
    made.motion[:] = random.normal(size=made.motion.shape)
    made.motion[0] = at.theta + 0.1 * made.motion[0]
    return q, v


def khatib(made, q, v):
    """f∥ by the formulas of operational space control, with M⁻¹ and Λ; joint units.

    Φ₀ = M⁻¹ − M⁻¹Aᵀ(A M⁻¹Aᵀ)⁺A M⁻¹; J̄_i = Φ Jᵀ(J Φ Jᵀ)⁺ and Φ ← (I − J̄J) Φ level by level; what
    is left gets the torque M w. All without metric, and nothing of the projected form but the last
    step: the shortest effort of all that do the same, for which P is taken from SciPy's null space.
    """
    from scipy.linalg import null_space

    at, k = made.model, made.model.k
    scale = at.sqrt_metric
    arm = at.arm.twin().update(q, v)
    M, h = np.array(arm.M), np.array(arm.h)
    A, J = at.A * scale, at.J_theta * scale
    G_P, G_D, d = made.gains.array(k)
    error, rate = made.motion[0] - at.theta, made.motion[1] - J @ v
    a = made.motion[2] + G_D * rate + G_P * error - at.theta_bias
    inverse = np.linalg.inv(M)
    A_bar = inverse @ A.T @ np.linalg.pinv(A @ inverse @ A.T, rcond=1e-9)
    phi, u = inverse - A_bar @ A @ inverse, A_bar @ at.b
    for level in sorted(set(LEVELS)):
        J_i = J[np.array(LEVELS) == level]
        mobility = J_i @ phi @ J_i.T
        J_bar = phi @ J_i.T @ np.linalg.pinv(mobility, rcond=1e-9, hermitian=True)
        u = u + J_bar @ (a[np.array(LEVELS) == level] - J_i @ u)
        phi = phi - J_bar @ J_i @ phi
    w = -d[0] * v
    if made.posture is not None:
        w = w + made.posture.stiffness * (made.posture.target - q) - made.posture.damping * v
    # in the metric's coordinates the posture is weighted too: w is a plain q̈ in either
    u = u + phi @ M @ w
    free = null_space(A / scale)
    P = free @ free.T
    return scale * (P @ ((h + M @ u) / scale))


@pytest.mark.parametrize("name", CASES)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_projected_form_is_khatibs(name, seed):
    """Moura's claim: torques equal to 1e-10, also where rows repeat each other."""
    made = CASES[name]
    q, v = put_on(made.model, made, seed)
    effort = made.update(q, v).total
    found = khatib(made, q, v)
    np.testing.assert_allclose(effort, found, rtol=0.0, atol=1e-10 * max(1.0, abs(found).max()))


@given(seed=st.integers(0, 2**32 - 1))
def test_what_the_coordinates_determine_is_that_of_projected_inverse_dynamics(seed):
    """Where nothing is left free, both laws send the same to 1e-10, whatever the levels."""
    made = ONE_LEVEL["levels"]
    q, v = put_on(made.model, made, seed)
    effort = made.update(q, v).total.copy()
    pidc = MotionController(made.model, made.gains)
    pidc.motion[:] = made.motion
    if pidc.update(q, v) and pidc.margins[0] > 0.05:
        expected = pidc.effort.total
        atol = 1e-10 * max(1.0, abs(expected).max())
        np.testing.assert_allclose(effort, expected, rtol=0.0, atol=atol)


ONE_LEVEL = PerTest(
    {
        "levels": lambda: OperationalSpaceController(
            spatial_model(), MotionGains(100.0, 20.0), (2, 1, 1, 3)
        )
    }
)


@given(seed=st.integers(0, 2**32 - 1))
def test_pinocchio_moves_as_asked(seed):
    """Pinocchio's constrained dynamics under our effort has θ̈ of the first level to 1e-8."""
    made = CASES["full rank"]
    at = made.model
    q, v = put_on(at, made, seed)
    effort = made.update(q, v).total
    arm = at.arm
    data = arm.pinocchio_model.createData()
    pinocchio.computeAllTerms(arm.pinocchio_model, data, q, v)
    A = at.A * at.sqrt_metric
    gamma = -at.b
    # M q̈ + h = f − Aᵀλ and A q̈ = b, as Pinocchio solves it: JᵀΛ with the opposite sign of λ
    acceleration = pinocchio.forwardDynamics(arm.pinocchio_model, data, q, v, effort, A, gamma, 0.0)
    J = at.J_theta * at.sqrt_metric
    G_P, G_D, _ = made.gains.array(at.k)
    asked = made.motion[2] + G_D * (made.motion[1] - J @ v) + G_P * (made.motion[0] - at.theta)
    np.testing.assert_allclose(
        (J @ acceleration + at.theta_bias)[:2], asked[:2], rtol=1e-8, atol=1e-8
    )


# Priorities


def singular_model():
    """Seven joints of a spatial chain: hold the elbow first, reach with the tip below it."""
    from projected_control.apps.bench.tick_cases import spatial_urdf

    arm = Arm.from_urdf(spatial_urdf())
    members = [
        Coordinate.position("link_4", "x"),
        Coordinate.position("link_4", "y"),
        *(Coordinate.position("tip", axis) for axis in "xyz"),
        *Coordinate.orientation("tip"),
    ]
    return ConstrainedArm(arm, None, Coordinates(members))


SINGULAR = PerTest(
    {
        "arm": lambda: OperationalSpaceController(
            singular_model(), MotionGains(100.0, 20.0), (1, 1, 2, 2, 2, 3, 3, 3)
        )
    }
)


@given(seed=st.integers(0, 2**32 - 1), bend=st.floats(-1e-2, 1e-2), exactly=st.booleans())
def test_a_lower_task_never_moves_a_higher_one(seed, bend, exactly):
    """1e-9 in acceleration, through the stretched pose, where the lower task is singular."""
    made = SINGULAR["arm"]
    at, random = made.model, np.random.default_rng(seed)
    q = np.array([0.3, 0.8, 0.2, 0.9, -0.4, 0.0, 0.1])
    q[5] = 0.0 if exactly else bend  # link 6 in line with link 5: no reach along them
    v = random.normal(size=7)
    at.evaluate(q, v)
    made.motion[0] = at.theta
    made.motion[0, :5] += random.normal(size=5) * 0.1
    asked, found = [], []
    for push in (0.0, 1.0):
        made.motion[2, 2:] = push * random.normal(size=6)
        effort = made.update(q, v).total
        q_acc = projected(Problem.of(at, effort)).acceleration
        found.append((at.J_theta @ q_acc + at.theta_bias)[:2])
        asked.append(made.motion[2, :2] + 20.0 * made.error[1, :2] + 100.0 * made.error[0, :2])
        assert np.isfinite(effort).all()
    np.testing.assert_allclose(found[0], found[1], rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(found[1], asked[1], rtol=0.0, atol=1e-9)


def test_efforts_stay_bounded_through_a_singular_pose():
    """The tip goes through the stretched arm: accelerations stay below what ε bounds them by."""
    made = SINGULAR["arm"]
    at, largest = made.model, 0.0
    made.motion[1:] = 0.0
    for bend in np.linspace(-0.02, 0.02, 401):
        q = np.array([0.3, 0.8, 0.2, 0.9, -0.4, bend, 0.1])
        at.evaluate(q, np.zeros(7))
        made.motion[0] = at.theta
        made.motion[0, 2:5] += 0.01  # 1 m/s² in every direction
        made.update(q, np.zeros(7))
        largest = max(largest, np.abs(made._terms.u_p).max())
    assert largest < 2.0 * np.sqrt(3.0) / 0.01


@given(seed=st.integers(0, 2**32 - 1))
def test_one_level_serves_its_task_and_the_rest_of_the_effort_is_dynamically_consistent(seed):
    """N M (u_p − w) = 0: the effort that the posture takes moves nothing of the tasks."""
    made = CASES["full rank"]
    q, v = put_on(made.model, made, seed)
    made.update(q, v)
    at, u_p = made.model, made._terms.u_p
    wanted = 50.0 * (made.posture.target - q) - 9.0 * v
    left = np.linalg.svd(np.vstack([at.A, at.J_theta]))[2][6:]  # rows: what is left free
    np.testing.assert_allclose(left @ at.M @ (u_p - wanted), 0.0, atol=1e-8)


# With a force loop, and with joints without a motor


@given(seed=st.integers(0, 2**32 - 1))
def test_the_force_is_the_one_asked_for(seed):
    """λ = λ_d under the law's effort to 1e-8, with the error of the measurement at zero."""
    made = FORCED["force"]
    q, v = put_on(made.model, made, seed)
    made.force.set_reference([7.0])
    made.force.measured[:] = 7.0
    answer = projected(Problem.of(made.model, made.update(q, v).total))
    assert answer.multipliers[0] == pytest.approx(7.0, abs=1e-8)


FORCED = PerTest(
    {"force": lambda: OperationalSpaceController(model(), GAINS, LEVELS, ForceGains(integral=0.0))}
)


@given(seed=st.integers(0, 2**32 - 1))
def test_with_a_passive_joint_it_is_what_the_passive_law_sends(seed):
    """Two free directions, two coordinates: (I + H) f∥ to 1e-10; nothing for the passive joint."""
    at = planar_chain_model(passive=("joint_4",))
    both = [
        OperationalSpaceController(at, MotionGains(100.0, 20.0), (1, 2)),
        PassiveJointController(at, MotionGains(100.0, 20.0)),
    ]
    q, v = state_on(at, seed, np.array([0.6, 0.6, -0.6, -1.0]), 0.2)
    at.evaluate(q, v)
    efforts = []
    for made in both:
        made.motion[0] = at.theta + 0.1
        efforts.append(made.update(q, v).total.copy())
    if both[1].margins.min() > 0.05:
        np.testing.assert_allclose(*efforts, rtol=0.0, atol=1e-9 * abs(efforts[1]).max())
    assert efforts[0][3] == 0.0


@pytest.mark.parametrize(
    ("priority", "words"),
    [
        ((1, 2), "5 numbers, one per coordinate"),
        ((1, 1, 3, 3, 1), "without a gap"),
        ((0, 1, 1, 1, 1), "without a gap"),
    ],
)
def test_bad_priorities_are_refused(priority, words):
    with pytest.raises(InvalidValue, match=words):
        OperationalSpaceController(model(), GAINS, priority)


def test_an_orientation_has_one_priority():
    with pytest.raises(InvalidValue, match="one orientation"):
        OperationalSpaceController(
            singular_model(), MotionGains(1.0, 1.0), (1, 1, 1, 1, 1, 2, 1, 1)
        )

"""Motion control: the error obeys its own equation, with the least torque."""

import numpy as np
import pytest
from arms import (
    random_state,
    random_urdf,
    slider_crank_case,
    slider_model,
    spatial_model,
    state_on,
)
from hypothesis import given
from hypothesis import strategies as st
from per_test import PerTest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from projected_control.control import (
    ForceController,
    ForceGains,
    Law,
    MotionController,
    MotionGains,
)
from projected_control.control.activation import obstacles
from projected_control.control.loop import ControlLoop
from projected_control.control.motion import SINGULAR_RANGE, STOP_DAMPING
from projected_control.control.references import Constant
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import Moving, PointOnLine, PointOnPlane, Target
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.model.dynamics import Problem, projected
from projected_control.model.projection import Metric

SEEDS = st.integers(0, 2**32 - 1)
MODELS = PerTest({"3R on its slider": slider_model, "7 joints, 3 rows": spatial_model})
NEAR = {3: np.array([-3.8, 2.4, 1.4]), 7: np.full(7, 0.4)}
LAWS = [Law.PIDC, Law.IDC, Law.HYBRID]


def gains_for(model):
    """Different for each coordinate."""
    stiffness = np.linspace(480.0, 200.0, model.k)
    return MotionGains(stiffness, np.linspace(45.0, 20.0, model.k))


def controller_for(model, law):
    if law is Law.HYBRID:
        return ForceController(model, gains_for(model), ForceGains())
    return MotionController(model, gains_for(model), law)


CONTROLLERS = PerTest(
    {
        (name, law): lambda name=name, law=law: controller_for(MODELS[name], law)
        for name in MODELS
        for law in LAWS
    }
)


def ask(controller, seed, near=None):
    """A random state on the constraint and a random reference; the law's answer."""
    model = controller.model
    q, v = state_on(model, seed, NEAR[model.n] if near is None else near, 0.3)
    random = np.random.default_rng(seed)
    controller.motion[:] = random.normal(size=(3, model.k))
    controller.motion[0] += model.theta
    controller.update(q, v)
    return q, v


def motion_under(model, effort):
    """q̈ of the constrained arm, in joint units."""
    return projected(Problem.of(model, effort)).acceleration / model.sqrt_metric


def coordinate_acceleration(model, effort):
    return (model.J_theta * model.sqrt_metric) @ motion_under(model, effort) + model.theta_bias


def relative(a, b):
    return np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-3)


@pytest.mark.parametrize(("name", "law"), CONTROLLERS, ids=lambda x: getattr(x, "name", x))
@given(seed=SEEDS)
def test_error_obeys_its_equation(name, law, seed):
    """θ̈ = θ̈_d + G_D ė + G_P e, that is ë + G_D ė + G_P e = 0, at any state and reference."""
    controller = CONTROLLERS[name, law]
    model = controller.model
    ask(controller, seed)
    e, e_rate = controller.error
    gains = controller.gains.array(model.k)
    wanted = controller.motion[2] + gains[1] * e_rate + gains[0] * e
    assert relative(coordinate_acceleration(model, controller.effort.total), wanted) < 1e-9


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("law", [Law.PIDC, Law.HYBRID])
def test_error_decays_as_its_equation_says(name, law):
    """The closed loop, integrated finely, against exp of the error equation: 1e-6."""
    controller = CONTROLLERS[name, law]
    model, n = controller.model, controller.model.n
    q, v = state_on(model, 5, NEAR[n], 0.05)
    v *= 0.1
    model.evaluate(q, v)
    gains = controller.gains.array(model.k)
    controller.reset()
    controller.motion[:] = 0.0
    start = model.theta.copy()
    if law is Law.HYBRID:
        controller.force.set_reference(np.full(model.m, 20.0))

    def reference(time):
        """One slow sine for all, around 0.02 from the start."""
        w = 3.0
        wave = np.array([np.sin(w * time), w * np.cos(w * time), -(w**2) * np.sin(w * time)])
        return np.array([start + 0.02, 0 * start, 0 * start]) + 0.05 * wave[:, None]

    def slope(time, y):
        controller.motion[:] = reference(time)
        controller.update(y[:n], y[n:])
        return np.concatenate([y[n:], motion_under(model, controller.effort.total)])

    seconds = 0.15
    done = solve_ivp(slope, (0.0, seconds), np.concatenate([q, v]), "DOP853", rtol=1e-9, atol=1e-10)
    model.evaluate(q, v)
    first = reference(0.0)
    e0 = np.array([first[0] - model.theta, first[1] - model.theta_rate])
    expected = [
        expm(np.array([[0.0, 1.0], [-gains[0, i], -gains[1, i]]]) * seconds) @ e0[:, i]
        for i in range(model.k)
    ]
    model.evaluate(done.y[:n, -1], done.y[n:, -1])
    last = reference(seconds)
    e = np.array([last[0] - model.theta, last[1] - model.theta_rate])
    np.testing.assert_allclose(e, np.array(expected).T, atol=1e-6)
    assert np.abs(e[0]).max() < 0.5 * np.abs(e0[0]).max()


@pytest.mark.parametrize("name", MODELS)
@given(seed=SEEDS)
def test_no_other_torque_for_the_motion_is_smaller(name, seed):
    """PIDC against the least-norm solve, against IDC and against random normal components."""
    pidc, idc = CONTROLLERS[name, Law.PIDC], CONTROLLERS[name, Law.IDC]
    model = pidc.model
    ask(idc, seed)
    stiff = idc.effort.total.copy()
    ask(pidc, seed)
    least = pidc.effort.total.copy()
    motion = motion_under(model, least)
    assert relative(motion_under(model, stiff), motion) < 1e-8
    solved = np.linalg.lstsq(model.P, model.P @ stiff, rcond=1e-9)[0]
    assert relative(least, solved) < 1e-10
    random = np.random.default_rng(seed)
    for size in 10.0 ** random.uniform(-6, 3, 20):
        other = least + size * model.A.T @ random.normal(size=model.m)
        assert np.linalg.norm(least) <= np.linalg.norm(other) * (1.0 + 1e-12)
        assert relative(motion_under(model, other), motion) < 1e-8 * max(size, 1.0)
    assert np.linalg.norm(least) <= np.linalg.norm(stiff) * (1.0 + 1e-12)
    np.testing.assert_array_equal(pidc.effort.normal, 0.0)


def weighted_controller(build, n):
    metric = Metric(np.linspace(0.5, 4.0, n))
    return MotionController(build(metric=metric), MotionGains(100.0, 20.0))


METRIC = PerTest(
    {
        "3R on its slider": lambda: weighted_controller(slider_model, 3),
        "7 joints, 3 rows": lambda: weighted_controller(spatial_model, 7),
    }
)


@pytest.mark.parametrize("name", METRIC)
@given(seed=SEEDS)
def test_with_a_metric_the_weighted_torque_is_the_least(name, seed):
    """Least fᵀW⁻¹f over all f + Aᵀy; the motion is that of the error equation all the same."""
    controller = METRIC[name]
    model = controller.model
    ask(controller, seed)
    effort = controller.effort.total.copy()
    wanted = controller.motion[2] + 20.0 * controller.error[1] + 100.0 * controller.error[0]
    assert relative(coordinate_acceleration(model, effort), wanted) < 1e-9
    weighted, columns = effort / model.sqrt_metric, model.A.T
    other = weighted + columns @ np.random.default_rng(seed).normal(size=model.m)
    y = np.linalg.lstsq(columns, -other, rcond=None)[0]
    assert relative(weighted, other + columns @ y) < 1e-10
    assert np.linalg.norm(weighted) <= np.linalg.norm(other) * (1.0 + 1e-12)


@pytest.mark.parametrize("limit", [330.0, 12_000.0])
def test_equal_limits_of_all_joints_are_no_metric(limit):
    """Neither the effort nor what keeps a controller from starting, however large they are."""
    efforts, against = [], []
    for metric in (None, Metric.from_limits(np.full(7, limit))):
        controller = MotionController(spatial_model(metric=metric), MotionGains(100.0, 20.0))
        ask(controller, 1)
        efforts.append(controller.effort.total.copy())
        q, _ = state_on(controller.model, 1, near=np.full(7, 0.4), spread=0.1)
        against.append(obstacles(ControlLoop(controller, Constant(np.zeros(4))), q, 1e-6))
        assert controller.model.rank == 3
    np.testing.assert_array_equal(efforts[1], efforts[0])
    assert against[1] == against[0]


@pytest.mark.parametrize("law", [Law.PIDC, Law.HYBRID])
@pytest.mark.parametrize("away", [1e-7, 2e-6, 1e-5, 1e-3, 1e-1])
def test_a_coordinate_that_the_constraint_all_but_forbids_asks_for_no_more_than_it_may(law, away):
    """0.1 mm along a direction some µrad off the normal of a plane: 19,080 N·m it was."""
    arm = Arm.from_urdf(random_urdf(3, 7))
    place = arm.update(np.full(7, 0.4), np.zeros(7)).frame("end_7").position
    direction = np.array([np.sin(away), 0.0, np.cos(away)])
    along = Coordinate.position("end_7", direction)
    plane = PointOnPlane("end_7", place, [0.0, 0.0, 1.0])
    model = ConstrainedArm(arm, plane, Coordinates([along]))
    controller = controller_for(model, law)
    q = np.full(7, 0.4)
    controller.hold(q)
    if controller.force is not None:
        controller.force.measured[:] = 0.0
    at_rest = controller.update(q, np.zeros(7)).tangent.copy()
    controller.motion[0] += 1e-4
    asked = controller.update(q, np.zeros(7)).tangent - at_rest
    acceleration = 480.0 * 1e-4
    largest = np.linalg.norm(model.M, 2)
    assert np.linalg.norm(asked) < 1.16 * largest * acceleration / SINGULAR_RANGE
    if away == 1e-1:  # beyond the range nothing is damped
        got = coordinate_acceleration(model, controller.effort.total)
        assert relative(got, [acceleration]) < 1e-6


def test_a_free_arm_needs_no_projection(spatial_arm):
    joints = Coordinates.of_joints(spatial_arm.joint_names)
    model = ConstrainedArm(spatial_arm, None, joints)
    controller = MotionController(model, MotionGains(100.0, 20.0))
    controller.motion[:] = np.random.default_rng(1).normal(size=(3, 7))
    controller.update(*random_state(spatial_arm, 1))
    e, e_rate = controller.error
    wanted = controller.motion[2] + 20.0 * e_rate + 100.0 * e
    assert relative(motion_under(model, controller.effort.total), wanted) < 1e-9


def test_motions_that_no_coordinate_describes_are_damped():
    """Only the tip's place is followed; the rest of the free motion dies out at its own rate."""
    whole = slider_model()
    model = ConstrainedArm(
        whole.arm, whole.constraint, Coordinates([Coordinate.position("tip", "x")])
    )
    controller = MotionController(model, MotionGains(100.0, 20.0, null_damping=7.0))
    q, v = state_on(model, 1, NEAR[3])
    controller.motion[:, 0] = 0.1, 0.2, 0.3
    controller.update(q, v)
    wanted = controller.motion[2] + 20.0 * controller.error[1] + 100.0 * controller.error[0]
    np.testing.assert_allclose(
        coordinate_acceleration(model, controller.effort.total), wanted, rtol=1e-9
    )
    free = model.J_theta @ model.P
    null = model.P - np.linalg.pinv(free) @ free
    motion = motion_under(model, controller.effort.total)
    np.testing.assert_allclose(null @ motion, -7.0 * null @ v, atol=1e-9)
    assert np.linalg.norm(null @ v) > 0.1


@pytest.mark.parametrize("law", [Law.PIDC, Law.IDC])
def test_on_a_rail_that_travels(law):
    """b = ẍ − Ȧq̇ takes the rail's own acceleration along."""

    def travel(time):
        return Target(
            np.array([0.1 * np.sin(time)]),
            np.array([0.1 * np.cos(time)]),
            np.array([-0.1 * np.sin(time)]),
        )

    still = slider_model()
    model = ConstrainedArm(still.arm, Moving(still.constraint, travel), still.coordinates)
    controller = MotionController(model, MotionGains(100.0, 20.0), law)
    time, (q, v) = 0.7, state_on(model, 2, NEAR[3])
    q -= model.evaluate(q, v, time).A_pinv @ model.residual
    for _ in range(5):
        q -= model.evaluate(q, v, time).A_pinv @ model.residual
    v = model.P @ v + model.normal_rate
    controller.motion[:] = 0.1
    controller.update(q, v, time)
    wanted = controller.motion[2] + 20.0 * controller.error[1] + 100.0 * controller.error[0]
    np.testing.assert_allclose(
        coordinate_acceleration(model, controller.effort.total), wanted, rtol=1e-9
    )
    motion = motion_under(model, controller.effort.total)
    np.testing.assert_allclose(model.A @ motion, model.b, atol=1e-10)


@pytest.mark.parametrize("null_damping", [0.0, 30.0])
@pytest.mark.parametrize("law", LAWS)
def test_stop_brakes_whatever_the_reference_says(law, null_damping):
    model = slider_model()
    gains = MotionGains(480.0, 45.0, null_damping)
    controller = (
        ForceController(model, gains, ForceGains())
        if law is Law.HYBRID
        else MotionController(model, gains, law)
    )
    q, v = state_on(model, 3, NEAR[3])
    controller.motion[:] = 1e6
    controller.stop(q, v)
    motion = motion_under(model, controller.effort.total)
    rate = max(null_damping, STOP_DAMPING)
    np.testing.assert_allclose(model.P @ motion, -rate * (model.P @ v), atol=1e-9)


def test_an_angle_is_followed_the_short_way_round():
    controller = CONTROLLERS["3R on its slider", Law.PIDC]
    q, v = ask(controller, 1)
    before = controller.effort.total.copy()
    controller.motion[0, 1] += 4.0 * np.pi
    controller.update(q, v)
    np.testing.assert_allclose(controller.effort.total, before, rtol=1e-9)


def test_a_coordinate_that_cannot_move_is_noticed_and_harms_nothing():
    """The tip's height on a horizontal slider: the margin is zero, the effort stays finite."""
    model = slider_model()
    height = Coordinates([Coordinate.position("tip", "x"), Coordinate.position("tip", "y")])
    stuck = ConstrainedArm(model.arm, model.constraint, height)
    controller = MotionController(stuck, MotionGains(480.0, 45.0))
    q, v = state_on(stuck, 4, NEAR[3])
    controller.motion[0] = 0.1
    controller.update(q, v)
    assert controller.margins[0] < 1e-9
    assert np.abs(controller.effort.total).max() < 1e3
    wanted = 45.0 * controller.error[1, 0] + 480.0 * controller.error[0, 0]
    found = coordinate_acceleration(stuck, controller.effort.total)
    assert found[0] == pytest.approx(wanted, rel=1e-9)


def test_hold_takes_up_the_present_place():
    model = slider_model()
    controller = MotionController(model, MotionGains(480.0, 45.0))
    q, _ = state_on(model, 6, NEAR[3])
    controller.hold(q)
    controller.update(q, np.zeros(3))
    np.testing.assert_array_equal(controller.error, 0.0)
    np.testing.assert_allclose(controller.effort.total, 0.0, atol=1e-12)


def test_gravity_is_carried_at_rest():
    """PIDC at rest at its goal gives P h: no more than the free directions need."""
    arm, slider = slider_crank_case()
    model = ConstrainedArm(arm, slider, Coordinates.of_joints(["joint_1"]))
    controller = MotionController(model, MotionGains(25.0, 10.0))
    q = np.array([0.7, 2.0 * np.pi - 1.4])
    controller.hold(q)
    controller.update(q, np.zeros(2))
    weight = 9.81 * np.cos(0.7)
    np.testing.assert_allclose(controller.effort.total, weight * np.array([0.2, -0.4]), rtol=1e-12)


def test_controllers_that_cannot_be_are_refused():
    model = slider_model()
    gains = MotionGains(480.0, 45.0)
    with pytest.raises(InvalidValue, match="needs coordinates"):
        MotionController(ConstrainedArm(model.arm, model.constraint), gains)
    with pytest.raises(InvalidValue, match="PIDC or IDC, got HYBRID"):
        MotionController(model, gains, Law.HYBRID)
    with pytest.raises(InvalidValue, match="period must be positive"):
        MotionController(model, gains, period=0.0)
    passive = slider_model(passive=("joint_2",))
    for refused in (
        lambda: MotionController(passive, gains),
        lambda: ForceController(passive, gains, ForceGains()),
    ):
        with pytest.raises(InvalidValue, match=r"joint_2.*passive-joint controller"):
            refused()
    with pytest.raises(InvalidValue, match="position must have shape 3"):
        MotionController(model, gains).hold([0.0, 1.0])


def test_a_line_off_the_tip_is_no_matter_for_pidc():
    """What PIDC does depends on the slider's direction only, not on where it is thought to be."""
    efforts = []
    for place in (-0.27, -0.28):
        model = slider_model(place)
        controller = MotionController(model, MotionGains(480.0, 45.0))
        controller.motion[0] = 0.1, 0.2
        efforts.append(controller.update(NEAR[3], np.array([0.1, 0.2, 0.3])).total.copy())
    np.testing.assert_array_equal(*efforts)
    assert isinstance(slider_model().constraint, PointOnLine)

"""Joints without a motor: least effort from the others, and the truth where that is impossible."""

import numpy as np
import pytest
from arms import (
    planar_chain_model,
    random_urdf,
    slider_crank_case,
    slider_model,
    spatial_model,
    state_on,
)
from hypothesis import given
from hypothesis import strategies as st
from per_test import PerTest

from projected_control import SimulatedArm, run
from projected_control.control import (
    ForceController,
    ForceGains,
    MotionController,
    MotionGains,
    PassiveJointController,
)
from projected_control.control.events import Action, Event
from projected_control.control.independence import CONTROLLABILITY_TOLERANCE
from projected_control.control.laws.passive import achievable_force_directions
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant, Reference, ReferencePoint, Waypoints
from projected_control.errors import InvalidValue, Uncontrollable
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.coordinates import Coordinates
from projected_control.model.dynamics import Problem, projected
from projected_control.model.projection import TOLERANCE, Metric
from projected_control.planning import assemble
from projected_control.simulation import Plant

SEEDS = st.integers(0, 2**32 - 1)
NEAR = {2: np.array([1.0, 4.3]), 3: np.array([-3.8, 2.4, 1.4]), 7: np.full(7, 0.4)}
GAINS = MotionGains(480.0, 45.0)
T = 1e-3


def crank_model(gravity=9.81, passive=("joint_2",), tolerance=TOLERANCE):
    arm, slider = slider_crank_case(gravity)
    arm = Arm.from_urdf(arm.urdf, passive=passive, gravity=gravity)
    joint = Coordinates.of_joints(["joint_1"])
    return ConstrainedArm(arm, slider, joint, tolerance=tolerance)


PASSIVE = PerTest(
    {
        "3R, joint 2": lambda: slider_model(passive=("joint_2",)),
        "3R, joint 3": lambda: slider_model(passive=("joint_3",)),
        "7 joints, 2 passive": lambda: spatial_model(passive=("joint_2", "joint_5")),
        "7 joints, 3 passive": lambda: spatial_model(passive=("joint_1", "joint_4", "joint_6")),
        "7 joints, weighted": lambda: spatial_model(
            metric=Metric(np.linspace(0.5, 4.0, 7)), passive=("joint_2", "joint_5")
        ),
        "planar chain": lambda: planar_chain_model(passive=("joint_3",)),
    }
)
CONTROLLERS = PerTest(
    {
        name: lambda name=name: PassiveJointController(PASSIVE[name], GAINS)
        for name in PASSIVE
        if name != "planar chain"
    }
)


def ask(controller, seed):
    model = controller.model
    q, v = state_on(model, seed, NEAR[model.n], 0.3)
    controller.motion[:] = np.random.default_rng(seed).normal(size=(3, model.k))
    controller.motion[0] += model.theta
    controller.update(q, v)
    return q, v


@pytest.mark.parametrize("name", CONTROLLERS)
@given(seed=SEEDS)
def test_it_is_the_solution_of_least_norm(name, seed):
    """min ‖f‖ with P f = f∥ and f = 0 at passive joints, solved as such: 1e-10."""
    controller = CONTROLLERS[name]
    model = controller.model
    ask(controller, seed)
    passive = model.arm.actuated == 0.0
    tangent = controller.effort.tangent / model.sqrt_metric
    equations = np.vstack([model.P, np.eye(model.n)[passive]])
    right = np.concatenate([tangent, np.zeros(passive.sum())])
    least = np.linalg.lstsq(equations, right, rcond=1e-9)[0]
    effort = controller.effort.total / model.sqrt_metric
    if not controller.controllable:
        np.testing.assert_array_equal(controller.effort.total, 0.0)
        return
    accuracy = 1e-10 * max(1.0, 1e-2 / controller.margins[1])
    assert np.linalg.norm(effort - least) <= accuracy * np.linalg.norm(least)
    np.testing.assert_array_equal(controller.effort.total[passive], 0.0)


@pytest.mark.parametrize("name", ["3R, joint 2", "7 joints, 3 passive", "7 joints, weighted"])
@given(seed=SEEDS)
def test_error_obeys_its_equation_without_those_motors(name, seed):
    controller = CONTROLLERS[name]
    model = controller.model
    ask(controller, seed)
    if controller.margins[1] < 0.01:
        return
    motion = projected(Problem.of(model, controller.effort.total)).acceleration
    wanted = controller.motion[2] + 45.0 * controller.error[1] + 480.0 * controller.error[0]
    found = model.J_theta @ motion + model.theta_bias
    assert np.linalg.norm(found - wanted) < 1e-8 * max(np.linalg.norm(wanted), 1e-3)


CRANKS = PerTest({g: lambda g=g: (crank_model(g), crank_model(g, ())) for g in (0.0, 9.81)})


def crank_pair(gravity):
    one, two = CRANKS[gravity]
    return PassiveJointController(one, GAINS), MotionController(two, GAINS)


@pytest.mark.parametrize("gravity", [0.0, 9.81])
@given(q1=st.floats(-3.0, 3.0), rate=st.floats(-5.0, 5.0), wanted=st.floats(-5.0, 5.0))
def test_one_motor_needs_root_five_times_the_torque_of_two(gravity, q1, rate, wanted):
    """Aghili VIII, with (71) and (75) as corrected; whatever state, reference and gravity."""
    if abs(np.cos(q1)) < 1e-2:
        return
    q = np.array([q1, 2.0 * np.pi - 2.0 * q1])
    v = np.array([rate, -2.0 * rate])
    found = []
    for controller in crank_pair(gravity):
        controller.motion[:, 0] = wanted, 0.3, -0.2
        controller.update(q, v)
        found.append(controller.effort.total.copy())
    one, two = found
    u = -0.2 + 45.0 * (0.3 - rate) + 480.0 * (wanted - q1)
    c2, s2 = np.cos(q[1]), np.sin(q[1])
    f = (3.0 - 2.0 * c2) * u + gravity * np.cos(q1) - 2.0 * s2 * rate**2
    size = 1e-10 * (1.0 + abs(u))
    np.testing.assert_allclose(two, [f / 5.0, -2.0 * f / 5.0], atol=size)  # (71)
    np.testing.assert_allclose(one, [f, 0.0], atol=size)  # (75)
    if abs(f) > 1e-2 * (1.0 + abs(u)):
        ratio = np.linalg.norm(one) / np.linalg.norm(two)
        assert ratio == pytest.approx(np.sqrt(5.0), rel=1e-9)


def test_force_law_of_the_crank():
    """(72) as corrected: f⊥ = [1, 1/2] (2/5 (1 + c₂) u + 14/5 g c₁ + 2/5 s₂ q̇₁² + 2 c₁ u_λ)."""
    controller = ForceController(CRANKS[9.81][1], GAINS, ForceGains())
    q1, rate = 0.7, 1.3
    q = np.array([q1, 2.0 * np.pi - 2.0 * q1])
    controller.motion[:, 0] = 0.9, 0.3, -0.2
    controller.force.set_reference([4.0])
    controller.update(q, np.array([rate, -2.0 * rate]))
    u = -0.2 + 45.0 * (0.3 - rate) + 480.0 * (0.9 - q1)
    first = 0.4 * (1.0 + np.cos(q[1])) * u + 2.8 * 9.81 * np.cos(q1)
    first += 0.4 * np.sin(q[1]) * rate**2 + 2.0 * np.cos(q1) * 4.0
    np.testing.assert_allclose(controller.effort.normal, [first, 0.5 * first], rtol=1e-10)


HOSTILE = st.one_of(
    st.floats(-1e3, 1e3), st.sampled_from([np.nan, np.inf, -np.inf, 1e300, 0.0, -1e-300])
)


@pytest.mark.parametrize("with_force", [False, True])
@given(st.lists(HOSTILE, min_size=11, max_size=11))
def test_a_passive_joint_never_gets_torque(with_force, numbers):
    controller = PassiveJointController(
        PASSIVE["3R, joint 2"], GAINS, ForceGains() if with_force else None
    )
    values = np.array(numbers)
    controller.motion.flat = values[:6]
    for law in (controller.update, controller.stop):
        law(values[6:9], values[[9, 10, 9]])
        assert controller.effort.total[1] == 0.0


# --- Controllability.


def test_out_of_the_motors_reach_is_refused_in_words():
    controller = PassiveJointController(crank_model(), GAINS)
    controller.require_controllable([1.0, 2.0 * np.pi - 2.0])
    with pytest.raises(Uncontrollable) as refusal:
        controller.require_controllable([np.pi / 2.0, np.pi])
    for part in ("joint_2", "2 free directions", "margin is", "actuate more joints"):
        assert part in str(refusal.value)
    with pytest.raises(InvalidValue, match="position must have shape 2"):
        controller.require_controllable([1.0])


def test_a_free_arm_with_a_passive_joint_is_uncontrollable():
    arm = Arm.from_urdf(random_urdf(3, 7), passive=["joint_3"])
    model = ConstrainedArm(arm, None, Coordinates.of_joints(arm.joint_names))
    controller = PassiveJointController(model, GAINS)
    with pytest.raises(Uncontrollable, match="all its 7 free directions"):
        controller.require_controllable(np.zeros(7))


def test_more_passive_joints_than_constraints_are_uncontrollable():
    controller = PassiveJointController(slider_model(passive=("joint_2", "joint_3")), GAINS)
    with pytest.raises(Uncontrollable):
        controller.require_controllable(NEAR[3])


def test_without_a_passive_joint_it_is_the_wrong_controller():
    with pytest.raises(InvalidValue, match="no joint is passive"):
        PassiveJointController(slider_model(), GAINS)


def test_margin_is_the_sine_of_an_angle():
    """Of the crank's joint 2: 1/√5 while the constraint holds, zero where it vanishes."""
    controller = PassiveJointController(crank_model(), GAINS)
    for q1 in (0.3, 1.0, 1.5):
        controller.update(np.array([q1, 2.0 * np.pi - 2.0 * q1]), np.zeros(2))
        assert controller.margins[1] == pytest.approx(1.0 / np.sqrt(5.0), rel=1e-12)
    controller.update(np.array([np.pi / 2.0, np.pi]), np.zeros(2))
    assert controller.margins[1] < CONTROLLABILITY_TOLERANCE
    np.testing.assert_array_equal(controller.effort.total, 0.0)


def turn_over(first, last, seconds, gravity):
    """The crank follows a quintic over q₁ = π/2 with one motor; what was lost, errors, efforts."""
    model = crank_model(gravity, tolerance=1e-3)
    controller = PassiveJointController(model, MotionGains(100.0, 20.0))
    turn = Waypoints([0.0, seconds], [[first], [last]])
    limits = Limits.of(model.arm, effort=100.0, effort_rate=1e5)
    loop = ControlLoop(controller, turn, limits=limits)
    start = np.array([first, 2.0 * np.pi - 2.0 * first])
    hardware = SimulatedArm(Plant(crank_model(gravity), T), start)
    lost, errors, efforts = [], [], []

    def observe(k, tick):
        if tick.report.events & Event.CONTROL_LOST:
            assert tick.report.action is Action.ZERO
            np.testing.assert_array_equal(tick.report.effort, 0.0)
            assert abs(tick.state.q[0] - np.pi / 2.0) < 1e-3
            lost.append(k)
        errors.append(abs(turn.at(tick.state.stamp).value[0] - tick.state.q[0]))
        efforts.append(np.abs(tick.report.effort).max())

    statistics = run(loop, hardware, round(1.5 * seconds / T), observe)
    assert statistics.events.get(Event.CONTROL_LOST, 0) == len(lost)
    assert controller.controllable
    return lost, errors, efforts


@pytest.mark.parametrize("gravity", [0.0, 9.81])
def test_through_the_singularity_control_is_lost_said_and_found_again(gravity):
    """Slowly, so that some ticks fall where A counts as zero, 4.5e-4 rad on either side."""
    lost, errors, efforts = turn_over(np.pi / 2 - 0.15, np.pi / 2 + 0.15, 2.0, gravity)
    assert 1 <= len(lost) <= 6
    assert lost[-1] - lost[0] == len(lost) - 1  # once, not again and again
    assert max(efforts) < 5.0
    assert max(errors) < 1e-4
    assert errors[-1] < 1e-7


def test_past_the_singularity_between_two_ticks():
    """Over both upright configurations in two seconds."""
    _, errors, efforts = turn_over(np.pi / 3.0, 5.0 * np.pi / 3.0, 2.0, 9.81)
    assert max(efforts) < 60.0
    assert max(errors) < 0.02
    assert errors[-1] < 1e-4


# --- A force reference with passive joints.


BENT = np.array([1.2, -0.9, -0.8, -0.9])


def test_how_much_of_the_force_can_be_chosen():
    for model, near, expected in [
        (PASSIVE["planar chain"], BENT, 1),
        (PASSIVE["3R, joint 2"], NEAR[3], 0),
        (PASSIVE["7 joints, 2 passive"], NEAR[7], 1),
        (PASSIVE["7 joints, 3 passive"], NEAR[7], 0),
        (slider_model(), NEAR[3], 1),
    ]:
        model.evaluate(assemble(model.arm, model.constraint, near), np.zeros(model.n))
        assert achievable_force_directions(model) == expected


def achievable(model):
    """S with S λ the part of λ that can be chosen: (I − P) − Q⁺Q, in multipliers."""
    normal = np.eye(model.n) - model.P
    Q = normal[model.arm.actuated == 0.0]
    return model.A_pinv.T @ (normal - np.linalg.pinv(Q) @ Q) @ model.A.T


@given(seed=SEEDS)
def test_the_part_that_can_be_had_is_had(seed):
    """S λ = S u_λ exactly; the motion is that of the law without a force; no torque at joint 3."""
    chain = PASSIVE["planar chain"]
    controller = PassiveJointController(chain, GAINS, ForceGains())
    plain = PassiveJointController(chain, GAINS)
    q, v = state_on(chain, seed, BENT, 0.2)
    random = np.random.default_rng(seed)
    motion = random.normal(size=(3, 2))
    motion[0] += chain.theta
    plain.motion[:] = controller.motion[:] = motion
    plain.update(q, v)
    if plain.margins[1] < 0.05:
        return
    expected = projected(Problem.of(chain, plain.effort.total))
    controller.force.set_reference(random.normal(0.0, 20.0, 2))
    controller.force.measured[:] = random.normal(0.0, 20.0, 2)
    effort = controller.update(q, v).total.copy()
    assert effort[2] == 0.0
    found = projected(Problem.of(chain, effort))
    size = np.linalg.norm(expected.acceleration)
    assert np.linalg.norm(found.acceleration - expected.acceleration) < 1e-9 * size
    force = controller.force
    command = force.desired + 3.0 * force.error + force.integral
    S = achievable(chain)
    scale = 1.0 + np.linalg.norm(found.multipliers) + np.linalg.norm(S @ command)
    assert np.linalg.norm(S @ (found.multipliers - command)) < 1e-9 * scale
    assert np.linalg.norm(S) > 0.5


class Choice(Reference):
    """λ_d, of which only a part can be had."""

    size = 2

    def at(self, time):
        return ReferencePoint(np.array([30.0, -10.0]), np.zeros(2), np.zeros(2))


def test_the_integral_keeps_only_what_can_be_had():
    """Two seconds with an error that cannot be removed: the rest settles, nothing winds up."""
    model = planar_chain_model(passive=("joint_3",))
    q = assemble(model.arm, model.constraint, BENT)
    controller = PassiveJointController(model, GAINS, ForceGains(3.0, 20.0, 50.0))
    controller.hold(q)
    hardware = SimulatedArm(Plant(planar_chain_model(), T), q)
    loop = ControlLoop(
        controller,
        Constant(controller.motion[0].copy()),
        limits=Limits.of(model.arm, effort=1e3, effort_rate=1e9),
        force_reference=Choice(),
    )
    statistics = run(loop, hardware, 2000)
    assert statistics.events == {}
    S = achievable(model)
    wanted, found = np.array([30.0, -10.0]), hardware.truth.multipliers
    np.testing.assert_allclose(S @ found, S @ wanted, atol=1e-3)
    assert np.linalg.norm(found - wanted) > 1.0
    assert np.abs(controller.force.integral).max() < 1.0
    np.testing.assert_allclose(hardware.truth.q, q, atol=1e-9)

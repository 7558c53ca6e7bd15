"""Friction that is known, and what is still wrong: what is left of the error, and no hunting."""

import numpy as np
import pytest
from arms import planar_chain_model, slider_model, spatial_model, state_on
from hypothesis import given, settings
from hypothesis import strategies as st

from projected_control import Runner, SimulatedArm
from projected_control.apps.experiments import table2_cases as paper
from projected_control.apps.experiments.paper_controllers import wide_limits
from projected_control.control import (
    ForceController,
    ForceGains,
    Law,
    MotionController,
    MotionGains,
    PassiveJointController,
)
from projected_control.control.compensation import FrictionCompensation
from projected_control.control.disturbance import Disturbance
from projected_control.control.force_source import ForceSource
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant, Sine, Sines
from projected_control.control.stability import INERTIA_RATIO, MotionLoop
from projected_control.errors import InvalidValue, UnstableMotionLoop
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.projection import Metric
from projected_control.planning import start_of
from projected_control.simulation import JointFriction, Motors, Plant

T = 1e-3
COULOMB, VISCOUS = 0.3, 0.05
OBSERVER = Disturbance("observer", bandwidth=30.0)


def known(share, **more):
    """The friction of the 3R arm, as it is known."""
    return FrictionCompensation(COULOMB * share, VISCOUS * share, **more)


def tracked(
    law=Law.PIDC,
    compensation=None,
    disturbance=None,
    *,
    seconds=4.0,
    reference=paper.REFERENCE,
    static=None,
    motors=None,
    metric=None,
):
    """The 3R arm of the paper with friction that sticks: errors, joint velocities, efforts."""
    constraint = paper.slider(paper.HEIGHT)
    model = ConstrainedArm(paper.ARM.load(), constraint, paper.COORDINATES, metric=metric)
    start = start_of(model, reference, paper.GUESS)
    if law is Law.HYBRID:
        controller = ForceController(model, paper.GAINS, paper.FORCE_GAINS)
    else:
        controller = MotionController(model, paper.GAINS, law)
    if compensation is not None:
        controller.set_compensation(compensation, 0.0)
    if disturbance is not None:
        controller.set_disturbance(disturbance, 0.0)
    loop = ControlLoop(controller, reference, limits=wide_limits(model.arm))
    friction = JointFriction(COULOMB, VISCOUS, static=static, stribeck=0.02, sticks=True)
    plant = Plant(
        ConstrainedArm(model.arm.twin(), constraint, tolerance=1e-6), T, friction=friction
    )
    arm = SimulatedArm(plant, start.q, start.v, motors=motors)
    runner = Runner(loop, arm)
    runner.open()
    rows = []
    for _ in range(round(seconds / T)):
        tick = runner.step()
        rows.append((controller.error[0].copy(), arm.truth.v, tick.report.effort.copy()))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def rms(errors):
    return 1e3 * np.sqrt(np.mean(errors**2, axis=0))


def largest(errors):
    return 1e3 * np.abs(errors).max(axis=0)


def test_without_compensation_the_paper_arm_is_off_by_eighteen_milliradians():
    errors, _, _ = tracked()
    assert rms(errors)[0] == pytest.approx(1.05, abs=0.05)
    assert rms(errors)[1] == pytest.approx(18.2, abs=0.3)


@pytest.mark.parametrize("share", [0.8, 1.2])
@pytest.mark.parametrize("law", [Law.PIDC, Law.HYBRID, Law.IDC])
def test_friction_known_to_twenty_percent_leaves_less_than_one_millimetre(law, share):
    """RMS and largest of both coordinates, in mm and mrad, with the observer of 30 Hz."""
    errors, _, _ = tracked(law, known(share), OBSERVER)
    assert rms(errors).max() < 0.3
    assert largest(errors).max() < 1.0


def test_friction_that_is_known_well_needs_nothing_else():
    errors, _, _ = tracked(compensation=known(1.0))
    assert largest(errors).max() < 0.5
    errors, _, _ = tracked(compensation=known(0.8))
    assert largest(errors)[1] == pytest.approx(0.2 * 28.0, rel=0.05)  # a fifth is left


@pytest.mark.parametrize("kind", ["integral", "observer"])
def test_at_rest_nothing_hunts(kind):
    """A static friction of 4/3 of Coulomb's, 5 s about a place: the last three without motion."""
    rest = Disturbance(kind, gain=5000.0, integral_limit=200.0, bandwidth=30.0, band=2e-3)
    start = start_of(slider_model(), paper.REFERENCE, paper.GUESS)
    place = slider_model().evaluate(start.q, np.zeros(3)).theta.copy()
    errors, rates, efforts = tracked(
        compensation=known(1.2),
        disturbance=rest,
        seconds=5.0,
        reference=Constant(place + np.array([0.004, 0.02])),
        static=0.4,
    )
    assert np.abs(rates[2000:]).max() < 1e-9
    assert np.abs(np.diff(efforts[2000:], axis=0)).max() < 1e-9
    assert np.abs(errors[-1]).max() < 0.02


def test_the_desired_joint_velocity_is_that_of_the_arm_on_its_reference():
    model = spatial_model()
    q, v = state_on(model, 1, np.full(7, 0.4), spread=0.05)
    controller = MotionController(model, MotionGains(100.0, 20.0))
    controller.set_compensation(known(1.0), 0.0)
    model.evaluate(q, v)
    controller.motion[0], controller.motion[1] = model.theta, model.theta_rate
    controller.update(q, v)
    along = np.linalg.pinv(model.J_theta @ model.P) @ model.theta_rate
    np.testing.assert_allclose(controller.desired_velocity, along, atol=1e-12)
    np.testing.assert_allclose(controller.desired_velocity, v, atol=1e-9)  # no freedom is left


@settings(max_examples=30, deadline=None)
@given(
    st.floats(0.01, 0.3),
    st.floats(0.1, 8.0),
    st.integers(1, 6),
    st.floats(1e-6, 0.1),
)
def test_the_slope_is_bounded_for_period_and_delay(amplitude, frequency, delay, width):
    """From tick to tick dry friction changes by no more than F_c/(d + 1), however fast it turns."""
    model = slider_model()
    motion = Sines([-0.075, 0.0], [[Sine(amplitude, frequency)], []])
    controller = MotionController(model, paper.GAINS)
    controller.set_compensation(FrictionCompensation(COULOMB, width=width), 0.0)
    controller.set_delay(delay)
    q = start_of(model, motion, paper.GUESS).q
    steps, before = [], None
    turn = 0.25 / frequency
    for t in np.arange(-20, 21) * T + turn:
        point = motion.at(t)
        controller.motion[:] = point.value, point.rate, point.acceleration
        controller.update(q, np.zeros(3))
        if before is not None:
            steps.append(np.abs(controller.friction - before).max())
        before = controller.friction.copy()
    assert max(steps) <= 1.01 * COULOMB / (delay + 1)


def test_it_stays_where_gravity_is_left_to_the_firmware():
    from projected_control.resources import share_file
    from projected_control.settings import build
    from projected_control.settings.layers import Layers
    from projected_control.settings.nodes import FORCE, checked_controller

    more = {"compensation.coulomb": [0.3], "effort_includes_gravity": False}
    layers = Layers.read([share_file("config", "three_link_slider.yaml")]).on_top(more, "test")
    settings = layers.controller(FORCE)
    assert checked_controller(FORCE, layers.values(FORCE)) == settings
    controller = build.build_controller(FORCE, settings)
    assert not controller.model.arm.gravity.any()
    start = start_of(controller.model, paper.REFERENCE, paper.GUESS)
    controller.motion[:] = tuple(paper.REFERENCE.at(0.0))
    controller.update(start.q, start.v)
    np.testing.assert_allclose(np.abs(controller.friction), 0.3, atol=0.01)


def test_friction_of_passive_joints_goes_through_the_others():
    """f = (I + H) P (h + τ + M u_p): the passive joint gets none, and its friction is overcome."""
    model = planar_chain_model(passive=("joint_4",))
    q, _ = state_on(model, 3, np.array([0.3, 0.6, -0.8, -0.6]), spread=0.1)
    plain = PassiveJointController(model, MotionGains(100.0, 20.0))
    rough = PassiveJointController(
        planar_chain_model(passive=("joint_4",)), MotionGains(100.0, 20.0)
    )
    rough.set_compensation(FrictionCompensation([0.0, 0.0, 0.0, 0.5]), 0.0)
    efforts = []
    for controller in (plain, rough):
        controller.model.evaluate(q, np.zeros(4))
        controller.motion[0], controller.motion[1] = controller.model.theta, [0.5, -0.3]
        v = np.linalg.solve(
            np.vstack([controller.model.A, controller.model.J_theta]), [0.0, 0.0, 0.5, -0.3]
        )
        efforts.append(controller.update(q, v).total.copy())
    added = efforts[1] - efforts[0]
    assert added[3] == 0.0
    assert np.abs(added).max() > 0.05
    free = model.P @ (added - rough.friction)
    np.testing.assert_allclose(free, 0.0, atol=1e-9)


def test_friction_at_the_contact_is_pushed_against():
    """J_cᵀ µ N along the wanted motion of the contact point."""
    model = slider_model()
    controller = ForceController(model, paper.GAINS, ForceGains(cutoff=20.0))
    controller.set_compensation(FrictionCompensation(contact=0.2), 0.0)
    controller.force.set_reference([10.0])
    start = start_of(model, paper.REFERENCE, paper.GUESS)
    controller.motion[:] = tuple(paper.REFERENCE.at(0.0))
    controller.update(start.q, start.v)
    along = model.arm.update(start.q, start.v).frame("tip").jacobian[0]
    expected = 0.2 * 10.0 * np.sign(paper.REFERENCE.at(0.0).rate[0]) * along
    np.testing.assert_allclose(controller.friction, expected, atol=1e-3)
    free = ConstrainedArm(model.arm.twin(), None, model.coordinates)
    with pytest.raises(InvalidValue, match="friction at the contact cannot be compensated"):
        MotionController(free, paper.GAINS).set_compensation(FrictionCompensation(contact=0.1))


def test_it_is_blended_in():
    """New friction comes into force over its time, without a step."""
    model = slider_model()
    controller = MotionController(model, paper.GAINS)
    start = start_of(model, paper.REFERENCE, paper.GUESS)
    controller.motion[:] = tuple(paper.REFERENCE.at(0.0))
    controller.set_compensation(known(1.0), 0.1)
    found = []
    for _ in range(120):
        controller.update(start.q, start.v)
        found.append(controller.friction.copy())
    steps = np.abs(np.diff(found, axis=0)).max()
    assert np.abs(found[0]).max() < 0.01
    assert steps < 1.6 * np.abs(found[-1]).max() / 100
    assert np.abs(found[-1]).min() > 0.25
    assert not controller.blending


def test_a_metric_changes_nothing_of_the_motion():
    """But for what holding another normal effort for a period does: 1e-4 of the error."""
    metric = Metric(np.array([1.0, 2.0, 0.5]))
    plain = tracked(compensation=known(1.2), seconds=0.3)
    other = tracked(compensation=known(1.2), seconds=0.3, metric=metric)
    np.testing.assert_allclose(plain[0], other[0], atol=5e-6)
    plain = tracked(disturbance=OBSERVER, seconds=0.3)
    other = tracked(disturbance=OBSERVER, seconds=0.3, metric=metric)
    np.testing.assert_allclose(plain[0], other[0], atol=3e-5)


def test_the_observer_adds_no_more_than_its_limit():
    tight = Disturbance("observer", bandwidth=30.0, effort_limit=0.05)
    *_, free = tracked(disturbance=OBSERVER, seconds=0.5)
    *_, bound = tracked(disturbance=tight, seconds=0.5)
    *_, none = tracked(seconds=0.5)
    assert np.abs(free[5:20] - none[5:20]).max() > 0.1
    assert np.abs(bound[1:3] - none[1:3]).max() <= 0.05 + 1e-9


def test_the_momentum_source_knows_the_friction_that_is_compensated():
    """λ of the momentum observer under friction: a third off where it is known."""
    found = {}
    for share in (0.0, 1.0):
        model = slider_model()
        start = start_of(model, paper.REFERENCE, paper.GUESS)
        controller = MotionController(model, paper.GAINS)
        controller.set_compensation(known(share), 0.0)
        source = ForceSource(model, "momentum", bandwidth=50.0)
        loop = ControlLoop(
            controller, paper.REFERENCE, limits=wide_limits(model.arm), force_source=source
        )
        friction = JointFriction(COULOMB, VISCOUS, sticks=True)
        arm = SimulatedArm(Plant(slider_model(), T, friction=friction), start.q, start.v)
        runner, off = Runner(loop, arm), []
        runner.open()
        for _ in range(1000):
            tick = runner.step()
            off.append(tick.multipliers[0] - arm.truth.multipliers[0])
        found[share] = np.sqrt(np.mean(np.square(off[200:])))
    assert found[0.0] > 0.6
    assert found[1.0] < 0.35 * found[0.0]


# Stability


def diverges(loop: MotionLoop, ratio: float, ticks: int = 6000) -> bool:
    """The sampled loop itself: a double integrator, a queue of efforts, feedback, the observer."""
    x, v, r, total = 1e-3, 0.0, 0.0, 0.0
    pole = np.exp(-2.0 * np.pi * loop.observer * loop.period) if loop.observer else 1.0
    queue, dt = [0.0] * loop.delay, loop.period
    size = []
    for _ in range(ticks):
        total += dt * x
        u = ratio * (-loop.stiffness * x - loop.damping * v - loop.integral * total) - r
        queue.append(u)
        a = queue[-loop.delay]
        x, v = x + dt * v + 0.5 * dt * dt * a, v + dt * a
        r = pole * r + (1.0 - pole) * (ratio * a - u)
        size.append(abs(x))
        if abs(x) > 1e6:
            return True
    return max(size[-200:]) > max(size[:200])


@settings(max_examples=60, deadline=None)
@given(
    st.floats(20.0, 4000.0),
    st.floats(0.1, 1.5),
    st.integers(1, 8),
    st.floats(1.0, 300.0),
    st.booleans(),
)
def test_the_roots_say_what_the_loop_does(stiffness, ratio, delay, more, observes):
    damping = 2.0 * ratio * np.sqrt(stiffness)
    loop = MotionLoop(
        stiffness,
        damping,
        T,
        delay,
        integral=0.0 if observes else more * stiffness * 0.1,
        observer=more if observes else 0.0,
    )
    if abs(loop.spectral_radius - 1.0) < 2e-3:
        return
    inertias = (1.0 / INERTIA_RATIO, 1.0, INERTIA_RATIO) if observes else (1.0,)
    assert loop.stable != any(diverges(loop, inertia) for inertia in inertias)


def test_the_observers_pole_stands_by_itself_without_delay():
    loop = MotionLoop(480.0, 45.0, T, 1, observer=1.0)
    alone = max(np.abs(np.roots(loop._alone())))
    roots = np.abs(np.roots(loop._with_observer(1.0)))
    assert max(roots) == pytest.approx(max(alone, np.exp(-2.0 * np.pi * T)))


def test_an_observer_too_fast_for_the_delay_is_refused_with_its_bound():
    with pytest.raises(UnstableMotionLoop, match=r"disturbance.bandwidth below \d+"):
        MotionLoop(480.0, 45.0, T, 6, observer=200.0).require_stable("tip.x")
    with pytest.raises(UnstableMotionLoop, match=r"disturbance.integral below"):
        MotionLoop(480.0, 45.0, T, 1, integral=1e6).require_stable("tip.x")
    with pytest.raises(InvalidValue, match="one at a time"):
        MotionLoop(480.0, 45.0, T, integral=1.0, observer=1.0)


def test_with_late_and_noisy_motors_it_still_holds():
    """Two samples of delay, 1 % noise: below 1.5 mm and mrad."""
    errors, _, _ = tracked(
        compensation=known(0.8),
        disturbance=Disturbance("observer", bandwidth=15.0),
        motors=Motors(noise=0.02, delay=1),
    )
    assert largest(errors).max() < 1.5

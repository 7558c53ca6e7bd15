"""Gains: refused where they cannot be meant, changed without a kick."""

import numpy as np
import pytest
from arms import slider_model, state_on
from hypothesis import given
from hypothesis import strategies as st

from projected_control import SimulatedArm, run
from projected_control.control import BLEND_SECONDS, ForceController, ForceGains, MotionController
from projected_control.control.gains import BLEND, MotionGains, advance_blend, begin_blend
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Sine, Sines
from projected_control.errors import InvalidValue
from projected_control.planning import assemble
from projected_control.simulation import JointFriction, Plant

T = 1e-3
NEAR = np.array([-3.8, 2.4, 1.4])
STEEPEST = 1.5  # largest slope of the blend s²(3 − 2s)


class Blend:
    """Numbers on their way to others, by the kernels of the live block."""

    def __init__(self, values):
        self.values, self.work = values, BLEND.new(size=values.size)

    @property
    def active(self):
        return BLEND.view(self.work, size=self.values.size).clock[2] == 1.0

    def towards(self, target, seconds):
        begin_blend(target, seconds, self.values, self.work)

    def advance(self, dt):
        advance_blend(dt, self.values, self.work)


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.floats(0.0, 1.0), st.floats(1e-4, 0.1))
def test_blend_is_monotone_and_ends_exactly(start, target, seconds, dt):
    values = np.array([start, 2.0])
    blend = Blend(values)
    blend.towards(np.array([target, 2.0]), seconds)
    path = [start]
    while blend.active:
        blend.advance(dt)
        path.append(values[0])
        assert values[1] == pytest.approx(2.0)
    steps = np.diff(path) * np.sign(target - start)
    assert values[0] == target
    assert (steps >= -1e-12 * max(start, target)).all()
    if seconds > dt:
        largest = STEEPEST * dt / seconds * abs(target - start)
        assert np.abs(np.diff(path)).max() <= largest * (1.0 + 1e-9) + 1e-12 * max(start, target)


def test_blend_takes_the_time_it_is_given():
    values = np.array([1.0])
    blend = Blend(values)
    blend.towards(np.array([2.0]), 0.1)
    for _ in range(50):
        blend.advance(T)
    assert values[0] == pytest.approx(1.5, abs=1e-12)
    for _ in range(51):
        blend.advance(T)
    assert values[0] == 2.0
    assert not blend.active


def test_blend_may_change_its_mind_halfway():
    values = np.array([1.0])
    blend = Blend(values)
    blend.towards(np.array([3.0]), 0.1)
    for _ in range(30):
        blend.advance(T)
    halfway = values[0]
    blend.towards(np.array([1.0]), 0.1)
    assert values[0] == halfway
    blend.advance(T)
    assert abs(values[0] - halfway) < 1e-3
    while blend.active:
        blend.advance(T)
    assert values[0] == 1.0


def test_a_factor_of_four_is_blended_in_at_any_state():
    """At a standing state the effort is affine in the gains: each step is the blend's, no more."""
    model = slider_model()
    controller = MotionController(model, MotionGains(120.0, 22.0), period=T)
    q, v = state_on(model, 1, NEAR)
    controller.motion[0] = model.theta + np.array([0.1, -0.3])
    before = controller.update(q, v).total.copy()
    controller.set_gains(MotionGains(480.0, 88.0))
    efforts = [before]
    while controller.blending:
        efforts.append(controller.update(q, v).total.copy())
    assert len(efforts) == pytest.approx(BLEND_SECONDS / T, abs=2)
    fresh = MotionController(model, MotionGains(480.0, 88.0), period=T)
    fresh.motion[:] = controller.motion
    after = fresh.update(q, v).total
    np.testing.assert_allclose(efforts[-1], after, rtol=1e-12)
    steps = np.abs(np.diff(efforts, axis=0))
    assert (steps <= STEEPEST * T / BLEND_SECONDS * np.abs(after - before) * (1 + 1e-6)).all()
    assert np.abs(after - before).max() > 1.0


def efforts_of_a_run(change, seconds=BLEND_SECONDS):
    """The arm with friction on a sine; gains change at 0.3 s. Efforts, one row per tick."""
    model = slider_model()
    controller = ForceController(model, MotionGains(480.0, 45.0), ForceGains(0.5, 0.1, 50.0))
    reference = Sines([-0.075, 0.0], [[Sine(0.225, 0.5, np.pi / 9)], []])
    start = reference.at(0.0)
    q = assemble(model.arm, model.constraint, [-3.0, 2.0, 1.0], model.coordinates, start.value)
    model.evaluate(q, np.zeros(3))
    v = np.linalg.solve(np.vstack([model.J_theta, model.A]), [*start.rate, 0.0])
    plant = Plant(slider_model(), T, friction=JointFriction(0.3, 0.05))
    limits = Limits.of(model.arm, effort=1e3, effort_rate=1e9)
    efforts = []

    def observe(k, tick):
        efforts.append(tick.report.effort.copy())
        if change and k == 300:
            controller.set_gains(MotionGains(1920.0, 90.0), seconds)
            controller.force.set_gains(ForceGains(2.0, 0.4, 50.0), seconds)

    run(ControlLoop(controller, reference, limits=limits), SimulatedArm(plant, q, v), 600, observe)
    return np.array(efforts)


def test_a_factor_of_four_while_moving_never_kicks():
    """The largest torque step in the 50 ms after the change, against that of no change at all."""
    after = slice(300, 350)
    usual, blended, kicked = (
        np.abs(np.diff(efforts_of_a_run(*change), axis=0))[after].max()
        for change in [(False,), (True,), (True, 0.0)]
    )
    assert kicked > 5.0 * usual
    assert blended < usual + STEEPEST * T / BLEND_SECONDS * 4.0 * kicked
    assert blended < 1.2 * usual


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((0.0, 45.0), "stiffness must be positive"),
        ((-1.0, 45.0), "stiffness must be positive"),
        ((np.nan, 45.0), "stiffness must be positive and finite"),
        ((np.inf, 45.0), "stiffness must be positive and finite"),
        ((480.0, 0.0), "damping must be positive"),
        ((480.0, [45.0, -1.0]), "damping must be positive"),
        (([[480.0]], 45.0), "stiffness must be positive"),
        ((480.0, 45.0, -1.0), "null_damping must not be negative"),
        ((480.0, 45.0, np.nan), "null_damping must be finite"),
    ],
)
def test_bad_gains_are_refused(values, message):
    with pytest.raises(InvalidValue, match=message):
        MotionGains(*values)


def test_refused_gains_leave_the_running_controller_unharmed():
    model = slider_model()
    steady, tried = (MotionController(model, MotionGains(480.0, 45.0)) for _ in range(2))
    q, v = state_on(model, 2, NEAR)
    for controller in (steady, tried):
        controller.set_gains(MotionGains([100.0, 200.0], 30.0))
    for k in range(300):
        if k == 40:
            with pytest.raises(InvalidValue, match="one number or 2, one per coordinate, got 3"):
                tried.set_gains(MotionGains([1.0, 2.0, 3.0], 1.0))
            with pytest.raises(InvalidValue, match="blend time must not be negative"):
                tried.set_gains(MotionGains(1.0, 1.0), seconds=-0.1)
            with pytest.raises(InvalidValue, match="blend time must be finite"):
                tried.set_gains(MotionGains(1.0, 1.0), seconds=np.nan)
        expected = steady.update(q, v).total.copy()
        np.testing.assert_array_equal(tried.update(q, v).total, expected)
    assert tried.gains.damping == 30.0


def test_gains_from_a_bandwidth():
    gains = MotionGains.from_bandwidth(2.0, 0.7).array(3)
    omega = 4.0 * np.pi
    np.testing.assert_allclose(gains[0], omega**2)
    np.testing.assert_allclose(gains[1], 1.4 * omega)
    with pytest.raises(InvalidValue, match="bandwidth must be positive"):
        MotionGains.from_bandwidth(0.0)

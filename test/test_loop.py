"""The control loop: on any arm, with its counters, the same numbers every time."""

import numpy as np
import pytest
from arms import raw_state, slider_model, spatial_model, state_on

from projected_control import Port, SimulatedArm, run
from projected_control.control import ForceController, ForceGains, MotionController, MotionGains
from projected_control.control.events import Action, Event
from projected_control.control.force_kernels import SOURCES
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.control.references import (
    Constant,
    MotionLimits,
    ReferencePoint,
    SetPoint,
    Sine,
    Sines,
)
from projected_control.control.state import RawState
from projected_control.errors import InvalidValue
from projected_control.planning import assemble
from projected_control.simulation import ForceSensor, JointFriction, Plant

T = 1e-3
GAINS = MotionGains(480.0, 45.0)
NEAR = [-3.8, 2.4, 1.4]
MODEL = slider_model()


def start_of(model):
    q = assemble(model.arm, model.constraint, NEAR)
    return q, model.evaluate(q, np.zeros(3)).theta.copy()


def make_loop(force_reference=None, source="sensor", reference=None, **limits):
    model = slider_model()
    q, place = start_of(model)
    controller = ForceController(model, GAINS, ForceGains(delay=1))
    loop = ControlLoop(
        controller,
        reference or Constant(place),
        limits=Limits.of(model.arm, **({"effort_rate": 1e4} | limits)),
        force_reference=force_reference,
        force_source=source,
    )
    return loop, q, place


class Replay(Port):
    """Gives prepared states, and keeps what is written and called."""

    def __init__(self, states):
        self.states, self.written, self.calls = list(states), [], []

    def open(self):
        self.calls.append("open")
        return self.states[0]

    def engage(self):
        self.calls.append("engage")

    def close(self):
        self.calls.append("close")

    def read(self):
        return self.states.pop(0)

    def write(self, effort):
        self.written.append(effort.copy())


def state(q, k, v=(0.0, 0.0, 0.0), force=0.0):
    return raw_state(MODEL, q, v, force, k * T)


def test_a_missing_state_gives_zero_and_is_counted():
    loop, q, place = make_loop()
    loop.set_reference(Constant(place + np.array([0.001, 0.03])))
    arm = Replay([state(q, 0), None, None, state(q, 3), state(q, 4)])
    statistics = run(loop, arm, 5)
    written = np.array(arm.written)
    assert np.abs(written[[0, 3, 4]]).max(axis=1).min() > 0.1
    np.testing.assert_array_equal(written[1:3], 0.0)
    assert (statistics.ticks, statistics.missed) == (3, 2)
    assert arm.calls == ["open", "engage", "close"]


def test_statistics_count_what_happened():
    loop, q, _ = make_loop()
    bad = state(np.full(3, np.nan), 2)
    arm = Replay([state(q, 0), state(q, 1), bad, state(q, 0.5), state(q + 2 * np.pi, 4)])
    seen = []
    statistics = run(loop, arm, 5, lambda k, tick: seen.append((k, tick.report.action)))
    assert statistics.ticks == 5
    assert statistics.actions == {Action.FOLLOW: 2, Action.HOLD: 2, Action.STOP: 1}
    assert statistics.events[Event.STATE_NOT_FINITE] == 1
    assert statistics.events[Event.POSITION_LIMIT] == 1
    assert statistics.latency.count == 5
    assert seen == [(0, 0), (1, 0), (2, 2), (3, 2), (4, 1)]


def test_statistics_of_a_run_stay_when_the_loop_runs_again():
    loop, q, _ = make_loop()
    arm = SimulatedArm(Plant(slider_model(), T), q)
    first = run(loop, arm, 20)
    summary = first.totals.summary()
    second = run(loop, arm, 7)
    assert (first.ticks, second.ticks) == (20, 7)
    assert first.totals.summary() == summary
    assert sum(second.actions.values()) == 7


def test_an_arm_is_given_back_after_an_error():
    loop, q, _ = make_loop()
    arm = Replay([state(q, 0)])
    with pytest.raises(IndexError):
        run(loop, arm, 2)
    assert arm.calls[-1] == "close"


@pytest.mark.parametrize("source", SOURCES)
def test_nothing_that_an_arm_says_raises(source):
    loop, q, _ = make_loop(Constant([5.0]), source)
    wild = [np.nan, np.inf, -np.inf, 1e300, -1e300, 0.0]
    random = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        for k in range(300):
            values = random.choice(wild, 8)
            force = None if k % 3 else values[6]
            report = loop.update(raw_state(MODEL, values[:3], values[3:6], force, values[7]))
            assert np.isfinite(report.effort).all()
    loop.reset()
    assert loop.update(state(q, 0)).action is Action.FOLLOW


def test_a_reference_is_swapped_while_running():
    """From a sine in full motion to a set-point that takes the motion up: no event, no kick."""
    model = slider_model()
    sine = Sines([-0.075, 0.0], [[Sine(0.1, 0.5)], []])
    first = sine.at(0.0)
    q = assemble(model.arm, model.constraint, [-3.0, 2.0, 1.0], model.coordinates, first.value)
    model.evaluate(q, np.zeros(3))
    v = np.linalg.solve(np.vstack([model.J_theta, model.A]), [*first.rate, 0.0])
    loop = ControlLoop(MotionController(model, GAINS), sine)
    hardware = SimulatedArm(Plant(slider_model(), T), q, v)
    efforts, goal = [], np.array([0.0, 0.3])

    def observe(k, tick):
        efforts.append(tick.report.effort.copy())
        if k == 300:
            now = tick.state.stamp
            limits = MotionLimits(1.0, 5.0, 50.0)
            loop.set_reference(SetPoint(loop.reference.at(now), goal, limits, now))

    statistics = run(loop, hardware, 1500, observe)
    assert statistics.events == {}
    np.testing.assert_allclose(model.theta, goal, atol=1e-6)
    steps = np.abs(np.diff(efforts, axis=0)).max(axis=1)
    assert steps[295:310].max() < 0.2


def test_wrong_sizes_are_refused_and_the_old_reference_stays():
    loop, _, _ = make_loop(Constant([5.0]))
    before = loop.reference, loop.force_reference
    with pytest.raises(InvalidValue, match=r"has 1 coordinates, .* follows 2: tip\.x, tip\.angle"):
        loop.set_reference(Constant([0.0]))
    with pytest.raises(InvalidValue, match="force reference has 2 numbers, the constraint has 1"):
        loop.set_force_reference(Constant([0.0, 1.0]))
    assert (loop.reference, loop.force_reference) == before
    motion_only = MotionController(slider_model(), GAINS)
    with pytest.raises(InvalidValue, match="no force loop"):
        ControlLoop(motion_only, Constant([0.0, 0.0]), force_reference=Constant([1.0]))


def test_the_force_reference_may_be_taken_away():
    loop, q, _ = make_loop(Constant([5.0]))
    loop.update(state(q, 0))
    assert loop.controller.force.desired[0] == 5.0
    loop.set_force_reference(None)
    loop.update(state(q, 1))
    assert loop.controller.force.desired[0] == 0.0


def test_what_was_measured_is_told():
    loop, q, _ = make_loop()
    loop.update(RawState(q, np.zeros(3), 0.0))
    assert np.isnan(loop.multipliers).all()
    loop.update(state(q, 1, force=3.0))
    assert loop.multipliers[0] == 3.0
    observed, q, _ = make_loop(Constant([5.0]), "model")
    for k in range(2):  # the first sees nothing and asks for λ_d + G_F λ_d + G_I T λ_d
        observed.update(RawState(q, np.zeros(3), k * T))
    assert observed.multipliers[0] == pytest.approx(5.0 * (1.0 + 3.0 + 1e-4), rel=1e-9)


def noisy_run(loop, q):
    """400 ticks around the loop's own place, with everything that is random or rough."""
    loop.set_reference(Sines(loop.reference.at(0.0).value, [[Sine(0.02, 2.0)], [Sine(0.1, 1.0)]]))
    sensor = ForceSensor(noise=0.5, delay=0, seed=3)
    plant = Plant(slider_model(), T / 2, friction=JointFriction(0.2, 0.05))
    arm = SimulatedArm(plant, q, period=T, sensor=sensor)
    rows = []

    def observe(_, tick):
        rows.append(np.concatenate([tick.state.q, tick.state.v, tick.report.effort]))

    run(loop, arm, 400, observe)
    return np.array(rows)


def test_two_runs_give_identical_numbers():
    """Twice with the same loop, once with a fresh one; sensor noise and friction included."""
    wave = Sines([0.0], [[Sine(10.0, 2.0)]])
    loop, q, _ = make_loop(wave)
    runs = [noisy_run(loop, q), noisy_run(loop, q), noisy_run(*make_loop(wave)[:2])]
    np.testing.assert_array_equal(runs[1], runs[0])
    np.testing.assert_array_equal(runs[2], runs[0])
    assert np.ptp(runs[0], axis=0).min() > 0.0


def test_warming_up_leaves_no_trace():
    wave = Sines([0.0], [[Sine(10.0, 2.0)]])
    loop, q, _ = make_loop(wave)
    plain = noisy_run(loop, q)
    warm, q, _ = make_loop(wave)
    warm.warm_up()
    np.testing.assert_array_equal(noisy_run(warm, q), plain)


def test_gains_are_blended_by_the_loop():
    loop, q, _ = make_loop()
    loop.controller.set_gains(MotionGains(100.0, 20.0))
    for k in range(199):
        loop.update(state(q, k))
    assert loop.controller.blending
    for k in range(199, 202):
        loop.update(state(q, k))
    assert not loop.controller.blending
    np.testing.assert_array_equal(loop.controller._terms.gains[0], 100.0)


def test_the_spatial_arm_follows_its_set_point():
    """Seven joints, three rows, gravity: there within 1e-6, nothing noticed on the way."""
    model = spatial_model()
    q, _ = state_on(model, 1, np.full(7, 0.4), 0.02)
    place = model.evaluate(q, np.zeros(7)).theta.copy()
    still = np.zeros(4)
    goal = place + np.array([0.02, -0.1, 0.1, 0.15])
    reference = SetPoint(ReferencePoint(place, still, still), goal)
    limits = Limits.of(model.arm, effort=200.0, effort_rate=1e5)
    loop = ControlLoop(MotionController(model, GAINS), reference, limits=limits)
    statistics = run(loop, SimulatedArm(Plant(spatial_model(), T), q), 1800)
    assert statistics.events == {}
    np.testing.assert_allclose(model.theta, goal, atol=1e-6)


def test_the_loop_may_be_slower_than_the_plant():
    model = slider_model()
    q, _ = start_of(model)
    arm = SimulatedArm(Plant(model, 1e-4), q, period=1e-3)
    assert arm.substeps == 10
    arm.write(np.zeros(3))
    assert arm.read().stamp == pytest.approx(1e-3)
    with pytest.raises(InvalidValue, match="whole number of integration steps"):
        SimulatedArm(Plant(model, 3e-4), q, period=1e-3)
    with pytest.raises(InvalidValue, match="period must be positive"):
        SimulatedArm(Plant(model, 3e-4), q, period=-1e-3)


def test_an_arm_without_a_force_sensor_says_so():
    model = slider_model()
    q, _ = start_of(model)
    assert SimulatedArm(Plant(model, T), q, measures_force=False).read().wrench is None

"""What may be sent to an arm: every trouble has its answer, and nothing bad ever gets through."""

import numpy as np
import pytest
from arms import raw_state, slider_crank_case, slider_model
from hypothesis import given, settings
from hypothesis import strategies as st

from projected_control import SimulatedArm, run
from projected_control.control import (
    ForceController,
    ForceGains,
    Law,
    MotionController,
    MotionGains,
    PassiveJointController,
)
from projected_control.control.events import Action, Event, answer_to, events_in
from projected_control.control.guard import Guard
from projected_control.control.guard_kernels import FROZEN_DISTANCE
from projected_control.control.kept_state import keep_state
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.control.motion import STOP_DAMPING
from projected_control.control.references import Constant, Reference, ReferencePoint, Sine, Sines
from projected_control.control.state import RawState
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.coordinates import Coordinates
from projected_control.planning import assemble
from projected_control.simulation import Plant

T = 1e-3
GAINS = MotionGains(480.0, 45.0)
MODEL = slider_model()
START = assemble(MODEL.arm, MODEL.constraint, [-3.8, 2.4, 1.4])
REST = np.zeros(3)
PLACE = MODEL.evaluate(START, REST).theta.copy()


@pytest.fixture(autouse=True)
def _model_at_the_start():
    """All that the model keeps is its last state: no test begins with another one's."""
    MODEL.evaluate(START, REST)


class Scripted(Reference):
    """Gives whatever it was told last."""

    def __init__(self, value, rate=None):
        self.size = len(value)
        self.point = self.say(value, rate)

    def say(self, value, rate=None):
        value = np.array(value, dtype=float)
        still = np.zeros(self.size)
        self.point = ReferencePoint(value, still if rate is None else np.array(rate), still)
        return self.point

    def at(self, time):
        return self.point


def make_loop(law=Law.PIDC, reference=None, **limits):
    limits = Limits.of(MODEL.arm, **({"effort_rate": 1e9, "residual": 1e9} | limits))
    controller = (
        ForceController(MODEL, GAINS, ForceGains())
        if law is Law.HYBRID
        else MotionController(MODEL, GAINS, law)
    )
    return ControlLoop(controller, reference or Constant(PLACE), limits=limits)


def tick(loop, k, q=START, v=REST, force=0.0):
    report = loop.update(raw_state(MODEL, q, v, force, k * T))
    return report.action, Event(report.events), report.effort.copy()


# --- Efforts.


def test_efforts_stay_within_their_limits_exactly():
    loop = make_loop(reference=Constant(PLACE + 0.04), effort=[0.5, 1.0, 1e3])
    action, events, effort = tick(loop, 0)
    assert action is Action.FOLLOW
    assert events == Event.EFFORT_LIMITED | Event.MOTION_GIVEN_UP
    assert np.abs(loop.controller.effort.total[:2]).min() > 1.0
    assert (np.abs(effort[:2]) == [0.5, 1.0]).all()


def test_what_reaches_the_guard_is_clipped_exactly():
    guard = Guard(Limits.of(MODEL.arm, effort=[0.5, 1.0, 1e3], effort_rate=1e9), 2, T)
    report = guard.release(np.array([2.0, -3.0, 4.0]))
    assert report.events == Event.EFFORT_LIMITED
    assert report.effort.tolist() == [0.5, -1.0, 4.0]


def test_a_limit_that_is_lowered_below_what_was_sent_comes_before_the_rate():
    guard = Guard(Limits.of(MODEL.arm, effort=5.0, effort_rate=1e9), 2, T)
    guard.release(np.full(3, 5.0))
    guard.set_limits(Limits.of(MODEL.arm, effort=2.0, effort_rate=100.0))
    assert guard.release(np.full(3, 5.0)).effort.tolist() == [2.0, 2.0, 2.0]


def test_efforts_change_no_faster_than_their_rate():
    """From zero to 10 N·m at 100 N·m/s: 0.1 N·m a tick, a hundred ticks, then there."""
    guard = Guard(Limits.of(MODEL.arm, effort=50.0, effort_rate=[100.0, 200.0, 1e9]), 2, T)
    asked = np.array([10.0, -10.0, 10.0])
    path = [guard.release(asked).effort.copy() for _ in range(110)]
    assert [tuple(p) for p in path[:2]] == [(0.1, -0.2, 10.0), (0.2, -0.4, 10.0)]
    reached = [np.flatnonzero(np.abs(column) == 10.0)[0] for column in np.array(path).T]
    assert reached == pytest.approx([99, 49, 0], abs=1)
    assert guard.release(asked).events == 0
    assert guard.release(-asked).events == Event.RATE_LIMITED
    assert guard.release(np.array([99.0, -10.0, 10.0])).reasons == [
        "effort limited",
        "rate limited",
    ]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_effort_that_is_not_finite_becomes_zero(bad):
    guard = Guard(Limits.of(MODEL.arm), 2, T)
    guard.release(np.full(3, 0.5))
    report = guard.release(np.array([1.0, bad, 1.0]))
    assert (report.action, report.events) == (Action.ZERO, Event.EFFORT_NOT_FINITE)
    np.testing.assert_array_equal(report.effort, 0.0)
    assert guard.release(np.full(3, 0.5)).action is Action.FOLLOW


def test_a_law_that_fails_sends_zero():
    loop = make_loop(Law.HYBRID)
    tick(loop, 0)
    loop.controller.force.desired[:] = np.nan
    action, events, effort = tick(loop, 1)
    assert (action, events) == (Action.ZERO, Event.EFFORT_NOT_FINITE)
    np.testing.assert_array_equal(effort, 0.0)
    loop.controller.force.desired[:] = 1.0
    assert tick(loop, 2)[0] is Action.FOLLOW


# --- States.


def test_a_state_that_is_not_finite_is_ridden_out_then_given_up():
    """The last effort for the hold time of 10 ms, then zero; and on again when it is back."""
    loop = make_loop(reference=Constant(PLACE + 0.01), hold_time=0.0095)
    _, _, last = tick(loop, 0)
    for k in range(1, 10):
        action, events, effort = tick(loop, k, q=[np.nan, 0.0, 0.0])
        assert (action, events) == (Action.HOLD, Event.STATE_NOT_FINITE)
        np.testing.assert_array_equal(effort, last)
    for k in range(10, 15):
        action, events, effort = tick(loop, k, v=[0.0, np.inf, 0.0])
        assert (action, events) == (Action.ZERO, Event.STATE_NOT_FINITE)
        np.testing.assert_array_equal(effort, 0.0)
    action, events, effort = tick(loop, 15)
    assert action is Action.FOLLOW
    np.testing.assert_allclose(effort, last, rtol=1e-12)


def test_each_bad_spell_is_ridden_out_anew():
    """One bad state in five, for a second: held every time, never given up."""
    loop = make_loop()
    actions = [tick(loop, k, v=REST if k % 5 else REST * np.nan)[0] for k in range(1000)]
    assert set(actions[::5]) == {Action.HOLD}
    assert Action.ZERO not in actions


@pytest.mark.parametrize("stamp", [np.nan, np.inf, -np.inf])
def test_a_stamp_that_is_not_finite_is_no_state(stamp):
    loop = make_loop()
    tick(loop, 0)
    report = loop.update(RawState(START, REST, stamp))
    assert (report.action, report.events) == (Action.HOLD, Event.STATE_NOT_FINITE)
    assert tick(loop, 1)[:2] == (Action.FOLLOW, Event.NONE)


def test_time_that_goes_back():
    loop = make_loop(reference=Constant(PLACE + 0.01))
    tick(loop, 10)
    _, _, last = tick(loop, 11)
    action, events, effort = tick(loop, 5)
    assert (action, events) == (Action.HOLD, Event.TIME_WENT_BACK)
    np.testing.assert_array_equal(effort, last)
    for k in range(12):
        action, events, effort = tick(loop, k / 2)
    assert (action, events) == (Action.ZERO, Event.TIME_WENT_BACK)
    assert tick(loop, 12)[0] is Action.FOLLOW


@pytest.mark.parametrize("what", ["velocity", "reference"])
def test_fresh_stamps_with_frozen_content(what):
    """After the frozen time of 50 ms, with 0.2 rad/s that the positions do not show."""
    reference = Scripted(PLACE, [0.2, 0.0] if what == "reference" else None)
    loop = make_loop(reference=reference)
    v = [0.2, 0.0, 0.0] if what == "velocity" else REST
    seen = [tick(loop, k, v=v)[:2] for k in range(60)]
    assert all(pair == (Action.FOLLOW, Event.NONE) for pair in seen[:50])
    assert all(pair == (Action.ZERO, Event.STATE_FROZEN) for pair in seen[52:])
    assert tick(loop, 60, q=START + 1e-9, v=v)[:2] == (Action.FOLLOW, Event.NONE)


def moving_reference():
    return Scripted(PLACE, [0.2, 0.0])


def test_a_stall_is_not_a_frozen_arm():
    """200 ms without a state at the start of an arm at rest: nothing frozen was received."""
    loop = make_loop(reference=moving_reference())
    assert tick(loop, 0)[:2] == (Action.FOLLOW, Event.NONE)
    assert tick(loop, 200)[:2] == (Action.FOLLOW, Event.NONE)
    assert tick(loop, 201, q=START + 1e-6)[:2] == (Action.FOLLOW, Event.NONE)


def test_an_arm_that_gets_no_torque_is_not_frozen():
    """It need not follow a reference that moves: a second with every effort limited to nothing."""
    loop = make_loop(reference=moving_reference(), effort=1e-300, effort_rate=1e-300)
    loop.guard._terms.effort[:] = 0.0
    assert {tick(loop, k)[1] & Event.STATE_FROZEN for k in range(1000)} == {Event.NONE}


def test_a_frozen_arm_is_tried_once_more_and_never_again():
    """Zero for ten frozen times, an effort within its rate, and when that moves nothing: dead."""
    loop = make_loop(reference=moving_reference(), effort_rate=100.0)
    seen = [tick(loop, k) for k in range(3000)]
    frozen = [bool(events & Event.STATE_FROZEN) for _, events, _ in seen]
    changes = [k for k in range(1, 3000) if frozen[k] != frozen[k - 1]]
    first, again, dead = changes
    assert (first, again - first, dead - again) == pytest.approx((51, 500, 51), abs=3)
    efforts = np.array([effort for *_, effort in seen])
    assert not efforts[first:again].any()
    assert not efforts[dead:].any()
    assert np.abs(np.diff(efforts[again - 1 : dead], axis=0)).max() <= 0.1 * (1 + 1e-9)
    assert np.abs(efforts[again:dead]).max() > 0.0
    assert loop.guard.arm_is_dead


def test_a_frozen_arm_is_not_tried_again_after_the_latch_time():
    """Ten frozen times of 0.2 s are longer than that second: zero for good, without a try."""
    loop = make_loop(reference=moving_reference(), frozen_time=0.2, latch_time=1.0)
    seen = [tick(loop, k) for k in range(2600)]
    first = next(k for k, (_, events, _) in enumerate(seen) if events & Event.STATE_FROZEN)
    assert not np.array([effort for *_, effort in seen[first:]]).any()
    assert loop.guard.latched is Action.ZERO
    assert not loop.guard.arm_is_dead


def test_a_frozen_arm_that_moves_again_is_forgiven():
    loop = make_loop(reference=moving_reference())
    for k in range(100):
        tick(loop, k)
    assert tick(loop, 100)[1] == Event.STATE_FROZEN
    assert tick(loop, 101, q=START + 1e-9)[:2] == (Action.FOLLOW, Event.NONE)
    seen = [tick(loop, 102 + k, q=START + 1e-9)[1] for k in range(600)]
    assert Event.STATE_FROZEN in seen
    assert not loop.guard.arm_is_dead


@pytest.mark.parametrize("rate", [0.0, 1e-17, 1e-6])
def test_an_arm_that_stands_still_is_not_frozen(rate):
    """Positions that rest, velocities of rounding or noise: an hour of it."""
    loop = make_loop()
    for k in range(0, 3_600_000, 3600):
        assert tick(loop, k, v=[rate, 0.0, 0.0])[:2] == (Action.FOLLOW, Event.NONE)
        if rate * k * T > 0.5 * FROZEN_DISTANCE:
            break


def test_a_state_that_is_read_again_and_again_is_stale():
    """Twice is nothing; after the stale time of 20 ms it is."""
    loop = make_loop()
    tick(loop, 0)
    seen = [tick(loop, 1)[:2] for _ in range(30)]
    assert all(pair == (Action.FOLLOW, Event.NONE) for pair in seen[:20])
    assert all(pair == (Action.ZERO, Event.STATE_STALE) for pair in seen[22:])
    assert tick(loop, 2)[:2] == (Action.FOLLOW, Event.NONE)


# --- References.


def test_a_reference_that_jumps_stops_the_arm_until_it_is_back():
    reference = Scripted(PLACE)
    loop = make_loop(reference=reference)
    moving = MODEL.P @ np.array([0.3, -0.2, 0.1])
    tick(loop, 0, v=moving)
    reference.say(PLACE + np.array([0.1, 0.0]))
    for k in (1, 2, 3):
        action, events, effort = tick(loop, k, q=START + k * T * moving, v=moving)
        assert (action, events) == (Action.STOP, Event.REFERENCE_JUMPED)
        assert effort @ moving < 0.0  # it brakes
    reference.say(PLACE + np.array([0.02, 0.0]))
    assert tick(loop, 4)[:2] == (Action.FOLLOW, Event.NONE)


def test_a_reference_that_is_not_finite_is_a_jump():
    reference = Scripted([np.nan, 0.0])
    loop = make_loop(reference=reference)
    assert tick(loop, 0)[:2] == (Action.STOP, Event.REFERENCE_JUMPED)
    reference.say(PLACE)
    assert tick(loop, 1)[:2] == (Action.FOLLOW, Event.NONE)
    reference.say(PLACE, [np.inf, 0.0])
    assert tick(loop, 2)[:2] == (Action.STOP, Event.REFERENCE_JUMPED)


def test_a_replaced_reference_that_begins_at_the_arm_ends_the_stop():
    loop = make_loop(reference=Scripted(PLACE))
    tick(loop, 0)
    loop.set_reference(Constant(PLACE + 0.2))
    for k in range(1, 5):
        assert tick(loop, k)[:2] == (Action.STOP, Event.REFERENCE_JUMPED)
    far_pose = assemble(MODEL.arm, MODEL.constraint, [-3.4, 2.2, 1.2])
    tick(loop, 5, q=far_pose)
    here = MODEL.theta.copy()
    assert np.abs(here - PLACE).max() > 0.06
    loop.set_reference(Constant(here + np.array([0.0, 2.0 * np.pi])))
    assert tick(loop, 6, q=far_pose)[:2] == (Action.FOLLOW, Event.NONE)


def test_a_fast_reference_does_not_jump_nor_does_one_after_a_gap():
    """What its own rate explains is no jump, also over states that did not come."""
    rate = np.array([30.0, 0.0])
    reference = Scripted(PLACE, rate)
    wide = {"effort": 1e6, "velocity": 1e6, "lower": -1e6, "upper": 1e6}
    loop = make_loop(reference=reference, **wide)
    for k in (0, 1, 2, 3, 60, 61):
        reference.say(PLACE + k * T * rate, rate)
        assert tick(loop, k, q=START + k * 1e-6)[:2] == (Action.FOLLOW, Event.NONE)


# --- Limits of position and velocity: a stop that really brakes.


def moving_arm(limits, speed, ticks):
    """The arm at a tip speed [m/s], its reference running on; per tick: action, events, speed."""
    MODEL.evaluate(START, REST)
    rows = np.vstack([MODEL.J_theta, MODEL.A])
    direction = np.linalg.solve(rows, [1.0, 0.0, 0.0])
    amplitude = 0.2
    wave = Sines(PLACE, [[Sine(amplitude, speed / (2 * np.pi * amplitude))], []])
    loop = make_loop(reference=wave, **limits)
    hardware = SimulatedArm(Plant(slider_model(), T), START, speed * direction)
    record = []

    def observe(_, turn):
        state = hardware.truth
        kinetic = 0.5 * state.v @ MODEL.arm.M @ state.v
        record.append((turn.report.action, turn.report.events, state.q, state.v, kinetic))

    run(loop, hardware, ticks, observe)
    return record


def test_past_a_velocity_limit_the_arm_is_braked_until_inside():
    fastest = np.abs(moving_arm({}, 0.5, 1)[0][3]).max()
    record = moving_arm({"velocity": 0.5 * fastest}, 0.5, 120)
    stopped = [k for k, entry in enumerate(record) if entry[0] is Action.STOP]
    assert stopped[0] == 0
    assert record[0][1] == Event.VELOCITY_LIMIT
    first = next(k for k, entry in enumerate(record) if entry[0] is Action.FOLLOW)
    assert np.log(2.0) / STOP_DAMPING / T == pytest.approx(first, rel=0.15)
    energies = [entry[4] for entry in record[:first]]
    assert (np.diff(energies) < 0.0).all()


def limits_at(tick):
    """The joint that moves most in so many ticks, and ranges that end where it is then."""
    free = moving_arm({}, 0.3, 200)
    joint = int(np.argmax(np.abs(free[100][2] - START)))
    edge = free[tick][2][joint]
    forwards = edge > START[joint]
    limits = {"upper" if forwards else "lower": np.full(3, np.inf if forwards else -np.inf)}
    next(iter(limits.values()))[joint] = edge
    return joint, edge, limits


def test_before_a_position_limit_the_arm_is_held():
    """It gives up its motion, and comes to within 5 mrad of the edge, not past it."""
    joint, edge, limits = limits_at(100)
    record = moving_arm(limits, 0.3, 500)
    assert all(entry[0] is Action.FOLLOW for entry in record)
    assert any(entry[1] & Event.RANGE_HELD for entry in record)
    sign = np.sign(edge - START[joint])
    nearest = min(sign * (edge - entry[2][joint]) for entry in record)
    assert 0.0 < nearest < 5e-3


def test_past_a_position_limit_the_arm_comes_to_rest():
    """Where it cannot stop before: it overshoots by at most speed over damping, and stays."""
    joint, edge, limits = limits_at(2)
    record = moving_arm(limits, 0.3, 800)
    hit = next(k for k, entry in enumerate(record) if entry[1] & Event.POSITION_LIMIT)
    assert hit == pytest.approx(3, abs=2)
    assert all(entry[0] is Action.STOP for entry in record[hit:])
    speed = abs(record[hit][3][joint])
    overshoot = max(abs(entry[2][joint] - edge) for entry in record[hit:])
    assert 0.0 < overshoot < 1.3 * speed / STOP_DAMPING
    assert np.abs(record[-1][3]).max() < 0.01 * speed


# --- Control lost, rank changed.


def crank_loop():
    arm, slider = slider_crank_case(0.0)
    arm = Arm.from_urdf(arm.urdf, passive=["joint_2"], gravity=0.0)
    model = ConstrainedArm(arm, slider, Coordinates.of_joints(["joint_1"]))
    limits = Limits.of(arm, effort=1e3, effort_rate=1e9)
    return ControlLoop(PassiveJointController(model, GAINS), Constant([1.4]), limits=limits)


def test_control_lost_and_rank_changed():
    loop = crank_loop()

    def at(k, q1):
        q = np.array([q1, 2.0 * np.pi - 2.0 * q1])
        report = loop.update(RawState(q, np.zeros(2), k * T))
        return report.action, Event(report.events), report.effort.copy()

    assert at(0, 1.5)[:2] == (Action.FOLLOW, Event.NONE)
    action, events, effort = at(1, np.pi / 2.0)
    assert (action, events) == (Action.ZERO, Event.CONTROL_LOST | Event.RANK_CHANGED)
    np.testing.assert_array_equal(effort, 0.0)
    assert at(2, np.pi / 2.0)[:2] == (Action.ZERO, Event.CONTROL_LOST)
    assert at(3, 1.6)[:2] == (Action.FOLLOW, Event.RANK_CHANGED)
    assert at(4, 1.6 + 1e-3)[:2] == (Action.FOLLOW, Event.NONE)


def test_every_event_has_its_answer():
    expected = {
        Action.FOLLOW: {Event.EFFORT_LIMITED, Event.RATE_LIMITED, Event.RANK_CHANGED},
        Action.STOP: {Event.POSITION_LIMIT, Event.VELOCITY_LIMIT, Event.REFERENCE_JUMPED},
        Action.HOLD: {Event.STATE_NOT_FINITE, Event.TIME_WENT_BACK},
        Action.ZERO: {
            Event.EFFORT_NOT_FINITE,
            Event.STATE_FROZEN,
            Event.STATE_STALE,
            Event.CONTROL_LOST,
        },
    }
    singles = {event: action for action, events in expected.items() for event in events}
    assert set(singles) == set(events_in(sum(singles)))
    for event, action in singles.items():
        assert answer_to(event) is action
        for other, severity in singles.items():
            assert answer_to(event | other) is max(action, severity)
    assert answer_to(0) is Action.FOLLOW


# --- Whatever comes.

WILD_NUMBERS = st.one_of(
    st.floats(-4.0, 4.0),
    st.sampled_from([np.nan, np.inf, -np.inf, 1e300, -1e300, 1e18, 0.0, 1e-300]),
)
NUMBERS = st.lists(WILD_NUMBERS, min_size=14, max_size=14)


PASSIVE_MODEL = slider_model(passive=("joint_2",))
WILD = [
    lambda: MotionController(MODEL, GAINS),
    lambda: MotionController(MODEL, GAINS, Law.IDC),
    lambda: ForceController(MODEL, GAINS, ForceGains()),
    lambda: PassiveJointController(PASSIVE_MODEL, GAINS),
    lambda: PassiveJointController(PASSIVE_MODEL, GAINS, ForceGains()),
]
"""Every law."""


def wild_loop(index):
    """A loop of its own for each example, with strict limits."""
    limits = Limits.of(MODEL.arm, effort=[1.0, 2.0, 3.0], effort_rate=[100.0, 300.0, 500.0])
    return ControlLoop(WILD[index](), Scripted(PLACE), limits=limits), limits


@pytest.mark.parametrize("index", range(5))
@settings(max_examples=100)
@given(st.lists(st.tuples(NUMBERS, st.booleans(), st.booleans()), min_size=1, max_size=6))
def test_whatever_comes_what_is_sent_is_sound(index, ticks):
    """Finite, within the limits, and changed by no more than the rate unless it went to zero."""
    loop, limits = wild_loop(index)
    before = np.zeros(3)
    for k, (numbers, good_state, good_reference) in enumerate(ticks):
        values = np.array(numbers)
        loop.reference.say(
            PLACE if good_reference else values[:2], None if good_reference else values[2:4]
        )
        if loop.controller.force is not None:
            loop.controller.force.desired[:] = values[4]
        q, v = (START, REST) if good_state else (values[5:8], values[8:11])
        stamp = k * T if good_state else values[11]
        with np.errstate(all="ignore"):
            report = loop.update(raw_state(MODEL, q, v, values[12], stamp))
        sent = report.effort.copy()
        assert np.isfinite(sent).all()
        assert (np.abs(sent) <= limits.effort).all()
        step = limits.effort_rate * T * (1.0 + 1e-12)
        assert (np.abs(sent - before) <= step).all() or not sent.any()
        if report.action is Action.ZERO:
            assert not sent.any()
        if index >= 3:
            assert sent[1] == 0.0
        before = sent


@pytest.mark.parametrize("law", [Law.PIDC, Law.IDC, Law.HYBRID])
def test_the_compiled_tick_does_what_its_parts_do(law):
    """inspect, the law and release one by one, against one call of the loop: the same numbers."""
    limits = {"effort": 2.0, "effort_rate": 500.0, "velocity": 3.0}
    reference = Scripted(PLACE)
    loop = make_loop(law, reference, **limits)
    apart = make_loop(law, Constant(PLACE), **limits)
    controller, guard = apart.controller, apart.guard
    random = np.random.default_rng(1)
    counted = set()
    for k in range(400):
        q, v = START + random.normal(0.0, 0.02, 3), random.normal(0.0, 1.3, 3)
        if random.random() < 0.05:
            q[random.integers(3)] = np.nan
        stamp = (k - 5 * (random.random() < 0.05)) * T
        reference.say(PLACE + (0.2 if random.random() < 0.1 else 0.01) * random.normal(size=2))
        measured = random.normal(size=1)
        report = loop.update(raw_state(MODEL, q, v, measured, stamp))

        controller.motion[:] = reference.point
        if law is Law.HYBRID:
            controller.force.measured[:] = measured
            controller.terms.doubted[:] = loop.controller.terms.doubted  # its sign, by chance
        events = guard.inspect(q, v, stamp, controller.motion)
        answer = answer_to(events)
        if answer < Action.HOLD:
            (controller.stop if answer is Action.STOP else controller.update)(q, v, stamp)
        effort, short = controller.effort.total, None
        if answer is Action.FOLLOW and guard.latched is Action.FOLLOW:
            kept = keep_state(controller, guard.limits, guard.sent)
            effort, events = kept.effort, events | kept.events
            short = kept.force_given_up if np.abs(kept.force_given_up).max() > 1e-9 else None
        parts = guard.release(effort, events)
        if law is Law.HYBRID:
            controller.force.limited(short)
        assert (parts.action, parts.events) == (report.action, report.events)
        # to rounding: a tick's solver begins where the tick before has ended
        np.testing.assert_allclose(parts.effort, report.effort, atol=1e-10)
        counted |= set(events_in(report.events))
    assert len(counted) >= 6


# --- Limits themselves.


def test_limits_come_from_the_description_unless_given():
    limits = Limits.of(MODEL.arm, velocity=[1.0, 2.0, 3.0])
    np.testing.assert_array_equal(limits.effort, 10.0)
    np.testing.assert_array_equal(limits.velocity, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(limits.upper, 2.0 * np.pi)


def test_a_joint_without_a_motor_may_have_no_effort():
    arm = Arm.from_urdf(
        slider_crank_case()[0].urdf.replace('effort="100.0"', 'effort="0"'), passive=["joint_2"]
    )
    assert Limits.of(arm, effort=[5.0, 0.0]).effort[1] == 0.0
    with pytest.raises(InvalidValue, match="effort limits must be positive"):
        Limits.of(arm)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"effort": [1.0, 2.0]}, "effort limit must be one number or 3"),
        ({"effort": np.nan}, "effort limit must be one number or 3"),
        ({"effort": 0.0}, "effort limits must be positive"),
        ({"effort_rate": -1.0}, "effort_rate limits must be positive"),
        ({"velocity": [1.0, 0.0, 1.0]}, "velocity limits must be positive"),
        ({"lower": 1.0, "upper": -1.0}, "position limits are inconsistent"),
        ({"reference_jump": 0.0}, "reference jump must be positive"),
        ({"hold_time": -1.0}, "hold time must not be negative"),
        ({"frozen_time": np.nan}, "frozen time must be finite"),
        ({"stale_time": 0.0}, "stale time must be positive"),
    ],
)
def test_bad_limits_are_refused(values, message):
    with pytest.raises(InvalidValue, match=message):
        Limits.of(MODEL.arm, **values)


def test_a_guard_needs_a_period():
    with pytest.raises(InvalidValue, match="period must be positive"):
        Guard(Limits.of(MODEL.arm), 2, 0.0)

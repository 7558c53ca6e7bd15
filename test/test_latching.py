"""What the guard has stopped for long starts again only when it is told to, and from inside."""

import numpy as np
import pytest
from acting_runs import NEEDS_NATIVE, ActingRun, Twins, long_reference
from arms import raw_state, slider_model
from loops import T

from projected_control import Runner, SimulatedArm, run
from projected_control.control import ForceController, ForceGains, MotionController, MotionGains
from projected_control.control.activation import obstacles
from projected_control.control.events import Action, Event
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant
from projected_control.control.state import RawState
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.native.updates import Report, Section, Status, Update, encode
from projected_control.planning import assemble
from projected_control.runs.recording import read_recording
from projected_control.runs.replay import replay
from projected_control.simulation import Plant

GAINS = MotionGains(480.0, 45.0)
MODEL = slider_model()
START = assemble(MODEL.arm, MODEL.constraint, [-3.8, 2.4, 1.4])
REST = np.zeros(3)
PLACE = MODEL.evaluate(START, REST).theta.copy()
LATCH = 0.1
NOTHING = np.full(3, np.nan)


@pytest.fixture(autouse=True)
def _model_at_the_start():
    MODEL.evaluate(START, REST)


def make_loop(**limits):
    limits = Limits.of(
        MODEL.arm,
        effort_rate=1e9,
        **({"latch_time": LATCH, "residual": 1e9, "frozen_time": 9.0} | limits),
    )
    return ControlLoop(MotionController(MODEL, GAINS), Constant(PLACE + 0.01), limits=limits)


class Ticks:
    """States one after the other, and what was answered."""

    def __init__(self, loop):
        self.loop, self.k = loop, 0
        loop.begin(raw_state(MODEL, START, REST, 0.0, 0.0))

    def __call__(self, count, q=START, v=REST):
        for _ in range(count):
            self.k += 1
            report = self.loop.update(raw_state(MODEL, q, v, 0.0, self.k * T))
        return report.action, Event(report.events), report.effort.copy()


@pytest.mark.parametrize("ticks", [50, 99])
def test_a_short_spell_of_bad_states_goes_on_by_itself(ticks):
    give = Ticks(make_loop())
    give(10)
    assert give(ticks, q=NOTHING)[0] is Action.ZERO
    action, events, effort = give(3)
    assert action is Action.FOLLOW
    assert not events & Event.LATCHED
    assert effort.any()


@pytest.mark.parametrize("fault", ["not finite", "time"])
def test_a_long_spell_of_bad_states_lasts_until_the_loop_begins_anew(fault):
    """As an arm was found: 2.7 s without a state, then engaged by itself, out of its limits."""
    loop = make_loop()
    give = Ticks(loop)
    give(10)
    if fault == "time":
        give.k -= 500
        assert give(110)[0] is Action.ZERO
        give.k += 500
    else:
        assert give(110, q=NOTHING)[0] is Action.ZERO
    action, events, effort = give(2000)
    assert (action, events) == (Action.ZERO, Event.LATCHED)
    assert not effort.any()
    assert loop.guard.latched is Action.ZERO
    loop.set_reference(Constant(PLACE))  # a reference does not end this
    assert give(10)[0] is Action.ZERO
    loop.begin(raw_state(MODEL, START, REST, 0.0, 0.0))
    needed = loop.guard.sent.copy()
    give.k = 0
    action, events, effort = give(1)
    assert (action, events) == (Action.FOLLOW, Event.NONE)
    np.testing.assert_allclose(effort, needed, atol=1e-9)  # without a bump


class Blind(SimulatedArm):
    """An arm that tells nothing more after 50 ticks."""

    ticks = 0

    def read(self):
        state = super().read()
        return state._replace(q=NOTHING) if self.ticks > 50 else state

    def write(self, effort):
        self.ticks += 1
        super().write(effort)


def test_a_run_ends_with_the_reason_and_its_replay_is_the_same(tmp_path):
    pytest.importorskip("mcap")
    plant = Plant(ConstrainedArm(MODEL.arm.twin(), MODEL.constraint))
    statistics = run(make_loop(), Blind(plant, START), 1000, record=tmp_path / "run.mcap")
    assert "nothing could be sent to the arm for 0.1 s (limits.latch_time): state not finite" in (
        statistics.lost
    )
    recording = read_recording(tmp_path / "run.mcap")
    assert 50 + 100 <= len(recording.rows) <= 50 + 105
    assert int(recording.column("events")[-1]) & Event.LATCHED
    assert replay(recording, make_loop()).difference == 0.0


class Blinking(Blind):
    """An arm that tells nothing for 150 ticks."""

    def read(self):
        state = super().read()
        return state if self.ticks <= 200 else SimulatedArm.read(self)


def test_what_was_interrupted_goes_back_to_its_reference_and_is_replayed(tmp_path):
    pytest.importorskip("mcap")
    plant = Plant(ConstrainedArm(MODEL.arm.twin(), MODEL.constraint))
    loop = make_loop(latch_time=0.5)
    statistics = run(loop, Blinking(plant, START), 300, record=tmp_path / "run.mcap")
    assert not statistics.lost
    assert loop.controller.terms.rejoin[1] > 0.15
    recording = read_recording(tmp_path / "run.mcap")
    actions = recording.column("action")
    assert actions[100] == Action.ZERO
    assert actions[-1] == Action.FOLLOW
    assert replay(recording, make_loop(latch_time=0.5)).difference == 0.0


def test_a_long_stop_ends_with_a_reference_that_begins_at_the_arm():
    loop = make_loop()
    give = Ticks(loop)
    fast = np.array([0.0, 30.0, 0.0])
    give(10)
    assert give(50, v=fast)[0] is Action.STOP
    assert give(2)[0] is Action.FOLLOW  # shorter than the latch time
    give(110, v=fast)
    assert give(500)[:2] == (Action.STOP, Event.LATCHED)
    loop.set_reference(Constant(PLACE + 1.0))  # not where the arm is
    assert give(5)[0] is Action.STOP
    loop.set_reference(Constant(PLACE))
    assert give(5)[:2] == (Action.FOLLOW, Event.NONE)
    give(110, v=fast)
    loop.set_reference(Constant(PLACE))
    assert give(5, v=fast)[0] is Action.STOP  # what stopped it is still there
    assert give(5)[:2] == (Action.FOLLOW, Event.NONE)


# Back into the range.


def outside_by(far, margin):
    """A loop whose second joint is that far below its range, at rest."""
    lower = np.array([-9.0, START[1] + far, -9.0])
    return make_loop(lower=lower, upper=[9.0] * 3, return_margin=margin)


def test_a_joint_that_rests_beyond_its_range_is_refused_unless_asked_for():
    (text,) = obstacles(outside_by(0.05, 0.0), START, 1e-3)
    assert "joints are outside their limits: joint_2" in text
    assert "limits.return_margin" in text
    assert obstacles(outside_by(0.05, 0.04), START, 1e-3)
    assert not obstacles(outside_by(0.05, 0.06), START, 1e-3)


def test_a_joint_is_led_back_in_and_never_further_out():
    give = Ticks(outside_by(0.05, 0.06))
    needed = give.loop.guard.sent.copy()
    action, events, effort = give(1)
    assert (action, events) == (Action.FOLLOW, Event.NONE)
    np.testing.assert_allclose(effort, needed, atol=1e-9)
    moved = np.array([0.0, 1.0, 0.0])
    assert give(1, q=START - 0.01 * moved)[1] & Event.POSITION_LIMIT  # outwards
    assert not give(1, q=START)[1]
    assert not give(1, q=START + 0.03 * moved)[1]
    assert give(1, q=START + 0.02 * moved)[1] & Event.POSITION_LIMIT  # further out than it was
    assert not give(1, q=START + 0.06 * moved)[1]  # inside
    assert give(1, q=START + 0.0499 * moved)[1] & Event.POSITION_LIMIT  # where it has to stay


# A force with the wrong sign.


class WithSensor(SimulatedArm):
    """An arm whose wrench has a sign and a bias of its own."""

    sign, bias = 1.0, 0.0

    def read(self):
        state = super().read()
        return state._replace(wrench=self.sign * state.wrench + self.bias)


def pressing(arm_sign=1.0, sign=1.0, desired=10.0, gains=None, **limits):
    """Loop and arm of a slider that is pressed on."""
    controller = ForceController(MODEL, GAINS, gains or ForceGains())
    loop = ControlLoop(
        controller,
        Constant(PLACE),
        limits=Limits.of(MODEL.arm, **limits),
        force_reference=Constant([desired]),
    )
    loop.force_source.set_sign(sign)
    plant = Plant(ConstrainedArm(MODEL.arm.twin(), MODEL.constraint))
    arm = WithSensor(plant, START)
    arm.sign = arm_sign
    return loop, arm


def pressed(loop, arm, ticks):
    """Forces that the constraint really took, and the events of each tick."""
    forces, events = [], []

    def note(_, tick):
        forces.append(arm.plant.state.multipliers[0])
        events.append((tick.report.action, Event(tick.report.events)))

    Runner(loop, arm).run(ticks, note)
    return np.array(forces), events


@pytest.mark.parametrize("desired", [10.0, -25.0])
@pytest.mark.parametrize("gains", [ForceGains(), ForceGains(0.0, 20.0), ForceGains(1.0, 5.0)])
def test_a_wrench_with_the_wrong_sign_stops_the_arm(desired, gains):
    """Within 30 ms, having pressed no more than 1.4 times what the right sign does, or it goes on.

    The right one reaches 24 N on the way to 10 N with G_F = 3: its effort steps at the start.
    """
    loop, arm = pressing(arm_sign=-1.0, desired=desired, gains=gains)
    wrong, events = pressed(loop, arm, 1500)
    first = next(k for k, (_, each) in enumerate(events) if each & Event.FORCE_REVERSED)
    assert first < 30
    assert all(action is Action.STOP for action, _ in events[first:])
    for arm_sign in (1.0, -1.0):
        loop, arm = pressing(arm_sign=arm_sign, sign=arm_sign, desired=desired, gains=gains)
        forces, events = pressed(loop, arm, 1500)
        assert all(action is Action.FOLLOW for action, _ in events)
        assert forces[-1] == pytest.approx(desired, rel=0.02)
        assert np.abs(wrong).max() < 1.4 * np.abs(forces).max()
        assert loop.force_source.terms.sign_seen[0] == 1.0


def test_a_force_far_from_the_models_stops_until_it_is_told_to_go_on():
    loop, arm = pressing(force_stop=20.0, latch_time=10.0)
    arm.bias = np.array([0.0, 30.0, 0.0, 0.0, 0.0, 0.0])
    _, events = pressed(loop, arm, 200)
    first = next(k for k, (_, each) in enumerate(events) if each & Event.FORCE_FAR_OFF)
    assert first <= 41  # two comparisons
    assert all(action is Action.STOP for action, _ in events[first:])
    assert events[-1][1] & Event.LATCHED


# The same on the acting side, and in replay.


@NEEDS_NATIVE
def test_the_acting_side_latches_too():
    acting_run = ActingRun("pidc")
    acting_run.go(50)
    for _ in range(1020):
        acting_run.send(encode(Update.BEAT, acting_run.session, acting_run.next()))
        effort = acting_run.acting.cycle(NOTHING, NOTHING, acting_run.plant.wrench)
    assert not effort.any()
    assert not acting_run.go(50).any()
    report = acting_run.state().sections[Section.REPORT]
    assert report[Report.ACTION] == Action.ZERO
    assert report[Report.EVENTS] & Event.LATCHED


@NEEDS_NATIVE
def test_the_acting_side_goes_back_to_its_reference_as_a_loop_in_python_does():
    twins = Twins()
    acting_run = twins.run
    twins.change(lambda loop: loop.set_reference(long_reference(loop, 200)))
    twins.go(100)
    for _ in range(150):
        assert acting_run.plant.read(acting_run.effort) == 0
        acting_run.send(encode(Update.BEAT, acting_run.session, acting_run.next()))
        stamp, wrench = 1e-9 * (len(acting_run.rows) * 1_000_000), acting_run.plant.wrench.copy()
        acting_run.effort = acting_run.acting.cycle(NOTHING, NOTHING, wrench)
        acting_run.efforts.append(acting_run.effort)
        acting_run.rows.append(RawState(NOTHING, NOTHING, stamp, wrench))
        twins.expected.append(twins.own.update(acting_run.rows[-1]).effort.copy())
    assert not acting_run.effort.any()
    twins.go(50)
    assert twins.own.controller.terms.rejoin[1] > 0.15
    twins.go(500)
    twins.compare()


@NEEDS_NATIVE
def test_the_acting_side_finds_the_wrong_sign_too():
    acting_run = ActingRun("hybrid")
    acting_run.loop.set_force_reference(Constant([8.0]))
    assert acting_run.change() is Status.ACCEPTED
    seen = None
    for cycle in range(200):
        assert acting_run.plant.read(acting_run.effort) == 0
        acting_run.send(encode(Update.BEAT, acting_run.session, acting_run.next()))
        acting_run.effort = acting_run.acting.cycle(
            acting_run.plant.q, acting_run.plant.v, -acting_run.plant.wrench
        )
        if cycle % 10 == 0:
            acting_run.acting.state()
        elif cycle % 10 == 1:
            report = acting_run.acting.state().sections[Section.REPORT]
            if report[Report.EVENTS] & Event.FORCE_REVERSED:
                seen = seen or cycle
                assert report[Report.ACTION] == Action.STOP
    assert seen is not None
    assert seen < 60

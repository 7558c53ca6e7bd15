"""The plugin without ros2_control: what silence brings, and states that cannot be believed."""

import numpy as np
import pytest
from acting import begin_message, change_message
from acting_runs import NEEDS_NATIVE, ActingRun
from loops import T

from projected_control.control import MotionGains
from projected_control.control.events import Action, Event
from projected_control.control.references import Constant
from projected_control.control.silence import SilenceAnswer
from projected_control.control.state import RawState
from projected_control.native.updates import Phase, Report, Section, Status, Update, encode

pytestmark = NEEDS_NATIVE


@pytest.mark.parametrize("answer", list(SilenceAnswer))
def test_silence_stops_the_arm_within_limits(answer):
    """No beat for 0.1 s: at rest 0.2 s later, torques within their rate limit all the way."""
    run = ActingRun("hybrid", answer=answer, patience=0.1, seconds=0.2)
    run.go(300)
    assert run.report(Report.PHASE) == Phase.RUNNING
    run.go(100, beats=False)
    assert run.report(Report.PHASE, beats=False) == Phase.SILENT
    run.go(600, beats=False)
    state = run.state(beats=False)
    stopped = answer is not SilenceAnswer.HOLD
    report = state.sections[Section.REPORT]
    assert report[Report.ACTION] == (Action.STOP if stopped else Action.FOLLOW)
    assert bool(report[Report.EVENTS] & Event.COMMANDER_SILENT) is stopped
    assert np.abs(run.plant.v).max() < 1e-3
    limits = run.loop.guard.limits
    assert run.steps.max() <= limits.effort_rate.max() * T * (1.0 + 1e-9)
    assert np.all(np.abs(np.array(run.efforts)) <= limits.effort)


def test_silence_is_final_for_a_session():
    run = ActingRun("hybrid", patience=0.1)
    run.go(50)
    run.go(150, beats=False)
    assert run.send(encode(Update.BEAT, 7, run.next())).status is Status.SILENT
    run.loop.controller.set_gains(MotionGains(100.0, 20.0))
    assert run.change() is Status.SILENT
    taken = run.state(beats=False).sections[Section.APPLIED]
    assert taken[0] < run.loop.mailbox.box[0]


def test_a_change_on_its_way_is_not_taken_after_silence():
    """Written into the mailbox in time, but silence began first: never in force."""
    run = ActingRun("pidc", patience=0.1)
    run.go(50)
    run.acting.now_ns += 99_000_000
    run.loop.controller.set_gains(MotionGains(100.0, 20.0))
    box = run.loop.mailbox.box[0]
    run.acting.now_ns += 500_000  # the change comes within the patience …
    late = change_message(run.loop, 7, run.next())
    run.go(1, beats=False)  # … which has passed at this cycle, before it is read
    assert run.send(late).status is Status.SILENT
    assert run.state(beats=False).sections[Section.APPLIED][0] < box


def test_another_session_takes_over_without_a_bump():
    """After silence a new session begins while the controller is active: no torque steps."""
    run = ActingRun("hybrid", patience=0.05, seconds=0.1)
    run.go(100)
    run.go(400, beats=False)
    before = run.effort.copy()
    loop = run.loop
    model = loop.controller.model
    model.evaluate(run.plant.q, run.plant.v)
    loop.set_reference(Constant(model.theta.copy()))
    loop.set_force_reference(Constant(np.zeros(1)))
    loop.begin(RawState(run.plant.q, run.plant.v, 0.0, run.plant.wrench))
    assert run.send(begin_message(loop, session=9)).status is Status.ACCEPTED
    run.session, run.sequence = 9, 1
    after = run.go(1)
    allowed = loop.guard.limits.effort_rate * T * (1.0 + 1e-9)
    assert np.all(np.abs(after - before) <= allowed)
    run.go(200)
    state = run.state()
    assert state.session == 9
    assert state.sections[Section.REPORT][Report.PHASE] == Phase.RUNNING
    assert state.sections[Section.REPORT][Report.ACTION] == Action.FOLLOW
    assert run.steps[-202:].max() <= allowed.max()
    assert run.send(encode(Update.BEAT, 7, 10_000)).status is Status.SESSION


@pytest.mark.parametrize("fault", ["frozen", "nan", "silent"])
def test_a_force_that_cannot_be_believed_stops_the_arm(fault):
    run = ActingRun("hybrid")
    run.go(100)
    wrench = run.plant.wrench.copy()
    if fault == "nan":
        wrench[2] = np.nan
    elif fault == "silent":
        wrench[:] = np.nan
    run.go(300, wrench=wrench)
    report = run.state(wrench=wrench).sections[Section.REPORT]
    assert report[Report.EVENTS] & Event.FORCE_STALE
    assert report[Report.ACTION] == Action.STOP


def test_a_state_that_is_not_finite_ends_in_zero():
    run = ActingRun("pidc")
    run.go(50)
    nothing = np.full(3, np.nan)
    for _ in range(200):
        effort = run.acting.cycle(nothing, nothing, run.plant.wrench)
        assert np.isfinite(effort).all()
    assert not effort.any()

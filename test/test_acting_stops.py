"""The plugin without ros2_control: what silence brings, and states that cannot be believed."""

import numpy as np
import pytest
from acting import begin_message, change_message
from loops import T
from rides import NEEDS_NATIVE, Ride

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
    ride = Ride("hybrid", answer=answer, patience=0.1, seconds=0.2)
    ride.go(300)
    assert ride.report(Report.PHASE) == Phase.RUNNING
    ride.go(100, beats=False)
    assert ride.report(Report.PHASE, beats=False) == Phase.SILENT
    ride.go(600, beats=False)
    state = ride.state(beats=False)
    stopped = answer is not SilenceAnswer.HOLD
    report = state.sections[Section.REPORT]
    assert report[Report.ACTION] == (Action.STOP if stopped else Action.FOLLOW)
    assert bool(report[Report.EVENTS] & Event.COMMANDER_SILENT) is stopped
    assert np.abs(ride.plant.v).max() < 1e-3
    limits = ride.loop.guard.limits
    assert ride.steps.max() <= limits.effort_rate.max() * T * (1.0 + 1e-9)
    assert np.all(np.abs(np.array(ride.efforts)) <= limits.effort)


def test_silence_is_final_for_a_session():
    ride = Ride("hybrid", patience=0.1)
    ride.go(50)
    ride.go(150, beats=False)
    assert ride.send(encode(Update.BEAT, 7, ride.next())).status is Status.SILENT
    ride.loop.controller.set_gains(MotionGains(100.0, 20.0))
    assert ride.change() is Status.SILENT
    taken = ride.state(beats=False).sections[Section.APPLIED]
    assert taken[0] < ride.loop.mailbox.box[0]


def test_a_change_on_its_way_is_not_taken_after_silence():
    """Written into the mailbox in time, but silence began first: never in force."""
    ride = Ride("pidc", patience=0.1)
    ride.go(50)
    ride.acting.now_ns += 99_000_000
    ride.loop.controller.set_gains(MotionGains(100.0, 20.0))
    box = ride.loop.mailbox.box[0]
    ride.acting.now_ns += 500_000  # the change comes within the patience …
    late = change_message(ride.loop, 7, ride.next())
    ride.go(1, beats=False)  # … which has passed at this cycle, before it is read
    assert ride.send(late).status is Status.SILENT
    assert ride.state(beats=False).sections[Section.APPLIED][0] < box


def test_another_session_takes_over_without_a_bump():
    """After silence a new session begins while the controller is active: no torque steps."""
    ride = Ride("hybrid", patience=0.05, seconds=0.1)
    ride.go(100)
    ride.go(400, beats=False)
    before = ride.effort.copy()
    loop = ride.loop
    model = loop.controller.model
    model.evaluate(ride.plant.q, ride.plant.v)
    loop.set_reference(Constant(model.theta.copy()))
    loop.set_force_reference(Constant(np.zeros(1)))
    loop.begin(RawState(ride.plant.q, ride.plant.v, 0.0, ride.plant.wrench))
    assert ride.send(begin_message(loop, session=9)).status is Status.ACCEPTED
    ride.session, ride.sequence = 9, 1
    after = ride.go(1)
    allowed = loop.guard.limits.effort_rate * T * (1.0 + 1e-9)
    assert np.all(np.abs(after - before) <= allowed)
    ride.go(200)
    state = ride.state()
    assert state.session == 9
    assert state.sections[Section.REPORT][Report.PHASE] == Phase.RUNNING
    assert state.sections[Section.REPORT][Report.ACTION] == Action.FOLLOW
    assert ride.steps[-202:].max() <= allowed.max()
    assert ride.send(encode(Update.BEAT, 7, 10_000)).status is Status.SESSION


@pytest.mark.parametrize("fault", ["frozen", "nan", "silent"])
def test_a_force_that_cannot_be_believed_stops_the_arm(fault):
    ride = Ride("hybrid")
    ride.go(100)
    wrench = ride.plant.wrench.copy()
    if fault == "nan":
        wrench[2] = np.nan
    elif fault == "silent":
        wrench[:] = np.nan
    ride.go(300, wrench=wrench)
    report = ride.state(wrench=wrench).sections[Section.REPORT]
    assert report[Report.EVENTS] & Event.FORCE_STALE
    assert report[Report.ACTION] == Action.STOP


def test_a_state_that_is_not_finite_ends_in_zero():
    ride = Ride("pidc")
    ride.go(50)
    nothing = np.full(3, np.nan)
    for _ in range(200):
        effort = ride.acting.cycle(nothing, nothing, ride.plant.wrench)
        assert np.isfinite(effort).all()
    assert not effort.any()

"""The plugin without ros2_control: who may command, and until when."""

import numpy as np
from acting import Acting, begin_message, change_message
from acting_runs import NEEDS_NATIVE, ActingRun
from loops import T, opened

from projected_control.control import MotionGains
from projected_control.control.silence import SilenceAnswer, silence_array
from projected_control.native.session import begin_sections
from projected_control.native.updates import Phase, Report, Section, Status, Update, encode

pytestmark = NEEDS_NATIVE


def test_no_session_no_activation():
    acting = Acting(("a",), T)
    assert "no node has begun a session" in acting.activate()


def test_a_loop_for_another_period_is_refused():
    loop, _ = opened("pidc")
    acting = Acting(loop.controller.model.arm.joint_names, 2e-3)
    answer = acting.receive(begin_message(loop))
    assert answer.status is Status.PERIOD
    assert "1000 Hz" in answer.reason
    assert "500 Hz" in answer.reason


def test_joints_that_are_not_there_are_refused():
    loop, _ = opened("pidc")
    names = loop.controller.model.arm.joint_names
    answer = Acting(names[1:], T).receive(begin_message(loop))
    assert answer.status is Status.JOINTS
    assert names[0] in answer.reason
    answer = Acting(names, T, commands=names[:-1]).receive(begin_message(loop))
    assert answer.status is Status.JOINTS
    assert names[-1] in answer.reason


def test_readings_come_in_any_order():
    loop, hardware = opened("hybrid")
    names = loop.controller.model.arm.joint_names
    ours, turned = Acting(names, T), Acting(names[::-1], T)
    state = hardware.read()
    for acting in (ours, turned):
        acting.receive(begin_message(loop))
        acting.activate()
    expected = ours.cycle(state.q, state.v, state.wrench)
    got = turned.cycle(state.q[::-1], state.v[::-1], state.wrench)
    assert np.array_equal(got[::-1], expected)


def test_another_pinocchio_is_refused():
    loop, _ = opened("pidc")
    acting = Acting(loop.controller.model.arm.joint_names, T)
    model = loop.controller.model
    silence = silence_array(model.m, model.k, SilenceAnswer.STOP, 0.1, 0.2)
    sections = begin_sections(loop, silence, 0.01)
    sections[Section.CHECK][-1] *= 1.0 + 1e-6
    answer = acting.receive(encode(Update.BEGIN, 7, 1, sections))
    assert answer.status is Status.PINOCCHIO


def test_another_session_is_not_heard():
    run = ActingRun("hybrid")
    run.go(50)
    before = run.effort
    assert run.send(begin_message(run.loop, session=8)).status is Status.BUSY
    assert run.send(change_message(run.loop, 8, 100)).status is Status.SESSION
    assert run.send(encode(Update.BEAT, 8, 101)).status is Status.SESSION
    assert run.send(encode(Update.END, 8, 102)).status is Status.SESSION
    assert np.abs(run.go(1) - before).max() < 0.1
    assert run.report(Report.PHASE) == Phase.RUNNING


def test_a_beginning_that_comes_twice_is_answered_and_changes_nothing():
    """A node that got no answer sends it again; to a loop that runs it is no sign of life."""
    run = ActingRun("hybrid")
    data = begin_message(opened("hybrid")[0], session=run.session)
    run.go(50)
    for _ in range(10):
        assert run.send(data).status is Status.ACCEPTED
        run.go(5)
    assert run.report(Report.PHASE) == Phase.RUNNING
    loop, _ = opened("hybrid")
    expected = [loop.update(row).effort.copy() for row in run.rows]
    assert np.array_equal(np.array(run.efforts), np.array(expected))
    other = begin_message(opened("pidc")[0], session=run.session)
    assert run.send(other).status is Status.BUSY
    for _ in range(1000):
        if run.send(data).status is not Status.ACCEPTED:
            break
        run.go(1, beats=False)
    assert run.report(Report.PHASE, beats=False) == Phase.SILENT
    assert run.send(data).status is Status.SESSION


def test_before_it_is_switched_on_the_same_beginning_keeps_a_session():
    """Longer than the patience of 0.1 s; without it, the session ends."""
    loop, _ = opened("hybrid")
    acting = Acting(loop.controller.model.arm.joint_names, T)
    data = begin_message(loop, session=7)
    for _ in range(8):
        assert acting.receive(data).status is Status.ACCEPTED
        acting.now_ns += 50_000_000
    assert acting.activate() == ""
    acting.deactivate()
    data = begin_message(loop, session=8)
    assert acting.receive(data).status is Status.ACCEPTED
    acting.now_ns += 1_000_000_000
    assert acting.receive(data).status is Status.SESSION


def test_an_old_number_is_refused():
    run = ActingRun("pidc")
    run.go(5)
    assert run.send(change_message(run.loop, 7, run.sequence)).status is Status.ORDER
    assert run.send(encode(Update.BEAT, 7, 2)).status is Status.ORDER


def test_the_end_is_zero_effort_and_final():
    run = ActingRun("hybrid")
    run.go(20)
    assert run.send(encode(Update.END, 7, run.next())).status is Status.ACCEPTED
    assert not run.go(1, beats=False).any()
    run.loop.controller.set_gains(MotionGains(100.0, 20.0))
    assert run.change() is Status.SESSION
    assert run.send(begin_message(run.loop, session=7)).status is Status.SESSION


def test_deactivated_a_session_has_ended():
    run = ActingRun("hybrid")
    run.go(20)
    run.acting.deactivate()
    assert run.change() is Status.SESSION
    assert "no node has begun" in run.acting.activate()


def test_a_session_that_is_not_switched_on_ends_with_its_heartbeat():
    loop, _ = opened("pidc")
    acting = Acting(loop.controller.model.arm.joint_names, T)
    acting.receive(begin_message(loop, patience=0.1))
    acting.now_ns += 200_000_000
    assert "no node has begun a session" in acting.activate()

"""The plugin without ros2_control: the same torques, who may command, and what silence brings."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from acting import Acting, ActingPlant, begin_message, letter_message
from arms import slider_model, state_on
from loops import LAWS, T, build, opened
from rides import NEEDS_NATIVE, Ride

from projected_control.control import MotionGains
from projected_control.control.events import Action, Event
from projected_control.control.references import Constant
from projected_control.control.silence import SilenceAnswer, silence_array
from projected_control.control.state import RawState
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.native import build as build_module
from projected_control.native.session import RemoteTick, begin_sections
from projected_control.native.updates import (
    Phase,
    Report,
    Section,
    Status,
    Update,
    encode,
)
from projected_control.ports import Runner, SimulatedArm
from projected_control.simulation import Encoders, ForceSensor, JointFriction, Motors, Plant

pytestmark = NEEDS_NATIVE


# The same torques


@pytest.mark.parametrize("law", LAWS)
def test_the_same_torques_as_the_python_loop(law):
    """1,000 ticks, and the Python loop fed with the states that were read: bit for bit."""
    ride = Ride(law)
    ride.go(1000)
    loop, _ = opened(law)
    expected = [loop.update(row).effort.copy() for row in ride.rows]
    assert np.array_equal(np.array(ride.efforts), np.array(expected))


@pytest.mark.parametrize("law", LAWS)
def test_the_same_motion_as_in_process(law):
    """1,000 ticks on both simulated arms, with one sample of delay: positions within 1e-9 rad."""
    ride = Ride(law)
    ride.go(1000)
    loop, hardware = build(law)
    runner = Runner(loop, hardware)
    runner.open()
    states = [runner.step().state for _ in range(1000)]
    ours, theirs = ([row.q for row in rows] for rows in (ride.rows, states))
    np.testing.assert_allclose(np.array(ours), np.array(theirs), rtol=0.0, atol=1e-9)


def test_encoders_motors_and_stiction_are_those_of_the_simulated_arm():
    """500 periods under the same efforts: what is measured is the same, bit for bit."""

    def arm():
        model = slider_model()
        plant = Plant(
            ConstrainedArm(model.arm.twin(), model.constraint),
            T / 2,
            friction=JointFriction(0.2, 0.05, static=0.3, sticks=True),
        )
        return SimulatedArm(
            plant,
            state_on(model, 4)[0],
            period=T,
            sensor=ForceSensor(delay=2),
            encoders=Encoders(1e-4, "filtered"),
            motors=Motors(delay=3),
        )

    hardware, plant = arm(), ActingPlant(arm())
    hardware.open()
    plant.read()
    for i in range(500):
        state = hardware.read()
        for ours, theirs in ((plant.q, state.q), (plant.v, state.v), (plant.wrench, state.wrench)):
            assert np.array_equal(ours, theirs), i
        effort = 2.0 * np.sin(0.02 * i + np.arange(3.0))
        hardware.write(effort)
        assert plant.read(effort) == 0


def test_what_is_reported_is_what_the_python_loop_has():
    """A state fills the loop's own arrays: the same θ, errors, λ, efforts and counters."""
    ride = Ride("hybrid")
    ride.go(200)
    assert ride.state().sections[Section.INSTANTS].size == 2 * 64  # no more are kept
    ride.go(9)
    state = ride.state()
    own, _ = opened("hybrid")
    for row in ride.rows:
        own.update(row)
    remote = RemoteTick(ride.loop)
    remote.put(state)
    row = ride.rows[-1]
    ride.loop.update(row)
    assert np.array_equal(ride.loop.controller.error, own.controller.error)
    assert np.array_equal(ride.loop.multipliers, own.multipliers)
    assert np.array_equal(ride.loop.guard.sent, own.guard.sent)
    assert ride.loop.counters.ticks[0] == own.counters.ticks[0] == len(ride.rows)
    assert state.sections[Section.NOW][0] == row.stamp
    assert len(remote.cycles) == 10  # those between the two states


COUNT = """
import sys
sys.path.insert(0, {test!r})
from rides import NEEDS_NATIVE, Ride, long_reference
for law in {laws}:
    ride = Ride(law, arm_clock=law == "hybrid")
    ride.go(20)
    with ride.loop.mailbox.together():
        arm = ride.loop.controller.model.arm
        arm.set_payload(arm.frame_names[-1], 0.1)
        ride.loop.set_reference(long_reference(ride.loop, 300, 0.02))
    assert ride.letter() == 0
    ride.acting.state()
    print(law, ride.acting.ride(ride.plant, ride.effort, 2000), bool(ride.acting.state()))
"""


def test_a_cycle_allocates_nothing():
    """2,000 cycles of each law, a payload and longer tables taken and a state put aside in them."""
    test = str(Path(__file__).parent)
    counter = build_module.loop_folder() / build_module.COUNTER
    done = subprocess.run(
        [sys.executable, "-c", COUNT.format(test=test, laws=LAWS)],
        env={**os.environ, "LD_PRELOAD": str(counter)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [f"{law} 0 True" for law in LAWS], done.stderr


# Who may command


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


def test_a_stranger_is_not_heard():
    ride = Ride("hybrid")
    ride.go(50)
    before = ride.effort
    assert ride.send(begin_message(ride.loop, session=8)).status is Status.BUSY
    assert ride.send(letter_message(ride.loop, 8, 100)).status is Status.SESSION
    assert ride.send(encode(Update.BEAT, 8, 101)).status is Status.SESSION
    assert ride.send(encode(Update.END, 8, 102)).status is Status.SESSION
    assert np.abs(ride.go(1) - before).max() < 0.1
    assert ride.report(Report.PHASE) == Phase.RUNNING


def test_a_beginning_that_comes_twice_is_answered_and_changes_nothing():
    """A node that got no answer sends it again; to a loop that runs it is no sign of life."""
    ride = Ride("hybrid")
    data = begin_message(opened("hybrid")[0], session=ride.session)
    ride.go(50)
    for _ in range(10):
        assert ride.send(data).status is Status.ACCEPTED
        ride.go(5)
    assert ride.report(Report.PHASE) == Phase.RUNNING
    loop, _ = opened("hybrid")
    expected = [loop.update(row).effort.copy() for row in ride.rows]
    assert np.array_equal(np.array(ride.efforts), np.array(expected))
    other = begin_message(opened("pidc")[0], session=ride.session)
    assert ride.send(other).status is Status.BUSY
    for _ in range(1000):
        if ride.send(data).status is not Status.ACCEPTED:
            break
        ride.go(1, beats=False)
    assert ride.report(Report.PHASE, beats=False) == Phase.SILENT
    assert ride.send(data).status is Status.SESSION


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
    ride = Ride("pidc")
    ride.go(5)
    assert ride.send(letter_message(ride.loop, 7, ride.sequence)).status is Status.ORDER
    assert ride.send(encode(Update.BEAT, 7, 2)).status is Status.ORDER


def test_the_end_is_zero_effort_and_final():
    ride = Ride("hybrid")
    ride.go(20)
    assert ride.send(encode(Update.END, 7, ride.next())).status is Status.ACCEPTED
    assert not ride.go(1, beats=False).any()
    ride.loop.controller.set_gains(MotionGains(100.0, 20.0))
    assert ride.letter() is Status.SESSION
    assert ride.send(begin_message(ride.loop, session=7)).status is Status.SESSION


def test_deactivated_a_session_has_ended():
    ride = Ride("hybrid")
    ride.go(20)
    ride.acting.deactivate()
    assert ride.letter() is Status.SESSION
    assert "no node has begun" in ride.acting.activate()


def test_a_session_that_is_not_switched_on_ends_with_its_heartbeat():
    loop, _ = opened("pidc")
    acting = Acting(loop.controller.model.arm.joint_names, T)
    acting.receive(begin_message(loop, patience=0.1))
    acting.now_ns += 200_000_000
    assert "no node has begun a session" in acting.activate()


# Silence


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
    assert ride.letter() is Status.SILENT
    taken = ride.state(beats=False).sections[Section.APPLIED]
    assert taken[0] < ride.loop.mailbox.box[0]


def test_a_letter_on_its_way_is_not_taken_after_silence():
    """Written into the mailbox in time, but silence began first: never in force."""
    ride = Ride("pidc", patience=0.1)
    ride.go(50)
    ride.acting.now_ns += 99_000_000
    ride.loop.controller.set_gains(MotionGains(100.0, 20.0))
    box = ride.loop.mailbox.box[0]
    ride.acting.now_ns += 500_000  # the letter comes within the patience …
    late = letter_message(ride.loop, 7, ride.next())
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


# Sensor and state


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

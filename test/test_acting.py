"""The plugin without ros2_control: the same torques, who may command, and what silence brings."""

import os
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import numpy as np
import pytest
from acting import Acting, ActingPlant, begin_message, letter_message
from arms import slider_model, state_on
from loops import LAWS, PRESS, T, build, opened

from projected_control.compiled import COMPILED
from projected_control.control import Impedance, MotionGains
from projected_control.control.disturbance import Disturbance
from projected_control.control.events import Action, Event
from projected_control.control.letter import LETTER_CONTENT
from projected_control.control.references import Constant, Waypoints
from projected_control.control.silence import SilenceAnswer, silence_array
from projected_control.control.state import RawState
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.native import build as build_module
from projected_control.native import library
from projected_control.native.letters import BODIES, Letters, known_of, letter_sections
from projected_control.native.session import RemoteTick, begin_sections
from projected_control.native.updates import (
    HEADER,
    VERSION,
    Phase,
    Report,
    Section,
    Status,
    Update,
    encode,
)
from projected_control.ports import Runner, SimulatedArm
from projected_control.simulation import Encoders, ForceSensor, JointFriction, Motors, Plant

REASON = library.reason_against() if COMPILED else "the kernels are not compiled"
pytestmark = pytest.mark.skipif(bool(REASON), reason=f"no native loop: {REASON}")


class Ride:
    """Cycles of a session on its arm, with a heartbeat as long as it is wanted."""

    def __init__(self, law, *, arm_clock=False, **options):
        self.loop, hardware = opened(law)
        arm = self.loop.controller.model.arm
        self.acting = Acting(arm.joint_names, T, arm_clock=arm_clock)
        self.plant = ActingPlant(hardware)
        answer = self.send(begin_message(self.loop, **options))
        assert answer.status is Status.ACCEPTED, answer.reason
        assert self.acting.activate() == ""
        self.session, self.sequence = 7, 1
        self.efforts, self.rows = [], []
        self.effort = None

    def go(self, cycles, *, beats=True, wrench=None):
        """So many cycles; the last effort."""
        for _ in range(cycles):
            assert self.plant.read(self.effort) == 0
            if beats:
                assert self.send(encode(Update.BEAT, self.session, self.next())) is None
            measured = self.plant.wrench if wrench is None else wrench
            self.effort = self.acting.cycle(self.plant.q, self.plant.v, measured)
            self.efforts.append(self.effort)
            stamp = 1e-9 * (len(self.rows) * 1_000_000)
            self.rows.append(
                RawState(self.plant.q.copy(), self.plant.v.copy(), stamp, measured.copy())
            )
        return self.effort

    def next(self):
        self.sequence += 1
        return self.sequence

    def send(self, data):
        return self.acting.receive(data)

    def letter(self):
        """Send what the loop's mailbox holds; the status."""
        return self.send(letter_message(self.loop, self.session, self.next())).status

    def state(self, **options):
        """What is reported of the next cycle."""
        self.acting.state()
        self.go(1, **options)
        return self.acting.state()

    def report(self, place, **options):
        return int(self.state(**options).sections[Section.REPORT][place])

    @property
    def steps(self):
        """The largest change of an effort from each cycle to the next."""
        return np.abs(np.diff(np.array(self.efforts), axis=0)).max(axis=1)


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
from test_acting import Ride, long_reference
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


# Letters


def test_a_letter_is_in_force_at_the_next_tick():
    """Gains and reference, as in the Python loop: bit for bit, before and after."""
    ride, own = Ride("hybrid"), opened("hybrid")[0]
    ride.go(100)
    efforts = [own.update(row).effort.copy() for row in ride.rows]
    for loop in (ride.loop, own):
        with loop.mailbox.together():
            loop.controller.set_gains(MotionGains(300.0, 40.0), seconds=0.05)
            loop.set_force_reference(Constant(np.full(1, 1.0)))
    assert ride.letter() is Status.ACCEPTED
    ride.go(100)
    efforts += [own.update(row).effort.copy() for row in ride.rows[100:]]
    assert np.array_equal(np.array(ride.efforts), np.array(efforts))
    assert ride.steps.max() <= own.guard.limits.effort_rate.max() * T * (1.0 + 1e-9)


def test_an_impedance_travels_in_a_letter():
    """Stiffness and damping, off the diagonal too, as in the Python loop: bit for bit."""
    ride, own = Ride("impedance"), opened("impedance")[0]
    ride.go(50)
    efforts = [own.update(row).effort.copy() for row in ride.rows]
    for loop in (ride.loop, own):
        loop.controller.set_impedance(Impedance([[500.0, -9.0], [-9.0, 12.0]], 0.6), seconds=0.02)
    assert ride.letter() is Status.ACCEPTED
    ride.go(50)
    efforts += [own.update(row).effort.copy() for row in ride.rows[50:]]
    assert np.array_equal(np.array(ride.efforts), np.array(efforts))


def test_a_letter_with_a_negative_stiffness_is_refused():
    ride = Ride("impedance")
    k = ride.loop.controller.model.k
    numbers = np.zeros(3 * k * k + 1)
    numbers[0] = -1.0
    ride.loop.mailbox.post_impedance(numbers, 0.1)
    answer = ride.send(letter_message(ride.loop, 7, ride.next()))
    assert answer.status is Status.VALUE
    assert "of an impedance is negative: -1" in answer.reason


def test_an_observed_disturbance_is_that_of_the_python_loop():
    """The plugin computes Pinocchio's C for the observer, whatever λ comes from."""

    def observed():
        loop, hardware = build("hybrid")
        loop.controller.set_disturbance(Disturbance("observer", band=0.0), 0.0)
        Runner(loop, hardware).open()
        return loop, hardware

    loop, hardware = observed()
    acting, plant = Acting(loop.controller.model.arm.joint_names, T), ActingPlant(hardware)
    assert acting.receive(begin_message(loop)).status is Status.ACCEPTED
    assert acting.activate() == ""
    own, effort = observed()[0], None
    for tick in range(50):
        assert plant.read(effort) == 0
        acting.receive(encode(Update.BEAT, 7, 2 + tick))
        effort = acting.cycle(plant.q, plant.v, plant.wrench)
        state = RawState(
            plant.q.copy(), plant.v.copy(), 1e-9 * (tick * 1_000_000), plant.wrench.copy()
        )
        assert np.array_equal(effort, own.update(state).effort)
    assert np.abs(own.controller._terms.disturbance).max() > 0.0


LINK, LOAD, CENTRE = "link_3", 0.8, (0.02, 0.01, 0.0)


def long_reference(loop, pieces, begin=0.0):
    """To and fro about where the arm is, in so many pieces of 10 ms."""
    here = loop.reference.at(begin)
    times = begin + 0.01 * np.arange(pieces + 1)
    away = 0.01 * (1.0 - np.cos(2.0 * (times - begin)))
    values, rates = here.value + away[:, None], np.zeros((times.size, here.value.size))
    rates[1:-1] = (values[2:] - values[:-2]) / 0.02
    rates[0] = here.rate
    return Waypoints(times, values, rates, order=3)


class Twins:
    """A ride, and a loop in Python that is changed as its loop is and fed with the same states."""

    def __init__(self, law="hybrid"):
        self.ride, self.own = Ride(law), opened(law)[0]
        self.expected, self.letters = [], Letters(self.ride.loop)

    def go(self, cycles):
        before = len(self.ride.rows)
        self.ride.go(cycles)
        self.expected += [self.own.update(row).effort.copy() for row in self.ride.rows[before:]]

    def change(self, *changes):
        """Changes of both, sent as one letter; the sections that went."""
        for loop in (self.ride.loop, self.own):
            with loop.mailbox.together():
                for change in changes:
                    change(loop)
        sections, sequence = self.letters.sections(), self.ride.next()
        self.letters.sent(sequence)
        answer = self.ride.send(encode(Update.LETTER, 7, sequence, sections))
        self.letters.acknowledged(sequence, accepted=answer.status is Status.ACCEPTED)
        assert answer.status is Status.ACCEPTED, answer.reason
        return set(sections)

    def compare(self):
        assert np.array_equal(np.array(self.ride.efforts), np.array(self.expected))


def carry(mass):
    return lambda loop: loop.controller.model.arm.set_payload(LINK, mass, CENTRE)


def test_a_payload_is_carried_from_the_next_tick_on():
    """The same torques as in Python, bit for bit, before and after; the weight shows."""
    twins = Twins("pidc")
    twins.go(50)
    before = twins.ride.effort.copy()
    sections = twins.change(carry(LOAD))
    assert sections == {Section.MAILBOX, *BODIES, Section.CHECK}
    twins.go(300)
    assert np.abs(twins.ride.effort - before).max() > 0.1
    assert twins.change(carry(0.0)) == sections
    twins.go(50)
    twins.compare()
    assert twins.ride.steps.max() <= twins.own.guard.limits.effort_rate.max() * T * (1.0 + 1e-9)


@pytest.mark.parametrize("pieces", [10, 1000])
def test_a_reference_of_any_length_is_followed(pieces):
    """The room grows between two cycles; then a short one and gains go the usual way."""
    twins = Twins()
    twins.go(20)
    sections = twins.change(
        lambda loop: loop.set_reference(long_reference(loop, pieces, begin=0.02))
    )
    assert sections == {Section.MAILBOX, Section.REFERENCE}
    twins.go(100)
    twins.change(lambda loop: loop.set_reference(Constant(loop.reference.at(0.12).value)))
    twins.go(50)
    sections = twins.change(lambda loop: loop.controller.set_gains(MotionGains(300.0, 40.0), 0.05))
    assert sections == {Section.MAILBOX}
    twins.go(100)
    twins.compare()


def test_payload_gains_and_both_references_come_into_force_together():
    twins = Twins()
    twins.go(20)
    twins.change(
        carry(LOAD),
        lambda loop: loop.controller.set_gains(MotionGains(300.0, 40.0), 0.02),
        lambda loop: loop.set_reference(long_reference(loop, 500, begin=0.02)),
        lambda loop: loop.set_force_reference(long_force(200)),
    )
    twins.go(200)
    twins.compare()


def long_force(pieces):
    times = 0.02 + 0.005 * np.arange(pieces + 1)
    return Waypoints(times, PRESS + np.sin(times - 0.02)[:, None], order=5)


def test_letters_that_follow_each_other_before_a_cycle_count_together():
    """A payload, a long reference and gains, none of them taken before the last has come."""
    twins = Twins()
    twins.go(20)
    twins.change(carry(LOAD))
    twins.change(lambda loop: loop.set_reference(long_reference(loop, 300, begin=0.02)))
    twins.change(lambda loop: loop.set_reference(long_reference(loop, 600, begin=0.02)))
    twins.change(lambda loop: loop.controller.set_gains(MotionGains(300.0, 40.0), 0.02))
    twins.go(100)
    twins.compare()


def test_a_letter_without_the_table_of_its_reference_is_refused():
    ride = Ride("hybrid")
    ride.go(5)
    known = known_of(ride.loop)
    ride.loop.set_reference(long_reference(ride.loop, 10))
    sections = letter_sections(ride.loop, known)
    del sections[Section.REFERENCE]
    answer = ride.send(encode(Update.LETTER, 7, ride.next(), sections))
    assert answer.status is Status.SIZE
    assert "new reference" in answer.reason


def test_masses_that_do_not_agree_with_pinocchio_are_refused():
    ride = Ride("pidc")
    ride.go(5)
    with ride.loop.mailbox.together():
        carry(LOAD)(ride.loop)
    sections = letter_sections(ride.loop)
    for section, factor, status in (
        (Section.MASSES, 1.0 + 1e-6, Status.PINOCCHIO),
        (Section.MASSES, -1.0, Status.VALUE),
        (Section.CENTRES, np.inf, Status.VALUE),
        (Section.CHECK, 1.0 + 1e-6, Status.PINOCCHIO),
    ):
        with np.errstate(invalid="ignore"):
            spoiled = {**sections, section: sections[section] * factor}
        answer = ride.send(encode(Update.LETTER, 7, ride.next(), spoiled))
        assert answer.status is status, answer.reason


def test_letters_while_cycles_run():
    """One thread sends payloads, gains and references of any length while another ticks.

    By the number of the letter in force, a loop in Python is changed at the same ticks: the same
    torques, bit for bit, so that no letter was ever taken in part.
    """
    ride, own = Ride("hybrid", patience=1e3), opened("hybrid")[0]
    changes, done = {}, threading.Event()
    ride.go(20)

    def decide():
        letters, loop = Letters(ride.loop), ride.loop
        for i in range(80):
            wanted = [
                carry(LOAD * (i % 3)),
                lambda loop, i=i: loop.controller.set_gains(MotionGains(300.0 + i, 40.0)),
                lambda loop, i=i: loop.set_reference(long_reference(loop, 5 + 97 * (i % 5), 0.02)),
            ][i % 4 % 3 :]
            apply(loop, wanted)
            changes[loop.mailbox.box[0]] = wanted
            sequence = ride.next()
            data = encode(Update.LETTER, 7, sequence, letters.sections())
            letters.sent(sequence)
            accepted = ride.send(data).status is Status.ACCEPTED
            letters.acknowledged(sequence, accepted=accepted)
        done.set()

    def apply(loop, wanted):
        with loop.mailbox.together():
            for change in wanted:
                change(loop)

    decider = threading.Thread(target=decide)
    decider.start()
    taken = [0.0] * len(ride.rows)
    while not done.is_set():
        taken.append(ride.state(beats=False).sections[Section.APPLIED][0])
    decider.join()
    taken.append(ride.state(beats=False).sections[Section.APPLIED][0])
    assert taken[-1] == max(changes)
    left = sorted(changes)
    for row, effort, number in zip(ride.rows, ride.efforts, taken, strict=True):
        while left and left[0] <= number:
            apply(own, changes[left.pop(0)])
        assert np.array_equal(own.update(row).effort, effort)
    assert len(set(taken)) > 10


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


def test_stamps_lie_on_a_grid_until_cycles_are_missed():
    ride = Ride("pidc")
    ride.go(10)
    ride.acting.time_ns += 400_000  # woke up late
    assert ride.state().sections[Section.NOW][0] == pytest.approx(0.010, abs=1e-12)
    ride.acting.time_ns += 5_000_000
    ride.acting.now_ns += 5_000_000
    state = ride.state()
    assert state.sections[Section.NOW][0] == pytest.approx(0.016, abs=1e-12)
    assert state.sections[Section.REPORT][Report.OVERRUNS] == 1


def test_stamps_are_those_of_an_arm_that_has_a_clock():
    """However late the manager is: what counts is when the state was measured."""
    ride = Ride("pidc", arm_clock=True)
    ride.go(10)
    ride.acting.time_ns += 1_700_000  # the manager woke up late, the arm made one period
    assert ride.state().sections[Section.NOW][0] == pytest.approx(0.010, abs=1e-12)
    ride.acting.arm_seconds += 2 * T  # and now it has made three, but the manager is in time
    assert ride.state().sections[Section.NOW][0] == pytest.approx(0.013, abs=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_cycles_that_do_not_come_are_the_same_for_arm_and_loop(law):
    """An arm with a clock, a manager that is late at random: as in process with the same gaps."""
    ride = Ride(law, arm_clock=True)
    loop, hardware = build(law)
    runner, random = Runner(loop, hardware), np.random.default_rng(5)
    runner.open()
    for i in range(1000):
        gap = int(random.choice([0, 0, 0, 0, 0, 0, 0, 1, 2, 3])) if i else 0
        for _ in range(gap):  # the arm goes on under the effort that it had
            assert ride.plant.read(ride.effort) == 0
            hardware.read()
            hardware.write(hardware.plant.terms.effort.copy())
        ride.acting.arm_seconds += gap * T
        ride.acting.time_ns += gap * 1_000_000 + int(random.integers(0, 1_900_000))
        ride.go(1)
        state = runner.step().state
        np.testing.assert_allclose(ride.plant.q, state.q, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("fault", ["nan", "frozen", "back", "ahead"])
def test_a_clock_of_the_arm_that_cannot_be_believed_ends_in_zero(fault):
    ride = Ride("hybrid", arm_clock=True)
    ride.go(100)
    stood = ride.acting.arm_seconds
    # Less the period that a cycle adds.
    shown = {"nan": np.nan, "frozen": stood - T, "back": stood - 1.0, "ahead": stood + 10.0}[fault]
    for _ in range(300):
        ride.acting.arm_seconds = shown
        effort = ride.go(1)
        assert np.isfinite(effort).all()
    assert not effort.any()
    ride.acting.arm_seconds = shown
    expected = {
        "nan": Event.STATE_NOT_FINITE,
        "frozen": Event.STATE_STALE,
        "back": Event.TIME_WENT_BACK,
        "ahead": Event.STATE_NOT_FINITE,
    }
    assert ride.report(Report.EVENTS) & expected[fault]


@pytest.mark.parametrize("glitch", [81_234.5, 0.0])
def test_a_glitch_of_the_arms_clock_is_over_when_it_is_over(glitch):
    ride = Ride("hybrid", arm_clock=True)
    ride.go(100)
    stood = ride.acting.arm_seconds
    ride.acting.arm_seconds = glitch
    ride.go(1)
    ride.acting.arm_seconds = stood + T
    ride.go(100)
    state = ride.state()
    assert state.sections[Section.REPORT][Report.ACTION] == Action.FOLLOW
    assert state.sections[Section.NOW][0] == pytest.approx(0.201, abs=1e-9)


def test_a_clock_in_another_unit_moves_nothing():
    """Milliseconds for seconds: the reference does not run away, and the guard says why."""
    ride = Ride("hybrid", arm_clock=True)
    for _ in range(300):
        ride.go(1)
        ride.acting.arm_seconds += 999.0 * T
    assert not ride.effort.any()
    assert ride.report(Report.EVENTS) & Event.STATE_NOT_FINITE
    assert ride.state().sections[Section.NOW][0] < 1.0


def test_clocks_may_drift_apart():
    """By half a thousandth, for 45 s: that is more than the clock may be ahead at once."""
    ride = Ride("pidc", arm_clock=True)
    for _ in range(45):
        ride.go(1000)
        ride.acting.arm_seconds += 0.5e-3
    report = ride.state().sections[Section.REPORT]
    assert report[Report.ACTION] == Action.FOLLOW
    assert report[Report.EVENTS_SINCE] & Event.STATE_NOT_FINITE == 0


def test_a_stop_can_begin_while_the_arm_does_not_tell_its_time():
    """The node falls silent in a cycle in which the time is missing: it brakes all the same."""
    ride = Ride("hybrid", arm_clock=True, patience=0.05, seconds=0.1)
    ride.go(100)
    ride.go(49, beats=False)
    known = ride.acting.arm_seconds
    ride.acting.arm_seconds = np.nan
    ride.go(3, beats=False)
    ride.acting.arm_seconds = known + 3 * T
    ride.go(600, beats=False)
    report = ride.state(beats=False).sections[Section.REPORT]
    assert report[Report.PHASE] == Phase.SILENT
    assert report[Report.ACTION] == Action.STOP
    assert np.abs(ride.plant.v).max() < 1e-2


# What is no update


def broken_updates(loop, count, seed=0):
    """Updates with one thing wrong with each, and what is wrong."""
    random = np.random.default_rng(seed)
    good = letter_message(loop, 7, 1_000_000)
    whole = letter_sections(loop)
    sections = list(whole)
    for i in range(count):
        kind = ("bit", "version", "digest", "size", "nan", "order", "session", "length")[i % 8]
        if kind == "bit":
            data = bytearray(good)
            data[random.integers(len(data))] ^= 1 << random.integers(8)
        elif kind == "version":
            data = bytearray(good)
            data[8:12] = int(random.integers(VERSION + 1, 1 << 31)).to_bytes(4, "little")
        elif kind == "digest":
            data = bytearray(_with_digest(good, int(random.integers(1, 1 << 62))))
        elif kind == "size":
            data = bytearray(good[: random.integers(len(good))])
        elif kind in ("nan", "length"):
            spoiled = {section: content.copy() for section, content in whole.items()}
            spoiled[Section.MAILBOX][0] += 2.0
            section = sections[random.integers(len(sections))]
            content = spoiled[section]
            if kind == "nan":  # whatever a tick looks at: versions, gains, limits, tables, masses
                first = LETTER_CONTENT if section is Section.MAILBOX else 0
                content[random.integers(first, content.size)] = np.nan
            else:
                spoiled[section] = content[: random.integers(content.size)]
            data = encode(Update.LETTER, 7, 1_000_000 + i, spoiled)
        elif kind == "order":
            data = letter_message(loop, 7, int(random.integers(1, 3)))
        else:
            data = letter_message(loop, int(random.integers(8, 1 << 62)), 1_000_000)
        yield kind, bytes(data)


def _with_digest(message, digest):
    fields = list(HEADER.unpack_from(message))
    fields[3], fields[8] = digest, 0
    blank = HEADER.pack(*fields) + message[HEADER.size :]
    fields[8] = zlib.crc32(blank)
    return HEADER.pack(*fields) + message[HEADER.size :]


def test_ten_thousand_broken_updates_change_nothing():
    """Each is refused and acknowledged; the torques stay those of a loop that got none of them."""
    ride, own = Ride("hybrid"), opened("hybrid")[0]
    ride.go(20)
    ride.loop.controller.set_gains(MotionGains(1.0, 1.0), seconds=0.0)
    ride.loop.guard.set_limits(ride.loop.guard.limits)
    statuses = {}
    for i, (kind, data) in enumerate(broken_updates(ride.loop, 10_000)):
        answer = ride.send(data)
        assert answer is not None, kind
        assert answer.status is not Status.ACCEPTED, kind
        assert answer.reason
        statuses.setdefault(kind, set()).add(answer.status)
        if i % 100 == 0:
            ride.go(1)
    assert statuses["version"] == {Status.VERSION}
    assert statuses["digest"] == {Status.DIGEST}
    assert statuses["size"] == {Status.MALFORMED}
    assert statuses["order"] == {Status.ORDER}
    assert statuses["session"] == {Status.SESSION}
    assert statuses["length"] == {Status.SIZE}
    expected = [own.update(row).effort.copy() for row in ride.rows]
    assert np.array_equal(np.array(ride.efforts), np.array(expected))
    assert ride.report(Report.REFUSED) == 10_000


def test_broken_beginnings_are_refused():
    """Every section of a beginning cut or left out: refused, never half made."""
    loop, _ = opened("hybrid")
    model = loop.controller.model
    acting = Acting(model.arm.joint_names, T)
    silence = silence_array(model.m, model.k, SilenceAnswer.STOP, 0.1, 0.2)
    good = begin_sections(loop, silence, 0.01)
    for section, content in good.items():
        if not len(content):
            continue  # no joint is passive
        without = {other: c for other, c in good.items() if other is not section}
        for spoiled in (without, {**without, section: content[:-1]}):
            answer = acting.receive(encode(Update.BEGIN, 7, 1, spoiled))
            assert answer.status is not Status.ACCEPTED, section
    assert acting.receive(encode(Update.BEGIN, 7, 1, good)).status is Status.ACCEPTED

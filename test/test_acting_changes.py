"""The plugin without ros2_control: gains, references and payloads that change while it runs."""

import threading
from time import sleep

import numpy as np
import pytest
from acting import Acting, ActingPlant, begin_message, change_message
from acting_runs import NEEDS_NATIVE, ActingRun, Twins, long_reference
from loops import PRESS, T, build, opened

from projected_control import Runner
from projected_control.control import Impedance, MotionGains
from projected_control.control.disturbance import Disturbance
from projected_control.control.live import view_block
from projected_control.control.references import Constant, Waypoints
from projected_control.control.state import RawState
from projected_control.native.session import ChangeMessages, change_sections, versions_of
from projected_control.native.updates import Section, Status, Update, encode

pytestmark = NEEDS_NATIVE


def test_a_change_is_in_force_at_the_next_tick():
    """Gains and reference, as in the Python loop: bit for bit, before and after."""
    run, own = ActingRun("hybrid"), opened("hybrid")[0]
    run.go(100)
    efforts = [own.update(row).effort.copy() for row in run.rows]
    for loop in (run.loop, own):
        with loop.mailbox.together():
            loop.controller.set_gains(MotionGains(300.0, 40.0), seconds=0.05)
            loop.set_force_reference(Constant(np.full(1, 1.0)))
    assert run.change() is Status.ACCEPTED
    run.go(100)
    efforts += [own.update(row).effort.copy() for row in run.rows[100:]]
    assert np.array_equal(np.array(run.efforts), np.array(efforts))
    assert run.steps.max() <= own.guard.limits.effort_rate.max() * T * (1.0 + 1e-9)


def test_an_impedance_travels_in_a_change():
    """Stiffness and damping, off the diagonal too, as in the Python loop: bit for bit."""
    run, own = ActingRun("impedance"), opened("impedance")[0]
    run.go(50)
    efforts = [own.update(row).effort.copy() for row in run.rows]
    for loop in (run.loop, own):
        loop.controller.set_impedance(Impedance([[500.0, -9.0], [-9.0, 12.0]], 0.6), seconds=0.02)
    assert run.change() is Status.ACCEPTED
    run.go(50)
    efforts += [own.update(row).effort.copy() for row in run.rows[50:]]
    assert np.array_equal(np.array(run.efforts), np.array(efforts))


def test_a_change_with_a_negative_stiffness_is_refused():
    run = ActingRun("impedance")
    k = run.loop.controller.model.k
    numbers = np.zeros(3 * k * k + 1)
    numbers[0] = -1.0
    run.loop.mailbox.post("impedance", numbers, 0.1)
    answer = run.send(change_message(run.loop, 7, run.next()))
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


def carry(mass):
    def change(loop):
        loop.controller.model.arm.set_payload(LINK, mass, CENTRE)
        loop.take_load()

    return change


def test_a_payload_is_carried_from_the_next_tick_on():
    """The same torques as in Python, bit for bit, before and after; the weight shows."""
    twins = Twins("pidc")
    twins.go(50)
    before = twins.run.effort.copy()
    sections = twins.change(carry(LOAD))
    assert sections == {Section.MAILBOX, Section.CHECK}
    twins.go(300)
    assert np.abs(twins.run.effort - before).max() > 0.1
    assert twins.change(carry(0.0)) == sections
    twins.go(50)
    twins.compare()
    assert twins.run.steps.max() <= twins.own.guard.limits.effort_rate.max() * T * (1.0 + 1e-9)


@pytest.mark.parametrize("pieces", [10, 1000])
def test_a_reference_of_any_length_is_followed(pieces):
    """The tables grow between two cycles; then a short one and gains go the usual way."""
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


def test_changes_that_follow_each_other_before_a_cycle_count_together():
    """A payload, a long reference and gains, none of them taken before the last has come."""
    twins = Twins()
    twins.go(20)
    twins.change(carry(LOAD))
    twins.change(lambda loop: loop.set_reference(long_reference(loop, 300, begin=0.02)))
    twins.change(lambda loop: loop.set_reference(long_reference(loop, 600, begin=0.02)))
    twins.change(lambda loop: loop.controller.set_gains(MotionGains(300.0, 40.0), 0.02))
    twins.go(100)
    twins.compare()


def test_a_change_without_the_table_of_its_reference_is_refused():
    run = ActingRun("hybrid")
    run.go(5)
    known = versions_of(run.loop)
    run.loop.set_reference(long_reference(run.loop, 10))
    sections = change_sections(run.loop, known)
    del sections[Section.REFERENCE]
    answer = run.send(encode(Update.CHANGE, 7, run.next(), sections))
    assert answer.status is Status.SIZE
    assert "new reference" in answer.reason


def test_masses_that_do_not_agree_with_pinocchio_are_refused():
    run = ActingRun("pidc")
    run.go(5)
    with run.loop.mailbox.together():
        carry(LOAD)(run.loop)
    sections = change_sections(run.loop)
    n, box = run.loop.controller.model.n, run.loop.mailbox.box
    (head,) = sections[Section.MAILBOX].shape
    bodies = view_block(box, n, run.loop.controller.model.m, run.loop.controller.model.k).bodies
    first = next(at for at in range(head) if np.shares_memory(box[at : at + 1], bodies))
    masses, centres = slice(first, first + n + 1), slice(first + n + 1, first + 4 * (n + 1))
    for section, where, factor, status in (
        (Section.MAILBOX, masses, 1.0 + 1e-6, Status.PINOCCHIO),
        (Section.MAILBOX, masses, -1.0, Status.VALUE),
        (Section.MAILBOX, centres, np.inf, Status.VALUE),
        (Section.CHECK, slice(None), 1.0 + 1e-6, Status.PINOCCHIO),
    ):
        spoiled = sections[section].copy()
        with np.errstate(invalid="ignore"):
            spoiled[where] *= factor
        data = encode(Update.CHANGE, 7, run.next(), {**sections, section: spoiled})
        answer = run.send(data)
        assert answer.status is status, answer.reason
    without = {section: sections[section] for section in sections if section != Section.CHECK}
    answer = run.send(encode(Update.CHANGE, 7, run.next(), without))
    assert answer.status is Status.SIZE


def test_changes_while_cycles_run():
    """One thread sends payloads, gains and references of any length while another ticks.

    By the number of the change in force, a loop in Python is changed at the same ticks: the same
    torques, bit for bit, so that no change was ever taken in part.
    """
    run, own = ActingRun("hybrid", patience=1e3), opened("hybrid")[0]
    changes, done = {}, threading.Event()
    run.go(20)

    def decide():
        messages, loop = ChangeMessages(run.loop), run.loop
        for i in range(80):
            wanted = [
                carry(LOAD * (i % 3)),
                lambda loop, i=i: loop.controller.set_gains(MotionGains(300.0 + i, 40.0)),
                lambda loop, i=i: loop.set_reference(long_reference(loop, 5 + 97 * (i % 5), 0.02)),
            ][i % 4 % 3 :]
            apply(loop, wanted)
            changes[loop.mailbox.box[0]] = wanted
            sequence = run.next()
            data = encode(Update.CHANGE, 7, sequence, messages.sections())
            messages.sent(sequence)
            accepted = run.send(data).status is Status.ACCEPTED
            messages.acknowledged(sequence, accepted=accepted)
            ticks = len(taken)
            while (
                i % 4 == 0 and len(taken) == ticks
            ):  # some are taken one by one, by which thread is faster
                sleep(1e-4)
        done.set()

    def apply(loop, wanted):
        with loop.mailbox.together():
            for change in wanted:
                change(loop)

    taken = [0.0] * len(run.rows)
    decider = threading.Thread(target=decide)
    decider.start()
    while not done.is_set():
        taken.append(run.state(beats=False).sections[Section.APPLIED][0])
    decider.join()
    taken.append(run.state(beats=False).sections[Section.APPLIED][0])
    assert taken[-1] == max(changes)
    left = sorted(changes)
    for row, effort, number in zip(run.rows, run.efforts, taken, strict=True):
        while left and left[0] <= number:
            apply(own, changes[left.pop(0)])
        assert np.array_equal(own.update(row).effort, effort)
    assert len(set(taken)) > 10

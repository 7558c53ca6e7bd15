"""A session of the plugin on its simulated arm, cycle by cycle, without ros2_control."""

import numpy as np
import pytest
from acting import Acting, ActingPlant, begin_message, change_message
from loops import T, opened

from projected_control.compiled import COMPILED
from projected_control.control.references import Waypoints
from projected_control.control.state import RawState
from projected_control.native import library
from projected_control.native.session import ChangeMessages
from projected_control.native.updates import Section, Status, Update, encode

REASON = library.reason_against() if COMPILED else "the kernels are not compiled"
NEEDS_NATIVE = pytest.mark.skipif(bool(REASON), reason=f"no native loop: {REASON}")


class ActingRun:
    """Cycles of a session on its arm, with a heartbeat as long as it is wanted.

    Of a law by name, or of a loop that was opened and its arm.
    """

    def __init__(self, law, *, arm_clock=False, **options):
        self.loop, hardware = opened(law) if isinstance(law, str) else law
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

    def change(self):
        """Send what the loop's mailbox holds; the status."""
        return self.send(change_message(self.loop, self.session, self.next())).status

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


class Twins:
    """A run, and a loop in Python that is changed as its loop is and fed with the same states."""

    def __init__(self, law="hybrid"):
        self.run, self.own = ActingRun(law), opened(law)[0]
        self.expected, self.messages = [], ChangeMessages(self.run.loop)

    def go(self, cycles):
        before = len(self.run.rows)
        self.run.go(cycles)
        self.expected += [self.own.update(row).effort.copy() for row in self.run.rows[before:]]

    def change(self, *changes):
        """Changes of both, sent as one message; the sections that went."""
        for loop in (self.run.loop, self.own):
            with loop.mailbox.together():
                for change in changes:
                    change(loop)
        sections, sequence = self.messages.sections(), self.run.next()
        self.messages.sent(sequence)
        answer = self.run.send(encode(Update.CHANGE, 7, sequence, sections))
        self.messages.acknowledged(sequence, accepted=answer.status is Status.ACCEPTED)
        assert answer.status is Status.ACCEPTED, answer.reason
        return set(sections)

    def compare(self):
        assert np.array_equal(np.array(self.run.efforts), np.array(self.expected))


def long_reference(loop, pieces, begin=0.0):
    """To and fro about where the arm is, in so many pieces of 10 ms."""
    here = loop.reference.at(begin)
    times = begin + 0.01 * np.arange(pieces + 1)
    away = 0.01 * (1.0 - np.cos(2.0 * (times - begin)))
    values, rates = here.value + away[:, None], np.zeros((times.size, here.value.size))
    rates[1:-1] = (values[2:] - values[:-2]) / 0.02
    rates[0] = here.rate
    return Waypoints(times, values, rates, order=3)

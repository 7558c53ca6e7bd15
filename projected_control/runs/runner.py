"""The runner: takes a control loop through its ticks on any port.

It owns what surrounds a tick, once for all kinds of arm: changes come into force, a state is read,
the loop answers, the answer is written, everything is counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic, perf_counter_ns
from typing import Protocol

import numpy as np

from projected_control.control.events import Action, Event, GuardReport, events_in
from projected_control.control.loop import ControlLoop, Tick
from projected_control.errors import ProjectedControlError
from projected_control.runs.port import Port, require_command
from projected_control.runs.recorder import Recorder
from projected_control.runs.rows import KeepsTicks, Rows, RowWriter
from projected_control.runs.statistics import Statistics

Change = Callable[[ControlLoop, float], None]
"""Made between two ticks, with the loop and its time [s]."""

LOST_SECONDS = 0.5  # default for the silence of an arm after which a run ends [s]

_STALE, _LEFT = int(Event.STATE_STALE), int(Event.LEFT_CONSTRAINT)
_LATCHED = int(Event.LATCHED)
FINAL = int(Event.LEFT_CONSTRAINT | Event.STATE_FROZEN) | _LATCHED
"""Events of a tick after which a run may have to end (see `Runner.reason_to_end`)."""

_NO_TIME = int(Event.STATE_STALE | Event.TIME_WENT_BACK)


class Listener(Protocol):
    """An observer, called in the runner's own thread: be quick."""

    def ticked(self, tick: Tick) -> None:
        """A state was answered."""

    def waited(self) -> None:
        """No state came for a moment."""


class Runner:
    """Steps a control loop on a port.

    All of it happens in one thread, but for `hand_over`, which may be called from any.

    Args:
        loop: What answers.
        port: The way to the arm.
        listeners: Who looks on.
        lost_time: Silence of an arm that is waited for, after which the run ends [s].
        stale: Whether such an arm gets zeros when it has been silent for ``limits.stale_time``.

    Attributes:
        statistics: What was counted.
        lost: Why the run cannot go on; empty while it can.
        refused: Why the last change that was handed over could not be made; empty if it could.
        time: Stamp of the last state [s].
        report: What the guard said last, to a state or to silence.
        keepers: What keeps ticks, in files or in memory. See `record` and `keep`.
    """

    def __init__(
        self,
        loop: ControlLoop,
        port: Port,
        listeners: Sequence[Listener] = (),
        *,
        lost_time: float = LOST_SECONDS,
        stale: bool = True,
    ) -> None:
        self.loop, self.port = loop, port
        self._listeners = tuple(listeners)
        self.lost_time, self._stale = lost_time, stale
        self.statistics = Statistics(loop)
        self._changes: deque[Change] = deque()
        self._axes: str | None = None
        self.lost = self.refused = ""
        self.time, self._timely = 0.0, monotonic()
        self.report = GuardReport(loop.guard.sent, Action.FOLLOW, 0)
        self.keepers: tuple[KeepsTicks, ...] = ()

    def record(self, recorder: Recorder) -> None:
        """Record every tick from the next state on, until the recorder is closed."""
        recorder.prepare(self.loop)
        self.hand_over(lambda loop, time: recorder.begin(self))

    def keep(self, most: int, every: int = 1) -> Rows:
        """Keep what ticks from now on did, in memory; of a simulated arm with what it really did.

        Args:
            most: How many rows there will be at most.
            every: Ticks per row: of so many, the last one is kept.
        """
        rows = Rows.of(self.loop, most, self.port)
        writer = RowWriter(self.loop, rows.counters, rows.numbers, self.port, every)
        self.keepers = (*self.keepers, writer)
        return rows

    def hand_over(self, change: Change) -> None:
        """Have a change made between two ticks."""
        self._changes.append(change)
        self.port.wake()

    def open(self, prepare: Callable[[ControlLoop, Port], None] | None = None) -> None:
        """Open the port and get everything ready for the first tick, without a bump.

        Args:
            prepare: Checks and sets what depends on where the arm is. The loop's model has been
                evaluated there.
        """
        self.statistics.keep()
        require_command(self.loop.controller.kind, self.port.takes)
        try:
            state = self.port.open()
            self._turn_axes()
            self.loop.controller.hold(state.q, state.v)
            if prepare is not None:
                prepare(self.loop, self.port)
            self.loop.begin(state)
            self._timely = monotonic()
            self.statistics = Statistics(self.loop)
            self.port.engage()
        except BaseException:
            self.port.close()
            raise

    def step(self) -> Tick | None:
        """One turn: read, answer, write, count. None where the arm gave no state."""
        state = self.port.read()
        if state is None:
            if self._changes and self.port.remote:
                self._make_changes()
            self._wait()
            return None
        begin = state.received or perf_counter_ns()
        self.time = state.stamp
        if self._changes:
            self._make_changes()
        if self.port.wrench_frame is not self._axes:
            self._turn_axes()
        self.report = report = self.loop.update(state)
        self.port.write(report.effort)
        took = perf_counter_ns() - begin
        self._count(state.stamp, took)
        if report.events & FINAL and not self.lost:
            self.lost = self.reason_to_end(report.events)
        if self.port.remote and not self.lost:
            self._require_time(report.events)
        tick = Tick(state, report, self.loop.controller, self.loop.multipliers)
        for keeper in self.keepers:
            keeper.put(tick, took, self.port.stamp_ns)
        for listener in self._listeners:
            listener.ticked(tick)
        return tick

    def _count(self, stamp: float, took_ns: int) -> None:
        if not self.port.remote:
            self.statistics.count(stamp, took_ns)
            return
        for each, took in self.port.cycles():
            self.statistics.count(each, took)
        if self.port.refusal:
            self.refused = self.port.refusal

    def run(
        self,
        ticks: int,
        observe: Callable[[int, Tick], None] | None = None,
        record: Recorder | Path | str | None = None,
    ) -> Statistics:
        """Open the port, make this many turns as fast as the arm goes, and close it: see `run`."""
        if record is not None:
            recorder = record if isinstance(record, Recorder) else Recorder(record)
            try:
                self.record(recorder)
                return self.run(ticks, observe)
            finally:
                recorder.close()
        self.open()
        try:
            for i in range(ticks):
                if self.lost:
                    break
                tick = self.step()
                if observe is not None and tick is not None:
                    observe(i, tick)
        finally:
            self.port.close()
        self.statistics.lost = self.lost
        self.statistics.keep()
        return self.statistics

    def send_zero(self) -> None:
        """The last thing that a run sends."""
        self.loop.guard.sent[:] = 0.0
        self.port.let_go()
        self.port.write(self.loop.guard.sent)

    def _make_changes(self) -> None:
        time = self.time
        if self.port.remote:  # where time has gone on since the last state
            time += max(monotonic() - self.port.heard, 0.0)
        while self._changes:
            try:
                self._changes.popleft()(self.loop, time)
                self.refused = ""
            except Exception as error:  # a change that cannot be made must not stop the arm
                self.refused = str(error)

    def _turn_axes(self) -> None:
        """The wrench is in other axes from now on."""
        self._axes = self.port.wrench_frame
        try:
            self.loop.force_source.set_axes(self._axes)
        except ProjectedControlError as error:
            raise ProjectedControlError(
                f"the wrench is measured in axes that the arm does not have: {error}; set "
                "constraint.wrench_frame to the link in whose axes it is"
            ) from None

    def _wait(self) -> None:
        """No state: zeros where that means something, and the end where it lasts."""
        silent = monotonic() - self.port.heard
        acts = self._stale and not self.port.remote
        if not self.port.waits or (acts and silent > self.loop.guard.limits.stale_time):
            self._answer_silence()
        if self.port.waits and silent > self.lost_time:
            self.lost = self.port.missing(silent)
        for listener in self._listeners:
            listener.waited()

    def _require_time(self, events: int) -> None:
        """End a remote run that is heard of, but whose arm has no new states."""
        now = monotonic()
        if not events & _NO_TIME:
            self._timely = now
        elif now - self._timely > self.lost_time:
            self.lost = (
                f"the time of the arm's states stood still or went back for {self.lost_time:g} s "
                "(limits.lost_time); look at its clock, and activate the controller again"
            )

    def _answer_silence(self) -> None:
        self.statistics.missed += 1
        self.report = report = self.loop.guard.release(self.loop.guard.sent, _STALE)
        self.statistics.note(report)
        self.port.write(report.effort)
        if report.events & _LATCHED and not self.lost:
            self.lost = self.reason_to_end(report.events)
        for keeper in self.keepers:
            keeper.put_silence(report.action, report.events)

    def reason_to_end(self, events: int) -> str:
        """Why the run ends with these events; nothing where it need not."""
        if events & _LEFT:
            return self._left_constraint()
        if self.loop.guard.arm_is_dead:
            return (
                "the arm does not move: its positions stayed the same under an effort, and again "
                "when it was tried once more; its driver repeats them, or brakes hold the arm"
            )
        if events & _LATCHED and self.loop.guard.latched is Action.ZERO:
            return self._latched(events)
        return ""

    def _latched(self, events: int) -> str:
        seconds = self.loop.guard.limits.latch_time
        reasons = ", ".join(event.phrase for event in events_in(events & ~_LATCHED))
        return (
            f"nothing could be sent to the arm for {seconds:g} s (limits.latch_time): "
            f"{reasons or 'the last effort was held, or zero'}; look for the cause, and activate "
            "the controller again, from inside its limits"
        )

    def _left_constraint(self) -> str:
        residual = np.linalg.norm(self.loop.controller.model.residual)
        limit = self.loop.guard.limits.residual
        if self.loop.controller.surface_lost:
            return (
                "the arm has left its constraint: the plane that it follows is further from where "
                "it should be than surface.angle or surface.distance allow"
            )
        return (
            f"the arm has left its constraint: ‖Φ‖ = {residual:.4g} m, allowed are {limit:g} m "
            "(limits.residual)"
        )


def run(
    loop: ControlLoop,
    port: Port,
    ticks: int,
    observe: Callable[[int, Tick], None] | None = None,
    record: Recorder | Path | str | None = None,
) -> Statistics:
    """Take an arm through this many ticks.

    Args:
        loop: What answers.
        port: The way to the arm; opened first, closed in the end.
        ticks: How many.
        observe: Called after each with its number and what happened.
        record: A file (``*.mcap``) in which every tick is kept, or what keeps them.
    """
    return Runner(loop, port).run(ticks, observe, record)

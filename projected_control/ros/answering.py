"""What a controller node does with a state, however the state came to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from time import monotonic, perf_counter_ns
from typing import Any

import numpy as np
from std_msgs.msg import Header

from projected_control.control.guard import GuardReport
from projected_control.control.loop import ControlLoop, Statistics
from projected_control.ports.delay import EchoDelay
from projected_control.ports.timing import SAMPLES, Timing
from projected_control.ports.totals import Totals
from projected_control.ros.state_topic import NamedState


class Answering(ABC):
    """Changes between ticks, time, counting, the heartbeat and the topic ~/state around a loop.

    A tick is `begin`, the loop's own update, sending, and `count`, all in one thread; only
    `hand_over` may be called from another.

    Args:
        voice: Publishers of the heartbeat and the state, which live longer than one activation, so
            that listeners have found them when it starts.
        loop: What answers.
        settings: Of the controller node.

    Attributes:
        settings: As given; those that may change live are looked up at every tick.
        skipped: States that a newer one overtook.
        malformed: States and wrenches that could not be read.
        refused: Why the last change that was handed over could not be made; empty if it could.
        lost: Why the loop has ended by itself; empty if it has not.
        foreign: What somebody else commanded, where that ended it.
        echo: Measures the delay.
        q: Joint positions of the last state, for those who only look.
    """

    def __init__(self, voice: tuple[Any, Any], loop: ControlLoop, settings: dict[str, Any]) -> None:
        self.loop, self.settings = loop, settings
        self.q = np.full(loop.controller.model.n, np.nan)
        self._beats, self._report_topic = voice
        self.echo = EchoDelay()
        self._start_ns: int | None = None
        self._last_ns = -1
        self._beat_period, self._beaten = 1.0 / settings["heartbeat_rate"], 0.0
        state_rate = settings["state_rate"]
        self._report_every = max(round(settings["rate"] / state_rate), 1) if state_rate else 0
        self._named = NamedState(loop)
        self._changes: deque[Callable[[ControlLoop, float], None]] = deque()
        self.statistics, self.totals = Statistics(), Totals(loop.controller)
        self.latency, self.period = Timing(), Timing()
        self.skipped = self.malformed = self.deadline_misses = 0
        self.lost = self.refused = self.foreign = ""

    @property
    def elapsed(self) -> float:
        """Time of the last state since the first [s]."""
        return 0.0 if self._start_ns is None else (self._last_ns - self._start_ns) * 1e-9

    def summary(self, samples: int = SAMPLES) -> dict[str, Any]:
        """What the run amounts to so far, and how steadily it went over the last samples."""
        period = self.period.newest(samples)
        return {
            **self.totals.summary(),
            "rate_hz": 1e9 / float(period.mean()) if period.size else 0.0,
            "jitter_us": float(period.std()) / 1e3 if period.size else 0.0,
            "latency_us": self.latency.summary(samples),
            "deadline_misses": self.deadline_misses,
            "states_skipped": self.skipped,
            "malformed": self.malformed,
            "events": {event.phrase: n for event, n in self.statistics.events.copy().items()},
        }

    def hand_over(self, change: Callable[[ControlLoop, float], None]) -> None:
        """Have a change made between two ticks; it gets the loop and its time [s]."""
        self._changes.append(change)

    @abstractmethod
    def stop(self) -> None:
        """Answer no more; the last thing sent is zero."""

    @abstractmethod
    def destroy(self) -> None:
        """Give back what was made on the node."""

    def begin(self, now: int) -> float:
        """A tick begins: make the changes; its time since the first [s].

        Args:
            now: The state's time [ns].
        """
        if self._start_ns is None:
            self._start_ns = now
        time = (now - self._start_ns) * 1e-9
        while self._changes:
            try:
                self._changes.popleft()(self.loop, time)
                self.refused = ""
            except Exception as error:  # a change that cannot be made must not stop the arm
                self.refused = str(error)
        return time

    def count(self, report: GuardReport, now: int, received: int) -> None:
        """A tick is done: its effort is on its way.

        Args:
            report: Of the guard.
            now: The state's time [ns].
            received: When it came, by `time.perf_counter_ns`.
        """
        took = perf_counter_ns() - received
        self.totals.add(report.effort)
        self.latency.add(took)
        self.statistics.count(report, took)
        interval = now - self._last_ns
        if self._last_ns >= 0 and interval > 0:  # zero where an arm says the same state again
            self.period.add(interval)
            if interval > 1.5e9 / self.settings["rate"]:
                self.deadline_misses += round(interval * self.settings["rate"] / 1e9) - 1
        self._last_ns = now
        self.beat()
        if self._report_every and self.statistics.ticks % self._report_every == 0:
            self._report_topic.publish(self._named.fill(now))

    def beat(self) -> None:
        """The heartbeat: the loop lives, whether or not the arm does."""
        now = monotonic()
        if now - self._beaten >= self._beat_period:
            self._beats.publish(Header(frame_id="active"))
            self._beaten = now

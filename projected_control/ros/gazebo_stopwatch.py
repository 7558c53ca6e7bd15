"""What a run in Gazebo takes, and a world without a controller for comparison."""

from __future__ import annotations

import json
from resource import RUSAGE_SELF, getrusage
from time import monotonic, process_time
from typing import Any

FIRST_STEPS = 200
"""After which the time counts: the first ones are slow."""


class Spent:
    """Time by the clock and processor time of Gazebo's process since this was made.

    On a computer that has nothing else to do the two differ little: where the clock went on much
    further, others had the processors.
    """

    def __init__(self) -> None:
        self._clock, self._processor = monotonic(), process_time()
        self._switches = getrusage(RUSAGE_SELF).ru_nivcsw

    def summary(self, simulated: float, steps: int) -> dict[str, Any]:
        """How fast it went, and what it took.

        Args:
            simulated: Time that has passed in the world meanwhile [s].
            steps: Of the physics.
        """
        clock = max(monotonic() - self._clock, 1e-9)
        processor = process_time() - self._processor
        return {
            "real_time_factor": simulated / clock,
            "processor_us_per_step": 1e6 * processor / max(steps, 1),
            "processor_share": processor / clock,
            "preempted_per_second": (getrusage(RUSAGE_SELF).ru_nivcsw - self._switches) / clock,
        }


class Stopwatch:
    """A system that Gazebo calls before every step, and that does nothing but count them."""

    def __init__(self) -> None:
        self._steps, self._first, self._last = 0, 0.0, 0.0
        self._spent = Spent()

    def configure(self, entity: int, sdf: Any, ecm: Any, event_manager: Any) -> None:
        """Learn where to write."""
        with open(sdf.get_string("settings"), encoding="utf-8") as file:
            self._summary = json.load(file)["summary"]

    def pre_update(self, info: Any, ecm: Any) -> None:
        """A step is about to begin."""
        self._steps += 1
        if self._steps == FIRST_STEPS:
            self._spent, self._first = Spent(), info.sim_time.total_seconds()
        self._last = info.sim_time.total_seconds()

    def shutdown(self) -> None:
        """The world ends: how fast its time went."""
        spent = self._spent.summary(self._last - self._first, self._steps - FIRST_STEPS)
        with open(self._summary, "w", encoding="utf-8") as file:
            json.dump(spent, file)


def get_system() -> Stopwatch:
    """What Gazebo's loader of Python systems calls."""
    return Stopwatch()

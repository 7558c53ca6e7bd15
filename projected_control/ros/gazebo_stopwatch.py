"""What becomes of a run in Gazebo and what it takes; a world without a controller to compare with.

What became of our system is kept in a file, for a launch that has only Gazebo's exit status: that
is 0 where Gazebo could not load a system, and where it shows its window it is 0 whatever happened
to the simulation.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import monotonic, process_time
from typing import Any

RUNNING = "running"  # in the file as long as the system is loaded and has not ended


def write_outcome(path: str, reason: str) -> None:
    """Keep why a run failed; an empty text for a run that did not.

    Where the folder is gone, the one who wanted to know has ended before, and it is not kept.
    """
    if path:
        with suppress(FileNotFoundError):
            Path(path).write_text(reason, encoding="utf-8")


def was_loaded(path: Path) -> bool:
    """Whether Gazebo has found our system and begun to configure it."""
    return path.exists()


def read_outcome(path: Path) -> str:
    """Why the run failed, once Gazebo has ended; an empty text where it did not."""
    if not was_loaded(path):
        return (
            "Gazebo did not load our controller (projected_control.ros.gazebo_system); what it "
            "says above has the reason: mostly its Python finds other modules than this one"
        )
    outcome = path.read_text(encoding="utf-8")
    return "Gazebo ended before its time" if outcome == RUNNING else outcome


def read_trouble(path: Path) -> str:
    """Why the controller did not do its work, of a Gazebo that was told to end; or nothing."""
    outcome = path.read_text(encoding="utf-8") if was_loaded(path) else ""
    return "" if outcome == RUNNING else outcome


FIRST_STEPS = 200  # after which the time counts: the first ones are slow


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

"""Times a world in Gazebo with nobody in it: what a run of ours is compared with."""

from __future__ import annotations

import json
from time import monotonic
from typing import Any

FIRST_STEPS = 200
"""After which the time counts: the first ones are slow."""


class Stopwatch:
    """A system that Gazebo calls before every step, and that does nothing but count them."""

    def __init__(self) -> None:
        self._steps, self._began, self._first, self._last = 0, 0.0, 0.0, 0.0

    def configure(self, entity: int, sdf: Any, ecm: Any, event_manager: Any) -> None:
        """Learn where to write."""
        with open(sdf.get_string("settings"), encoding="utf-8") as file:
            self._summary = json.load(file)["summary"]

    def pre_update(self, info: Any, ecm: Any) -> None:
        """A step is about to begin."""
        self._steps += 1
        if self._steps == FIRST_STEPS:
            self._began, self._first = monotonic(), info.sim_time.total_seconds()
        self._last = info.sim_time.total_seconds()

    def shutdown(self) -> None:
        """The world ends: how fast its time went."""
        took = max(monotonic() - self._began, 1e-9)
        with open(self._summary, "w", encoding="utf-8") as file:
            json.dump({"real_time_factor": (self._last - self._first) / took}, file)


def get_system() -> Stopwatch:
    """What Gazebo's loader of Python systems calls."""
    return Stopwatch()

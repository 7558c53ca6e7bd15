"""Processes of a run in Gazebo that were started without launch, and that end together."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from time import monotonic, sleep
from typing import NamedTuple

from projected_control.apps.gazebo import gazebo_run
from projected_control.apps.gazebo.gazebo_run import Process, Request
from projected_control.errors import ProjectedControlError
from projected_control.ros.gazebo_stopwatch import read_outcome, was_loaded
from projected_control.with_parent import end, started

GRACE_SECONDS = {signal.SIGINT: 10.0, signal.SIGTERM: 5.0}
"""What a process has to end after each signal, before the next; the last is SIGKILL [s]."""

LOOK_SECONDS = 0.05  # between two looks at a process [s]


class Processes:
    """What was started.

    Args:
        wanted: What to start; the run is over when the first one ends.
    """

    def __init__(self, wanted: Sequence[Process]) -> None:
        self._running: list[subprocess.Popen[bytes]] = []
        try:
            for process in wanted:
                environment = {**os.environ, **process.environment}
                self._running.append(started(process.command, env=environment))
        except BaseException:
            self.end()
            raise

    @property
    def main(self) -> subprocess.Popen[bytes]:
        """The first one."""
        return self._running[0]

    def wait(self, look: Callable[[float], None]) -> int:
        """The status of the first one, once it has ended.

        Args:
            look: Is called now and then, with the time since the beginning [s]; may raise.
        """
        began = monotonic()
        while (status := self.main.poll()) is None:
            look(monotonic() - began)
            sleep(LOOK_SECONDS)
        return status

    def end(self) -> int | None:
        """End all of them in order, those started last first; the first one's status."""
        for process in reversed(self._running):
            end([process], GRACE_SECONDS, with_children=True)
        return self.main.returncode if self._running else None


class Ended(NamedTuple):
    """How a run ended."""

    reason: str  # why the controller or Gazebo failed; empty where they did not
    told_to_end: bool  # whether it ended because it was interrupted


def run_session(request: Request) -> Ended:
    """Start Gazebo with the controller in it, and wait for its end."""
    folder, status, told_to_end, reason = gazebo_run.temporary_folder(), 0, False, ""
    try:
        written, wanted = gazebo_run.in_the_physics_step(request, folder)

        def look(seconds: float) -> None:
            if seconds > gazebo_run.LOADING_SECONDS and not was_loaded(written.outcome):
                raise ProjectedControlError(read_outcome(written.outcome))

        processes = Processes(wanted)
        try:
            status = processes.wait(look)
        except KeyboardInterrupt:
            told_to_end = True
        except ProjectedControlError as error:
            reason = str(error)
        finally:
            processes.end()
        reason = reason or gazebo_run.judge(written.outcome, status, told_to_end)
    finally:
        gazebo_run.tidy(folder)
    return Ended(reason, told_to_end)

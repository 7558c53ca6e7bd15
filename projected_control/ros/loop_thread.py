"""The thread in which a controller lives whose arm it waits for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

from projected_control.errors import ProjectedControlError
from projected_control.ros.console import GuardConsole
from projected_control.ros.realtime import quiet_interpreter
from projected_control.ros.state_topic import StateReporter
from projected_control.runs.runner import Runner


class LoopThread:
    """Steps a runner until it is told to stop or the run is lost; the last thing sent is zero.

    Args:
        runner: Open already.
        reporter: Says farewell.
        console: Notices what the guard does.
        ended: Called in the thread when the run was lost, once zero has been sent.
    """

    def __init__(
        self,
        runner: Runner,
        reporter: StateReporter,
        console: GuardConsole,
        ended: Callable[[], None],
    ) -> None:
        self._runner, self._reporter = runner, reporter
        self._console, self._ended = console, ended
        self._stopped, self._turned = False, monotonic()
        self._thread = threading.Thread(target=self._run, name="control loop", daemon=True)

    def start(self) -> None:
        """Answer states from now on."""
        self._thread.start()

    def alive(self, seconds: float) -> bool:
        """Whether it made a turn within this time [s]."""
        return self._thread.is_alive() and monotonic() - self._turned < seconds

    def stop(self) -> None:
        """Answer no more; returns when the thread has ended."""
        self._stopped = True
        self._runner.port.interrupt()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        runner = self._runner
        try:
            with quiet_interpreter():
                while not (self._stopped or runner.lost):
                    runner.step()
                    self._turned = monotonic()
                    self._console.noticed(runner.report, runner.time)
        except ProjectedControlError as error:  # the port says why it cannot go on
            runner.lost = str(error)
        except Exception as error:  # nothing may leave the thread but a reason
            runner.lost = f"the loop failed: {type(error).__name__}: {error}"
        finally:
            runner.send_zero()
            if runner.port.disturbed:
                runner.port.outlast()
            if runner.lost:
                self._ended()
            self._reporter.farewell()

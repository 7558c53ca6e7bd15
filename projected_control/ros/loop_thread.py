"""The thread in which a controller lives whose arm it waits for."""

from __future__ import annotations

import threading

from projected_control.ports.runner import Runner
from projected_control.ros.realtime import quiet_interpreter
from projected_control.ros.state_topic import StateReporter


class LoopThread:
    """Steps a runner until it is told to stop or the run is lost; the last thing sent is zero.

    Args:
        runner: Open already.
        reporter: Says farewell.
    """

    def __init__(self, runner: Runner, reporter: StateReporter) -> None:
        self._runner, self._reporter = runner, reporter
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="control loop", daemon=True)

    def start(self) -> None:
        """Answer states from now on."""
        self._thread.start()

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
        except Exception as error:  # nothing may leave the thread but a reason
            runner.lost = f"the loop failed: {type(error).__name__}: {error}"
        finally:
            runner.send_zero()
            self._reporter.farewell()

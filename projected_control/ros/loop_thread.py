"""The threads of a controller node: the loop whose arm it waits for, and signs of life.

The latter go to the loop that a node commands in the controller manager.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


BEAT_SECONDS = 0.02  # period of the signs [s]

HUNG_SECONDS = 1.0
"""How long ago reading thread and executor may have made their last turn, if they live [s].

Meanwhile the arm is in good hands: the loop that acts has its own guard.
"""

END_SECONDS = 1.0  # how long the end of the thread is waited for [s]


class SignsOfLife:
    """A thread that sends them while what they mean is true.

    They say three things at once: the node is active; the thread that reads the arm's reports
    turns; and the executor, where everything is decided, turns too, or is at work on a request that
    may take its time, such as a path to plan. They end when one of these does: when the node is
    deactivated or killed, and when one of its threads hangs.

    They come from a thread that does nothing else, so that a long plan does not hold them up.

    Args:
        beat: Sends one.
        reads: Whether the reading thread has made a turn within this time [s].
        request_time: How long the executor may be at one request [s].

    Attributes:
        request_time: As given; may change at any time.
    """

    def __init__(
        self, beat: Callable[[], None], reads: Callable[[float], bool], request_time: float
    ) -> None:
        self._beat, self._reads, self.request_time = beat, reads, request_time
        self._turned: float = monotonic()
        self._begun: float | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="signs of life", daemon=True)

    def start(self) -> None:
        """Send them from now on."""
        self._turned = monotonic()
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join(END_SECONDS)

    def turned(self) -> None:
        """The executor has made a turn."""
        self._turned = monotonic()

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """The executor is at a request that may take its time."""
        self._begun = monotonic()
        try:
            yield
        finally:
            self.turned()
            self._begun = None

    def true(self, now: float) -> bool:
        """Whether what they mean is true at this time, by `time.monotonic` [s]."""
        begun = self._begun
        since, patience = self._turned, HUNG_SECONDS
        if begun is not None:
            since, patience = begun, self.request_time
        return now - since < patience and self._reads(HUNG_SECONDS)

    def _run(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            if self.true(monotonic()):
                self._beat()

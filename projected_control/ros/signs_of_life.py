"""Signs of life of a node to the loop that it commands in the controller manager.

They say three things at once: the node is active; the thread that reads the arm's reports turns;
and the executor, where everything is decided, turns too, or is at work on a request that may take
its time, such as a path to plan. They end when one of these does: when the node is deactivated or
killed, and when one of its threads hangs.

They come from a thread that does nothing else, so that a long plan does not hold them up.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

BEAT_SECONDS = 0.02
"""Period of the signs [s]."""

HUNG_SECONDS = 1.0
"""How long ago reading thread and executor may have made their last turn, if they live [s].

Meanwhile the arm is in good hands: the loop that acts has its own guard.
"""

END_SECONDS = 1.0
"""How long the end of the thread is waited for [s]."""


class SignsOfLife:
    """A thread that sends them while what they stand for is true.

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
        """Send no more."""
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
        """Whether what they stand for is true at this time, by `time.monotonic` [s]."""
        begun = self._begun
        since, patience = self._turned, HUNG_SECONDS
        if begun is not None:
            since, patience = begun, self.request_time
        return now - since < patience and self._reads(HUNG_SECONDS)

    def _run(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            if self.true(monotonic()):
                self._beat()

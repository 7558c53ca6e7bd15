"""How fast simulated time passes against the clock on the wall."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep

LATE_SECONDS = 0.1  # from here on behind, lost time is not made up for [s]
NAP_SECONDS = 0.05  # how long it sleeps at most before it looks whether anything has changed [s]
MEASURED_SECONDS = 1.0  # over how much time of the clock the present factor is measured [s]


class Pace:
    """Holds simulated time back to the pace asked for, and measures the pace it has.

    Args:
        period: Simulated time per step [s].

    Attributes:
        late: How often the computer was hopelessly late.
        now: Real-time factor over the last second, simulated time over the clock's; 0 before.
    """

    def __init__(self, period: float) -> None:
        self._period = period
        self._factor, self._began, self._steps = 0.0, 0.0, 0
        self.late = 0
        self.now = 0.0
        self._total, self._passed, self._last = 0, 0.0, 0.0
        self._since, self._measured = 0, 0.0

    @property
    def overall(self) -> float:
        """Real-time factor of all steps so far, without the time in which it rested."""
        return self._total * self._period / self._passed if self._passed else 0.0

    def stepped(self) -> None:
        """A period of simulated time has passed."""
        now = monotonic()
        if self._last:
            passed = now - self._last
            self._passed += passed
            self._total += 1
            self._measured += passed
            self._since += 1
            if self._measured >= MEASURED_SECONDS:
                self.now = self._since * self._period / self._measured
                self._since, self._measured = 0, 0.0
        self._last = now

    def rest(self) -> None:
        """Time stood still on purpose: what passed by the clock does not count."""
        self._last, self._factor = 0.0, 0.0

    def wait(self, factor: float, look: Callable[[], bool]) -> None:
        """Sleep until the next period of simulated time may begin.

        Args:
            factor: Simulated time over that of the clock, more than 0.
            look: Called now and then; the sleep ends where it says so.
        """
        if factor != self._factor:
            self._factor, self._began, self._steps = factor, monotonic(), 0
        self._steps += 1
        due = self._began + self._steps * self._period / factor
        if due - monotonic() < -LATE_SECONDS:  # do not try to catch up all at once
            self.late += 1
            self._began, self._steps = monotonic(), 0
        while (ahead := due - monotonic()) > 0.0 and not look():
            sleep(min(ahead, NAP_SECONDS))

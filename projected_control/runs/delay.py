"""How long it takes from a torque to its effect in the state, for an arm at the end of a wire."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Sequence

import numpy as np

MEMORY = 100  # how far back an echo is sought [ticks]
ENOUGH_STAMPS = 10  # steps from state to state from which their rate is believed
LARGEST_AGE = 1.0  # largest age of a state; beyond, its stamp is not of this computer's clock [s]


def delay_from_ages(ages: Sequence[float], rate: float) -> int | None:
    """Samples from a torque to its effect, estimated from how old states are when they come.

    The way there is taken to last as long as the way back; the controller manager takes a command
    at its next update and shows the effect in the one after.

    Args:
        ages: Ages of states at their arrival [s].
        rate: Rate of the loop [Hz].

    Returns:
        None where the stamps are of another clock.
    """
    believable = [age for age in ages if 0.0 <= age < LARGEST_AGE]
    if len(believable) < max(len(ages) // 2, 1):
        return None
    return math.ceil(2.0 * float(np.quantile(believable, 0.95)) * rate) + 2


def rate_from_stamps(stamps: Sequence[int]) -> float | None:
    """How often an arm publishes its state, by the stamps of states in a row [Hz].

    Args:
        stamps: As they came [ns]; states may be missing.

    Returns:
        None where there are too few, as of an arm whose time stands still.
    """
    steps = np.diff(np.asarray(stamps, dtype=np.int64))
    steps = steps[steps > 0]
    return 1e9 / float(np.median(steps)) if steps.size >= ENOUGH_STAMPS else None


class EchoDelay:
    """The delay, measured while running: how many ticks ago was sent what the arm reports now.

    Works for arms whose effort state is the commanded effort itself, such as simulated ones; for
    others nothing is ever recognised, and there is no measurement.
    """

    def __init__(self) -> None:
        self._sent: deque[float] = deque()
        self._when: dict[float, int] = {}
        self._tick = 0
        self._counts: Counter[int] = Counter()

    def sent(self, effort: float) -> None:
        """An effort was sent at the end of this tick."""
        self._tick += 1
        self._sent.append(effort)
        self._when[effort] = self._tick
        if len(self._sent) > MEMORY:
            oldest = self._sent.popleft()
            if self._when.get(oldest) == self._tick - MEMORY:  # it was not sent again since
                del self._when[oldest]

    def seen(self, effort: float) -> None:
        """An effort is reported at the beginning of this tick; NaN where the arm reports none."""
        if effort == 0.0 or effort != effort:
            return
        when = self._when.get(effort)
        if when is not None:
            self._counts[self._tick - when + 1] += 1

    @property
    def count(self) -> int:
        """How many echoes were recognised."""
        return sum(self._counts.copy().values())

    def quantile(self, share: float) -> int | None:
        """The delay that this share of the echoes did not exceed [samples]; None without any."""
        counts = self._counts.copy()
        left = share * sum(counts.values())
        for ticks in sorted(counts):
            left -= counts[ticks]
            if left <= 0.0:
                return ticks
        return None

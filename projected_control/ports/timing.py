"""Periods and latencies of a running loop, kept in fixed memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SAMPLES = 1 << 17
"""How many are kept: two minutes at 1 kHz."""


class Timing:
    """A ring of durations in nanoseconds, filled by one thread and summarised by another."""

    def __init__(self) -> None:
        self._ring = np.zeros(SAMPLES, dtype=np.int64)
        self.count = 0

    def add(self, nanoseconds: int) -> None:
        """One more."""
        self._ring[self.count % SAMPLES] = nanoseconds
        self.count += 1

    def newest(self, samples: int = SAMPLES) -> NDArray[np.int64]:
        """The newest of those that are kept [ns]."""
        kept = min(self.count, samples, SAMPLES)
        return self._ring[np.arange(self.count - kept, self.count) % SAMPLES]

    def summary(self, samples: int = SAMPLES) -> dict[str, float]:
        """p50, p99 and max of the newest [µs]; zeros where there is nothing."""
        values = self.newest(samples)
        if not values.size:
            return {"p50": 0.0, "p99": 0.0, "max": 0.0}
        middle, high = np.percentile(values, [50, 99])
        return {"p50": middle / 1e3, "p99": high / 1e3, "max": float(values.max()) / 1e3}

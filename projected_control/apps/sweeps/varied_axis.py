"""One number that varies: between which values, how it is spread, and what it is nominally."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Axis:
    """A number that varies from run to run."""

    name: str  # as in the study
    # low, high: its range, ends included.
    low: float
    high: float
    # All that it may be; empty where it may be anything in its range.
    values: tuple[float, ...] = ()
    log: bool = False  # whether it is spread over its logarithm
    whole: bool = False  # whether it is a whole number
    steps: int = 11  # how many values a grid has of it
    nominal: float = 0.0  # what it is where something else is looked at
    unit: str = ""  # of the number; empty for none

    def at(self, share: float) -> float:
        """The value at a share of its range, 0 to 1; of a list or of whole numbers the nearest."""
        if self.values:
            return self.values[min(int(share * len(self.values)), len(self.values) - 1)]
        if self.whole:
            count = int(self.high) - int(self.low) + 1
            return float(int(self.low) + min(int(share * count), count - 1))
        if self.log:
            low, high = np.log(self.low), np.log(self.high)
            return float(np.exp(low + share * (high - low)))
        return float(self.low + share * (self.high - self.low))

    def grid(self) -> list[float]:
        """Its values on a grid, in order."""
        if self.values:
            return list(self.values)
        if self.whole:
            count = min(self.steps, int(self.high) - int(self.low) + 1)
            return [float(round(x)) for x in np.linspace(self.low, self.high, count)]
        if self.log:
            return [float(x) for x in np.geomspace(self.low, self.high, self.steps)]
        return [float(x) for x in np.linspace(self.low, self.high, self.steps)]

    @property
    def label(self) -> str:
        """For the axis of a figure."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    @property
    def narrow_label(self) -> str:
        """The same in two lines, for a small panel."""
        return self.name + (f"\n({self.unit})" if self.unit else "")

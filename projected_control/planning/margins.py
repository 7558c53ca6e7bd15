"""Margins along a reference: what is left of each quantity's limit, and how that is judged.

A margin is one where nothing of a limit is used, zero where it is reached, negative beyond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from projected_control.arrays import Array
from projected_control.model.description import UNLIMITED

YELLOW, RED = 0.2, 0.0
"""Margins below which a quantity is yellow, and red."""

GAIN_MARGIN = 2.0
"""Factor by which both gains of a loop may grow that counts as all of its margin."""


def in_words(names: Sequence[str], values: Array) -> str:
    """Coordinates and their values, as a place is told."""
    return ", ".join(f"{name} {value:.3g}" for name, value in zip(names, values, strict=True))


class Light(Enum):
    """How a quantity is judged."""

    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"

    @classmethod
    def of(cls, margin: float) -> Light:
        """The light of a margin."""
        if not margin > RED:
            return cls.RED
        return cls.YELLOW if margin < YELLOW else cls.GREEN


@dataclass(frozen=True)
class Quantity:
    """One quantity along the reference.

    Attributes:
        name: What it is, with the joint or coordinate that comes nearest its limit.
        value: Where that is, its value.
        limit: And its limit.
        unit: Of both.
        margin: Its margin at every instant, N.
    """

    name: str
    value: float
    limit: float
    unit: str
    margin: Array

    @property
    def worst(self) -> int:
        """The instant at which it is nearest its limit."""
        return int(np.argmin(np.where(np.isnan(self.margin), -np.inf, self.margin)))

    @property
    def least(self) -> float:
        """The margin there."""
        return float(self.margin[self.worst])

    @property
    def light(self) -> Light:
        """How it is judged."""
        return Light.of(self.least)


def largest(
    what: str,
    unit: str,
    values: Array,
    limit: Array,
    names: Sequence[str],
    chosen: NDArray[np.bool_] | None = None,
) -> Quantity | None:
    """The joint that comes nearest a limit that is the same everywhere."""
    limited = (limit < UNLIMITED) & (True if chosen is None else chosen)
    if not limited.any():
        return None
    margins = np.where(limited, 1.0 - values / limit, np.inf)
    i, j = divmod(int(np.argmin(margins)), margins.shape[1])
    return Quantity(
        f"{what} {names[j]}", float(values[i, j]), float(limit[j]), unit, margins.min(axis=1)
    )


def joint_range(q: Array, lower: Array, upper: Array, names: Sequence[str]) -> Quantity | None:
    """The joint that comes nearest an end of its range; half the range away is all the margin."""
    ranged = (lower > -UNLIMITED) & (upper < UNLIMITED)
    if not ranged.any():
        return None
    half = np.where(ranged, 0.5 * (upper - lower), np.inf)
    left = np.where(ranged, np.minimum(q - lower, upper - q) / np.where(ranged, half, 1.0), np.inf)
    i, j = divmod(int(np.argmin(left)), left.shape[1])
    limit = lower[j] if q[i, j] - lower[j] < upper[j] - q[i, j] else upper[j]
    return Quantity(
        f"position of {names[j]}",
        float(q[i, j]),
        float(limit),
        "rad or m",
        np.minimum(2.0 * left.min(axis=1), 1.0),
    )


def floor(name: str, values: Array, least: float, comfortable: float = 100.0) -> Quantity:
    """A quantity that must not fall below a number; its margin counts factors of ten above it."""
    worst = float(values.min())
    with np.errstate(divide="ignore"):
        margin = np.log10(np.maximum(values, 1e-300) / least) / np.log10(comfortable)
    return Quantity(name, worst, least, "", np.minimum(margin, 1.0))


def factor(name: str, factor: float, count: int) -> Quantity:
    margin = min((factor - 1.0) / (GAIN_MARGIN - 1.0), 1.0)
    return Quantity(name, float(factor), 1.0, "times", np.full(count, margin))

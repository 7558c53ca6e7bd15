"""Margins along a reference: what is left of each limit, how that is judged, and which limits bind.

A margin is one where nothing of a limit is used, zero where it is reached, negative beyond.

Which limit binds, the law itself is asked at every instant, with reference and force met, and what
it asks for is held to the limits as in a tick (`control.kept_state`): so what the motors have to
spare is used up before motion counts as given up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control.arrays import Array
from projected_control.control.kept_state import keep_state, limits_text
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Reference
from projected_control.model.description import UNLIMITED

YELLOW, RED = 0.2, 0.0  # margins below which a quantity is yellow, and red
GAIN_MARGIN = 2.0  # factor by which both gains of a loop may grow that counts as all of its margin


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
    """One quantity along the reference."""

    name: str  # what it is, with the joint or coordinate that comes nearest its limit
    value: float  # where that is, its value
    limit: float  # and its limit
    unit: str  # of both
    margin: Array  # its margin at every instant, N

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
    with np.errstate(divide="ignore", invalid="ignore"):  # a base that floats has no efforts
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


SHOWN = 3  # how many parts of the way are named per set of limits
FORCE_TOLD = 1e-3  # change of λ from which on it is told [N or N·m]
WHOLE = 1.0 - 1e-6  # share of the motion from which on nothing of it counts as given up


@dataclass(frozen=True)
class Stretch:
    """A part of a reference in which the same limits bind."""

    # begin, end: from when to when [s].
    begin: float
    end: float
    what: str  # which, in words; without the share
    share: float  # what is left of the motion where it is least, 0 to 1
    force: float  # by how much λ of a force loop is off for it, at most [N or N·m]

    @property
    def when(self) -> str:
        """From when to when, in words."""
        return (
            f"{self.begin:.3g} s"
            if self.end == self.begin
            else f"{self.begin:.3g} to {self.end:.3g} s"
        )

    def numbers(self) -> dict[str, Any]:
        """In JSON's kinds."""
        return {
            "from": self.begin,
            "to": self.end,
            "what": self.what,
            "motion_share": self.share,
            "force_given_up": self.force,
        }


def in_lines(stretches: Sequence[Stretch]) -> list[str]:
    """One sentence per set of limits that bind: when, and what is left."""
    lines = []
    for what in dict.fromkeys(stretch.what for stretch in stretches):
        held = [stretch for stretch in stretches if stretch.what == what]
        when = ", ".join(stretch.when for stretch in held[:SHOWN])
        if len(held) > SHOWN:
            when += f" and {len(held) - SHOWN} times more"
        share, force = min(s.share for s in held), max(s.force for s in held)
        left = "all of the motion is left"
        if share < WHOLE:
            left = f"motion at {100.0 * share:.0f} % at least, the path waits"
        if force > FORCE_TOLD:
            left += f", the force is off by {force:.3g} N or N·m at most"
        lines.append(f"{what} ({when}): {left}")
    return lines


def what_binds_along(
    loop: ControlLoop, reference: Reference, times: Array, q: Array, v: Array
) -> tuple[Array, tuple[Stretch, ...]]:
    """The share of the motion that limits leave at each instant, and where they bind.

    Args:
        loop: Whose controller and limits these are; its model is evaluated here.
        reference: What is followed.
        times: Instants, N [s].
        q, v: Where the joints are there, and their rates, N × n.
    """
    controller, limits = loop.controller, loop.guard.limits
    model, terms = controller.model, controller.terms
    rows = model.constraint.row_names if model.constraint is not None else ()
    led = loop.force_reference
    shares, forces, words = np.ones(times.size), np.zeros(times.size), []
    for i, time in enumerate(times):
        controller.motion[:] = reference.at(time)
        if controller.force is not None and led is not None:
            _meet_force(terms, led.at(0.0).value)
        controller.update(q[i], v[i], time)
        kept = keep_state(controller, limits)
        shares[i] = kept.motion_share
        if controller.force is not None:
            forces[i] = np.abs(kept.force_given_up).max(initial=0.0)
        words.append(limits_text(model.arm.joint_names, rows, kept.binds, kept.ceiling_binds, 1.0))
    controller.reset()
    return shares, _stretches(times, words, shares, forces)


def _meet_force(terms: Any, desired: Array) -> None:
    """As if λ were what it should be: no error, nothing integrated."""
    terms.lambda_desired[:] = terms.lambda_measured[:] = desired
    terms.force_state[:] = 0.0
    terms.force_state[0] = desired


def _stretches(times: Array, words: list[str], shares: Array, forces: Array) -> tuple[Stretch, ...]:
    """Neighbouring instants with the same words, as one."""
    found: list[Stretch] = []
    begin = 0
    for i in range(1, times.size + 1):
        if i < times.size and words[i] == words[begin]:
            continue
        if words[begin]:
            share, force = float(shares[begin:i].min()), float(forces[begin:i].max())
            when = float(times[begin]), float(times[i - 1])
            found.append(Stretch(*when, words[begin], share, force))
        begin = i
    return tuple(found)

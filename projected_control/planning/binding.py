"""Which limit binds where along a reference, and what of the motion is left there.

At every instant the law itself is asked, with reference and force met, and what it asks for is
held to the limits as in a tick (`control.kept_state`): so what the motors have to spare is used up
before motion counts as given up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from projected_control.arrays import Array
from projected_control.control.kept_state import keep_state, limits_text
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Reference

SHOWN = 3
"""How many parts of the way are named per set of limits."""

FORCE_TOLD = 1e-3
"""Change of λ from which on it is told [N or N·m]."""

WHOLE = 1.0 - 1e-6
"""Share of the motion from which on nothing of it counts as given up."""


@dataclass(frozen=True)
class Stretch:
    """A part of a reference in which the same limits bind.

    Attributes:
        begin, end: From when to when [s].
        what: Which, in words; without the share.
        share: What is left of the motion where it is least, 0 to 1.
        force: By how much λ of a force loop is off for it, at most [N or N·m].
    """

    begin: float
    end: float
    what: str
    share: float
    force: float

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

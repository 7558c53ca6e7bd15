"""The laws by number and by name: one record per law, which stands beside its kernel.

A kernel is chosen by its number (`law.apply_law`), a law in a parameter file by the name of its
record. The record says on which controllers it is offered: those that leave the force to the
constraint (motion), those that hold it (force), and those with joints without a motor (passive).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from projected_control.registry import Registry


class Law(IntEnum):
    """The control laws."""

    PIDC = 0
    """Projected inverse dynamics: the least torque for the motion."""
    IDC = 1
    """Inverse dynamics, the baseline: stiff in the constrained directions too."""
    HYBRID = 2
    """PIDC and the PI loop on the constraint force."""
    PASSIVE = 3
    """(I + H) f∥ for arms with passive joints."""
    PASSIVE_FORCE = 4
    """The same, with a force loop on what freedom is left."""
    OPERATIONAL_SPACE = 5
    """Tasks by priority under the constraint, dynamically consistent."""
    IMPEDANCE = 6
    """Spring and damper between the coordinates and their reference."""
    SELECTION = 7
    """Motion and force by a selection matrix, the constraint not known to the motion."""
    COMPUTED_TORQUE = 8
    """Inverse dynamics of the joints."""
    GRAVITY = 9
    """What the arm weighs, and damping."""


MOTION, FORCE, PASSIVE = "motion", "force", "passive"
"""What a law can be offered for."""


@dataclass(frozen=True)
class LawKind:
    """A law that a parameter file can name.

    Attributes:
        name: In YAML, as ``law``.
        title: What it does, in a few words.
        number: Its kernel.
        offered: On which controllers: some of motion, force and passive.
    """

    name: str
    title: str
    number: Law
    offered: tuple[str, ...]


LAWS: Registry[LawKind] = Registry("law")
"""Every law that can be named."""


def laws_for(controller: str) -> tuple[str, ...]:
    """Names of the laws that are offered on a controller."""
    return tuple(kind.name for kind in LAWS.values() if controller in kind.offered)


def titles_for(controller: str) -> str:
    """What each of them does, for the description of a parameter."""
    kinds = [kind for kind in LAWS.values() if controller in kind.offered]
    return "; ".join(f"{kind.name}: {kind.title}" for kind in kinds)

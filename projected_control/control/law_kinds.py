"""The laws by number and by name: one record per law, which stands beside its kernel.

A law is a file of `laws`: its kernel, its controller, the settings it adds, and its record, from
which all else follows. The tick chooses its kernel by number (`laws.apply_law`), the header for C
and what the plugin accepts have the numbers of `Law`, a parameter file has the record's name, and
timing and flight check know by the record which efforts it sends. The record also says on which
controllers it is offered: those that leave the force to the constraint (motion), those that hold it
(force), and those with joints without a motor (passive).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.registry import Registry

if TYPE_CHECKING:
    from projected_control.control.controllers import Controller
    from projected_control.control.force import ForceGains
    from projected_control.control.gains import MotionGains
    from projected_control.model.constrained_arm import ConstrainedArm


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
    LEAST_CONTACT_FORCE = 10
    """The motion of passive joints with the least λ."""
    ADMITTANCE = 11
    """A position loop whose reference gives way to the force."""
    RESOLVED_RATE = 12
    """Velocities of the joints, tasks by priority."""


MOTION, FORCE, PASSIVE = "motion", "force", "passive"
"""What a law can be offered for."""

EFFORT, VELOCITY = "effort", "velocity"
"""What a law sends, and what the joints of an arm take."""


class LawRequest(NamedTuple):
    """What a controller is made of, as parameters say.

    Attributes:
        kind: The law.
        model: The arm, its constraint and its coordinates.
        gains: On the coordinates.
        force_gains: On λ; None where no force is controlled.
        period: Of the loop [s].
        settings: All parameters of the node, with the group that the law has added.
    """

    kind: LawKind
    model: ConstrainedArm
    gains: MotionGains
    force_gains: ForceGains | None
    period: float
    settings: Any


@dataclass(frozen=True)
class LawKind:
    """A law.

    Attributes:
        name: In YAML, as ``law``.
        title: What it does, in a few words.
        number: By which the tick knows it.
        offered: On which controllers: some of motion, force and passive; none for a law that is
            chosen otherwise.
        kernel: Finds tangent and normal effort: ``kernel(stop, passive, t, c)``.
        make: The controller, as parameters say.
        projected: Whether it leaves to the constraint, or to the force loop, what acts across it.
        follows: Whether it follows the reference; one that does not is led by hand.
        uses_gains: Whether it uses the gains on the coordinates.
        pressing: What it leaves of efforts that press on the constraint, n × n; None for all.
        commands: What it sends, `EFFORT` or `VELOCITY` of every joint.
    """

    name: str
    title: str
    number: Law
    offered: tuple[str, ...]
    kernel: Callable[..., None]
    make: Callable[[LawRequest], Controller]
    projected: bool = True
    follows: bool = True
    uses_gains: bool = True
    pressing: Callable[[Controller], NDArray[np.float64]] | None = None
    commands: str = EFFORT


LAWS: Registry[LawKind] = Registry("law")
"""Every law that can be named."""


def kind_of(law: Law) -> LawKind:
    """The record of a law."""
    return next(kind for kind in LAWS.values() if kind.number is law)


def laws_for(controller: str) -> tuple[str, ...]:
    """Names of the laws that are offered on a controller."""
    return tuple(kind.name for kind in _offered_on(controller))


def titles_for(controller: str) -> str:
    """What each of them does, for the description of a parameter."""
    return "; ".join(f"{kind.name}: {kind.title}" for kind in _offered_on(controller))


def _offered_on(controller: str) -> list[LawKind]:
    found = [kind for kind in LAWS.values() if controller in kind.offered]
    return sorted(found, key=lambda kind: kind.number)

"""What the arm presses on, and what is done where a contact is made and lost.

A constraint that is marked one_sided holds one way only: a table can be left. What its contact is
at an instant is its `ContactState`, decided in one place of the tick (`holding`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

import numpy as np
from numpy.typing import NDArray

from projected_control.declaration import Group, Numbers, parameter
from projected_control.errors import InvalidValue
from projected_control.model.friction_cone import FACETS

Array = NDArray[np.float64]

PER_DECADE = 8
"""How many stiffnesses of a range are looked at per decade."""

MAX_FACETS = 24
"""Largest number of facets of a cone: so many rows per contact has the solver room for."""


class ContactState(IntEnum):
    """What a constraint's rows are at an instant."""

    HELD = 0
    """They hold both ways, and always."""
    RELEASED = 1
    """Switched off: the arm is kept away from the surface."""
    LOST = 2
    """It should hold, and does not: no force, and `OnLoss` says how it moves along the normal."""
    HOLDS = 3
    """Its force is controlled."""
    SLIPS = 4
    """It holds, and no effort within the limits keeps its force within the cone."""


class OnLoss(Enum):
    """What the arm does along the normal of a contact that it has lost."""

    APPROACH = "approach"
    """It looks for the surface again."""
    HOLD = "hold"
    """It stays where it has lost it."""
    RETREAT = "retreat"
    """It goes back by `Contact.retreat`, and stays there until it is told to attach."""
    STOP = "stop"
    """A damped stop, which lasts."""


class AtStart(Enum):
    """What a contact is at a start that does not press then."""

    APPROACH = "approach"
    """Lost: it is looked for."""
    WAIT = "wait"
    """Released, until it is told to attach."""


class WhileLost(Enum):
    """What the path does while a contact is lost."""

    WAIT = "wait"
    """It comes to rest, and goes on when the contact is made."""
    GO_ON = "go_on"
    """It goes on."""


_ANSWERS = tuple(OnLoss)


@dataclass(frozen=True, kw_only=True)
class Unexpected(Group):
    """Contacts that were not declared, of an arm that is held as of one that moves freely."""

    unexpected: float = parameter(
        0.0,
        "Joint effort that nothing explains, of which a sudden change counts as a contact that "
        "nobody declared; more than twice the Coulomb friction that compensation does not know. "
        "0 for none",
        "N·m or N",
        minimum=0.0,
        maximum=1e6,
    )
    on_unexpected: str = parameter(
        "stop",
        "What is done about one: a damped stop that lasts, or nothing but the event",
        choices=("stop", "note"),
    )


@dataclass(frozen=True)
class Contact(Unexpected):
    """What the arm presses on, and how a constraint that is one_sided is touched and left."""

    stiffness: Numbers = parameter(
        (),
        "Stiffness of what the arm presses on, with that of its own structure: one number, or the "
        "smallest and the largest; the force loop must be stable on all of them. Empty for rigid",
        "N/m",
        minimum=1.0,
        maximum=1e12,
        live=True,
    )
    threshold: float = parameter(
        1.0,
        "λ_off: a one-sided contact whose force is below it for three ticks is lost, and one above "
        "twice as much for three is made; its force is never asked to be less than that. At least "
        "three times the noise of the sensor",
        "N or N·m",
        minimum=1e-6,
        maximum=1e6,
        live=True,
    )
    approach_speed: float = parameter(
        0.02,
        "Speed along the normal at which a contact is looked for, and left",
        "m/s or rad/s",
        minimum=1e-5,
        maximum=10.0,
        live=True,
    )
    travel: float = parameter(
        0.005,
        "How far beyond where the surface should be, or where it was lost, a contact is looked "
        "for; then the arm goes back as far, and tries again",
        "m or rad",
        minimum=1e-5,
        maximum=10.0,
        live=True,
    )
    retreat: float = parameter(
        0.05,
        "Distance from the surface to which the arm goes where a contact is released, or lost "
        "with contact.on_loss retreat",
        "m or rad",
        minimum=0.0,
        maximum=10.0,
        live=True,
    )
    on_loss: OnLoss = parameter(
        OnLoss.APPROACH,
        "What the arm does along the normal of a contact that it has lost: look for it again, stay "
        "there, go back by contact.retreat until it is told to attach, or stop",
        live=True,
    )
    path: WhileLost = parameter(
        WhileLost.WAIT, "Whether the path waits while a contact is lost, or goes on", live=True
    )
    at_start: AtStart = parameter(
        AtStart.APPROACH,
        "What a one-sided contact is at a start at which it does not press: looked for, or "
        "released until it is attached. One that was released before, by the same controller, "
        "stays so",
    )
    friction: float = parameter(
        0.0,
        "µ of a one_sided contact. One that holds a point (point_at_point with a direction) sticks "
        "within it, 0 for any; any other, of the only constraint, slides with it, and what that "
        "takes is sent along, 0 for none",
        minimum=0.0,
        maximum=100.0,
        live=True,
    )
    facets: int = parameter(
        FACETS,
        "Facets of the pyramid within that cone: 4 lose 29 % of µ, 8 lose 7.6 %, 16 lose 1.9 %",
        minimum=3,
        maximum=MAX_FACETS,
        live=True,
    )

    energy: float = parameter(
        0.0,
        "E₀: how much more the force may give to what it presses on than it was given; beyond, the "
        "path waits. 0 for any",
        "J",
        minimum=0.0,
        maximum=1e6,
        live=True,
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "on_loss", OnLoss(self.on_loss))
        object.__setattr__(self, "path", WhileLost(self.path))
        object.__setattr__(self, "at_start", AtStart(self.at_start))
        if len(self.stiffness) > 2 or list(self.stiffness) != sorted(self.stiffness):
            raise InvalidValue(
                "contact.stiffness must be one number, or the smallest and then the largest, got "
                f"{list(self.stiffness)}",
                key="contact.stiffness",
            )

    @property
    def gives(self) -> bool:
        """Whether it is not rigid."""
        return bool(self.stiffness)

    @property
    def stiffnesses(self) -> Array:
        """Those that are looked at [N/m]."""
        if not self.stiffness:
            return np.zeros(0)
        low, high = self.stiffness[0], self.stiffness[-1]
        return np.geomspace(low, high, 1 + int(np.ceil(PER_DECADE * np.log10(high / low))))

    @property
    def rules(self) -> Array:
        """For `ControlTerms.contact_rules`, in the order of `RULES`."""
        answers = _ANSWERS.index(self.on_loss), float(self.path is WhileLost.WAIT)
        cone = self.friction, float(self.facets)
        waits = float(self.at_start is AtStart.WAIT)
        speeds = self.threshold, self.approach_speed, self.travel, self.retreat
        return np.array([*speeds, *answers, *cone, self.energy, waits])


RIGID = Contact()

RULES = 10
(
    THRESHOLD,
    SPEED,
    TRAVEL,
    RETREAT,
    ON_LOSS,
    WAITS,
    FRICTION,
    FACETS_AT,
    ENERGY,
    AT_START,
) = range(RULES)
"""Places in `Contact.rules`."""

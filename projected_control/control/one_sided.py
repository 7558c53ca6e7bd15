"""Contacts that come and go, for the side that decides: what they are, and attach and release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.control.contact import RIGID, SPEED, THRESHOLD, ContactState
from projected_control.control.holding import MADE_AT
from projected_control.control.mailbox import Mailbox
from projected_control.control.one_sided_terms import ONE_SIDED
from projected_control.control.terms import ControlTerms
from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.constrained_arm import ConstrainedArm

Array = NDArray[np.float64]

REACH = 0.2
"""How far from its surface a contact may be that is attached [m or rad]."""

SPEEDS = 2.0
"""How fast it may move along the normal meanwhile, over `Contact.approach_speed`."""

INDEPENDENT = 1e-3
"""Share of a contact's normal that no other contact takes, from which on it counts."""


@dataclass(frozen=True)
class OneSided:
    """A contact that holds one way only.

    Attributes:
        name: Of its constraint, as in ``constraints.names``; ``constraint`` for the only one.
        rows: Of its constraint, in order.
        normal: Into the surface, as a sum of these rows; of length one.
        tangents: Directions along the surface in which it can stick, lines of as many numbers.
    """

    name: str
    rows: tuple[int, ...]
    normal: Array
    tangents: Array

    @classmethod
    def of_row(cls, name: str, row: int, side: int = 1) -> OneSided:
        """Of one row: λ > 0 presses with side 1, λ < 0 with −1."""
        return cls(name, (row,), np.array([float(side)]), np.zeros((0, 1)))

    @classmethod
    def of_point(cls, name: str, rows: Sequence[int], normal: ArrayLike) -> OneSided:
        """Of a point that is held in all directions, which its rows are: it can stick."""
        n = np.asarray(normal, dtype=np.float64)
        n = n / np.linalg.norm(validate.finite_array("normal of a contact", n, (len(rows),)))
        others = np.linalg.svd(n[None, :])[2][1:]
        return cls(name, tuple(rows), n, others)


class OneSidedContacts:
    """The contacts of a controller that come and go.

    Attributes:
        members: All of them.
        felt: Whether the loop feels them; where not, they are taken as held.

    Args:
        model: The arm and its constraint.
        terms, mailbox: Of the controller.
    """

    def __init__(self, model: ConstrainedArm, terms: ControlTerms, mailbox: Mailbox) -> None:
        self._model, self._terms, self._mailbox = model, terms, mailbox
        self._work = ONE_SIDED.view(terms.one_sided, m=model.m)
        self.members: tuple[OneSided, ...] = ()
        self._switches = np.ones(model.m)
        numbers_of = {"contact_rules": RIGID.rules, "contact_switches": self._switches}
        for name, numbers in numbers_of.items():
            getattr(terms, name)[:] = numbers
            mailbox.fill(name, numbers)

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called."""
        return tuple(each.name for each in self.members)

    @property
    def felt(self) -> bool:
        """Whether they can be lost: where the force loop feels what presses."""
        return bool(self._work.feels[0])

    def lay(self, members: Sequence[OneSided]) -> None:
        """These are the contacts; before a controller runs."""
        self.members, work = tuple(members), self._work
        work.head[:] = work.normal[:] = work.tangents[:] = 0.0
        for each in self.members:
            rows = list(each.rows)
            work.head[rows], work.normal[rows] = rows[0] + 1.0, each.normal
            for line, tangent in zip(work.tangents, each.tangents, strict=False):
                line[rows] = tangent
        work.total[0] = len(self.members)
        self.reset()

    def feel(self, felt: bool) -> None:
        """Whether a loop feels them; before it runs.

        Raises:
            InvalidValue: Where the force of one that is felt is not controlled.
        """
        for each in self.members if felt else ():
            if not self._terms.controlled[list(each.rows)].all():
                raise InvalidValue(
                    f"contact {each.name} is one_sided, and its force is not controlled: name all "
                    "its rows in force.rows, or leave force.rows empty",
                    key="force.rows",
                )
        self._work.feels[0] = float(felt and bool(self.members))
        self.reset()

    def reset(self) -> None:
        """Before a start: a contact that is felt is looked for, unless it presses already.

        What is released stays so until it is attached, also where a loss has released it.
        """
        work, terms = self._work, self._terms
        for each in self.members:
            row = each.rows[0]
            if work.state[row] == ContactState.RELEASED and self._switches[row] % 2.0 != 0.0:
                self._switches[row] += 1.0
                self._mailbox.fill("contact_switches", self._switches)
        for name in ("gap", "away", "rate", "came", "force", "above_for", "below_for", "given_up"):
            getattr(work, name)[:] = 0.0
        for name in ("bounded", "not_yet", "goal", "speed", "lost_at", "back", "missed"):
            getattr(work, name)[:] = 0.0
        work.press[:] = work.made_for[:] = 0.0
        work.haste[:] = 1.0
        work.blind_for[:] = work.blocked_for[:] = work.unanswered[:] = work.state[:] = 0.0
        work.force[:], work.begins[:] = np.nan, work.feels[0]
        terms.unpressed[:] = terms.unseen[:] = terms.not_asked[:] = terms.path_waits[:] = 0.0
        terms.contact_switches[:] = work.switched[:] = self._switches
        work.wanted[:] = self._switches % 2.0
        for each in self.members:
            rows = list(each.rows)
            wanted = work.wanted[rows[0]] != 0.0
            free = ContactState.LOST if wanted else ContactState.RELEASED
            work.state[rows] = free if self.felt else ContactState.HOLDS
            terms.unpressed[rows] = float(self.felt)

    def state(self, name: str) -> ContactState:
        """What a contact is after the last tick."""
        return ContactState(int(self._work.state[self._named(name).rows[0]]))

    def gap(self, name: str) -> float:
        """Φ along its normal at the last tick; depth above zero, distance below [m or rad]."""
        return float(self._work.gap[self._named(name).rows[0]])

    def force(self, name: str) -> float:
        """λ along its normal as measured at the last tick [N or N·m]; NaN where unknown."""
        return float(self._work.force[self._named(name).rows[0]])

    @property
    def least_force(self) -> float:
        """What a contact that holds is asked for at least [N or N·m]."""
        return float(self._work.feels[0] * MADE_AT * self._terms.contact_rules[THRESHOLD])

    def attach(self, name: str) -> None:
        """Have a contact looked for and held from the next tick on.

        Raises:
            InvalidValue: Where it is too far away, moves too fast, or depends on others that hold.
        """
        self._switch(self.require_near(name), True)

    def release(self, name: str) -> None:
        """Have a contact left: its force goes down at ``force.max_rate``, then the arm retreats."""
        self._switch(self.require_felt(name), False)

    def require_near(self, name: str) -> OneSided:
        """The contact of this name; raises where `attach` would refuse it."""
        each = self.require_felt(name)
        row = each.rows[0]
        distance, rate = -self._work.gap[row], float(self._work.rate[row])
        most = SPEEDS * float(self._terms.contact_rules[SPEED])
        if distance > REACH:
            raise InvalidValue(
                f"contact {name} is {distance:.3g} m or rad from its surface, allowed are "
                f"{REACH:g}: bring the arm nearer first"
            )
        if abs(rate) > most:
            raise InvalidValue(
                f"contact {name} moves at {abs(rate):.3g} m/s or rad/s along its normal, allowed "
                f"are {most:.3g} (twice contact.approach_speed): wait until it is slower"
            )
        if not self._is_independent(each):
            raise InvalidValue(
                f"contact {name} depends on contacts that hold already: its surface holds nothing "
                "that they leave free; release one of them first"
            )
        return each

    def _is_independent(self, each: OneSided) -> bool:
        A, free = self._model.A, self._terms.unpressed
        others = [r for r in range(self._model.m) if r not in each.rows and free[r] == 0.0]
        n = each.normal @ A[list(each.rows)]
        size = float(np.linalg.norm(n))
        if not others or size == 0.0:
            return size > 0.0
        beside = n - A[others].T @ np.linalg.lstsq(A[others].T, n, rcond=None)[0]
        return float(np.linalg.norm(beside)) > INDEPENDENT * size

    def _named(self, name: str) -> OneSided:
        for each in self.members:
            if each.name == name:
                return each
        raise UnknownName("one-sided contact", name, self.names)

    def require_felt(self, name: str) -> OneSided:
        """The contact of this name; raises where `release` would refuse it."""
        each = self._named(name)
        if not self.felt:
            raise InvalidValue(
                f"contact {name} is taken as held, as nothing feels it: it takes a law with a "
                "force loop that knows the constraint, and force.source sensor or momentum"
            )
        return each

    def _switch(self, each: OneSided, wanted: bool) -> None:
        number = self._switches[each.rows[0]]
        self._switches[each.rows[0]] += 1.0 if (number % 2.0 != 0.0) != wanted else 2.0
        self._mailbox.post("contact_switches", self._switches)

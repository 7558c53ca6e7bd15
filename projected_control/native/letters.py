"""Letters to a loop that runs elsewhere: what the mailbox holds, and what else has changed with it.

A letter has all gains and limits. Tables of references and the masses of the arm's bodies are long
and seldom new: they go with the letter in which they changed, and with those after it until one of
them was acknowledged. The other side takes a letter whole or not at all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.control.letter import LETTER, LetterTerms
from projected_control.control.letter import Section as Part
from projected_control.control.loop import ControlLoop
from projected_control.model.motion_tables import packed_table
from projected_control.native.arm import body_numbers
from projected_control.native.session import check_numbers
from projected_control.native.updates import Content, Section

Array = NDArray[np.float64]

BODIES = (Section.MASSES, Section.CENTRES, Section.INERTIAS)
"""What a payload changes."""


class Known(NamedTuple):
    """What the other side has of a loop, apart from gains and limits.

    Attributes:
        reference, force_reference: Versions of the two tables.
        bodies: Masses, centres and inertias of all bodies, one after the other.
    """

    reference: float
    force_reference: float
    bodies: bytes


class Letters:
    """Letters of one loop, and what is known of it already.

    Args:
        loop: As it was handed over.
    """

    def __init__(self, loop: ControlLoop) -> None:
        self._loop, self._known = loop, known_of(loop)
        self._sent: dict[int, Known] = {}

    def sections(self) -> dict[Section, Content]:
        """The letter that the mailbox holds now."""
        return letter_sections(self._loop, self._known)

    def sent(self, sequence: int) -> None:
        """It went with this sequence number."""
        self._sent[sequence] = known_of(self._loop)

    def acknowledged(self, sequence: int, *, accepted: bool) -> None:
        """What became of an update; one that was no letter may be told of too."""
        known = self._sent.pop(sequence, None)
        if known is not None and accepted:
            self._known = known


def known_of(loop: ControlLoop) -> Known:
    """What somebody knows who has all of a loop."""
    versions = letter_of(loop).versions
    bodies = b"".join(array.tobytes() for array in bodies_of(loop).values())
    return Known(versions[Part.REFERENCE], versions[Part.FORCE_REFERENCE], bodies)


def letter_sections(loop: ControlLoop, known: Known | None = None) -> dict[Section, Content]:
    """The letter in a loop's mailbox, for somebody who knows this much of the loop already.

    Args:
        loop: Whose mailbox.
        known: What can be left out; None to send all.
    """
    letter, now = letter_of(loop), known_of(loop)
    head = loop.mailbox.box.size - letter.reference.size - letter.force_reference.size
    sections: dict[Section, Content] = {Section.MAILBOX: loop.mailbox.box[:head].copy()}
    if known is None or known.reference != now.reference:
        sections[Section.REFERENCE] = packed_table(letter.reference)
    if known is None or known.force_reference != now.force_reference:
        sections[Section.FORCE_REFERENCE] = packed_table(letter.force_reference)
    if known is None or known.bodies != now.bodies:
        sections.update(bodies_of(loop))
        sections[Section.CHECK] = check_numbers(loop.controller.model.arm)
    return sections


def letter_of(loop: ControlLoop) -> LetterTerms:
    """The parts of what lies in a loop's mailbox."""
    box, model = loop.mailbox, loop.controller.model
    sizes = {"motion": box.reference.size, "force": box.force_reference.size}
    return LETTER.view(box.box, n=model.n, k=model.k, **sizes)


def bodies_of(loop: ControlLoop) -> dict[Section, Array]:
    """Masses, centres and inertias of a loop's arm, as it carries them now."""
    numbers = body_numbers(loop.controller.model.arm)
    return {section: numbers[section.name.lower()].reshape(-1) for section in BODIES}

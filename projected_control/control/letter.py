"""A letter from the side that decides to the side that acts, and how a tick takes it.

The deciding side writes a draft and copies it into the mailbox (`publish`); a tick takes the
mailbox whole at its beginning, or not at all (`take`). Each array has one writer: the deciding side
writes draft and mailbox, the tick writes what it has taken. Between the two stands a sequence
number, odd while the mailbox is being written: a tick that finds it odd, or changed when it has
finished copying, leaves the mail to the next tick. Neither side ever waits for the other.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled, memory_fence
from projected_control.control.gains import advance_blend, begin_blend
from projected_control.control.guard_kernels import GUARD_LIMITS
from projected_control.control.terms import ControlTerms
from projected_control.model.linalg import copy
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]

BY_HAND = -1.0
"""In the place of a table's number of pieces: Python writes the live table in every tick."""

PIECES_AT = 3
"""Where a table has its number of pieces."""

SENSOR_NUMBERS = 20
"""Axes, offset, tool and joint of a force sensor; the tare of n efforts follows, see
`SourceTerms.sensor`."""


class Section(IntEnum):
    """What a letter may change."""

    GAINS = 0
    FORCE_GAINS = 1
    LIMITS = 2
    SENSOR = 3
    REFERENCE = 4
    FORCE_REFERENCE = 5
    FRICTION = 6
    DISTURBANCE = 7
    IMPEDANCE = 8


_GAINS, _FORCE_GAINS = int(Section.GAINS), int(Section.FORCE_GAINS)
_FRICTION, _DISTURBANCE = int(Section.FRICTION), int(Section.DISTURBANCE)
_IMPEDANCE = int(Section.IMPEDANCE)
_SECTIONS = len(Section)


class LetterTerms(NamedTuple):
    """A letter to the tick; n joints, k coordinates, and tables of so many numbers."""

    sequence: Annotated[Array, Part("1", "Number of the letter; odd while it is being written.")]
    applied: Annotated[
        Array, Part(f"{_SECTIONS}", "Versions of the sections in force; the tick's alone.")
    ]
    lengths: Annotated[Array, Part("2", "Numbers in the two tables below.")]
    versions: Annotated[Array, Part(f"{_SECTIONS}", "Version of each `Section`.")]
    gains: Annotated[Array, Part("3 * k", "See `MotionGains.array`.")]
    gains_seconds: Annotated[Array, Part("1", "Time over which they come into force [s].")]
    force_gains: Annotated[Array, Part("4", "See `ForceGains.array`.")]
    anti_windup: Annotated[Array, Part("3", "See `ForceGains.anti_windup_array`.")]
    force_seconds: Annotated[Array, Part("1", "Time over which the force gains come in [s].")]
    impedance: Annotated[
        Array, Part("3 * k * k + 2", "See `Impedance.array`; the time it takes [s].")
    ]
    limits: Annotated[Array, Part(GUARD_LIMITS, "See `GuardTerms.limits`.")]
    sensor: Annotated[Array, Part(f"{SENSOR_NUMBERS} + n", "See `SourceTerms.sensor`.")]
    friction: Annotated[
        Array, Part("5 * n + 3", "See `FrictionCompensation.array`; the time it takes [s].")
    ]
    disturbance: Annotated[Array, Part("4 + k", "See `Disturbance.array`; the time it takes [s].")]
    reference: Annotated[Array, Part("motion", "An array of `MotionTerms`.")]
    force_reference: Annotated[Array, Part("force", "An array of `MotionTerms`.")]


LETTER = Layout(LetterTerms, "n", "k", "motion", "force")
_unpack = LETTER.unpack
LENGTHS_AT = 1 + _SECTIONS
"""Where the lengths of the two tables stand."""

LETTER_CONTENT = LENGTHS_AT + 2
"""Where what is taken begins: after the sequence number, the tick's own part and the lengths."""


@compiled
def unpack_letter(letter: Array, n: int, k: int) -> LetterTerms:
    """The parts of a letter for so many joints and coordinates."""
    return _unpack(letter, n, k, int(letter[LENGTHS_AT]), int(letter[LENGTHS_AT + 1]))


@compiled
def publish(draft: Array, mailbox: Array) -> None:
    """Copy a draft into the mailbox, for the tick to take whole."""
    mailbox[0] += 1.0
    memory_fence()
    for i in range(LETTER_CONTENT, draft.size):
        mailbox[i] = draft[i]
    memory_fence()
    mailbox[0] += 1.0


@compiled
def take(mailbox: Array, taken: Array) -> bool:
    """Copy the mailbox where it holds a new letter; whether what was taken last is whole.

    A letter that was being written meanwhile is not, and is taken again by the next tick.
    """
    memory_fence()  # or a loop around it might look once and for all
    sequence = mailbox[0]
    if sequence != taken[0] and sequence % 2.0 == 0.0:
        memory_fence()
        for i in range(LETTER_CONTENT, taken.size):
            taken[i] = mailbox[i]
        memory_fence()
        taken[0] = sequence if mailbox[0] == sequence else np.nan
    return not np.isnan(taken[0])


@compiled
def is_new(section: int, letter: LetterTerms) -> bool:
    """Whether a section has changed since it was last in force; from now on it is."""
    new = letter.versions[section] != letter.applied[section]
    letter.applied[section] = letter.versions[section]
    return new


@compiled
def take_gains(letter: LetterTerms, c: ControlTerms) -> None:
    """New gains begin to come into force."""
    if is_new(_GAINS, letter):
        begin_blend(letter.gains, letter.gains_seconds[0], c.all_gains, c.gains_blend)
    if is_new(_FORCE_GAINS, letter):
        begin_blend(letter.force_gains, letter.force_seconds[0], c.force_gains, c.force_blend)
        copy(letter.anti_windup, c.anti_windup)
    if is_new(_IMPEDANCE, letter):
        last = letter.impedance.size - 1
        begin_blend(letter.impedance[:last], letter.impedance[last], c.impedance, c.impedance_blend)
    if is_new(_FRICTION, letter):
        last = letter.friction.size - 1
        begin_blend(letter.friction[:last], letter.friction[last], c.all_friction, c.friction_blend)
    if is_new(_DISTURBANCE, letter):
        last = letter.disturbance.size - 1
        begin_blend(
            letter.disturbance[:last],
            letter.disturbance[last],
            c.disturbance_gains,
            c.disturbance_blend,
        )


@compiled
def advance_gains(mailbox: Array, taken: Array, n: int, c: ControlTerms) -> None:
    """Take new gains, and blend those that are coming into force one tick on.

    Args:
        mailbox, taken: Arrays of `LetterTerms`.
        n: Number of joints.
        c: Whose gains they are.
    """
    if take(mailbox, taken):
        take_gains(unpack_letter(taken, n, c.error.shape[1]), c)
    blend_gains(c)


@compiled
def blend_gains(c: ControlTerms) -> None:
    """Blend all gains one tick on."""
    advance_blend(c.period[0], c.all_gains, c.gains_blend)
    advance_blend(c.period[0], c.force_gains, c.force_blend)
    advance_blend(c.period[0], c.impedance, c.impedance_blend)
    advance_blend(c.period[0], c.all_friction, c.friction_blend)
    advance_blend(c.period[0], c.disturbance_gains, c.disturbance_blend)


@compiled
def take_reference(section: int, new: Array, letter: LetterTerms, live: Array) -> bool:
    """A new reference takes the place of the live one, unless Python writes that.

    Args:
        section: REFERENCE or FORCE_REFERENCE.
        new: The letter's table.
        letter: All of it.
        live: The table in force.

    Returns:
        Whether the reference is new.
    """
    if not is_new(section, letter):
        return False
    if new[PIECES_AT] != BY_HAND:
        copy(new, live)
    return True

"""The mailbox between the side that decides and the side that acts.

New gains, limits and references are checked and written down on one side, at leisure, in a draft,
and put into the box from any thread. What a letter is, and how a tick takes it, is in `letter`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from projected_control.control.letter import (
    BY_HAND,
    LENGTHS_AT,
    LETTER,
    LETTER_CONTENT,
    PIECES_AT,
    LetterTerms,
    Section,
    publish,
)
from projected_control.errors import InvalidValue
from projected_control.model.motion_tables import MotionTable, move_table, new_table

Array = NDArray[np.float64]

PIECES, SINES_PER_NUMBER = 64, 4
"""Room that a table of a reference has at first."""

_KEPT = (
    "versions",
    "gains",
    "gains_seconds",
    "force_gains",
    "anti_windup",
    "force_seconds",
    "impedance",
    "limits",
    "sensor",
    "friction",
    "disturbance",
)

_PARTS = {
    Section.GAINS: ("gains", "gains_seconds"),
    Section.FORCE_GAINS: ("force_gains", "anti_windup", "force_seconds"),
    Section.LIMITS: ("limits",),
    Section.SENSOR: ("sensor",),
    Section.REFERENCE: ("reference",),
    Section.FORCE_REFERENCE: ("force_reference",),
    Section.FRICTION: ("friction",),
    Section.DISTURBANCE: ("disturbance",),
    Section.IMPEDANCE: ("impedance",),
}
"""Of a letter, by section."""


class Room:
    """The arrays of a mailbox, with tables of so many pieces and sines.

    Args:
        n, m, k: Numbers of joints, constraint rows and coordinates.
        pieces, sines: Of the tables of both references.

    Attributes:
        draft, box, taken, reference, force_reference: See `Mailbox`.
        letter: The draft's parts.
        applied: Of what was taken.
    """

    def __init__(self, n: int, m: int, k: int, pieces: Sequence[int], sines: Sequence[int]) -> None:
        self.reference = new_table(k, pieces[0], sines[0])
        self.force_reference = new_table(m, pieces[1], sines[1])
        lengths = {"motion": self.reference.size, "force": self.force_reference.size}
        sizes = {"n": n, "k": k, **lengths}
        arrays = [LETTER.new(**sizes) for _ in range(3)]
        self.draft, self.box, self.taken = arrays
        for array in arrays:
            letter = LETTER.view(array, **sizes)
            letter.lengths[:] = self.reference.size, self.force_reference.size
            letter.reference[:], letter.force_reference[:] = self.reference, self.force_reference
        self.letter = LETTER.view(self.draft, **sizes)
        self.applied = LETTER.view(self.taken, **sizes).applied

    def fits(self, motion: MotionTable | None, force: MotionTable | None) -> bool:
        """Whether there is room for these."""
        wanted = ((motion, self.reference), (force, self.force_reference))
        return all(table is None or table.fits(array) for table, array in wanted)

    def take_over(self, old: Room) -> None:
        """Copy all that another room holds, in force or not."""
        for name in _KEPT:
            getattr(self.letter, name)[:] = getattr(old.letter, name)
        self.applied[:] = old.applied
        move_table(old.reference, self.reference)
        move_table(old.force_reference, self.force_reference)
        move_table(old.letter.reference, self.letter.reference)
        move_table(old.letter.force_reference, self.letter.force_reference)
        self.box[LETTER_CONTENT:] = self.draft[LETTER_CONTENT:]
        self.taken[LETTER_CONTENT:] = self.draft[LETTER_CONTENT:]
        self.box[0], self.taken[0] = old.box[0], old.taken[0]


class Mailbox:
    """Letters to the tick of one controller, from any thread.

    Args:
        n: Number of joints.
        m: Number of constraint rows.
        k: Number of coordinates.

    Attributes:
        box: What a tick takes; an array of `LetterTerms`, written here alone.
        taken: What it took; likewise, written by the tick alone.
        reference, force_reference: The tables in force; written by the tick, which has room there
            for whatever `reserve` was told of.
        sender: Takes every letter to a tick that is made elsewhere; None where there is none.
        listener: Hears of every letter once it is in the box; None where nobody listens.
        lock: Held while a letter is written.
        longest: Numbers of the longest table of a reference that such a tick takes.
    """

    def __init__(self, n: int, m: int, k: int) -> None:
        self._sizes = n, m, k
        self.lock, self._depth = RLock(), 0
        self.listener: Callable[[Array], None] | None = None
        self._spare: Room | None = None
        self.sender: Callable[[Array], None] | None = None
        self.longest = np.inf
        sines = [SINES_PER_NUMBER * k, SINES_PER_NUMBER * m]
        self._move_into(Room(n, m, k, [PIECES, PIECES], sines))

    def _move_into(self, room: Room) -> None:
        self._room, self._letter, self._applied = room, room.letter, room.applied
        self._draft, self.box, self.taken = room.draft, room.box, room.taken
        self.reference, self.force_reference = room.reference, room.force_reference

    def make_room(self, motion: MotionTable | None, force: MotionTable | None) -> Room | None:
        """Get arrays for longer references ready, from any thread; None where these are enough.

        The thread that ticks moves into them when such a reference comes (`reserve`), and has
        nothing to allocate.
        """
        self._refuse_longer(motion, force)
        for room in (self._room, self._spare):
            if room is not None and room.fits(motion, force):
                return None if room is self._room else room
        self._spare = spare = self._larger(motion, force)
        return spare

    def _larger(self, motion: MotionTable | None, force: MotionTable | None) -> Room:
        wanted = ((motion, self.reference), (force, self.force_reference))
        pieces = [max(int(a[1]), 2 * t.pieces if t else 0) for t, a in wanted]
        sines = [max(int(a[2]), 2 * t.sine_count if t else 0) for t, a in wanted]
        return Room(*self._sizes, pieces, sines)

    def _refuse_longer(self, *tables: MotionTable | None) -> None:
        for table in tables:
            if table is not None and (count := table.count) > self.longest:
                raise InvalidValue(
                    f"a reference of {table.pieces} pieces is too long: its table has {count} "
                    f"numbers, and while the loop runs elsewhere {self.longest:.0f} are allowed; "
                    "leave points out, or send it in parts"
                )

    def reserve(self, motion: MotionTable | None, force: MotionTable | None) -> bool:
        """Move to where there is room for longer references; whether the arrays are other ones.

        Only between two ticks: call it from the thread that ticks, or before it does. Allocates
        nothing where `make_room` was told of them.
        """
        self._refuse_longer(motion, force)
        with self.lock:
            old, spare = self._room, self._spare
            if old.fits(motion, force):
                return False
            ready = spare is not None and spare.fits(motion, force)
            new = spare if spare is not None and ready else self._larger(motion, force)
            new.take_over(old)
            self._spare = None
            self._move_into(new)
            return True

    @property
    def letter(self) -> LetterTerms:
        """The parts of the last letter."""
        return self._letter

    @property
    def pending(self) -> bool:
        """Whether there is a letter that no tick has taken."""
        return bool(self.box[0] != self.taken[0])

    @property
    def blend_pending(self) -> bool:
        """Whether gains wait that will come into force by and by."""
        letter, applied = self._letter, self._applied
        waits = [
            (Section.GAINS, letter.gains_seconds[0]),
            (Section.FORCE_GAINS, letter.force_seconds[0]),
            (Section.IMPEDANCE, letter.impedance[-1]),
            (Section.FRICTION, letter.friction[-1]),
            (Section.DISTURBANCE, letter.disturbance[-1]),
        ]
        return any(
            seconds > 0.0 and letter.versions[section] != applied[section]
            for section, seconds in waits
        )

    @contextmanager
    def together(self) -> Iterator[None]:
        """All that is posted within this block comes into force in one tick.

        Nothing of it does where the block raises.
        """
        with self.lock:
            before = self._letter.versions.copy()
            self._depth += 1
            try:
                yield
            except BaseException:
                self._letter.versions[:] = before
                raise
            finally:
                self._depth -= 1
            if self._depth == 0:
                publish(self._draft, self.box)
                self._tell()

    def _tell(self) -> None:
        for hear in (self.sender, self.listener):
            if hear is not None:
                hear(self.box)

    def deliver(self, letter: Array, keep: Collection[Section] = ()) -> None:
        """Put a letter that was kept, an array of `LetterTerms`, into the box once more.

        Only between two ticks. Its tables may be longer than ours, which then get that room.

        Args:
            letter: All of it.
            keep: Sections that stay as they are, whatever it says of them.
        """
        n, _, k = self._sizes
        motion, force = (int(length) for length in letter[LENGTHS_AT:LETTER_CONTENT])
        new = LETTER.view(letter, n=n, k=k, motion=motion, force=force)
        with self.lock:
            self.take_room_of(new.reference, new.force_reference)
            for section, names in _PARTS.items():
                if section not in keep:
                    self._letter.versions[section] = new.versions[section]
                    for name in names:
                        getattr(self._letter, name)[:] = getattr(new, name)
            publish(self._draft, self.box)
            self._tell()

    def take_room_of(self, reference: Array, force_reference: Array) -> None:
        """Have tables with just the room that these have; only between two ticks."""
        tables = (reference, force_reference)
        if [t.size for t in tables] != [self.reference.size, self.force_reference.size]:
            room = Room(*self._sizes, [int(t[1]) for t in tables], [int(t[2]) for t in tables])
            room.take_over(self._room)
            self._spare = None
            self._move_into(room)

    def restore(self, box: Array, taken: Array, reference: Array, force_reference: Array) -> None:
        """Be as a mailbox was whose arrays were kept; only between two ticks."""
        with self.lock:
            self.take_room_of(reference, force_reference)
            self._draft[:], self.box[:], self.taken[:] = box, box, taken
            self.reference[:], self.force_reference[:] = reference, force_reference

    def post_gains(self, gains: Array, seconds: float) -> None:
        """New gains on the coordinates, over this time [s]; see `MotionGains.array`."""
        with self._changing(Section.GAINS) as letter:
            letter.gains[:], letter.gains_seconds[0] = gains.reshape(-1), seconds

    def post_force_gains(self, gains: Array, anti_windup: Array, seconds: float) -> None:
        """New gains on λ, over this time [s]; see `ForceGains`."""
        with self._changing(Section.FORCE_GAINS) as letter:
            letter.force_gains[:], letter.force_seconds[0] = gains, seconds
            letter.anti_windup[:] = anti_windup

    def post_impedance(self, numbers: Array, seconds: float) -> None:
        """Another impedance, over this time [s]; see `Impedance.array`."""
        with self._changing(Section.IMPEDANCE) as letter:
            letter.impedance[:-1], letter.impedance[-1] = numbers, seconds

    def post_friction(self, numbers: Array, seconds: float) -> None:
        """New friction to compensate, over this time [s]; see `FrictionCompensation.array`."""
        with self._changing(Section.FRICTION) as letter:
            letter.friction[:-1], letter.friction[-1] = numbers, seconds

    def post_disturbance(self, numbers: Array, seconds: float) -> None:
        """New gains against disturbances, over this time [s]; see `Disturbance.array`."""
        with self._changing(Section.DISTURBANCE) as letter:
            letter.disturbance[:-1], letter.disturbance[-1] = numbers, seconds

    def post_limits(self, limits: Array) -> None:
        """New limits; see `GuardTerms.limits`."""
        with self._changing(Section.LIMITS) as letter:
            letter.limits[:] = limits

    def post_sensor(self, sensor: Array) -> None:
        """What is known of the force sensor; see `SourceTerms.sensor`."""
        with self._changing(Section.SENSOR) as letter:
            letter.sensor[:] = sensor

    def post_reference(self, table: MotionTable | None) -> None:
        """Another reference; None for one that Python writes into the live table."""
        with self._changing(Section.REFERENCE) as letter:
            _write(table, letter.reference)

    def post_force_reference(self, table: MotionTable | None) -> None:
        """Another reference for λ; None for one that Python writes into the live table."""
        with self._changing(Section.FORCE_REFERENCE) as letter:
            _write(table, letter.force_reference)

    def clear_force_reference(self) -> None:
        """λ_d becomes zero, and is then left to whoever writes it."""
        with self._changing(Section.FORCE_REFERENCE) as letter:
            letter.force_reference[PIECES_AT] = 0.0

    @contextmanager
    def _changing(self, section: Section) -> Iterator[LetterTerms]:
        """The draft, to be changed in one section and then posted."""
        with self.together():
            yield self._letter
            self._letter.versions[section] += 1.0


def _write(table: MotionTable | None, array: Array) -> None:
    if table is None:
        array[PIECES_AT] = BY_HAND
    else:
        table.write(array)

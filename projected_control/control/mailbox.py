"""The mailbox between the side that decides and the side that acts.

New gains, limits and references are checked on one side, at leisure, written into a draft of the
live block and put into the box, from any thread. What a block is, and how a tick takes it, is in
`live`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control.control.live import (
    CONTENT_AT,
    LIVE,
    NUMBER,
    PIECES_AT,
    SLOTS,
    WRITTEN_BY_PYTHON,
    LiveBlock,
    live_sizes,
    publish,
    view_block,
)
from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.motion_tables import MotionTable, move_table, new_table

Array = NDArray[np.float64]

PIECES, SINES_PER_NUMBER = 64, 4  # how long a table of a reference may be at first


class Blocks:
    """The live blocks of a mailbox, with tables of so many pieces and sines.

    Args:
        n, m, k: Numbers of joints, constraint rows and coordinates.
        pieces, sines: Of the tables of both references.

    Attributes:
        written, box, taken, reference, force_reference: See `Mailbox`.
        draft: The parts of `written`.
        applied: Of what was taken.
    """

    def __init__(self, n: int, m: int, k: int, pieces: Sequence[int], sines: Sequence[int]) -> None:
        self.reference = new_table(k, pieces[0], sines[0])
        self.force_reference = new_table(m, pieces[1], sines[1])
        sizes = live_sizes(n, m, k, self.reference.size, self.force_reference.size)
        self.written, self.box, self.taken = (LIVE.new(**sizes) for _ in range(3))
        for array in (self.written, self.box, self.taken):
            block = LIVE.view(array, **sizes)
            block.lengths[:] = self.reference.size, self.force_reference.size
            block.reference[:], block.force_reference[:] = self.reference, self.force_reference
        self.draft = view_block(self.written, n, m, k)
        self.applied = view_block(self.taken, n, m, k).applied

    def fits(self, motion: MotionTable | None, force: MotionTable | None) -> bool:
        """Whether these tables fit in."""
        wanted = ((motion, self.reference), (force, self.force_reference))
        return all(table is None or table.fits(array) for table, array in wanted)

    def take_over(self, old: Blocks) -> None:
        """Copy all that others hold, in force or not."""
        tables = self.reference.size + self.force_reference.size
        here = slice(CONTENT_AT, self.written.size - tables)
        self.written[here] = old.written[here]
        self.applied[:] = old.applied
        move_table(old.reference, self.reference)
        move_table(old.force_reference, self.force_reference)
        move_table(old.draft.reference, self.draft.reference)
        move_table(old.draft.force_reference, self.draft.force_reference)
        self.box[CONTENT_AT:] = self.taken[CONTENT_AT:] = self.written[CONTENT_AT:]
        self.box[0], self.taken[0] = old.box[0], old.taken[0]


class Mailbox:
    """Changes of the live block of one controller, from any thread.

    Args:
        n: Number of joints.
        m: Number of constraint rows.
        k: Number of coordinates.

    Attributes:
        box: What a tick takes; an array of `LiveBlock`, written here alone.
        taken: What it took; the same, written by the tick alone.
        reference, force_reference: The tables in force; written by the tick, and long enough for
            what `reserve` was told of.
        sender: Takes every change to a tick that is made in another process; None for none.
        listener: Hears of every change once it is in the box; None for none.
        lock: Held while the draft is written.
        longest: Numbers of the longest table of a reference that such a tick takes.
    """

    def __init__(self, n: int, m: int, k: int) -> None:
        self._sizes = n, m, k
        self.lock, self._depth = RLock(), 0
        self.listener: Callable[[Array], None] | None = None
        self._spare: Blocks | None = None
        self.sender: Callable[[Array], None] | None = None
        self.longest = np.inf
        sines = [SINES_PER_NUMBER * k, SINES_PER_NUMBER * m]
        self._move_into(Blocks(n, m, k, [PIECES, PIECES], sines))

    def _move_into(self, blocks: Blocks) -> None:
        self._blocks, self._draft, self._applied = blocks, blocks.draft, blocks.applied
        self._written, self.box, self.taken = blocks.written, blocks.box, blocks.taken
        self.reference, self.force_reference = blocks.reference, blocks.force_reference

    # Longer references

    def get_ready_for(self, motion: MotionTable | None, force: MotionTable | None) -> Blocks | None:
        """Make blocks for longer references, from any thread; None where these are enough.

        The thread that ticks moves into them when such a reference comes (`reserve`), and has
        nothing to allocate.
        """
        self._refuse_longer(motion, force)
        for blocks in (self._blocks, self._spare):
            if blocks is not None and blocks.fits(motion, force):
                return None if blocks is self._blocks else blocks
        self._spare = spare = self._larger(motion, force)
        return spare

    def _larger(self, motion: MotionTable | None, force: MotionTable | None) -> Blocks:
        wanted = ((motion, self.reference), (force, self.force_reference))
        pieces = [max(int(a[1]), 2 * t.pieces if t else 0) for t, a in wanted]
        sines = [max(int(a[2]), 2 * t.sine_count if t else 0) for t, a in wanted]
        return Blocks(*self._sizes, pieces, sines)

    def _refuse_longer(self, *tables: MotionTable | None) -> None:
        for table in tables:
            if table is not None and (count := table.count) > self.longest:
                raise InvalidValue(
                    f"a reference of {table.pieces} pieces is too long: its table has {count} "
                    f"numbers, and while the loop runs in a plugin {self.longest:.0f} are allowed; "
                    "leave points out, or send it in parts"
                )

    def reserve(self, motion: MotionTable | None, force: MotionTable | None) -> bool:
        """Move to where longer references fit in; whether the arrays are other ones.

        Only between two ticks: call it from the thread that ticks, or before it does. Allocates
        nothing where `get_ready_for` was told of them.
        """
        self._refuse_longer(motion, force)
        with self.lock:
            old, spare = self._blocks, self._spare
            if old.fits(motion, force):
                return False
            ready = spare is not None and spare.fits(motion, force)
            new = spare if spare is not None and ready else self._larger(motion, force)
            new.take_over(old)
            self._spare = None
            self._move_into(new)
            return True

    # What waits

    @property
    def draft(self) -> LiveBlock:
        """The parts of the last change."""
        return self._draft

    @property
    def pending(self) -> bool:
        """Whether there is a change that no tick has taken."""
        return bool(self.box[0] != self.taken[0])

    @property
    def blend_pending(self) -> bool:
        """Whether a change waits that will come into force by and by."""
        waits = self._draft.versions != self._applied
        return bool((waits & (self._draft.seconds > 0.0)).any())

    # Changes

    def fill(self, slot: str, values: ArrayLike) -> None:
        """What a slot holds before the first change, as it is in force."""
        for array in (self._written, self.box, self.taken):
            getattr(view_block(array, *self._sizes), slot)[:] = values

    def post(self, slot: str, values: ArrayLike, seconds: float = 0.0) -> None:
        """Change a slot: its numbers, and the time over which they come into force [s]."""
        if slot not in SLOTS:
            raise UnknownName("live number", slot, SLOTS)
        with self._changing(slot, seconds) as draft:
            getattr(draft, slot)[:] = np.asarray(values).reshape(-1)

    def post_table(self, slot: str, table: MotionTable | None) -> None:
        """Another reference; None for one that Python writes into the table in force."""
        with self._changing(slot) as draft:
            if table is None:
                getattr(draft, slot)[PIECES_AT] = WRITTEN_BY_PYTHON
            else:
                table.write(getattr(draft, slot))

    def clear_table(self, slot: str) -> None:
        """A reference becomes zero, and stays what is then written there."""
        with self._changing(slot) as draft:
            getattr(draft, slot)[PIECES_AT] = 0.0

    @contextmanager
    def _changing(self, slot: str, seconds: float = 0.0) -> Iterator[LiveBlock]:
        """The draft, to be changed in one slot and then posted."""
        with self.together():
            yield self._draft
            self._draft.seconds[NUMBER[slot]] = seconds
            self._draft.versions[NUMBER[slot]] += 1.0

    @contextmanager
    def together(self) -> Iterator[None]:
        """All that is posted within this block comes into force in one tick.

        Nothing of it does where the block raises.
        """
        with self.lock:
            before = self._draft.versions.copy()
            self._depth += 1
            try:
                yield
            except BaseException:
                self._draft.versions[:] = before
                raise
            finally:
                self._depth -= 1
            if self._depth == 0:
                self._publish()

    def _publish(self) -> None:
        publish(self._written, self.box)
        for hear in (self.sender, self.listener):
            if hear is not None:
                hear(self.box)

    # Changes that were kept

    def deliver(self, block: Array, keep: Collection[str] = ()) -> None:
        """Put a block that was kept, an array of `LiveBlock`, into the box once more.

        Only between two ticks. Its tables may be longer than ours, which then get that length.

        Args:
            block: All of it.
            keep: Slots that stay as they are, whatever it says of them.
        """
        new = view_block(block, *self._sizes)
        with self.lock:
            self._be_as_long_as(new.reference, new.force_reference)
            for slot, number in NUMBER.items():
                if slot not in keep:
                    self._draft.versions[number] = new.versions[number]
                    self._draft.seconds[number] = new.seconds[number]
                    getattr(self._draft, slot)[:] = getattr(new, slot)
            self._publish()

    def _be_as_long_as(self, reference: Array, force_reference: Array) -> None:
        """Have tables of just the lengths that these have; only between two ticks."""
        tables = (reference, force_reference)
        if [t.size for t in tables] != [self.reference.size, self.force_reference.size]:
            blocks = Blocks(*self._sizes, [int(t[1]) for t in tables], [int(t[2]) for t in tables])
            blocks.take_over(self._blocks)
            self._spare = None
            self._move_into(blocks)

    def restore(self, box: Array, taken: Array, reference: Array, force_reference: Array) -> None:
        """Be as a mailbox was whose arrays were kept; only between two ticks."""
        with self.lock:
            self._be_as_long_as(reference, force_reference)
            self._written[:], self.box[:], self.taken[:] = box, box, taken
            self.reference[:], self.force_reference[:] = reference, force_reference

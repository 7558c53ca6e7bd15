"""Memory that two processes share: rows of numbers, written by one and read by the other.

The writer never waits. It counts rows that it has begun and rows that it has completed; a reader
takes what is complete, and finds from the first count which of it was overwritten meanwhile.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.arrays import Array

Whole = NDArray[np.int64]

BEGUN, DONE, TAKEN, LOST, BYTES, ENDED = range(6)
"""Counters: rows begun and completed by the writer; by the reader, rows taken, rows that were
overwritten before it came, size of its file, and whether it has ended."""

COUNTERS, TEXT_BYTES = 8, 512
"""Numbers at the beginning of the memory, and room for a reason after them [bytes]."""

_HEAD = 8 * COUNTERS + TEXT_BYTES


class NewRows(NamedTuple):
    """What was taken from a ring."""

    first: int  # number of the first row since the beginning
    rows: Array  # N × width


class Ring:
    """The shared memory.

    Args:
        handle: Its file descriptor; see `new`.
        capacity: Rows.
        width: Numbers per row.

    Attributes:
        counters: See above.
        rows: Capacity × width.
    """

    def __init__(self, handle: int, capacity: int, width: int) -> None:
        self.handle, self.capacity, self.width = handle, capacity, width
        self._memory = mmap.mmap(handle, _HEAD + 8 * capacity * width)
        self.counters: Whole = np.frombuffer(self._memory, np.int64, COUNTERS)
        rows = np.frombuffer(self._memory, np.float64, capacity * width, _HEAD)
        self.rows: Array = rows.reshape(capacity, width)
        self._taken = 0

    @classmethod
    def new(cls, capacity: int, width: int) -> Ring:
        """Memory of one's own, whose pages are there already, so that no row waits for one."""
        if hasattr(os, "memfd_create"):
            handle = os.memfd_create("recording")
        else:
            with tempfile.TemporaryFile() as file:
                handle = os.dup(file.fileno())
        os.ftruncate(handle, _HEAD + 8 * capacity * width)
        ring = cls(handle, capacity, width)
        ring.rows[:] = 0.0
        return ring

    def release(self) -> None:
        """Give the descriptor back; the memory goes with the last who looks at it."""
        os.close(self.handle)

    @property
    def text(self) -> str:
        """Why the reader gave up; empty where it did not."""
        raw = self._memory[8 * COUNTERS : _HEAD]
        return raw.rstrip(b"\0").decode(errors="replace")

    @text.setter
    def text(self, text: str) -> None:
        raw = text.encode()[:TEXT_BYTES]
        self._memory[8 * COUNTERS : _HEAD] = raw.ljust(TEXT_BYTES, b"\0")

    def take(self, most: int) -> NewRows:
        """The rows since the last call, at most so many; lost ones are counted.

        Rows that the writer overwrote before or while they were copied are left out. The oldest row
        in the ring counts as overwritten when the ring is full: it may be written at any time.
        """
        done = int(self.counters[DONE])
        first = max(self._taken, self._oldest())
        last = min(done, first + most)
        rows = self.rows[np.arange(first, last) % self.capacity]
        kept = min(max(first, self._oldest()), last)
        self.counters[LOST] += kept - self._taken
        self._taken = self.counters[TAKEN] = last
        return NewRows(kept, rows[kept - first :])

    def _oldest(self) -> int:
        """The first row that the writer does not touch."""
        return int(self.counters[BEGUN]) - self.capacity + 1

"""Messages as the bytes in which they travel (CDR).

To make or read a message as an object costs rclpy ten to thirty microseconds, more than a control
tick. The messages of a loop are the same every time but for their numbers, so that one call of
`struct` is enough: a `CdrFormat` knows where the numbers are, and which bytes must stay the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from struct import Struct, calcsize
from typing import Any

import numpy as np
from numpy.typing import NDArray

LITTLE_ENDIAN = b"\x00\x01"
"""What the bytes of a plain CDR message begin with, on all computers of today."""

_DTYPES = {"i": "i4", "I": "u4", "d": "f8"}
_CODE = itemgetter(0)
_PREFIX = 4  # these two bytes and two of options; alignment counts from here


class CdrFormat:
    """Where the numbers of a message are.

    Built field by field, in the order of the message's definition. Numbers may change from one
    message to the next; texts, and how many numbers an array has, may not.
    """

    def __init__(self) -> None:
        self._format, self._size = "<2s2x", _PREFIX
        self._expected: list[Any] = [LITTLE_ENDIAN]
        self._free: list[int] = []
        self._runs: list[tuple[int, str]] = []  # where numbers stand in a row, and their codes
        self._ready: tuple[Any, ...] | None = None

    @property
    def size(self) -> int:
        """Size of the message [bytes]."""
        return self._size

    def constant(self, code: str, value: int | float) -> CdrFormat:
        """A number that stays: B (octet), q (int64) or as `number` has them."""
        self._constant(code, value)
        return self

    def number(self, code: str) -> CdrFormat:
        """A number: i (int32), I (uint32) or d (float64)."""
        return self.numbers(code, 1)

    def numbers(self, code: str, count: int) -> CdrFormat:
        """This many numbers, one after the other; in one go, for a table may have a million."""
        if not count:
            return self
        self._align(calcsize(f"<{code}"))
        begin, codes = self._runs[-1] if self._runs else (self._size, "")
        if begin + calcsize(f"<{codes}") == self._size:
            self._runs[-1:] = [(begin, codes + count * code)]
        else:
            self._runs.append((self._size, count * code))
        first = len(self._expected)
        self._free.extend(range(first, first + count))
        self._format += count * code
        self._size += count * calcsize(f"<{code}")
        self._expected.extend([0] * count)
        return self

    def array(self, count: int) -> CdrFormat:
        """An array of float64."""
        self._constant("I", count)
        return self.numbers("d", count)

    def text(self, text: str) -> CdrFormat:
        """A string."""
        content = text.encode() + b"\0"
        self._constant("I", len(content))
        self._put(f"{len(content)}s", content)
        return self

    def texts(self, texts: Sequence[str]) -> CdrFormat:
        """An array of strings."""
        self._constant("I", len(texts))
        for text in texts:
            self.text(text)
        return self

    def empty(self) -> CdrFormat:
        """An array of anything, without elements."""
        self._constant("I", 0)
        return self

    def read(self, message: bytes) -> tuple[Any, ...] | None:
        """The numbers; None for a message of another layout."""
        whole, fixed, expected, free, _, _ = self._ready or self._prepare()
        if len(message) != self._size:
            return None
        values = whole.unpack(message)
        return free(values) if fixed(values) == expected else None

    def write(self, *numbers: float) -> bytes:
        """The message with these numbers."""
        *_, runs, buffer = self._ready or self._prepare()
        for run, offset, begin, end in runs:
            run.pack_into(buffer, offset, *numbers[begin:end])
        return bytes(buffer)

    def write_many(self, numbers: NDArray[np.float64]) -> NDArray[np.uint8]:
        """Many messages at once, one line each: N × size, from N × as many numbers as there are."""
        *_, runs, buffer = self._ready or self._prepare()
        lines = np.tile(np.frombuffer(buffer, np.uint8), (len(numbers), 1))
        for run, offset, begin, end in runs:
            at = offset
            for code, same in groupby(zip(run.format[1:], range(begin, end), strict=True), _CODE):
                columns = [place for _, place in same]
                values = numbers[:, columns[0] : columns[-1] + 1].astype(f"<{_DTYPES[code]}")
                size = values.itemsize * len(columns)
                lines[:, at : at + size] = np.ascontiguousarray(values).view(np.uint8)
                at += size
        return lines

    def _align(self, size: int) -> None:
        padding = -(self._size - _PREFIX) % size
        self._format += "x" * padding
        self._size += padding
        self._ready = None

    def _constant(self, code: str, value: float) -> None:
        self._align(calcsize(f"<{code}"))
        self._put(code, value)

    def _put(self, code: str, value: Any) -> None:
        self._format += code
        self._size += calcsize(f"<{code}")
        self._expected.append(value)

    def _prepare(self) -> tuple[Any, ...]:
        whole, free = Struct(self._format), set(self._free)
        fixed = itemgetter(*(k for k in range(len(self._expected)) if k not in free))
        runs, begin = [], 0
        for offset, codes in self._runs:
            runs.append((Struct(f"<{codes}"), offset, begin, begin + len(codes)))
            begin += len(codes)
        buffer = bytearray(whole.pack(*self._expected))
        numbers = itemgetter(*self._free) if self._free else lambda values: ()
        ready = (whole, fixed, fixed(self._expected), numbers, runs, buffer)
        self._ready = ready
        return ready

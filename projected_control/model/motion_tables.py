"""Motions over time as tables of numbers, which one kernel evaluates.

A motion is a sequence of pieces. Within a piece each of its numbers is a polynomial of at most the
fifth degree plus a sum of sines, both of the time τ since the piece's own origin,

    y(τ) = Σ_j c_j τ^j + Σ_s a_s sin(ω_s τ + φ_s),

and rate and acceleration are its derivatives. The first piece begins at minus infinity. References
of a controller and the motion of a driven constraint are such tables, so that a compiled tick knows
them for any time without asking Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control.compiled import Matrix, Numbers, compiled, kernel
from projected_control.errors import InvalidValue
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]

COEFFICIENTS = 6
"""Of a polynomial of the fifth degree."""


class MotionTerms(NamedTuple):
    """A table of a motion, with room for pieces and sines that are not in use.

    The header comes first, so that a table says its own sizes.
    """

    header: Annotated[
        Array, Part("5", "Numbers per instant; room for pieces and sines; pieces and sines in use.")
    ]
    begin: Annotated[Array, Part("pieces", "When a piece begins [s]; minus infinity first.")]
    first_sine: Annotated[Array, Part("pieces + 1", "Which sine is the first of a piece.")]
    origin: Annotated[Array, Part("pieces, size", "The time from which τ counts [s].")]
    coefficients: Annotated[Array, Part(f"pieces, size, {COEFFICIENTS}", "c₀ to c₅.")]
    waves: Annotated[Array, Part("sines, 4", "Of which number, amplitude a, ω [rad/s], φ [rad].")]


MOTION = Layout(MotionTerms, "size", "pieces", "sines")
unpack_motion = MOTION.unpack


@compiled
def piece_at(time: float, begin: Array, pieces: int) -> int:
    """Which piece holds at a time [s]; the first for a time that is not a number."""
    low, high = 0, pieces
    while high - low > 1:
        middle = (low + high) // 2
        if time >= begin[middle]:
            low = middle
        else:
            high = middle
    return low


@kernel
def evaluate_motion(time: float, table: Numbers, motion: Matrix) -> None:
    """Fill value, rate and acceleration at a time [s].

    Args:
        time: When; one that is not a number gives the first piece at its origin.
        table: An array of `MotionTerms`.
        motion: Result, 3 × size; left as it is by a table without pieces.
    """
    size, pieces = int(table[0]), int(table[3])
    if pieces == 0:
        return
    t = unpack_motion(table, size, int(table[1]), int(table[2]))
    p = piece_at(time, t.begin, pieces)
    known = time >= t.begin[0]
    for i in range(size):
        tau = time - t.origin[p, i] if known else 0.0
        c = t.coefficients[p, i]
        motion[0, i] = ((((c[5] * tau + c[4]) * tau + c[3]) * tau + c[2]) * tau + c[1]) * tau + c[0]
        motion[1, i] = (((5 * c[5] * tau + 4 * c[4]) * tau + 3 * c[3]) * tau + 2 * c[2]) * tau + c[
            1
        ]
        motion[2, i] = ((20 * c[5] * tau + 12 * c[4]) * tau + 6 * c[3]) * tau + 2 * c[2]
    for s in range(int(t.first_sine[p]), int(t.first_sine[p + 1])):
        i, amplitude, omega = int(t.waves[s, 0]), t.waves[s, 1], t.waves[s, 2]
        tau = time - t.origin[p, i] if known else 0.0
        angle = omega * tau + t.waves[s, 3]
        motion[0, i] += amplitude * np.sin(angle)
        motion[1, i] += amplitude * omega * np.cos(angle)
        motion[2, i] -= amplitude * omega * omega * np.sin(angle)


@dataclass(frozen=True)
class MotionTable:
    """A motion as numbers.

    Attributes:
        begin: When each piece begins [s], increasing, minus infinity first.
        origin: Time from which τ counts [s], pieces × size.
        coefficients: c₀ to c₅, pieces × size × 6.
        sines: For each piece its sines, any number of lines: which number of the motion, a, ω, φ.
    """

    begin: Array
    origin: Array
    coefficients: Array
    sines: tuple[Array, ...]

    @classmethod
    def constant(cls, value: ArrayLike) -> MotionTable:
        """A place."""
        return cls.of_sines(value, np.empty((0, 4)))

    @classmethod
    def of_sines(cls, offset: ArrayLike, sines: Array) -> MotionTable:
        """offset + Σ a sin(ω t + φ); the sines are lines (which number, a, ω, φ)."""
        place = np.asarray(offset, dtype=np.float64)
        coefficients = np.zeros((1, place.size, COEFFICIENTS))
        coefficients[0, :, 0] = place
        return cls(np.array([-np.inf]), np.zeros((1, place.size)), coefficients, (sines,))

    @classmethod
    def of_polynomials(cls, times: Array, coefficients: Array, end: Array) -> MotionTable:
        """A curve that stands still before its first time and after its last.

        Args:
            times: Where pieces begin, and where the last one ends [s].
            coefficients: c₀ to c_j of each piece, τ from its beginning on; pieces × size × j.
            end: The place after the last time.
        """
        pieces, size, given = coefficients.shape
        c = np.zeros((pieces + 2, size, COEFFICIENTS))
        c[1:-1, :, :given] = coefficients
        c[0, :, 0], c[-1, :, 0] = coefficients[0, :, 0], end
        begin = np.concatenate([[-np.inf], times[:-1], [np.nextafter(times[-1], np.inf)]])
        origin = np.concatenate([times[:1], times])
        return cls(begin, np.tile(origin[:, None], size), c, (np.empty((0, 4)),) * (pieces + 2))

    @classmethod
    def stacked(cls, tables: Sequence[MotionTable]) -> MotionTable:
        """Several motions side by side, as one of all their numbers."""
        begin = np.unique(np.concatenate([table.begin for table in tables]))
        which = [np.searchsorted(t.begin, begin, side="right") - 1 for t in tables]
        parts = list(zip(tables, which, strict=True))
        before = np.cumsum([0, *(table.size for table in tables)])
        sines = tuple(
            np.concatenate(
                [
                    t.sines[w[p]] + np.array([first, 0.0, 0.0, 0.0])
                    for (t, w), first in zip(parts, before, strict=False)
                ]
            )
            for p in range(begin.size)
        )
        return cls(
            begin,
            np.concatenate([t.origin[w] for t, w in parts], axis=1),
            np.concatenate([t.coefficients[w] for t, w in parts], axis=1),
            sines,
        )

    @property
    def size(self) -> int:
        """How many numbers it gives per instant."""
        return int(self.origin.shape[1])

    @property
    def pieces(self) -> int:
        """How many pieces it has."""
        return int(self.begin.size)

    @cached_property
    def sine_count(self) -> int:
        """How many sines there are in all pieces."""
        return sum(len(lines) for lines in self.sines)

    @property
    def count(self) -> int:
        """How many numbers its array of `MotionTerms` has."""
        return MOTION.size(size=self.size, pieces=self.pieces, sines=self.sine_count)

    def shifted(self, seconds: float) -> MotionTable:
        """The same motion, later by this [s]."""
        return MotionTable(
            self.begin + seconds, self.origin + seconds, self.coefficients, self.sines
        )

    def followed_by(self, then: MotionTable, time: float) -> MotionTable:
        """This motion before a time [s], another one from then on."""
        early = int(np.searchsorted(self.begin, time, side="left"))
        first = int(np.searchsorted(then.begin, time, side="right")) - 1
        return MotionTable(
            np.concatenate([self.begin[:early], [time], then.begin[first + 1 :]]),
            np.concatenate([self.origin[:early], then.origin[first:]]),
            np.concatenate([self.coefficients[:early], then.coefficients[first:]]),
            (*self.sines[:early], *then.sines[first:]),
        )

    def array(self) -> Array:
        """An array of `MotionTerms` with room for just this."""
        array = new_table(self.size, self.pieces, self.sine_count)
        self.write(array)
        return array

    def fits(self, array: Array) -> bool:
        """Whether an array of `MotionTerms` has room for this motion."""
        room = array[1] >= self.pieces and array[2] >= self.sine_count
        return bool(array[0] == self.size and room)

    def write(self, array: Array) -> None:
        """Put this motion into an array of `MotionTerms` that has room for it."""
        if not self.fits(array):
            raise InvalidValue(
                f"a motion of {self.size} numbers, {self.pieces} pieces and "
                f"{self.sine_count} sines does not fit into a table for "
                f"{int(array[0])} numbers, {int(array[1])} pieces and {int(array[2])} sines"
            )
        t = view_table(array)
        counts = [len(lines) for lines in self.sines]
        t.header[3:] = self.pieces, sum(counts)
        t.begin[: self.pieces] = self.begin
        t.first_sine[: self.pieces + 1] = np.cumsum([0, *counts])
        t.origin[: self.pieces] = self.origin
        t.coefficients[: self.pieces] = self.coefficients
        t.waves[: sum(counts)] = np.concatenate(self.sines)


def new_table(size: int, pieces: int, sines: int) -> Array:
    """An array of `MotionTerms` with this room, and nothing in it."""
    array = MOTION.new(size=size, pieces=pieces, sines=sines)
    array[:5] = size, pieces, sines, 0, 0
    return array


def view_table(array: Array) -> MotionTerms:
    """The parts of an array of `MotionTerms`, by what its header says."""
    size, pieces, sines = (int(number) for number in array[:3])
    return MOTION.view(array, size=size, pieces=pieces, sines=sines)


def move_table(source: Array, target: Array) -> None:
    """Put the motion of one array of `MotionTerms` into another that has more room."""
    old, new = view_table(source), view_table(target)
    target[3:5] = source[3:5]
    for name in ("begin", "first_sine", "origin", "coefficients", "waves"):
        part = getattr(old, name)
        getattr(new, name)[: len(part)] = part


def packed_table(table: Array) -> Array:
    """The same motion in an array of `MotionTerms` with room for just that."""
    size, pieces, sines = (int(table[i]) for i in (0, 3, 4))
    old, array = view_table(table), new_table(size, pieces, sines)
    new = view_table(array)
    array[3:5] = table[3:5]
    for name in ("begin", "first_sine", "origin", "coefficients", "waves"):
        part = getattr(new, name)
        part[:] = getattr(old, name)[: len(part)]
    return array


def write_instant(array: Array, time: float, motion: Sequence[Array]) -> None:
    """Put value, rate and acceleration at one time [s] into a table, for a motion without one."""
    t = view_table(array)
    value, rate, acceleration = motion
    t.header[3:] = 1, 0
    t.begin[0], t.origin[0] = -np.inf, time
    t.first_sine[:2] = 0.0
    t.coefficients[0] = 0.0
    t.coefficients[0, :, 0], t.coefficients[0, :, 1] = value, rate
    t.coefficients[0, :, 2] = 0.5 * np.asarray(acceleration)

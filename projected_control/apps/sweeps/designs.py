"""Which runs follow: grids, Latin hypercubes, independent draws, and designs one after the other.

A design is asked in rounds: it is given all rows of the rounds before, in the order of their
numbers, and says which points come next. So what it asks for depends on how many workers there are
in no way, and a sweep that was interrupted asks for the same again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol

import numpy as np

from projected_control.apps.sweeps.one_run import RunPoint, RunRow
from projected_control.apps.sweeps.study import GRID, LATIN, RANDOM, StudyFile
from projected_control.apps.sweeps.sweep_case import SweepCase
from projected_control.apps.sweeps.varied_axis import Axis
from projected_control.errors import InvalidValue

SAMPLE = "sample"  # part of a study: its own design

MOST_RUNS = 10_000_000


class Design(Protocol):
    """Says which runs follow."""

    def next(self, done: Sequence[RunRow], first: int) -> list[RunPoint]:
        """The points after these rows, numbered from `first` on; empty at its end."""

    def expected(self) -> int:
        """How many runs there will be at most."""

    def pruner(self) -> bytes:
        """What ends hopeless runs of the next round early, packed; empty for nothing."""


@dataclass(frozen=True)
class ListedRuns:
    """Points that are known from the beginning."""

    part: str  # of which part of a study
    points: tuple[tuple[float, ...], ...]  # all of them

    def next(self, done: Sequence[RunRow], first: int) -> list[RunPoint]:
        if done:
            return []
        return [RunPoint(first + i, self.part, values) for i, values in enumerate(self.points)]

    def expected(self) -> int:
        return len(self.points)

    def pruner(self) -> bytes:
        return b""


class Chain:
    """Designs one after the other; each sees its own rows only.

    Args:
        designs: Which, each with a part of its own.
    """

    def __init__(self, designs: Sequence[Design]) -> None:
        self._designs = list(designs)
        self._current: Design | None = None

    def next(self, done: Sequence[RunRow], first: int) -> list[RunPoint]:
        left = list(done)
        for design in self._designs:
            own: list[RunRow] = []
            while points := design.next(own, first - len(left)):
                if not left:
                    self._current = design
                    return points
                own += left[: len(points)]
                left = left[len(points) :]
        return []

    def expected(self) -> int:
        return sum(design.expected() for design in self._designs)

    def pruner(self) -> bytes:
        return self._current.pruner() if self._current is not None else b""


def grid(axes: Sequence[Axis], part: str = SAMPLE) -> ListedRuns:
    """All combinations of the axes' values."""
    count = int(np.prod([float(len(axis.grid())) for axis in axes]))
    if count > MOST_RUNS:
        raise InvalidValue(
            f"a grid of these {len(axes)} has {count:,} points: give fewer steps, or design.kind "
            "latin"
        )
    return ListedRuns(part, tuple(product(*(axis.grid() for axis in axes))))


def scattered(axes: Sequence[Axis], runs: int, seed: int, kind: str) -> ListedRuns:
    """A Latin hypercube over the axes, or independent draws."""
    random = np.random.default_rng([seed, 0x5EED])
    if kind == LATIN:
        slices = np.array([random.permutation(runs) for _ in axes]).T
        shares = (slices + random.uniform(size=slices.shape)) / runs
    else:
        shares = random.uniform(size=(runs, len(axes)))
    points = tuple(
        tuple(axis.at(float(share)) for axis, share in zip(axes, line, strict=True))
        for line in shares
    )
    return ListedRuns(SAMPLE, points)


def design_of(study: StudyFile, case: SweepCase) -> Design:
    """The design of a study."""
    own = study.settings.design
    if own.kind == GRID:
        return grid(case.axes)
    if own.kind in (LATIN, RANDOM):
        return scattered(case.axes, own.runs, study.settings.seed, own.kind)
    from projected_control.apps.sweeps.searches import Search

    return Search(case, own, study.settings.seed)

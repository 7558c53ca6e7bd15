"""A map over two of what varies: a grid, and its edge, found by halving between neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from projected_control.apps.sweeps.one_run import RunPoint, RunRow
from projected_control.apps.sweeps.varied_axis import Axis

MAP = "map"  # part of a study: the runs of a map and of its edge
Place = tuple[float, float]  # a place on a map: a value of each of its axes


@dataclass(frozen=True)
class Edge:
    """A piece of the edge of a map."""

    # kept, broken: two places between which the edge lies, bounds kept and broken.
    kept: Place
    broken: Place
    row: RunRow  # the run at the place where they are broken

    @property
    def middle(self) -> Place:
        """Where the edge is, to half its width."""
        (a, b), (c, d) = self.kept, self.broken
        return 0.5 * (a + c), 0.5 * (b + d)


class MapDesign:
    """A grid over two axes, all others as they are nominally, then its edge.

    Args:
        axes: All axes.
        which: The two, by number.
        halvings: Of the intervals in which the edge lies; none along an axis of steps.
        keeps: Whether a run keeps its bounds.
    """

    def __init__(
        self,
        axes: Sequence[Axis],
        which: tuple[int, int],
        halvings: int,
        keeps: Callable[[RunRow], bool],
    ) -> None:
        self.axes, self.which, self._keeps = axes, which, keeps
        self.first, self.second = (axes[i].grid() for i in which)
        self._stepped = [bool(axes[i].values) or axes[i].whole for i in which]
        self._halvings = 0 if all(self._stepped) else halvings

    def values(self, place: Place) -> tuple[float, ...]:
        """The values of a run at a place of the map."""
        found = [axis.nominal for axis in self.axes]
        for i, value in zip(self.which, place, strict=True):
            found[i] = value
        return tuple(found)

    def place(self, row: RunRow) -> Place:
        """Where a run is on the map."""
        one, two = self.which
        return row.values[one], row.values[two]

    def next(self, done: Sequence[RunRow], first: int) -> list[RunPoint]:
        if not done:
            places = [(one, two) for one in self.first for two in self.second]
        else:
            edges, rounds = self._follow(done)
            if rounds >= self._halvings:
                return []
            places = [edge.middle for edge in edges]
        return [RunPoint(first + i, MAP, self.values(place)) for i, place in enumerate(places)]

    def grid(self, done: Sequence[RunRow]) -> list[list[RunRow]]:
        """The rows of the grid, one list per value of the first axis."""
        width = len(self.second)
        return [list(done[i * width : (i + 1) * width]) for i in range(len(self.first))]

    def edges(self, done: Sequence[RunRow]) -> list[Edge]:
        """The edge, piece by piece, as far as it was looked for."""
        return self._follow(done)[0]

    def _neighbours(self, done: Sequence[RunRow]) -> Iterator[tuple[RunRow, RunRow]]:
        lines = self.grid(done)
        if not self._stepped[1]:
            for line in lines:
                yield from pairwise(line)
        if not self._stepped[0]:
            for before, after in pairwise(lines):
                yield from zip(before, after, strict=True)

    def _follow(self, done: Sequence[RunRow]) -> tuple[list[Edge], int]:
        """The edge after all rows, and how often it was halved."""
        edges = []
        for one, two in self._neighbours(done):
            if self._keeps(one) != self._keeps(two):
                good, bad = (one, two) if self._keeps(one) else (two, one)
                edges.append(Edge(self.place(good), self.place(bad), bad))
        later, rounds = list(done[len(self.first) * len(self.second) :]), 0
        while edges and len(later) >= len(edges):
            tried = zip(edges, later[: len(edges)], strict=True)
            edges = [self._halved(edge, row) for edge, row in tried]
            later, rounds = later[len(edges) :], rounds + 1
        return edges, rounds if edges else self._halvings

    def _halved(self, edge: Edge, row: RunRow) -> Edge:
        if self._keeps(row):
            return replace(edge, kept=edge.middle)
        return replace(edge, broken=edge.middle, row=row)

    def expected(self) -> int:
        around = 2 * (len(self.first) + len(self.second))
        return len(self.first) * len(self.second) + around * self._halvings

    def pruner(self) -> bytes:
        return b""

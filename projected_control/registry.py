"""Kinds of things that YAML, the command line and launch files can name, ours and other packages'.

A kind is one record in one registry. Packages of others add records through Python entry points.
A group is called ``projected_control.<registry>``, as in ``projected_control.constraints``; each
of its entry points names a record::

    [project.entry-points."projected_control.constraints"]
    point_on_circle = "my_package.circle:RECORD"
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Generic, Protocol, TypeVar

from projected_control.errors import InvalidValue, UnknownName


class Record(Protocol):
    """An entry of a registry."""

    @property
    def name(self) -> str:
        """By which it is called."""


R = TypeVar("R", bound=Record)


class Registry(Generic[R], Mapping[str, R]):
    """Records by name, in the order in which they were added; those of other packages come last.

    Args:
        what: What a record stands for, in the singular, for messages: ``"constraint"``.
        group: Entry points of this group are added when the registry is first read.

    Attributes:
        broken: Entry points that could not be loaded, by name, and why. Each is warned of once;
            asking for one raises with its reason, every time. All others are there.
    """

    def __init__(self, what: str, group: str = "") -> None:
        self.what = what
        self._group = group
        self._records: dict[str, R] = {}
        self._loaded = not group
        self.broken: dict[str, str] = {}

    def add(self, record: R) -> R:
        """Add a record; returns it. A name that is taken is refused."""
        if record.name in self._records:
            raise InvalidValue(f"there are two kinds of {self.what} called {record.name!r}")
        self._records[record.name] = record
        return record

    def __getitem__(self, name: str) -> R:
        if name not in self:
            raise UnknownName(f"kind of {self.what}", name, self._records)
        return self._records[name]

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(self._records)

    def __len__(self) -> int:
        self._load()
        return len(self._records)

    def __contains__(self, name: object) -> bool:
        self._load()
        if name in self._records:
            return True
        if name in self.broken:
            raise InvalidValue(self.broken[str(name)])
        return False

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True
        from importlib.metadata import entry_points  # a tenth of what importing the library takes

        for point in entry_points(group=self._group):
            try:
                self.add(point.load())
            except Exception as error:  # whatever another package does at import
                self.broken[point.name] = reason = (
                    f"the {self.what} {point.name!r} of the package "
                    f"{point.dist.name if point.dist else '?'} cannot be loaded "
                    f"({type(error).__name__}: {error}): mend or uninstall that package"
                )
                warnings.warn(reason, stacklevel=2)

"""Objects with a state that several tests of a file use: each test gets its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar


class PerTest(Mapping[Any, Any]):
    """Builds what is asked for by name, once per test; `conftest` forgets it before the next one.

    A model or a controller keeps its last state, which must not be another test's beginning. The
    names are known at once, for `pytest.mark.parametrize`.

    Args:
        build: By name, what makes the object.
    """

    _all: ClassVar[list[PerTest]] = []

    def __init__(self, build: Mapping[Any, Callable[[], Any]]) -> None:
        self._build = dict(build)
        self._built: dict[Any, Any] = {}
        PerTest._all.append(self)

    def __getitem__(self, name: Any) -> Any:
        if name not in self._built:
            self._built[name] = self._build[name]()
        return self._built[name]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._build)

    def __len__(self) -> int:
        return len(self._build)

    @classmethod
    def forget(cls) -> None:
        """All that was built."""
        for mapping in cls._all:
            mapping._built.clear()

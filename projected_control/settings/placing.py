"""Where the value was given that something cannot be built from: file, line and key.

What a value means is known only when an arm is built from it: whether its description has the link
that is named, whether a direction has a length. Such errors get the place here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import ParamSpec, TypeVar

from projected_control.errors import ProjectedControlError, UnknownName
from projected_control.settings.declaration import Settings, Value

P = ParamSpec("P")
R = TypeVar("R")

_KEYS = re.compile(r"[a-z][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*")


def says_where(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function that builds from settings say which of them was wrong, and where it stands."""

    @wraps(function)
    def build(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except ProjectedControlError as error:
            given = (each for each in (*args, *kwargs.values()) if isinstance(each, Settings))
            if not error.placed and (settings := next(given, None)) is not None:
                _place(error, settings)
            raise

    return build


def _place(error: ProjectedControlError, settings: Settings) -> None:
    """Put origin and key before the message, where they can be told."""
    text, values = str(error), settings.values()
    key = ""
    if isinstance(error, UnknownName):
        key = next(_that_say(error.name, values), "")
    key = key or next(_that_are_named(text, settings.origins, values), "")
    if not key:
        return
    error.placed = True
    said = text if key in text else f"{key}: {text}"
    origin = settings.origin_of(key)
    error.args = (f"{origin}: {said}" if origin else said,)


def _that_say(name: str, values: Mapping[str, Value]) -> Iterator[str]:
    """Parameters whose value is a name, or lists it; also as a link's in link.x."""
    for key, value in values.items():
        words = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        for word in words:
            if isinstance(word, str) and (word == name or word.rpartition(".")[0] == name):
                yield key


def _that_are_named(
    text: str, origins: Mapping[str, str], values: Mapping[str, Value]
) -> Iterator[str]:
    """Parameters and groups of which a message speaks, those that were given first.

    Names without a dot are words of English too: they count at the beginning only.
    """
    found = [match for match in _KEYS.finditer(text) if "." in match.group() or not match.start()]
    words = [match.group() for match in found]
    yield from (word for word in words if word in origins)
    yield from (word for word in words if word in values or _is_group(word, values))


def _is_group(word: str, values: Mapping[str, Value]) -> bool:
    return any(key.startswith(f"{word}.") for key in values)

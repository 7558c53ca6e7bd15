"""Where the value was given that something cannot be built from: file, line and key.

What a value means is known only when an arm is built from it: whether its description has the link
that is named, whether a direction has a length. Such errors get the place here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import ParamSpec, TypeVar

from projected_control.errors import ProjectedControlError, UnknownName
from projected_control.settings.declaration import Settings, Value

P = ParamSpec("P")
R = TypeVar("R")


def says_where(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function that builds from settings say which was wrong, and where it was given."""

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


def given_of(settings: Settings, *keys: str) -> str:
    """The first of some parameters that was given, or else the first of them."""
    return next((key for key in keys if key in settings.origins), keys[0])


def _place(error: ProjectedControlError, settings: Settings) -> None:
    """Put origin and key before the message, where the error knows what it is about."""
    text, values = str(error), settings.values()
    key = error.key
    if isinstance(error, UnknownName):
        key = next(_that_say(error.name, values), key)
    if not key:
        return
    error.key, error.placed = key, True
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

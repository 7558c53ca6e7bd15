"""Everything this package refuses, each with what was wrong, what was expected and what to do.

All derive from `ProjectedControlError`, so one ``except`` catches them; most are `ValueError` or
`KeyError` too, so that code which knows nothing of this package treats them as usual.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches


class ProjectedControlError(Exception):
    """Base of all errors of this package.

    Attributes:
        key: Full name of the parameter that was wrong, ``posture.target``; empty where none was,
            or where that is not known.
        placed: Whether the message says which parameter was wrong, and where it was given.
    """

    placed = False

    def __init__(self, *args: object, key: str = "") -> None:
        super().__init__(*args)
        self.key = key

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else type(self).__name__


@contextmanager
def about(key: str) -> Iterator[None]:
    """Let what is refused inside, and does not know better, be about this parameter or group."""
    try:
        yield
    except ProjectedControlError as error:
        error.key = error.key or key
        raise


class InvalidValue(ProjectedControlError, ValueError):
    """A value that cannot be meant: not finite, of the wrong sign or size."""


class InvalidDescription(ProjectedControlError, ValueError):
    """A robot description that does not parse or does not describe an arm."""


class UnknownName(ProjectedControlError, KeyError):
    """A joint, frame or choice that does not exist; the message lists those that do.

    Names like the one that was asked for come first, the others follow in order.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], key: str = "") -> None:
        names = sorted(known)
        near = get_close_matches(name, names, n=3)
        names = [*near, *(other for other in names if other not in near)]
        listed = ", ".join(names) if names else "none"
        super().__init__(f"unknown {kind} {name!r}; there are: {listed}", key=key)
        self.kind, self.name, self.known = kind, name, names


class NotYet(ProjectedControlError):
    """Something that comes by itself has not come yet; who starts by itself goes on waiting."""


class Unreachable(ProjectedControlError, ValueError):
    """No configuration satisfies the constraint and the coordinates asked for."""


class Uncontrollable(ProjectedControlError, ValueError):
    """The joints with a motor cannot move the arm in all its free directions."""


class UnstableForceLoop(ProjectedControlError, ValueError):
    """Gains with which the sampled force loop would diverge."""


class UnstableMotionLoop(ProjectedControlError, ValueError):
    """Gains with which the sampled motion loop would diverge."""


class SimulationFailed(ProjectedControlError, RuntimeError):
    """A simulation that left the constraint or the finite numbers."""

"""Kinds of constraint that a parameter file can name: one record per kind.

A kind of another package is a record like ours behind an entry point::

    [project.entry-points."projected_control.constraints"]
    circle = "my_package.circle:RECORD"

and can then be named in YAML: ``constraint.kind: circle``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from projected_control.errors import InvalidValue
from projected_control.model.constraints.base import Constraint
from projected_control.registry import Registry


class ConstraintSettings(Protocol):
    """The settings of the group ``constraint`` that our own kinds read; empty where not given."""

    @property
    def frame(self) -> str:
        """Link whose origin is held."""

    @property
    def other_frame(self) -> str:
        """Second link of a loop."""

    @property
    def point(self) -> Sequence[float]:
        """A point in the world [m]."""

    @property
    def direction(self) -> Sequence[float]:
        """A direction in the world."""

    @property
    def plane_normal(self) -> Sequence[float]:
        """Normal of the plane a planar arm moves in; empty for an arm in space."""


@dataclass(frozen=True)
class Setting:
    """A setting of the group ``constraint`` that a kind reads.

    Attributes:
        name: Without the group: ``point`` for ``constraint.point``.
        meaning: What it is to this kind.
        unit: SI; empty for none.
    """

    name: str
    meaning: str
    unit: str = ""

    def __str__(self) -> str:
        unit = f" [{self.unit}]" if self.unit else ""
        return f"constraint.{self.name}{unit} ({self.meaning})"


@dataclass(frozen=True)
class ConstraintKind:
    """A kind of constraint.

    Attributes:
        name: In YAML.
        title: What it is, in a few words.
        make: The constraint from settings that are all given, or None for no constraint.
        needs: Settings without which it cannot be made.
        takes: Settings that may be left empty.
    """

    name: str
    title: str
    make: Callable[[Any], Constraint | None]
    needs: tuple[Setting, ...] = ()
    takes: tuple[Setting, ...] = ()

    def build(self, settings: Any) -> Constraint | None:
        """The constraint of these settings.

        Args:
            settings: Of the group ``constraint``, as attributes (see `ConstraintSettings`).

        Raises:
            InvalidValue: If a setting that the kind needs is missing.
        """
        missing = [need for need in self.needs if _is_empty(getattr(settings, need.name, ""))]
        if missing:
            raise InvalidValue(
                f"constraint.kind {self.name!r} ({self.title}) needs "
                f"{' and '.join(map(str, missing))}, which the settings do not give"
            )
        return self.make(settings)


def _is_empty(value: Any) -> bool:
    return value is None or (hasattr(value, "__len__") and len(value) == 0)


CONSTRAINTS: Registry[ConstraintKind] = Registry("constraint", "projected_control.constraints")
"""Every kind that can be named, ours and other packages'."""

FRAME = Setting("frame", "link whose origin is held")
PLANE_NORMAL = Setting(
    "plane_normal", "normal of the plane a planar arm moves in; empty for an arm in space"
)

CONSTRAINTS.add(ConstraintKind("none", "no constraint: the arm is free", lambda settings: None))

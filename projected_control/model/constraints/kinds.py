"""Kinds of constraint that a parameter file can name: one record per kind.

A kind of another package is a record like ours behind an entry point::

    [project.entry-points."projected_control.constraints"]
    circle = "my_package.circle:RECORD"

and can then be named in YAML. What it needs beyond our own settings is given as arguments::

    constraint:
      kind: circle
      frame: tip
      arguments: ["radius:=0.45"]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.constraints.base import Constraint
from projected_control.model.function_kinds import ScalarFunction
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

    @property
    def axis(self) -> Sequence[float]:
        """An axis of the frame, in its own axes."""

    @property
    def angle(self) -> float:
        """An angle [rad]."""

    @property
    def directions(self) -> Sequence[str]:
        """Some of tx, ty, tz, rx, ry, rz."""

    @property
    def orientation(self) -> Sequence[float]:
        """Roll, pitch and yaw [rad]."""

    @property
    def length(self) -> float:
        """A length [m]."""

    @property
    def radius(self) -> float:
        """A radius [m]."""

    @property
    def surface(self) -> str:
        """Name of a surface."""

    @property
    def heights_file(self) -> str:
        """File with the heights of a surface."""

    @property
    def spacing(self) -> Sequence[float]:
        """Distance between these heights [m]."""

    @property
    def extent(self) -> Sequence[float]:
        """Two corners of the box beyond which a surface ends [m]."""

    @property
    def joint(self) -> str:
        """Name of a joint."""

    @property
    def other_joint(self) -> str:
        """Name of a second joint."""

    @property
    def ratio(self) -> float:
        """Ratio of a gear."""

    @property
    def position(self) -> float:
        """Position of a joint [rad or m]."""


OUR_SETTINGS = tuple(n for n in vars(ConstraintSettings) if not n.startswith("_"))
"""Names of `ConstraintSettings`; a kind's other settings are arguments."""


SINGLE = ("angle", "length", "radius", "ratio", "position")
"""Those that are one number; a parameter file says that there is none by an empty list."""


@dataclass(frozen=True)
class Setting:
    """A setting of the group ``constraint`` that a kind reads."""

    # Without the group: ``point`` for ``constraint.point``. One that is not among
    # `ConstraintSettings` is given by ``constraint.arguments``, as in ``radius:=0.45``.
    name: str
    meaning: str  # what it is to this kind
    unit: str = ""  # SI; empty for none

    def __str__(self) -> str:
        return self.within("constraint")

    def within(self, group: str) -> str:
        """The setting of a group, in words."""
        unit = f" [{self.unit}]" if self.unit else ""
        where = self.name if self.name in OUR_SETTINGS else f"arguments {self.name}:=…"
        return f"{group}.{where}{unit} ({self.meaning})"


@dataclass(frozen=True)
class ConstraintKind:
    """A kind of constraint."""

    name: str  # in YAML
    title: str  # what it is, in a few words
    # The constraint from settings that are all given, or None for no constraint.
    make: Callable[[Any], Constraint | None]
    needs: tuple[Setting, ...] = ()  # settings without which it cannot be made
    takes: tuple[Setting, ...] = ()  # settings that may be left empty
    # From the same settings how far along it the arm has come, where what it leaves is one
    # curve: how far out the drawer, how far round the valve. None where it is not.
    way: Callable[[Any], ScalarFunction] | None = None

    def build(self, settings: Any, group: str = "constraint") -> Constraint | None:
        """The constraint of these settings.

        Args:
            settings: Settings of a group, as attributes: `ConstraintSettings`, and ``arguments``, a
                list of texts ``name:=value``, where the kind needs more.
            group: Name of the group, for messages.

        Raises:
            InvalidValue: If a setting that the kind needs is missing.
            UnknownName: If there is an argument that the kind does not take.
        """
        return self.make(self._given(settings, group))

    def way_of(self, settings: Any, group: str = "constraint") -> ScalarFunction:
        """How far along the constraint of these settings the arm has come.

        Raises:
            InvalidValue: If it does not leave one curve, or as `build` does.
        """
        if self.way is None:
            known = [kind.name for kind in CONSTRAINTS.values() if kind.way is not None]
            raise InvalidValue(
                f"{group} ({self.name}) leaves no single way to go along; {', '.join(known)} do",
                key=group,
            )
        return self.way(self._given(settings, group))

    def _given(self, settings: Any, group: str) -> _Given:
        """The settings with the kind's arguments, of which none is missing."""
        given = _Given(settings, self._arguments(getattr(settings, "arguments", ()), group), group)
        missing = [need for need in self.needs if is_empty(getattr(given, need.name, None))]
        if missing:
            raise InvalidValue(
                f"{group}.kind {self.name!r} ({self.title}) needs "
                f"{' and '.join(need.within(group) for need in missing)}, which the settings do "
                "not give",
                key=f"{group}.kind",
            )
        for setting in (*self.needs, *self.takes):
            check_vector(f"{group}.{setting.name}", setting.name, getattr(given, setting.name, ()))
        return given

    def _arguments(self, items: Sequence[str], group: str) -> dict[str, Any]:
        """Arguments by name: numbers, tuples of numbers where there are commas, or texts."""
        known = [setting.name for setting in (*self.needs, *self.takes)]
        arguments = {}
        for item in items:
            name, separator, value = item.partition(":=")
            if not separator:
                key = f"{group}.arguments"
                raise InvalidValue(f"{key} must be name:=value, got {item!r}", key=key)
            if name not in known:
                raise UnknownName(
                    f"argument of {group}.kind {self.name!r}", name, known, f"{group}.arguments"
                )
            arguments[name] = _value_of(value)
        return arguments


class _Given:
    """The settings of the group, and a kind's own arguments beside them."""

    def __init__(self, settings: Any, arguments: dict[str, Any], group: str) -> None:
        self._settings, self._group = settings, group
        self.__dict__.update(arguments)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._settings, name)
        if name not in SINGLE or not isinstance(value, Sequence):
            return value
        if len(value) > 1:
            key = f"{self._group}.{name}"
            raise InvalidValue(f"{key} must be one number, got {list(value)}", key=key)
        return value[0] if value else None


def _value_of(text: str) -> float | tuple[float, ...] | str:
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        return text
    return numbers[0] if len(numbers) == 1 else numbers


DIRECTIONS = ("direction", "axis", "plane_normal")
VECTORS = (*DIRECTIONS, "point", "orientation", "zero")
"""Settings of three numbers; the first have a direction and so a length."""


def check_vector(name: str, setting: str, value: Any) -> None:
    """Raise where a setting of three numbers, if given, has others, or no direction."""
    if setting not in VECTORS or is_empty(value):
        return
    if len(value) != 3:
        raise InvalidValue(f"{name} must have 3 numbers, got {len(value)}: {list(value)}", key=name)
    if setting in DIRECTIONS and not any(value):
        raise InvalidValue(f"{name} must have a direction, got the zero vector", key=name)


def is_empty(value: Any) -> bool:
    """Whether a setting was not given."""
    return value is None or (hasattr(value, "__len__") and len(value) == 0)


CONSTRAINTS: Registry[ConstraintKind] = Registry("constraint", "projected_control.constraints")
"""Every kind that can be named, ours and other packages'."""

FRAME = Setting("frame", "link whose origin is held")
AXIS = Setting("axis", "the axis, in the link's own axes")
PLANE_NORMAL = Setting(
    "plane_normal", "normal of the plane a planar arm moves in; empty for an arm in space"
)

NO_CONSTRAINT = ConstraintKind("none", "no constraint: the arm is free", lambda settings: None)

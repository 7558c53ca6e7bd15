"""How parameters are declared: typed, frozen groups whose fields say all there is to say of them.

A group is a frozen dataclass; each of its fields is a parameter, made by `parameter`, or another
group, made by `group`. The type of a field is the parameter's type, its name the parameter's name,
and nesting stands for dots: ``settings.limits.force_time`` is the parameter ``limits.force_time``.
Groups of which there may be several, under names of one's own, are made by `named`.
What nodes declare, docs/parameters.md shows and `Settings.of` checks is read from these classes.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, get_type_hints

from projected_control.declaration import (
    Group,
    Numbers,
    Parameter,
    Value,
    Words,
    declared,
    is_parameter,
    make_group,
    parameter,
    parameter_name,
)
from projected_control.errors import InvalidValue, UnknownName

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "NAMES",
    "Group",
    "Named",
    "Numbers",
    "Parameter",
    "Settings",
    "Value",
    "Words",
    "group",
    "named",
    "nearest",
    "parameter",
    "unknown_parameter",
]

G = TypeVar("G", bound=Group)


_FLAT = "flat"


def group(kind: type[G], *, flat: bool = False) -> G:
    """A field that holds another group.

    Args:
        kind: Its class.
        flat: Whether its own name is left out: ``settings.reference.limits.rate`` is the parameter
            ``reference.max_rate``.
    """
    return dataclasses.field(default_factory=kind, metadata={_FLAT: flat})


def _inner(prefix: str, field: dataclasses.Field[Any]) -> str:
    """The prefix of the names of a field's parameters."""
    return prefix if field.metadata.get(_FLAT) else f"{prefix}{field.name}."


class Named(Mapping[str, G], Generic[G]):
    """Groups of one kind under names that a parameter file chooses.

    The parameter ``<field>.names`` lists them, and each has its parameters under its own name:
    ``constraints.names: [table, pen]``, ``constraints.table.kind``.
    """

    def __init__(self, groups: Mapping[str, G] | None = None) -> None:
        self._groups = dict(groups or {})

    def __getitem__(self, name: str) -> G:
        return self._groups[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    @staticmethod
    def names_in(values: Mapping[str, Value], field: str) -> tuple[str, ...]:
        """The names that values give to groups of a field."""
        given = values.get(f"{field}.{NAMES}", ())
        return (given,) if isinstance(given, str) else tuple(map(str, given or ()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and self._groups == other._groups

    def __hash__(self) -> int:
        return hash(tuple(self._groups.items()))


NAMES = "names"
_NAMED, _WHAT = "named", "what"


def named(kind: type[G], what: str) -> Named[G]:
    """A field that holds groups of one kind under names of their own.

    Args:
        kind: The class of the groups.
        what: What one of them is, for messages: ``"constraint"``.
    """
    return dataclasses.field(default_factory=Named, metadata={_NAMED: kind, _WHAT: what})


@dataclass(frozen=True)
class Settings(Group):
    """The parameters of a node, made by `of`, which checks every value."""

    @classmethod
    def title(cls) -> str:
        """Whose parameters these are, for messages."""
        return cls.__name__

    @classmethod
    def parameters(cls) -> dict[str, Parameter]:
        """All parameters by their full names, in order."""
        return dict(_parameters(cls))

    @classmethod
    def parameters_with(cls, values: Mapping[str, Value]) -> dict[str, Parameter]:
        """All parameters, those of groups that the values name among them (see `Named`)."""
        table = dict(_parameters(cls))
        for field, (kind, what) in _named_fields(cls).items():
            names = table[f"{field}.{NAMES}"].check(values.get(f"{field}.{NAMES}", ()))
            for name in names:
                _check_name(name, field, what)
                for inner, p in _parameters(kind).items():
                    full = f"{field}.{name}.{inner}"
                    table[full] = dataclasses.replace(p, name=full)
        return table

    @classmethod
    def parameter(cls, name: str) -> Parameter | None:
        """The parameter of this name, whatever the groups are called; None where there is none."""
        table = _parameters(cls)
        if name in table:
            return table[name]
        field, _, rest = name.partition(".")
        inner = rest.partition(".")[2]
        if field in (fields := _named_fields(cls)) and inner:
            found = _parameters(fields[field][0]).get(inner)
            return None if found is None else dataclasses.replace(found, name=name)
        return None

    @classmethod
    def of(cls, values: Mapping[str, Value]) -> Self:
        """Defaults, replaced by what is given under full names; every value is checked."""
        table = cls.parameters_with(values)
        for name in values:
            if name not in table:
                raise cls.unknown(name, values)
        flat = {
            name: p.check(values[name]) if name in values else p.default
            for name, p in table.items()
        }
        return cast("Self", _nested(cls, flat, "")).saying(values)

    @classmethod
    def unknown(cls, name: str, values: Mapping[str, Value]) -> UnknownName:
        """The error for a name that is no parameter with these values."""
        if cls.parameter(name) is not None:  # the group is not listed
            field, own = name.split(".")[:2]
            listed = list(Named.names_in(values, field))
            what = _named_fields(cls)[field][1]
            error = UnknownName(what, own, listed)
            error.args = (f"{name}: {error}; list it in {field}.{NAMES}",)
            return error
        return unknown_parameter(name, cls.parameters_with(values), cls.title())

    def changed(self, values: Mapping[str, Value]) -> Self:
        """The same with other values, given under full names; every value is checked."""
        left = {name: at for name, at in self.origins.items() if name not in values}
        made = type(self).of({**self.values(), **values}).from_origins(left)
        return made.saying([*self.said, *values])

    @property
    def said(self) -> frozenset[str]:
        """Full names of what was given; the rest are defaults."""
        return cast("frozenset[str]", getattr(self, "_said", frozenset()))

    def saying(self, names: Iterable[str]) -> Self:
        """The same, of which these were given."""
        object.__setattr__(self, "_said", frozenset(names))
        return self

    @property
    def origins(self) -> Mapping[str, str]:
        """Where values were given, by full name: ``my_arm.yaml, line 7``; empty where unknown."""
        return cast("Mapping[str, str]", getattr(self, "_origins", {}))

    def from_origins(self, origins: Mapping[str, str]) -> Self:
        """The same, which knows where its values were given."""
        object.__setattr__(self, "_origins", dict(origins))
        return self

    def origin_of(self, name: str) -> str:
        """Where a parameter was given, or the first one of a group; empty where unknown."""
        inside = (at for key, at in self.origins.items() if key.startswith(f"{name}."))
        return self.origins.get(name) or next(inside, "")

    def values(self) -> dict[str, Value]:
        """All values under their full names, as a parameter file has them: lists, not tuples."""
        return _flat(self, "")


def unknown_parameter(name: str, known: Iterable[str], whose: str) -> UnknownName:
    """The error for a name that no parameter has, with the nearest of those there are."""
    names = list(known)
    error = UnknownName(f"parameter of {whose}", name, names)
    if near := nearest(name, names):
        error.args = (f"unknown parameter {name!r} of {whose}; did you mean {near!r}?",)
    return error


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """The known name that is most like this one, from this likeness on (0 to 1), or nothing."""
    found = get_close_matches(name, list(known), n=1, cutoff=likeness)
    return found[0] if found else ""


_TABLES: dict[type[Group], Mapping[str, Parameter]] = {}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def _named_fields(cls: type[Group]) -> dict[str, tuple[type[Group], str]]:
    """Fields of a class that hold groups under names, with their class and what they are."""
    return {
        field.name: (field.metadata[_NAMED], field.metadata[_WHAT])
        for field in dataclasses.fields(cls)
        if _NAMED in field.metadata
    }


def _check_name(name: str, field: str, what: str) -> None:
    if not _NAME.fullmatch(name) or name == NAMES:
        raise InvalidValue(
            f"{field}.{NAMES}: {name!r} cannot be the name of a {what}; names are made of letters, "
            f"digits and _, begin with a letter, and are not {NAMES!r}"
        )


def _parameters(cls: type[Group]) -> Mapping[str, Parameter]:
    if cls not in _TABLES:
        _TABLES[cls] = _read_parameters(cls)
    return _TABLES[cls]


def _read_parameters(cls: type[Group]) -> Mapping[str, Parameter]:
    table: dict[str, Parameter] = {}
    hints = get_type_hints(cls, include_extras=True)
    for field in dataclasses.fields(cls):
        hint = hints[field.name]
        if _NAMED in field.metadata:
            full, what = f"{field.name}.{NAMES}", field.metadata[_WHAT]
            words = f"Names of {what}s, each of which has parameters under {field.name}.<name>"
            table[full] = Parameter(full, str, True, (), words)
        elif isinstance(hint, type) and issubclass(hint, Group):
            for name, inner in _parameters(hint).items():
                full = f"{_inner('', field)}{name}"
                table[full] = dataclasses.replace(inner, name=full)
        elif is_parameter(field):
            table[parameter_name(field)] = declared(field, hint)
    return table


_HINTS: dict[type[Group], dict[str, Any]] = {}


def _hints(cls: type[Group]) -> dict[str, Any]:
    """The types of a group's fields; finding them takes longer than all else of making a group."""
    if cls not in _HINTS:
        _HINTS[cls] = get_type_hints(cls)
    return _HINTS[cls]


def _nested(cls: type[Group], flat: Mapping[str, Value], prefix: str) -> Group:
    hints = _hints(cls)
    members: dict[str, Any] = {}
    for field in dataclasses.fields(cls):
        hint = hints[field.name]
        if _NAMED in field.metadata:
            kind, prefixed = field.metadata[_NAMED], prefix + field.name
            members[field.name] = Named(
                {
                    name: _nested(kind, flat, f"{prefixed}.{name}.")
                    for name in flat[f"{prefixed}.{NAMES}"]
                }
            )
        elif isinstance(hint, type) and issubclass(hint, Group):
            members[field.name] = _nested(hint, flat, _inner(prefix, field))
        elif is_parameter(field):
            members[field.name] = flat[prefix + parameter_name(field)]
    return make_group(cls, members, prefix)


def _flat(group: Group, prefix: str) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for field in dataclasses.fields(group):
        value = getattr(group, field.name)
        if isinstance(value, Group):
            values |= _flat(value, _inner(prefix, field))
        elif isinstance(value, Named):
            values[f"{prefix}{field.name}.{NAMES}"] = list(value)
            for name, inner in value.items():
                values |= _flat(inner, f"{prefix}{field.name}.{name}.")
        elif is_parameter(field):
            value = value.value if isinstance(value, Enum) else value
            full = prefix + parameter_name(field)
            values[full] = list(value) if isinstance(value, tuple) else value
    return values

"""How a parameter is declared: a field of a typed class that says all there is to say of it.

A class of the library that is also a group of parameters derives from `Group`; each of its fields
that is a parameter is made by `parameter`, with unit, range and help. So what a parameter file
sets is what the library takes: there is one `Impedance`, one `Posture`. A field without `parameter`
is the library's alone. What nodes declare, docs/parameters.md shows and `settings` checks is read
from these classes (see `settings.declaration`).

Code that makes such an object itself need not keep to the range, which is for files and nodes:
what cannot be at all is refused by the class.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, TypeVar, get_args, get_origin

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue, UnknownName

Value = Any  # value of a parameter: a bool, a number, text, or a tuple of numbers or texts

Numbers = tuple[float, ...]
Words = tuple[str, ...]
OneOrMore = Annotated[ArrayLike, float]
"""In a file a list of numbers, for the library a number, a list or an array."""

SMALL, LARGE = 1e-9, 1e6  # bounds of numbers that only have to be positive, or finite

T = TypeVar("T")

_PARAMETER = "parameter"


@dataclass(frozen=True)
class Parameter:
    """All there is to say of one parameter."""

    name: str  # in full, with dots for groups
    type: type  # bool, int, float or str: of the value, or of each item of a list
    is_list: bool  # whether it holds a list
    default: Value  # its value where nothing is said
    description: str  # what it does
    unit: str = ""  # SI; empty for none
    # minimum, maximum: bounds of the number, or of each number of a list; None for no bound.
    minimum: float | None = None
    maximum: float | None = None
    choices: Collection[str] = ()  # allowed words, empty for any
    live: bool = False  # whether it may change while the node is active
    # Whether it has to be said: the default then means nothing, and what needs the value
    # refuses to go on.
    required: bool = False
    # Whether it matters that it was given, though it has a default (see `Settings.said`).
    said: bool = False

    def check(self, value: Value) -> Value:
        """The value in the parameter's type, or an error that says what is wrong with it.

        A number or a word is taken for a list of one, and empty texts in a list for nothing, as
        ROS cannot say in every place that a list is empty.
        """
        if not self.is_list:
            return self._check_one(value)
        if isinstance(value, (str, bool, int, float, np.number)):
            value = (value,)
        if not isinstance(value, Iterable) or isinstance(value, Mapping):
            raise InvalidValue(f"{self.name} must be a list, got {value!r}")
        return tuple(self._check_one(item) for item in value if not _is_empty(item))

    def _check_one(self, value: Value) -> Value:
        if self.type is bool:
            if not isinstance(value, (bool, np.bool_)):
                raise InvalidValue(f"{self.name} must be true or false, got {value!r}")
            return bool(value)
        if self.type is str:
            return self._check_text(value)
        return self._check_number(value)

    def _check_text(self, value: Value) -> str:
        if not isinstance(value, str):
            raise InvalidValue(f"{self.name} must be text, got {value!r}")
        unsaid = self.required and not value
        if self.choices and value not in self.choices and not unsaid:
            raise UnknownName(self.name, value, self.choices)
        return value

    def _check_number(self, value: Value) -> float | int:
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
            raise InvalidValue(f"{self.name} must be a number, got {value!r}")
        number = float(value)
        if not np.isfinite(number):
            raise InvalidValue(f"{self.name} must be finite, got {value!r}")
        if self.type is int and number != int(number):
            raise InvalidValue(f"{self.name} must be a whole number, got {value!r}")
        if self.minimum is not None and number < self.minimum:
            raise InvalidValue(f"{self.name} must be at least {self.minimum:g}, got {number:g}")
        if self.maximum is not None and number > self.maximum:
            raise InvalidValue(f"{self.name} must be at most {self.maximum:g}, got {number:g}")
        return int(number) if self.type is int else number


def _is_empty(item: object) -> bool:
    return isinstance(item, str) and not item


def parameter(
    default: T,
    description: str,
    unit: str = "",
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    choices: Collection[str] = (),
    live: bool = False,
    required: bool = False,
    said: bool = False,
    name: str = "",
) -> T:
    """A field of a group; the arguments are those of `Parameter`.

    The name is the field's unless given: what a parameter file calls it.
    """
    told = {
        "description": description,
        "unit": unit,
        "minimum": minimum,
        "maximum": maximum,
        "choices": choices,
        "live": live,
        "required": required,
        "said": said,
    }
    return dataclasses.field(default=default, metadata={_PARAMETER: told, "name": name})


def parameter_of(kind: type[Group], name: str) -> Any:
    """The same field as another group has: default, range and help are said once."""
    field = next(each for each in dataclasses.fields(kind) if each.name == name)
    return dataclasses.field(default=field.default, metadata=field.metadata)


def is_parameter(field: dataclasses.Field[Any]) -> bool:
    """Whether a field is a parameter; else it is the library's alone."""
    return _PARAMETER in field.metadata


def parameter_name(field: dataclasses.Field[Any]) -> str:
    """What a parameter file calls a field."""
    return field.metadata.get("name") or field.name


def declared(field: dataclasses.Field[Any], hint: Any) -> Parameter:
    """The parameter that a field of a group is, its type being that of the hint.

    None beside a type stands for nothing given, which is empty or zero in a file. Of an
    enumeration the choices are its values.
    """
    told, default, name = dict(field.metadata[_PARAMETER]), field.default, parameter_name(field)
    if isinstance(default, Enum):
        told["choices"] = tuple(str(each.value) for each in type(default))
        return Parameter(name, str, False, default.value, **told)
    if get_origin(hint) is not tuple and type(None) in get_args(hint):
        hint = next(kind for kind in get_args(hint) if kind is not type(None))
    if get_origin(hint) is Annotated:
        return Parameter(name, get_args(hint)[1], True, default, **told)
    if get_origin(hint) is tuple:
        return Parameter(name, get_args(hint)[0], True, default, **told)
    return Parameter(name, hint, False, default, **told)


@dataclass(frozen=True)
class Group:
    """Parameters that belong together. It has no methods: every name may be a parameter's.

    One that was made of settings knows under which name, for messages (see `called`).
    """


_PREFIX = "_prefix"


def make_group(kind: type[T], members: Mapping[str, Any], prefix: str) -> T:
    """A group of these values that knows its name in the settings: ``gains.``, or nothing."""
    made = object.__new__(kind)
    object.__setattr__(made, _PREFIX, prefix)
    kind.__init__(made, **members)
    return made


def key_of(group: Group, field: str) -> str:
    """The full name of a parameter in the settings that a group is of; empty for one of none."""
    prefix = getattr(group, _PREFIX, "")
    names = {each.name: parameter_name(each) for each in dataclasses.fields(group)}
    return f"{prefix}{names[field]}" if prefix else ""


def called(group: Group, field: str, words: str = "") -> str:
    """What a message calls a value: its full name in the settings; for others words."""
    return key_of(group, field) or words or field


def is_given(value: ArrayLike | None) -> bool:
    """Whether a value that may be left out is there: neither None nor empty."""
    return value is not None and np.size(value) > 0


def refused(group: Group, field: str, why: str, words: str = "") -> InvalidValue:
    """The error about a value of a group: what it is called, and then why."""
    return InvalidValue(f"{called(group, field, words)} {why}", key=key_of(group, field))


def spread(
    group: Group, field: str, size: int, each: str = "coordinate", words: str = ""
) -> NDArray[np.float64]:
    """A value with one number for all, or with one per coordinate or joint, as so many numbers."""
    try:
        return validate.spread(called(group, field, words), getattr(group, field), size, each)
    except InvalidValue as error:
        error.key = key_of(group, field)
        raise

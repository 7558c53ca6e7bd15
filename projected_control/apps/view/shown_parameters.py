"""What the page shows of a parameter: read from its ROS descriptor, so that any node will do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from projected_control.control.live import SLOTS, slots_of
from projected_control.errors import InvalidValue

FIXED = "only while inactive"
"""What the descriptors of our nodes say of parameters that are not live (see `ros.parameters`)."""

_UNIT = re.compile(r"^(?P<text>.*?) \[(?P<unit>[^\[\]]+)\]$", re.DOTALL)
_CHOICES = re.compile(r"one of ([^;]+)")
_EACH = re.compile(r"each from (\S+) to ([^\s;]+)")


@dataclass(frozen=True)
class ParameterControl:
    """A parameter as a browser shows it."""

    name: str  # in full
    description: str  # what it does
    unit: str  # SI; empty for none
    type: str  # ``bool``, ``int``, ``float`` or ``str``: of the value or of each item
    is_list: bool  # whether it holds a list
    # minimum, maximum: bounds; None for none.
    minimum: float | None
    maximum: float | None
    choices: tuple[str, ...]  # words there are to choose from; empty for any
    live: bool  # whether it may change while the node is active

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def convert(self, value: Any) -> Any:
        """What a browser sent, in the parameter's own type; ROS refuses an int for a double.

        Raises:
            InvalidValue: Where it is nothing of the kind. Whether it is a good value is up to the
                node.
        """
        if not self.is_list:
            return self._convert_one(value)
        if not isinstance(value, list):
            raise InvalidValue(f"{self.name} must be a list, got {value!r}")
        return [self._convert_one(item) for item in value]

    def _convert_one(self, value: Any) -> Any:
        if self.type == "bool" and isinstance(value, bool):
            return value
        if self.type == "str" and isinstance(value, str):
            return value
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if self.type in ("int", "float") and number and isfinite(value):
            if self.type == "float":
                return float(value)
            if value == int(value):
                return int(value)
        words = {"bool": "true or false", "str": "text", "int": "a whole number"}
        expected = words.get(self.type, "a number")
        raise InvalidValue(f"{self.name} must be {expected}, got {value!r}")


def control_of(
    name: str,
    value: Any,
    description: str,
    constraints: str,
    bounds: tuple[float, float] | None = None,
    kind: type | None = None,
) -> ParameterControl:
    """Read a descriptor.

    Args:
        name: Of the parameter.
        value: That it has.
        description: Text of the descriptor, its unit in brackets at the end.
        constraints: Its additional constraints.
        bounds: Its range, if it has one.
        kind: Type of the value or of its items, where it is known; an empty list does not show it.
    """
    parts = _UNIT.match(description)
    text, unit = (parts["text"], parts["unit"]) if parts else (description, "")
    each = _EACH.search(constraints)
    if bounds is None and each:
        bounds = float(each[1]), float(each[2].rstrip(";"))
    choices = _CHOICES.search(constraints)
    is_list = isinstance(value, (list, tuple))
    if kind is None:
        items = list(value) if is_list else [value]
        kind = type(items[0]) if items else float
    return ParameterControl(
        name=name,
        description=text,
        unit=unit,
        type=kind.__name__ if kind in (bool, int, float, str) else "str",
        is_list=is_list,
        minimum=bounds[0] if bounds else None,
        maximum=bounds[1] if bounds else None,
        choices=tuple(w.strip() for w in choices[1].split(", ")) if choices else (),
        live=FIXED not in constraints,
    )


def blend_seconds(names: Sequence[str], values: dict[str, Any]) -> float:
    """How long a change of these parameters takes to be in force [s]."""
    if any(SLOTS[slot].blended for slot in slots_of(names)):
        return float(values.get("gains.blend_time", 0.0))
    return 0.0

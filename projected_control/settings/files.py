"""Reading ROS parameter files without ROS."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from projected_control.errors import InvalidValue


def read_parameter_file(path: Path) -> dict[str, Any]:
    """The parameters of a ROS parameter file that hold for all nodes, with dots for groups."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        return _flat(content["/**"]["ros__parameters"])
    except (OSError, UnicodeError, yaml.YAMLError, LookupError, TypeError, AttributeError) as error:
        raise InvalidValue(f"{path} is not a parameter file for all nodes (/**): {error}") from None


def _flat(group: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in group.items():
        if isinstance(value, Mapping):
            values |= _flat(value, f"{prefix}{name}.")
        else:
            values[prefix + name] = value
    return values

"""Presets: gains and limits under a name, the package's own and those that a user has saved."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from projected_control.apps.reports.output import write_files
from projected_control.errors import InvalidValue, UnknownName
from projected_control.resources import PRESETS
from projected_control.settings.files import ALL_NODES, parameter_text, read_file
from projected_control.settings.layers import preset_file

GROUPS = ("gains", "force", "limits", "compensation", "disturbance")
"""What is saved: how a controller behaves."""

ABOUT_THE_ARM = ("force.reference", "force.tare", "force.effort_tare", "force.tool_mass",
                 "force.tool_centre")  # fmt: skip
"""What is not: what it is asked for, and what its sensor shows."""

LONGEST_NAME = 40
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def folder() -> Path:
    """Where presets are saved."""
    root = os.environ.get("XDG_CONFIG_HOME", "") or Path.home() / ".config"
    return Path(root) / "projected_control" / "presets"


def names() -> list[str]:
    """All there are, the package's first."""
    saved = sorted(path.stem for path in folder().glob("*.yaml"))
    return [*PRESETS, *(name for name in saved if name not in PRESETS)]


def load(name: str, known: Iterable[str]) -> dict[str, Any]:
    """The values of a preset that a node has.

    Args:
        name: One of `names`.
        known: Names of the node's parameters.
    """
    if name not in names():
        raise UnknownName("preset", name, names())
    path = preset_file(name) if name in PRESETS else folder() / f"{name}.yaml"
    file, own = read_file(path), set(known)
    given = {key: given.value for key, given in file.given("").items() if key in own}
    if not given:
        raise InvalidValue(f"the preset {name} has nothing that this controller has")
    return given


def save(name: str, values: Mapping[str, Any]) -> Path:
    """Write the values of a controller that make up its behaviour; returns where."""
    if name in PRESETS:
        raise InvalidValue(f"{name} comes with the package; choose another name")
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise InvalidValue(
            f"the name of a preset is made of up to {LONGEST_NAME} letters, digits, _ and -, "
            f"got {name[:LONGEST_NAME]!r}"
        )
    nested: dict[str, dict[str, Any]] = {}
    for full, value in values.items():
        group, _, inner = full.partition(".")
        if group in GROUPS and inner and full not in ABOUT_THE_ARM:
            nested.setdefault(group, {})[inner] = value
    if not nested:
        raise InvalidValue("there are no gains and limits to save")
    place = folder()
    place.mkdir(parents=True, exist_ok=True)
    content = f"# Saved from the live page.\n{parameter_text({ALL_NODES: nested})}".encode()
    return write_files(place, {f"{name}.yaml": content})[0]

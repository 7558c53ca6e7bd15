"""Where modules lie and what they are called: none is loose, and a name means one thing."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import projected_control
from projected_control import apps

PACKAGE = Path(projected_control.__file__).parent
APPS = Path(apps.__file__).parent

WORDS_OF_THE_COMMAND_LINE = (APPS / "commands", APPS / "bench")
"""Modules there are named by the subcommand that they are, whatever it is about."""

SHARED = {
    "controllers": "settings/build/ builds from settings what the library has under that name",
    "declaration": "how one field is declared, and how a node's groups of them are",
    "kinematics": "settings/build/ builds from settings what the library has under that name",
    "kinds": "each the record of a kind, in the package of these kinds",
    "paths": "settings/build/ builds from settings what the library has under that name",
}
"""Names of several modules, and why a name of its own would not help."""


def test_the_command_line_alone_lies_loose() -> None:
    loose = {path.name for path in APPS.glob("*.py")}
    assert loose == {"__init__.py", "cli.py"}, "it belongs into a package of apps/"


def test_every_package_of_the_applications_is_described() -> None:
    packages = {path.parent.name for path in APPS.glob("*/__init__.py")}
    listed = [line.split()[0] for line in (apps.__doc__ or "").splitlines() if line[:4] == " " * 4]
    assert sorted(listed) == sorted(packages)


def test_a_module_has_a_name_of_its_own() -> None:
    places: dict[str, list[Path]] = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        if not path.stem.startswith("__") and path.parent not in WORDS_OF_THE_COMMAND_LINE:
            places[path.stem].append(path.relative_to(PACKAGE))
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert set(shared) == set(SHARED), shared


SAME_IDEA = {
    "Constraint": "what a file says of it, and what is built from that",
    "Coordinate": "what a file says of it, and what is built from that",
    "Reference": "what a file says of it, and what is built from that",
    "Limits": "a node's group has what only nodes need on top of the library's",
    "Posture": "a node's group has what only nodes need on top of the library's",
    "Simulation": "what a file says of it, and what is made of that in process",
    "Arguments": "each command has its own",
}
"""Names of several classes, and why a name of its own would not help."""


def test_a_class_has_a_name_of_its_own() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        for found in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            places[found].append(path.name)
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert set(shared) == set(SAME_IDEA), shared

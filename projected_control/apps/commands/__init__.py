"""Subcommands of ``projected-control``, one module each.

A module here is a subcommand if it has these two functions::

    def add_parser(subparsers) -> argparse.ArgumentParser   # subparsers.add_parser("name", ...)
    def run(args: argparse.Namespace) -> int                # the exit status

What a module imports at its top is imported for every ``--help``: leave heavy imports to `run`.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

ORDER = (
    *(
        "demo",
        "view",
        "gazebo",
        "reproduce",
        "example",
        "check",
        "ik",
        "record",
        "replay",
        "report",
        "compare",
    ),
    *("tune", "animate", "fit", "identify", "doctor", "bench", "export", "plugin"),
)
"""As they stand in the help; others follow by name."""


class Command(Protocol):
    """What a module here offers."""

    def add_parser(self, subparsers: Subparsers) -> argparse.ArgumentParser: ...

    def run(self, args: argparse.Namespace) -> int: ...


def available() -> list[Command]:
    """All subcommands there are."""
    names = [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]
    names.sort(key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))
    return [cast(Command, import_module(f"{__name__}.{name}")) for name in names]

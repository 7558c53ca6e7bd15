"""Subcommands of ``projected-control``, one module each, in the order of the help.

A module here is a subcommand by two names::

    class Arguments(Command, help=..., description=...)   what it takes, see `console.command`
    def run(args: Arguments) -> int                       the exit status

What a module imports at its top is imported for every ``--help``: leave heavy imports to `run`.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

ORDER = (
    *("demo", "view", "gazebo", "reproduce", "example", "check", "ik", "record", "replay"),
    *(
        "report",
        "compare",
        "tune",
        "sweep",
        "robustness",
        "animate",
        "fit",
        "identify",
        "doctor",
        "bench",
        "export",
    ),
    "plugin",
)
"""In the order of the help; others follow by name."""


def available(only: str = "") -> list[ModuleType]:
    """All subcommands there are; or the one of this name, where there is one."""
    names = [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]
    names.sort(key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))
    named = only.replace("-", "_")
    return [import_module(f"{__name__}.{name}") for name in ([named] if named in names else names)]

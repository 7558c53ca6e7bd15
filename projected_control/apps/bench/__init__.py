"""Measurements, one subcommand of ``projected-control bench`` each.

A measurement is a module here, named in `MEASUREMENTS`, with `Arguments` and `run` as a
subcommand has them (see `apps.commands`). What it imports at its top is imported for every
``--help``: leave heavy imports to `run`.

A measurement that has a bound takes it as ``--bound`` and ends with `exit_status`: 1 where it was
missed, and then says what was missed.
"""

import sys
from collections.abc import Sequence
from typing import Any

from projected_control.apps.console.command import flag, option
from projected_control.errors import InvalidValue

MEASUREMENTS = (
    "tick",
    "simulation",
    "realtime",
    "peers",
    "faults",
    "view",
    "node",
    "gazebo",
    "sweep",
)
"""Modules of this package that are measurements, as they stand in the help."""

EXIT_MISSED = 1

JSON = flag("print one JSON object of the numbers, nothing else")
"""The option ``--json``."""


def bound(default: float, what: str, wrong: str = "more") -> Any:
    """Declare the option ``--bound``.

    Args:
        default: What the documentation promises.
        what: What is bounded, for the help.
        wrong: ``more`` or ``less``, whichever it must not be.
    """
    said = f"exit with status {EXIT_MISSED} where {what} is {wrong} (default: %(default)g)"
    return option(said, default, "B")


def check_turns(seconds: float, rounds: int, shortest: float) -> None:
    """Raise where turns are too short to tell anything, or too many [s]."""
    if not shortest <= seconds <= 3600.0:
        raise InvalidValue(f"seconds must be {shortest:g} to 3600, got {seconds:g}")
    if not 1 <= rounds <= 100:
        raise InvalidValue(f"rounds must be 1 to 100, got {rounds}")


def exit_status(missed: Sequence[str]) -> int:
    """0, or 1 where something was missed: that goes to standard error, one sentence per line."""
    for sentence in missed:
        print(f"projected-control: bound missed: {sentence}", file=sys.stderr)
    return EXIT_MISSED if missed else 0

"""Measurements, one subcommand of ``projected-control bench`` each.

A measurement is a module here, named in `MEASUREMENTS`, with the two functions of a subcommand (see
`apps.commands`): ``add_parser(subparsers)`` and ``run(args)``. What it imports at its
top is imported for every ``--help``: leave heavy imports to `run`.

A measurement that has a bound takes it as ``--bound`` and ends with `exit_status`: 1 where it was
missed, and then says what was missed.
"""

import argparse
import sys
from collections.abc import Sequence

from projected_control.errors import InvalidValue

MEASUREMENTS = ("tick", "simulation", "realtime", "peers", "faults", "view", "node", "gazebo")
"""Modules of this package that are measurements, as they stand in the help."""

EXIT_MISSED = 1


def add_bound(
    parser: argparse.ArgumentParser, default: float, what: str, wrong: str = "more"
) -> None:
    """Declare the option ``--bound``.

    Args:
        parser: Parser of the measurement.
        default: What the documentation promises.
        what: What is bounded, for the help.
        wrong: ``more`` or ``less``, whichever it must not be.
    """
    parser.add_argument(
        "--bound",
        type=float,
        default=default,
        metavar="B",
        help=f"exit with status {EXIT_MISSED} where {what} is {wrong} (default: %(default)g)",
    )


def add_turns(parser: argparse.ArgumentParser, seconds: float, rounds: int) -> None:
    """Declare ``--seconds`` and ``--rounds`` of what is measured by turns with something else."""
    parser.add_argument(
        "--seconds",
        type=float,
        default=seconds,
        metavar="S",
        help="of a turn (default: %(default)g)",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=rounds,
        metavar="N",
        help="of two turns (default: %(default)s)",
    )


def check_turns(args: argparse.Namespace, shortest: float) -> None:
    """Raise where turns are too short to tell anything, or too many [s]."""
    if not shortest <= args.seconds <= 3600.0:
        raise InvalidValue(f"seconds must be {shortest:g} to 3600, got {args.seconds:g}")
    if not 1 <= args.rounds <= 100:
        raise InvalidValue(f"rounds must be 1 to 100, got {args.rounds}")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Declare the option ``--json``."""
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object of the numbers, nothing else"
    )


def exit_status(missed: Sequence[str]) -> int:
    """0, or 1 where something was missed: that goes to standard error, one sentence per line."""
    for sentence in missed:
        print(f"projected-control: bound missed: {sentence}", file=sys.stderr)
    return EXIT_MISSED if missed else 0

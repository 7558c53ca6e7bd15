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

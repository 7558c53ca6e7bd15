"""Measurements, one subcommand of ``projected-control bench`` each.

A measurement is a module here, named in `MEASUREMENTS`, with `Arguments` and `run` as a
subcommand has them (see `apps.commands`). What it imports at its top is imported for every
``--help``: leave heavy imports to `run`.

A measurement that has a bound takes it as ``--bound`` and ends with `report`: numbers or text, and
the exit status, 1 where a bound was missed, with what was missed on standard error.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any

from projected_control.apps.console.command import flag, option
from projected_control.apps.console.progress import Progress, silent
from projected_control.errors import InvalidValue

MEASUREMENTS = (
    "tick",
    "simulation",
    "realtime",
    "peers",
    "faults",
    "view",
    "demo",
    "node",
    "gazebo",
    "sweep",
    "assess",
)
"""Modules of this package that are measurements, in the order of the help."""

EXIT_MISSED = 1

JSON = flag("print one JSON object of the numbers, nothing else")  # the option ``--json``


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


def rounds(
    seconds: float, least: int = 1, progress: Progress = silent, title: str = ""
) -> Iterator[None]:
    """Rounds of a measurement, until so many seconds are over, and at least so many of them."""
    done, begin = 0, perf_counter()
    progress(title, 0.0)
    while done < least or perf_counter() - begin < seconds:
        yield
        done += 1
        progress(title, min((perf_counter() - begin) / seconds, 1.0))
    progress(title, 1.0)


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Columns below each other, so many of them to the left and those of numbers to the right."""
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join(
        "  ".join(
            f"{cell:{'<' if i < left else '>'}{widths[i]}}" for i, cell in enumerate(line)
        ).rstrip()
        for line in lines
    )


def report(as_json: bool, numbers: Mapping[str, Any], text: str, missed: Sequence[str]) -> int:
    """Print the numbers as JSON, or the text; the exit status."""
    print(json.dumps({**numbers, "within_bound": not missed}, indent=2) if as_json else text)
    return exit_status(missed)


def exit_status(missed: Sequence[str]) -> int:
    """0, or 1 where something was missed: that goes to standard error, one sentence per line."""
    for sentence in missed:
        print(f"projected-control: bound missed: {sentence}", file=sys.stderr)
    return EXIT_MISSED if missed else 0

"""``projected-control bench tick``: from a state to a guarded effort, how long does it take?"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from projected_control import validate
from projected_control.errors import InvalidValue

if TYPE_CHECKING:
    from projected_control.apps.bench.timing import Timing
    from projected_control.apps.commands import Subparsers

BOUND = 5.0
"""A tick may take this many times what Pinocchio alone takes for the same arm."""

DEFAULT_SECONDS = 2.0
MAX_SECONDS = 600.0

DESCRIPTION = f"""\
Times one tick, state in, effort out, with everything in it: Pinocchio, constraint, projection, law
and guard, on the way to a set-point (what a planner adds comes on top). Beside it, in turns with
it, Pinocchio's computeAllTerms alone. The first takes at most {BOUND:g} times the second, on a
computer that has nothing else to do.
"""


def add_parser(subparsers: Subparsers) -> argparse.ArgumentParser:
    """Declare the measurement."""
    parser = subparsers.add_parser(
        "tick", help="one tick of the control loop", description=DESCRIPTION
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=DEFAULT_SECONDS,
        metavar="S",
        help="measure each case for this long, in s (default: %(default)g)",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object of the numbers, nothing else"
    )
    return parser


def run(args: argparse.Namespace) -> int:
    """Measure all cases; print a table or JSON."""
    if validate.positive("seconds", args.seconds) > MAX_SECONDS:
        raise InvalidValue(f"seconds must be at most {MAX_SECONDS:g}, got {args.seconds:g}")
    from projected_control.apps.bench.tick_cases import CASES
    from projected_control.apps.bench.timing import time_ticks
    from projected_control.apps.experiments.progress import terminal_progress
    from projected_control.compiled import COMPILED

    timings = []
    with terminal_progress(sys.stderr) as progress:
        for case in CASES:
            timings.append(time_ticks(case, args.seconds, progress))
    if args.json:
        numbers = {
            "cases": [timing.numbers for timing in timings],
            "compiled": COMPILED,
            "bound": BOUND,
            "within_bound": all(timing.ratio <= BOUND for timing in timings),
        }
        print(json.dumps(numbers, indent=2))
    else:
        print(_table(timings))
        print(_verdict(timings, COMPILED))
    return 0


def _table(timings: list[Timing]) -> str:
    header = (
        f"{'joints':>6}  {'rows':>4}  {'law':<8}{'median':>9}  {'99 %':>9}  "
        f"{'Pinocchio':>9}  {'ratio':>5}"
    )
    lines = [
        f"{t.case.joints:>6}  {t.case.rows:>4}  {t.case.law:<8}{t.p50_us:>6.1f} µs  "
        f"{t.p99_us:>6.1f} µs  {t.pinocchio_us:>6.1f} µs  {t.ratio:>5.2f}"
        for t in timings
    ]
    return "\n".join([header, *lines])


def _verdict(timings: list[Timing], compiled: bool) -> str:
    worst = max(timing.ratio for timing in timings)
    verdict = "met" if worst <= BOUND else "not met"
    if worst > BOUND:
        verdict += (
            " (is the computer busy? try again, longer: --seconds 10)"
            if compiled
            else " (the kernels are not compiled: install numba)"
        )
    return f"At most {BOUND:g} times Pinocchio alone: {verdict}; the largest ratio is {worst:.2f}."

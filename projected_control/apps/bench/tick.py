"""``projected-control bench tick``: from a state to a guarded effort, how long does it take?"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from projected_control import validate
from projected_control.apps import bench
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
    bench.add_bound(parser, BOUND, "a tick against Pinocchio alone, medians,")
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object of the numbers, nothing else"
    )
    return parser


def run(args: argparse.Namespace) -> int:
    """Measure all cases; print a table or JSON. The exit status is 1 where the bound is missed."""
    bound = validate.positive("bound", args.bound)
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
            "bound": bound,
            "within_bound": not missed(timings, bound),
        }
        print(json.dumps(numbers, indent=2))
    else:
        print(_table(timings))
        print(_verdict(timings, bound, COMPILED))
    return bench.exit_status(missed(timings, bound))


def missed(timings: list[Timing], bound: float) -> list[str]:
    """The cases that took longer than they may, in words."""
    return [
        f"a tick of the {t.case.law} law with {t.case.joints} joints took {t.ratio:.2f} times "
        f"what Pinocchio alone takes, {t.p50_us:.1f} µs; it may take {bound:g} times that"
        for t in timings
        if t.ratio > bound
    ]


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


def _verdict(timings: list[Timing], bound: float, compiled: bool) -> str:
    worst = max(timing.ratio for timing in timings)
    verdict = "met" if worst <= bound else "not met"
    if worst > bound:
        verdict += (
            " (is the computer busy? try again, longer: --seconds 10)"
            if compiled
            else " (the kernels are not compiled: install numba)"
        )
    return f"At most {bound:g} times Pinocchio alone: {verdict}; the largest ratio is {worst:.2f}."

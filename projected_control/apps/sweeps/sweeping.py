"""A sweep: the rows of a design, made by a pool of workers, kept as they come."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Sequence

from projected_control.apps.console.progress import Progress, silent
from projected_control.apps.sweeps.designs import Design
from projected_control.apps.sweeps.journal import Journal
from projected_control.apps.sweeps.local_pool import Pool
from projected_control.apps.sweeps.one_run import (
    DIED,
    EXCEEDED,
    RunPoint,
    RunRow,
    run_points,
)
from projected_control.apps.sweeps.sweep_case import RunCase
from projected_control.errors import InvalidValue

WAIT_SECONDS = 0.2  # how long it waits for a row before it looks whether it shall end [s]

TITLE = "runs"

Say = Callable[[str], None]

MakeRuns = Callable[..., list[RunRow]]
"""A function of a module that makes runs: of a packed case, points and a packed pruner."""


def say(text: str) -> None:
    """Tell a person, beside the bars."""
    print(f"projected-control: {text}", file=sys.stderr)


def sweep(
    case: RunCase,
    design: Design,
    pool: Pool,
    journal: Journal,
    progress: Progress = silent,
    tell: Say = say,
    make: MakeRuns = run_points,
) -> list[RunRow]:
    """Make all runs of a design that are not in the journal yet; all rows, in order.

    Args:
        case: What is run.
        design: Which runs.
        pool: Who makes them.
        journal: Where rows are kept.
        progress: Told how far it is, and what failed.
        tell: Told what happens to workers.
        make: What a worker does with points of this case.
    """
    done: list[RunRow] = []
    total = max(design.expected(), 1)

    def show() -> None:
        progress(TITLE, min(len(journal.rows) / total, 1.0), journal.failures)

    while points := design.next(done, len(done)):
        _round(case, points, design.pruner(), pool, journal, show, tell, make)
        done += [journal.rows[point.number] for point in points]
    progress(TITLE, 1.0, journal.failures)
    return done


def _round(
    case: RunCase,
    points: Sequence[RunPoint],
    prune: bytes,
    pool: Pool,
    journal: Journal,
    show: Callable[[], None],
    tell: Say,
    make: MakeRuns,
) -> None:
    for point in points:
        _require_same(point, journal)
    left = deque(point for point in points if point.number not in journal.rows)
    asked: dict[int, RunPoint] = {}
    show()
    while left or asked:
        while left and len(asked) < pool.depth:
            point = left.popleft()
            asked[point.number] = point
            pool.put(point.number, make, case.packed, [point], prune)
        for each in pool.take(WAIT_SECONDS):
            point = asked.pop(each.key)
            rows = each.result or [_not_made(point, each.failure)]
            journal.add(rows[0])
        for remark in pool.remarks():
            tell(remark)
        show()


def _not_made(point: RunPoint, failure: str) -> RunRow:
    status = EXCEEDED if "no answer" in failure else DIED
    return RunRow(point.number, point.part, point.values, status, failure)


def _require_same(point: RunPoint, journal: Journal) -> None:
    """Refuse rows of another design, or of another version of what makes designs."""
    row = journal.rows.get(point.number)
    if row is not None and (row.values != point.values or row.part != point.part):
        raise InvalidValue(
            f"{journal.path.parent} has a run {point.number} with other values than this study has "
            "for it: the study has changed, or Optuna or SALib have. Choose another folder (--out)"
        )

"""What the commands `sweep`, `robustness` and `tune` share: tools, workers, and a folder."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

from projected_control.apps.console.progress import terminal_progress
from projected_control.apps.reports.output import output_folder
from projected_control.apps.sweeps.code_digest import fingerprint
from projected_control.apps.sweeps.designs import Design
from projected_control.apps.sweeps.journal import Journal, by_chance
from projected_control.apps.sweeps.local_pool import LocalPool, Pool, cores
from projected_control.apps.sweeps.one_run import DONE, STATUSES, RunRow, run_points
from projected_control.apps.sweeps.sweep_case import RunCase, SweepCase
from projected_control.apps.sweeps.sweeping import MakeRuns, say, sweep
from projected_control.errors import InvalidValue

_NUMBER = re.compile(r"-?\b\d[\d.]*(e[+-]?\d+)?\b")

PATIENCE = 3.0
"""A worker is killed after so many times the time that a run may take: it looks at the clock
itself, unless it hangs."""


class SweepOptions(Protocol):
    """Options that both commands have."""

    workers: int | None
    scheduler: str
    again: bool


def make_pool(workers: int | None, scheduler: str, hang_seconds: float = float("inf")) -> Pool:
    """Processes here, or the workers of a Dask cluster.

    Raises:
        InvalidValue: Where both are asked for, or no such number of processes.
    """
    if not scheduler:
        return LocalPool(cores() if workers is None else workers, hang_seconds)
    if workers is not None:
        raise InvalidValue("--workers is for processes here; --scheduler has workers of its own")
    from projected_control.apps.sweeps.dask_pool import DaskPool

    return DaskPool(scheduler, hang_seconds)


@contextmanager
def rows_of(
    case: RunCase,
    design: Design,
    out: Path,
    args: SweepOptions,
    time_limit: float,
    make: MakeRuns = run_points,
) -> Iterator[list[RunRow]]:
    """All rows of a design, those in the folder already among them."""
    about = {"case": case.digest, **fingerprint()}
    hang = PATIENCE * time_limit
    with output_folder(out), closing(Journal(out, about)) as journal:
        if args.again:
            journal.forget(by_chance(journal.rows))
        if journal.rows:
            say(f"{len(journal.rows)} runs are in {out} already")
        with (
            closing(make_pool(args.workers, args.scheduler, hang)) as pool,
            terminal_progress(sys.stderr) as progress,
        ):
            rows = sweep(case, design, pool, journal, progress, make=make)
        yield rows


def summary(case: SweepCase, rows: Sequence[RunRow]) -> dict[str, Any]:
    """What became of the runs."""
    counts = Counter(row.status for row in rows)
    reasons = Counter(_NUMBER.sub("…", row.reason) for row in rows if row.failed)
    parts = [f"{counts[status]:,} {status}" for status in STATUSES if counts[status]]
    said = f"{len(rows):,} runs: {', '.join(parts)}"
    most = reasons.most_common(3)
    if most:
        said += "\n" + "\n".join(f"  {count:,} times: {reason}" for reason, count in most)
    return {
        "case": case.name,
        "runs": len(rows),
        "done": counts[DONE],
        "statuses": {status: counts[status] for status in STATUSES if counts[status]},
        "reasons": [{"reason": reason, "runs": count} for reason, count in most],
        "digests": dict(fingerprint()),
        "said": said,
    }

"""``projected-control sweep``: many runs of a case, on all cores or on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from projected_control.apps.console.command import Command, flag, option, positional

DESCRIPTION = """\
Makes many runs of one case in simulation, each with other gains, masses, friction, delay, noise,
payload, start, or another place of what holds the arm, as a study file says. One process per
core; with --scheduler the workers of a Dask cluster. Every run is a row of runs.parquet: its
settings, its numbers, how it ended and why, and digests of code and kernels.

It may be killed at any moment: the same command goes on where it was, and the rows are the same to
the last bit. A run's settings and its noise follow from its number.
"""

EPILOG = """\
examples:
  projected-control sweep study.yaml
  projected-control sweep study.yaml --workers 8 --out results
  projected-control sweep study.yaml --scheduler tcp://head:8786

A study file, see the page "How sure is it?":
  task: seven_joints
  seconds: 4.0
  vary:
    simulation.mass_factor: [0.8, 1.3]
    constraint_error.about_y: [-0.1, 0.1]
  design: {kind: latin, runs: 1000}
"""


WORKERS = option("processes (default: one per core)", metavar="N")
SCHEDULER = option("address of a Dask scheduler, instead of processes here", "", "ADDRESS")


class StudyCommand(Command):
    """What commands take that make the runs of a study."""

    study: Path = positional(
        "a study file: what is run, what varies, and for robustness its bounds", "CASE.yaml"
    )
    out: Path | None = option(
        "folder for what is written (default: the name of the study, _ and the command's)",
        metavar="DIR",
    )
    workers: int | None = WORKERS
    scheduler: str = SCHEDULER
    again: bool = flag("make runs again that exceeded their time or whose process died")
    json: bool = flag("print the numbers as one JSON object")


class Arguments(
    StudyCommand,
    help="many runs of a case, on all cores or a cluster",
    description=DESCRIPTION,
    epilog=EPILOG,
):
    """Nothing more."""


def run(args: Arguments) -> int:
    """Make the runs, write the table."""
    from projected_control.apps.sweeps.study import read_study, require_tools

    study = read_study(args.study)
    require_tools("projected-control sweep", study, args.scheduler)
    from projected_control.apps.reports.contents import as_json
    from projected_control.apps.sweeps.command_run import rows_of, summary
    from projected_control.apps.sweeps.designs import design_of
    from projected_control.apps.sweeps.journal import write_table
    from projected_control.apps.sweeps.sweep_case import make_case

    case = make_case(study)
    out = args.out or Path(f"{args.study.stem}_sweep")
    found: dict[str, Any] = {}
    with rows_of(case, design_of(study, case), out, args, study.settings.time_limit) as rows:
        table = write_table(out, case, rows, study.path.read_text(encoding="utf-8"))
        found = summary(case, rows)
    if args.json:
        print(as_json(found))
    else:
        print(found["said"])
        print(f"Written: {table}")
    return 0

"""``projected-control robustness``: which part of what is uncertain keeps which bound."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from projected_control.apps.commands.sweep import StudyCommand

if TYPE_CHECKING:
    from projected_control.apps.sweeps.one_run import RunRow
    from projected_control.apps.sweeps.sweep_case import SweepCase

DESCRIPTION = """\
Makes runs all over what a study says is uncertain, as sweep does, and tells which part of it keeps
which bound: force error, tracking, limits, stability. A map over two of its numbers with the
reasons of failures and its edge, the sensitivity to each number (Morris or Sobol), and the worst
case, recorded so that it can be replayed. One page with pictures, one JSON, the rows as Parquet.

It may be killed at any moment, and goes on. Exit status 1 where a bound is broken even with nothing
varied.
"""

EPILOG = """\
examples:
  projected-control robustness study.yaml
  projected-control robustness study.yaml --scheduler tcp://head:8786 --out results
  projected-control replay results/worst.mcap
"""


class Arguments(
    StudyCommand,
    help="which part of what is uncertain keeps which bound",
    description=DESCRIPTION,
    epilog=EPILOG,
):
    """Nothing more."""


def run(args: Arguments) -> int:
    """Make the runs, judge them, write the page."""
    from projected_control import extras
    from projected_control.apps.sweeps.study import read_study, require_tools

    study = read_study(args.study)
    require_tools("projected-control robustness", study, args.scheduler)
    if study.settings.robustness.sensitivity != "none":
        extras.require("SALib", "projected-control robustness")
    from projected_control.apps.reports.contents import as_json
    from projected_control.apps.reports.output import publish, write_files
    from projected_control.apps.sweeps.command_run import rows_of
    from projected_control.apps.sweeps.journal import write_table
    from projected_control.apps.sweeps.robustness import RobustnessStudy, judge
    from projected_control.apps.sweeps.robustness_page import lines_of, outcome_of
    from projected_control.apps.sweeps.sweep_case import make_case

    case = make_case(study)
    what = RobustnessStudy(study, case)
    out = args.out or Path(f"{args.study.stem}_robustness")
    with rows_of(case, what.design, out, args, study.settings.time_limit) as rows:
        write_table(out, case, rows, study.path.read_text(encoding="utf-8"))
        found = judge(what, rows)
        outcome = outcome_of(found)
        numbers = as_json(outcome.numbers)
        write_files(out, {"robustness.json": numbers.encode()})
        if found.worst is not None:
            record_worst(case, found.worst, out)
        publish(out, [outcome], "robustness.html")
    if args.json:
        print(numbers)
    else:
        print("\n".join(lines_of(outcome)))
        print(f"Written: {out / 'robustness.html'}, robustness.json, runs.parquet and worst.mcap")
    return int(bool(what.bounds.broken(found.nominal)))


def record_worst(case: SweepCase, row: RunRow, folder: Path) -> None:
    """Make the worst run again, recorded, and write its parameters."""
    from projected_control.apps.reports.output import write_files
    from projected_control.apps.sweeps.one_run import Attempt, RunPoint, bench_of, record_run
    from projected_control.runs.recorder import Recorder
    from projected_control.runs.recording_head import About
    from projected_control.settings.files import parameter_text
    from projected_control.settings.nodes import ARM
    from projected_control.settings.recorded import files_of

    bench = bench_of(case.packed)
    point = RunPoint(row.number, row.part, row.values)
    controller, arm = (each.values() for each in Attempt(bench, point).settings())
    about = About(case.node, case.node, controller, simulated=arm, files=files_of(controller))
    (folder / "worst.mcap").unlink(missing_ok=True)
    record_run(bench, point, Recorder(folder / "worst.mcap", about))
    text = parameter_text({f"/{case.node}": controller, f"/{ARM}": arm})
    write_files(folder, {"worst.yaml": text.encode()})

"""``projected-control assess``: the test of force control, on any engine, or of a recording."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from projected_control.apps.commands.sweep import SCHEDULER, WORKERS
from projected_control.apps.console.command import Command, flag, option

if TYPE_CHECKING:
    from projected_control.apps.assess.force_run import ForceTest
    from projected_control.apps.reports.contents import Outcome

TIME_LIMIT = 600.0
"""After which a run is ended [s]."""

DESCRIPTION = """\
The test of force control: approach and touch, force step, ramp and sine, constant force along
straight and curved paths at 10, 50 and 100 mm/s, over a step, a slope and a wave in the surface, on
5, 50 and 500 N/mm, loss of contact and release. Five runs of each, with different noise; the force
is what a sensor below the workpiece feels. One page with pictures, one JSON, one table for a paper,
the rows as Parquet. It may be killed at any moment, and goes on where it was.

With --recording it judges what was recorded, also on a real arm: there the force is that of the
controller's own sensor, which the result says.
"""

EPILOG = """\
examples:
  projected-control assess --short
  projected-control assess --engine mujoco --out assessed
  projected-control assess --laws projected selection --cases line_100 wave
  projected-control assess --recording wipe.mcap --json
"""


class Arguments(
    Command,
    help="the test of force control, of our laws and others",
    description=DESCRIPTION,
    epilog=EPILOG,
):
    engine: str = option(
        "what moves the arm: built_in or mujoco (default: built_in)", "built_in", "NAME"
    )
    laws: list[str] | None = option("laws to test (default: all)", metavar="LAW", read=str)
    cases: list[str] | None = option("cases to make (default: all)", metavar="CASE", read=str)
    short: bool = flag("the short form: touch, force step, sine, path at 100 mm/s and wave")
    repeats: int = option("runs of each case (default: %(default)s)", 5, "N")
    seed: int = option("from which all noise follows (default: %(default)s)", 0, "N")
    recording: Path | None = option("judge a recording instead, *.mcap", metavar="FILE")
    out: Path = option("folder for page and rows (default: %(default)s)", Path("assessed"), "DIR")
    workers: int | None = WORKERS
    scheduler: str = SCHEDULER
    again: bool = flag("make runs again that exceeded their time or whose process died")
    json: bool = flag("print the numbers as one JSON object")


def run(args: Arguments) -> int:
    """Make the runs, judge them, write the page; or judge a recording."""
    from projected_control import extras

    extras.require("matplotlib", "projected-control assess")
    from projected_control.apps.reports.contents import as_json
    from projected_control.apps.reports.output import output_folder, publish, write_files

    if args.recording is not None:
        from projected_control.apps.assess.force_recording import judged

        recorded = judged(args.recording)
        numbers = as_json(recorded.numbers)
        with output_folder(args.out):
            publish(args.out, [recorded], "assess.html")
            write_files(args.out, {"assess.json": numbers.encode()})
        print(numbers if args.json else _said(recorded, args.out))
        return 0
    extras.require("pyarrow", "projected-control assess")
    import sys

    from projected_control.apps.assess.force_page import latex, outcome_of
    from projected_control.apps.assess.force_run import run_points
    from projected_control.apps.console.progress import terminal_progress
    from projected_control.apps.sweeps.command_run import rows_of
    from projected_control.apps.sweeps.designs import SAMPLE, ListedRuns
    from projected_control.apps.sweeps.journal import write_table

    test = test_of(args)
    design = ListedRuns(SAMPLE, test.points)
    with rows_of(test, design, args.out, args, TIME_LIMIT, run_points) as rows:
        write_table(args.out, test, rows, test.digest)
        with terminal_progress(sys.stderr) as progress:
            outcome = outcome_of(test, rows, progress)
            numbers = as_json(outcome.numbers)
            table = latex(test, outcome.numbers["laws"])
            write_files(args.out, {"assess.json": numbers.encode(), "assess.tex": table.encode()})
            publish(args.out, [outcome], "assess.html", progress)
    print(numbers if args.json else _said(outcome, args.out))
    return 0


def _said(outcome: Outcome, folder: Path) -> str:
    lines = [*outcome.tables[0].lines(), outcome.summary, f"Written: {folder / 'assess.html'}"]
    return "\n".join(lines)


def test_of(args: Arguments) -> ForceTest:
    """What is asked for; raises where there is no such law, case or engine."""
    from projected_control.apps.assess.force_cases import CASES, LAWS
    from projected_control.apps.assess.force_run import ForceTest
    from projected_control.errors import InvalidValue, UnknownName
    from projected_control.simulation.engines import ENGINES

    short = [name for name, case in CASES.items() if case.short]
    cases, laws = args.cases or (short if args.short else [*CASES]), args.laws or [*LAWS]
    for what, names, known in (("case", cases, CASES), ("law", laws, LAWS)):
        for name in names:
            if name not in known:
                raise UnknownName(what, name, known)
    if args.engine not in ENGINES:
        raise UnknownName("engine", args.engine, ENGINES)
    if args.engine not in ("built_in", "mujoco"):
        raise InvalidValue(
            f"in {args.engine} an arm has no surface that gives or can be left: take built_in or "
            "mujoco"
        )
    if not 1 <= args.repeats <= 100:
        raise InvalidValue(f"repeats must be 1 to 100, got {args.repeats}")
    return ForceTest(args.engine, args.seed, args.repeats, tuple(laws), tuple(cases))

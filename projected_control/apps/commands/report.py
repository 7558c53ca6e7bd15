"""``projected-control report``: the demo's report of a recorded run."""

from __future__ import annotations

from pathlib import Path

from projected_control.apps.console.command import Command, flag, option, positional

DEFAULT_FOLDER = Path("report_output")


class Arguments(
    Command,
    help="figures and a page of a recorded run",
    description="Writes the demo's report of a recorded run: numbers, steadiness, figures.",
):
    file: Path = positional("a recording, *.mcap", "FILE")
    out: Path = option("folder for page and figures (default: %(default)s)", DEFAULT_FOLDER, "DIR")
    json: bool = flag("print the numbers as one JSON object")


def run(args: Arguments) -> int:
    from projected_control import extras

    extras.require("matplotlib", "projected-control report")
    from projected_control.apps.recordings.recording_report import opened, report
    from projected_control.apps.reports.contents import as_json
    from projected_control.apps.reports.output import output_folder, publish

    outcome = report(opened(args.file))
    with output_folder(args.out) as folder:
        publish(folder, [outcome], "index.html")
    if args.json:
        print(as_json(outcome.numbers["recording"]))
    else:
        print(outcome.summary)
        print(f"Report: {folder / 'index.html'}")
    return 0

"""``projected-control compare``: two recorded runs side by side."""

from __future__ import annotations

from pathlib import Path

from projected_control.apps.console.command import Command, flag, option, positional

DEFAULT_FOLDER = Path("compare_output")


class Arguments(
    Command,
    help="two recorded runs side by side",
    description="Sets two recorded runs of the same arm side by side: their numbers, the "
    "parameters in which they differ, and one figure with both.",
):
    one: Path = positional("a recording, *.mcap", "A")
    other: Path = positional("another one", "B")
    out: Path = option("folder for page and figure (default: %(default)s)", DEFAULT_FOLDER, "DIR")
    json: bool = flag("print the numbers as one JSON object")


def run(args: Arguments) -> int:
    from projected_control import extras

    extras.require("matplotlib", "projected-control compare")
    from projected_control.apps.recordings.recording_report import comparison, opened
    from projected_control.apps.reports.contents import as_json
    from projected_control.apps.reports.output import output_folder, publish

    names = (args.one.stem, args.other.stem)
    one, other = opened(args.one), opened(args.other)
    outcome = comparison(one, other, names if names[0] != names[1] else ("A", "B"))
    with output_folder(args.out) as folder:
        publish(folder, [outcome], "index.html")
    if args.json:
        print(as_json(outcome.numbers["comparison"]))
    else:
        for table in outcome.tables:
            print(table.title)
            print("\n".join(table.lines()))
            print()
        print(f"Report: {folder / 'index.html'}")
    return 0

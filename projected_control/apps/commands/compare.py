"""``projected-control compare``: two recorded runs side by side."""

from __future__ import annotations

import sys
from pathlib import Path

from projected_control.apps.console.command import Command, flag, option, positional

DEFAULT_FOLDER = Path("compare_output")


class Arguments(
    Command,
    help="two recorded runs side by side",
    description="Sets two recorded runs of the same arm side by side: their numbers, the "
    "parameters in which they differ, and one figure with both.",
):
    """What it takes."""

    one: Path = positional("a recording, *.mcap", "A")
    other: Path = positional("another one", "B")
    out: Path = option("folder for page and figure (default: %(default)s)", DEFAULT_FOLDER, "DIR")
    json: bool = flag("print the numbers as one JSON object")


def run(args: Arguments) -> int:
    """Read both, draw, write."""
    from projected_control.apps.console import extras

    extras.require("matplotlib", "projected-control compare")
    from projected_control.apps.recordings.recording_report import comparison
    from projected_control.apps.reports.contents import as_json
    from projected_control.apps.reports.output import output_folder, publish
    from projected_control.runs.recording import read_recording

    one, other = read_recording(args.one), read_recording(args.other)
    for recording in (one, other):
        for sentence in recording.warnings():
            print(f"projected-control: {sentence}", file=sys.stderr)
    names = (args.one.stem, args.other.stem)
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

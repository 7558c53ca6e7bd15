"""``projected-control compare``: two recorded runs side by side."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from projected_control.apps.commands import Subparsers

DEFAULT_FOLDER = Path("compare_output")


def add_parser(subparsers: Subparsers) -> argparse.ArgumentParser:
    """Declare the subcommand."""
    parser = subparsers.add_parser(
        "compare",
        help="two recorded runs side by side",
        description="Sets two recorded runs of the same arm side by side: their numbers, the "
        "parameters in which they differ, and one figure with both.",
    )
    parser.add_argument("one", type=Path, metavar="A", help="a recording, *.mcap")
    parser.add_argument("other", type=Path, metavar="B", help="another one")
    parser.add_argument(
        "--out",
        type=Path,
        default=DEFAULT_FOLDER,
        metavar="DIR",
        help="folder for page and figure (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print the numbers as one JSON object")
    return parser


def run(args: argparse.Namespace) -> int:
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

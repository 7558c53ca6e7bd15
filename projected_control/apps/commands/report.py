"""``projected-control report``: the demo's report of a recorded run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from projected_control.apps.commands import Subparsers

DEFAULT_FOLDER = Path("report_output")


def add_parser(subparsers: Subparsers) -> argparse.ArgumentParser:
    """Declare the subcommand."""
    parser = subparsers.add_parser(
        "report",
        help="figures and a page of a recorded run",
        description="Writes the demo's report of a recorded run: numbers, steadiness, figures.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a recording, *.mcap")
    parser.add_argument(
        "--out",
        type=Path,
        default=DEFAULT_FOLDER,
        metavar="DIR",
        help="folder for page and figures (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print the numbers as one JSON object")
    return parser


def run(args: argparse.Namespace) -> int:
    """Read, draw, write."""
    from projected_control.apps.console import extras

    extras.require("matplotlib", "projected-control report")
    from projected_control.apps.recordings.recording_report import report
    from projected_control.apps.reports.contents import as_json
    from projected_control.apps.reports.output import output_folder, publish
    from projected_control.runs.recording import read_recording

    recording = read_recording(args.file)
    for sentence in recording.warnings():
        print(f"projected-control: {sentence}", file=sys.stderr)
    outcome = report(recording)
    with output_folder(args.out) as folder:
        publish(folder, [outcome], "index.html")
    if args.json:
        print(as_json(outcome.numbers["recording"]))
    else:
        print(outcome.summary)
        print(f"Report: {folder / 'index.html'}")
    return 0

"""``projected-control demo``: see a constrained arm move."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from projected_control.commands import Subparsers

DEFAULT_FOLDER = Path("demo_output")

DESCRIPTION = """\
Lets an arm of three links fall, its tip on a vertical slider, and draws what it does.
"""


def add_parser(subparsers: Subparsers) -> argparse.ArgumentParser:
    """Declare the subcommand."""
    parser = subparsers.add_parser(
        "demo", help="see a constrained arm move; writes figures", description=DESCRIPTION
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=DEFAULT_FOLDER,
        metavar="DIR",
        help="folder for the figures and the page (default: %(default)s)",
    )
    return parser


def run(args: argparse.Namespace) -> int:
    """Run the free fall and say where its figures are."""
    from projected_control.experiments import run_experiment
    from projected_control.experiments.output import output_folder, publish
    from projected_control.experiments.progress import terminal_progress

    with output_folder(args.out) as folder:
        with terminal_progress(sys.stderr) as progress:
            outcome = run_experiment("free-fall", progress=progress)
            files = publish(folder, [outcome], f"{outcome.name}.html", progress)
        print(outcome.summary)
        print("Written:")
        for path in files:
            print(f"  {path}")
    return 0

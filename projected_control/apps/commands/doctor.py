"""``projected-control doctor``: what this computer allows, and what to do."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from projected_control.apps.commands import Subparsers

DESCRIPTION = """\
Looks at what a controller needs of this computer: compiled kernels, processors, real-time priority,
memory that may be locked, the settings of the middleware, the packages that launch files start.
Says what was found and what to do about it. The exit status is 1 where nodes cannot run at all.
"""


def add_parser(subparsers: Subparsers) -> argparse.ArgumentParser:
    """Declare the subcommand."""
    parser = subparsers.add_parser(
        "doctor",
        help="what this computer allows, and what to do",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    return parser


def run(args: argparse.Namespace) -> int:
    """Look, and print what was found."""
    import json

    from projected_control.apps.system_checks import Rating, examine

    findings = examine()
    if args.json:
        rows = [{**f._asdict(), "verdict": f.verdict.value} for f in findings]
        print(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        width = max(len(finding.subject) for finding in findings)
        for finding in findings:
            print(f"{finding.verdict.value:7}  {finding.subject:{width}}  {finding.found}")
            if finding.advice:
                print(f"{'':7}  {'':{width}}  → {finding.advice}")
    return 1 if any(f.verdict is Rating.MISSING for f in findings) else 0

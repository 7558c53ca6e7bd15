"""Whether nothing is skipped but what cannot be had: ``python test/skips.py REPORT.xml …``.

Reads the reports of `make test` and `make test-peers`. A test that one of them skipped has to be
run by another, or to name what it lacks: ros2_control, Gazebo or launch, which PyPI does not have.
What only this computer lacks is listed, and is no failure.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from pathlib import Path

NOT_ON_PYPI = re.compile(r"ros2_control|Gazebo|launch")
OF_THIS_COMPUTER = re.compile(
    r"this computer is busy|were late or lost|root may write everywhere|no native loop"
    r"|compiler|chrom|PLACO_EXAMPLES"
)
"""It was busy, or has no compiler, browser or checkout of placo's examples."""

UNEXPANDED = "[NOTSET]"  # how pytest calls a test that had nothing to be tried with
WHOLE_FILE = "collection skipped"  # what pytest says of a file that skips itself
Outcomes = dict[str, str]  # of each test: why it was skipped, empty where it was run


def outcomes(report: Path) -> Outcomes:
    """What a report in JUnit's format says."""
    found = {}
    for case in ET.parse(report).iter("testcase"):
        name = ".".join(filter(None, (case.get("classname"), case.get("name"))))
        skipped = case.find("skipped")
        found[name] = "" if skipped is None else _reason(skipped)
    return found


def _reason(skipped: ET.Element) -> str:
    """Of a file that skips itself it is in the text, behind its place; the message is no reason."""
    message = str(skipped.get("message"))
    return (skipped.text or "").partition("Skipped: ")[2] if message == WHOLE_FILE else message


def unexplained(reports: Iterable[Outcomes]) -> tuple[Outcomes, Outcomes]:
    """Tests that none has run: those without a good reason, and those of this computer."""
    skipped: Outcomes = {}
    ran: set[str] = set()
    for report in reports:
        ran |= {name for name, reason in report.items() if not reason}
        skipped |= {name: reason for name, reason in report.items() if reason}
    missing = {name: reason for name, reason in skipped.items() if not was_run(name, ran)}
    missing = {name: why for name, why in missing.items() if not NOT_ON_PYPI.search(why)}
    here = {name: why for name, why in missing.items() if OF_THIS_COMPUTER.search(why)}
    return {name: why for name, why in missing.items() if name not in here}, here


def was_run(name: str, ran: set[str]) -> bool:
    """Whether it is among these, or is a file or an unexpanded test of which some are."""
    beginning = name.removesuffix(UNEXPANDED) + "["
    return name in ran or any(
        other.startswith((f"{name}.", beginning) if UNEXPANDED in name else f"{name}.")
        for other in ran
    )


def lines(found: Mapping[str, str]) -> list[str]:
    """Each reason with the number of tests that it keeps, and one of them."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in found.items():
        by_reason.setdefault(reason, []).append(name)
    return [f"  {len(names)} × {why} ({names[0]}, …)" for why, names in sorted(by_reason.items())]


def main(arguments: list[str]) -> int:
    if absent := [name for name in arguments if not Path(name).is_file()]:
        print(f"there is no report {', '.join(absent)}: run make test first")
        return 2
    reports = [outcomes(Path(name)) for name in arguments]
    wrong, here = unexplained(reports)
    if here:
        print("skipped for want of something on this computer:", *lines(here), sep="\n")
    if wrong:
        print(
            "skipped, and neither run by make test-peers (mark them peers) nor for want of "
            "ros2_control, Gazebo or launch:",
            *lines(wrong),
            sep="\n",
        )
        return 1
    print("all else that is skipped needs ros2_control, Gazebo or launch")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

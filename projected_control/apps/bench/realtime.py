"""``projected-control bench realtime``: how late a loop wakes up, and how long its cycle takes."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

from projected_control.apps import bench
from projected_control.apps.console.command import Command, option
from projected_control.errors import InvalidValue
from projected_control.with_parent import tied

BOUND = 1.2
"""Lateness of the native loop against a bare thread's with a busy interpreter thread, p99."""

CHILD = "PROJECTED_CONTROL_COUNTED"  # set in the process that counts allocations

DESCRIPTION = f"""\
Runs a control loop at 1 kHz on a simulated arm, in C++ and in Python, and a bare thread that does
nothing but wake up, by turns: on an idle computer, beside a busy thread of the same interpreter,
and beside one busy process per core; with and without SCHED_FIFO. Reports how late each woke up,
how long its cycle took from a state to an effort, page faults and allocations. With a busy
interpreter thread the native loop is at most {BOUND:g} times as late as the bare thread (p99).
Needs a compiler.
"""


class Arguments(
    Command, help="wake-ups and cycles at 1 kHz, native and Python", description=DESCRIPTION
):
    seconds: float = option("of each loop under each condition (default: %(default)g)", 4.0, "S")
    priority: int = option(
        "of SCHED_FIFO; 0 measures ordinary threads alone (default: %(default)s)", 80, "P"
    )
    bound: float = bench.bound(BOUND, "the native loop's lateness against a bare thread's")
    json: bool = bench.JSON


def run(args: Arguments) -> int:
    from projected_control import validate
    from projected_control.native.build import COUNTER, loop_folder

    bound = validate.positive("bound", args.bound)
    if not 0.5 <= args.seconds <= 3600.0:
        raise InvalidValue(f"seconds must be 0.5 to 3600, got {args.seconds:g}")
    if not 0 <= args.priority <= 99:
        raise InvalidValue(f"priority must be 0 to 99, got {args.priority}")
    if CHILD not in os.environ:
        counter = loop_folder() / COUNTER
        preload = " ".join(filter(None, [str(counter), os.environ.get("LD_PRELOAD", "")]))
        options = ["--seconds", str(args.seconds), "--priority", str(args.priority)]
        options += ["--bound", str(bound), *(["--json"] if args.json else [])]
        command = [sys.executable, "-m", "projected_control.apps.cli", "bench", "realtime"]
        environment = {**os.environ, CHILD: "1", "LD_PRELOAD": preload}
        return subprocess.run(tied([*command, *options]), env=environment, check=False).returncode

    from projected_control.apps.bench.deadlines import measure
    from projected_control.apps.console.progress import terminal_progress

    os.environ.pop("LD_PRELOAD", None)
    with terminal_progress(sys.stderr) as progress:
        rows = measure(args.seconds, args.priority, progress)
    return bench.report(args.json, {"rows": rows, "bound": bound}, table(rows), missed(rows, bound))


def missed(rows: list[dict[str, Any]], bound: float) -> list[str]:
    """Where the native loop was later than a bare thread beside a busy interpreter thread."""
    busy = [row for row in rows if row["condition"] == "busy interpreter thread"]
    by_loop = {(row["loop"], row["fifo"]): row["late_us"]["p99"] for row in busy}
    highest = any(row["fifo"] for row in busy)
    native, bare = by_loop["native", highest], by_loop["bare", highest]
    if native <= bound * bare:
        return []
    return [
        f"beside a busy interpreter thread the native loop woke up {native:.1f} µs late (p99), a "
        f"bare thread {bare:.1f} µs; it may be {bound:g} times that"
    ]


def table(rows: list[dict[str, Any]]) -> str:
    parts = {"late_us": ("p50", "p99", "p99.9", "max"), "cycle_us": ("p50", "p99", "max")}
    columns = [(part, name) for part, names in parts.items() for name in names]
    shown = bench.table(
        (
            *("condition", "loop", "FIFO"),
            *(f"{part.removesuffix('_us')} {name}" for part, name in columns),
            *("faults", "allocations"),
        ),
        [
            (
                *(row["condition"], row["loop"], "yes" if row["fifo"] else "no"),
                *(f"{row[part][name]:.1f}" for part, name in columns),
                *(str(row["page_faults"]), str(row["allocations"])),
            )
            for row in rows
        ],
        left=3,
    )
    return f"{shown}\n\nTimes in µs; a bare thread has no cycle."

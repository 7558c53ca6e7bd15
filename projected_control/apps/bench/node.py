"""``projected-control bench node``: the processor time of a controller node, beside an echo's."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from projected_control import extras
from projected_control.apps import bench
from projected_control.apps.console.command import Command, option

BOUND = 2.0
"""Processor time of a controller per state against that of an echo node with the same messages."""

DESCRIPTION = f"""\
Runs the simulated arm and its watchdog at 1 kHz, in lockstep at the pace of the clock, by turns
with the hybrid controller and with a node that only echoes: the same messages come and go, and
nothing is computed. Compares their processor time per state, which a busy computer hardly changes.
The controller's may be {BOUND:g} times the echo's.
"""


class Arguments(
    Command, help="a controller's processor time beside an echo's", description=DESCRIPTION
):
    seconds: float = option("of a turn (default: %(default)g)", 8.0, "S")
    rounds: int = option("of two turns (default: %(default)s)", 2, "N")
    bound: float = bench.bound(BOUND, "the controller's processor time against the echo's")
    json: bool = bench.JSON


def run(args: Arguments) -> int:
    from projected_control import validate

    bound = validate.positive("bound", args.bound)
    bench.check_turns(args.seconds, args.rounds, 1.0)
    extras.require("rclpy", "projected-control bench node")
    from projected_control.apps.bench.scenes import NodeScene

    turns: dict[str, list[dict[str, float]]] = {"controller": [], "echo": []}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(args.rounds):
            for who, found in turns.items():
                print(f"round {number + 1} of {args.rounds}: {who} …", file=sys.stderr, flush=True)
                with NodeScene(Path(folder), who) as scene:
                    found.append(scene.measure(args.seconds))
    numbers = {**summary(turns), "bound": bound}
    return bench.report(args.json, numbers, table(numbers), missed(numbers, bound))


def summary(turns: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """The least of all turns: what disturbs them adds to the time, and nothing takes from it."""
    least = {
        who: {key: min(turn[key] for turn in found) for key in ("self", "arm", "watchdog")}
        for who, found in turns.items()
    }
    return {
        "us_per_state": least,
        "ratio": least["controller"]["self"] / least["echo"]["self"],
        "turns": turns,
    }


def missed(numbers: dict[str, Any], bound: float) -> list[str]:
    """The bound, in words, where it was missed."""
    if numbers["ratio"] <= bound:
        return []
    own, echo = (numbers["us_per_state"][who]["self"] for who in ("controller", "echo"))
    return [
        f"the controller took {own:.0f} µs of processor time per state, an echo of the same "
        f"messages {echo:.0f} µs; it may be {bound:g} times that"
    ]


def table(numbers: dict[str, Any]) -> str:
    rows = [
        [who, *(f"{least[part]:.0f}" for part in ("self", "arm", "watchdog"))]
        for who, least in numbers["us_per_state"].items()
    ]
    header = ("µs of processor time per state", "itself", "arm", "watchdog")
    return f"{bench.table(header, rows)}\ncontroller over echo: {numbers['ratio']:.2f}"

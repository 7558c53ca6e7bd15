"""``projected-control bench view``: what the live page and its browsers cost a loop."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from projected_control import extras
from projected_control.apps import bench
from projected_control.apps.console.command import Command, option

BOUND = 1.1  # latency (p50) of a loop that is looked at against that of the same loop alone
GROWTH = 20.0  # how much the page's memory may grow while a browser is connected [MB]

MINUTE = 60.0
"""Over how long missed deadlines are counted, so that long turns show how they spread [s]."""

DESCRIPTION = f"""\
Runs the simulated arm, its watchdog and the hybrid controller at 1 kHz, by turns alone and with the
live page and two clients that read all of it, one of which leaves in the middle. Compares the
loop's latency and its missed deadlines, and looks at the page's memory. The latency (p50) may be
{BOUND:g} times that of the loop alone; the deadlines missed in the middle one of its turns at most
one more than in the worst turn alone (of longer turns, each minute counts as one); and the page may
grow by {GROWTH:g} MB.
For a client that stays for ten minutes: --seconds 600 --rounds 1, which takes twenty.
"""


class Arguments(Command, help="a loop with and without the live page", description=DESCRIPTION):
    seconds: float = option("of a turn (default: %(default)g)", 10.0, "S")
    rounds: int = option("of two turns (default: %(default)s)", 3, "N")
    bound: float = bench.bound(BOUND, "the latency with the page against that without")
    json: bool = bench.JSON


def run(args: Arguments) -> int:
    from projected_control import validate

    bound = validate.positive("bound", args.bound)
    bench.check_turns(args.seconds, args.rounds, 5.0)
    extras.require("rclpy", "projected-control bench view")
    extras.require("aiohttp", "projected-control bench view")
    from projected_control.apps.bench.scenes import ViewScene

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder, ViewScene(Path(folder)) as scene:
        say("Waiting for the controller (it compiles its kernels the first time) …")
        scene.start()
        turns: list[dict[str, Any]] = []
        for number in range(args.rounds):
            say(f"round {number + 1} of {args.rounds}: alone")
            turns.append(scene.alone(args.seconds))
            say(f"round {number + 1} of {args.rounds}: with the page and two clients")
            turns.append(scene.with_clients(args.seconds))
    numbers = {**summary(turns), "bound": bound}
    return bench.report(args.json, numbers, table(numbers), missed(numbers, bound))


def by_minute(missed: Sequence[tuple[float, int]], seconds: float) -> list[int]:
    """Deadlines missed in each minute of a turn; in all of it where it is shorter.

    Args:
        missed: When how many were told of, from the beginning of the turn [s].
        seconds: How long it was.
    """
    counts = [0] * max(1, round(seconds / MINUTE))
    for when, count in missed:
        counts[min(int(when / seconds * len(counts)), len(counts) - 1)] += count
    return counts


def summary(turns: list[dict[str, Any]]) -> dict[str, Any]:
    """All turns as a few numbers."""
    alone = [turn for turn in turns if not turn["clients"]]
    watched = [turn for turn in turns if turn["clients"]]
    return {
        "latency_p50_us": {"alone": _middle(alone, "p50"), "watched": _middle(watched, "p50")},
        "latency_p99_us": {"alone": _middle(alone, "p99"), "watched": _middle(watched, "p99")},
        "deadlines_missed": {
            "alone": [count for turn in alone for count in turn["missed"]],
            "watched": [count for turn in watched for count in turn["missed"]],
        },
        "pictures": sum(turn["pictures"] for turn in watched),
        "page_memory_mb": [turn["memory"] for turn in watched],
        "page_cpu_percent": [turn["cpu"] for turn in watched],
        "seconds": turns[0]["seconds"],
    }


def _middle(turns: list[dict[str, Any]], key: str) -> float:
    values = sorted(value for turn in turns for value in turn[key])
    return values[len(values) // 2] if values else float("nan")


def missed(numbers: dict[str, Any], bound: float) -> list[str]:
    """The bounds that were missed, in words."""
    sentences = []
    alone, watched = numbers["latency_p50_us"]["alone"], numbers["latency_p50_us"]["watched"]
    if not watched <= bound * alone:
        sentences.append(
            f"with the page the loop's latency (p50) was {watched:.1f} µs, alone {alone:.1f} µs; "
            f"it may be {bound:g} times that"
        )
    deadlines = numbers["deadlines_missed"]
    worst, middle = max(deadlines["alone"]), sorted(deadlines["watched"])
    typical = middle[len(middle) // 2]
    if typical > worst + 1:
        sentences.append(
            f"with the page the loop missed {typical} deadlines in a turn or minute, alone at most "
            f"{worst}"
        )
    for first, last in numbers["page_memory_mb"]:
        if last - first > GROWTH:
            sentences.append(f"the page grew from {first:.0f} to {last:.0f} MB")
    if not numbers["pictures"]:
        sentences.append("the clients saw no picture")
    return sentences


def table(numbers: dict[str, Any]) -> str:
    turns = {"alone": "alone", "watched": "with the page"}
    latencies = {"latency_p50_us": "latency p50 (µs)", "latency_p99_us": "p99 (µs)"}
    rows = [[name, *(f"{numbers[key][t]:.1f}" for t in turns)] for key, name in latencies.items()]
    missed_in = numbers["deadlines_missed"]
    rows.append(["deadlines missed", *(str(sum(missed_in[turn])) for turn in turns)])
    lines = [bench.table(("", *turns.values()), rows)]
    for turn, name in turns.items():
        lines.append(f"  in each turn or minute, {name}: {', '.join(map(str, missed_in[turn]))}")
    grown = ", ".join(f"{a:.0f} → {b:.0f}" for a, b in numbers["page_memory_mb"])
    lines.append(f"the page's memory (MB): {grown}; pictures drawn for: {numbers['pictures']}")
    busy = ", ".join(f"{share:.0f}" for share in numbers["page_cpu_percent"])
    return "\n".join([*lines, f"the page's share of a core (%): {busy}"])

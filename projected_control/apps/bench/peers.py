"""``projected-control bench peers``: one tick beside what others take for the same robot."""

from __future__ import annotations

import sys
from typing import Any

from projected_control.apps import bench
from projected_control.apps.console.command import Command, option

DESCRIPTION = """\
Times our tick (in C++ where the native loop can be built) and, in the same run, what others take:
placo's DynamicsSolver and TSID on a planar five-bar of our own description and on talos with its
pelvis fixed, feet and hands held at points; Pinocchio's computeAllTerms and constrained dynamics,
and MuJoCo's step, on the five-bar. placo and TSID need other Pinocchios than ours and run in
environments of their own, which are made once. Our tick takes at most 0.6 times placo's on the
five-bar, on talos 0.5 times placo's and TSID's, and no longer than theirs with their limits
switched on, where none binds; where some do, both are told: they weigh one level, we solve eight.
Whatever is not installed is left out, with the reason.
"""


class Arguments(Command, help="one tick beside those of other libraries", description=DESCRIPTION):
    seconds: float = option("measure each for this long (default: %(default)g)", 2.0, "S")
    bound: float | None = option(
        "our native tick against all of theirs for which there is a bound, medians (default: 0.6 "
        "for the five-bar, 0.5 for talos, 1 with limits switched on)",
        metavar="B",
    )
    json: bool = bench.JSON


def run(args: Arguments) -> int:
    from projected_control import validate

    bound = None if args.bound is None else validate.positive("bound", args.bound)
    seconds = validate.positive("seconds", args.seconds)
    from projected_control.apps.bench.peer_timing import measure
    from projected_control.apps.console.progress import terminal_progress

    with terminal_progress(sys.stderr) as progress:
        peers, missing, engine = measure(seconds, progress)
    numbers = {"peers": peers, "missing": missing, "engine": engine}
    late, text = missed(peers, bound), table(peers, missing, engine)
    return bench.report(args.json, numbers, text, late)


def missed(peers: list[dict[str, Any]], bound: float | None = None) -> list[str]:
    """Where a native tick took too much of theirs."""
    held = [peer for peer in peers if peer["bound"] is not None]
    bounds = [peer["bound"] if bound is None else bound for peer in held]
    return [
        f"our tick took {peer['ratio']:.2f} times {peer['name']}'s on the {peer['robot']}; it may "
        f"take {most:g} times that"
        for peer, most in zip(held, bounds, strict=True)
        if peer["ratio"] > most
    ]


def table(peers: list[dict[str, Any]], missing: dict[str, str], engine: str) -> str:
    times = ("p50_us", "ours_p50_us", "ratio")
    rows = [[p["name"], p["robot"], *(f"{p[time]:.2f}" for time in times)] for p in peers]
    header = ("what", "robot", "median (µs)", "ours (µs)", "ours / it")
    lines = [bench.table(header, rows, left=2)]
    lines += [f"{name}: not measured: {reason}" for name, reason in missing.items()]
    return "\n".join([*lines, f"Our tick: {engine}, constraint, law and guard included."])

"""``projected-control bench assess``: how well is a force held? The short form, with bounds."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

from projected_control.apps import bench
from projected_control.apps.console.command import Command

BOUND = 0.1
"""Mean absolute error at 10 N and 100 mm/s on 50 N/mm, straight, after the first second [N]."""

BOUNDS = {"line_100": BOUND, "touch": 1.0, "force_step": 0.5, "sine_1": 1.0, "wave": 1.0}
"""The same of all cases of the short form [N]."""

DESCRIPTION = f"""\
Makes the short form of `assess` with our law, one run of each case, on our own plant and in MuJoCo
where that is installed. Along a straight path at 100 mm/s on 50 N/mm the mean absolute error of
10 N is at most {BOUND:g} N; the other cases have wider bounds.
"""


class Arguments(Command, help="how well a force is held", description=DESCRIPTION):
    bound: float = bench.bound(BOUND, "the mean error of the force at 100 mm/s in N")
    json: bool = bench.JSON


def run(args: Arguments) -> int:
    from projected_control import validate
    from projected_control.apps.assess.force_cases import CASES
    from projected_control.apps.assess.force_run import follow, judge
    from projected_control.apps.console.progress import terminal_progress

    bounds = {**BOUNDS, "line_100": validate.positive("bound", args.bound)}
    engines = ["built_in", *(["mujoco"] if find_spec("mujoco") else [])]
    found: dict[str, dict[str, Any]] = {}
    missed: list[str] = []
    with terminal_progress(sys.stderr) as progress:
        for engine in engines:
            found[engine] = {}
            for done, (name, most) in enumerate(bounds.items()):
                progress(engine, done / len(bounds))
                curve, failure, lost = follow("projected", CASES[name], engine)
                numbers = judge(curve, CASES[name])
                found[engine][name] = numbers
                mean = numbers["force_error_mean"]
                if failure or lost or not mean <= most:
                    why = failure or lost or f"is off by {mean:.3g} N; it has to be {most:g} N"
                    missed.append(f"{CASES[name].title} ({engine}): {why}")
            progress(engine, 1.0)
    rows = [
        [
            CASES[name].title,
            *(f"{found[engine][name]['force_error_mean']:.3f}" for engine in engines),
        ]
        for name in bounds
    ]
    text = bench.table(["mean absolute error [N]", *engines], rows)
    return bench.report(args.json, {"engines": found, "bounds": bounds}, text, missed)

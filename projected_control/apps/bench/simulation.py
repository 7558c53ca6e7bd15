"""``projected-control bench simulation``: how much faster than real time do runs in process go?"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

from projected_control.apps import bench
from projected_control.apps.console.command import Command, option
from projected_control.errors import InvalidValue

BOUND = 25.0
"""The planar arm with three joints, loop and plant at 1 kHz, runs this many times real time."""

NATIVE_BOUND = 60.0
"""The same with plant and loop in C++."""

BOUND_JOINTS = 3
"""Which arm the bound is for."""

DEFAULT_SECONDS = 2.0
MAX_SECONDS = 600.0
CHUNK = 250
"""Ticks that are timed together."""

DESCRIPTION = f"""\
Times a closed loop in process: controller, guard and simulated arm, one control tick and one
integration step of fourth order per millisecond of simulated time, as `reproduce` and the tests run
them. The planar arm with three joints goes at least {BOUND:g} times real time, and at least
{NATIVE_BOUND:g} times with plant and loop in C++, where these can be built, on a computer that has
nothing else to do.
"""


@dataclass(frozen=True)
class Speed:
    """How fast a run in process goes.

    Attributes:
        arm: Which one.
        joints: How many it has.
        engine: What computes it.
        times_real_time: Simulated time over time spent, median over pieces of the run.
        ticks: How many were timed.
    """

    arm: str
    joints: int
    engine: str
    times_real_time: float
    ticks: int

    @property
    def numbers(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "arm": self.arm,
            "joints": self.joints,
            "engine": self.engine,
            "times_real_time": round(self.times_real_time, 2),
            "ticks": self.ticks,
        }


class Arguments(Command, help="a closed loop in process", description=DESCRIPTION):
    seconds: float = option(
        "measure each case for this long, in s (default: %(default)g)", DEFAULT_SECONDS, "S"
    )
    bound: float = bench.bound(BOUND, "simulated time over time spent", "less")
    native_bound: float = option(
        "the same with plant and loop in C++ (default: %(default)g)", NATIVE_BOUND, "B"
    )
    json: bool = bench.JSON


def run(args: Arguments) -> int:
    """Measure and report."""
    from projected_control import validate

    seconds = validate.positive("seconds", args.seconds)
    bound = validate.positive("bound", args.bound)
    native_bound = validate.positive("native bound", args.native_bound)
    if seconds > MAX_SECONDS:
        raise InvalidValue(f"seconds must be at most {MAX_SECONDS:g}, got {seconds:g}")
    from projected_control.apps.bench.tick_cases import CASES, HYBRID
    from projected_control.apps.console.progress import terminal_progress
    from projected_control.native.library import reason_against

    speeds, reason = [], reason_against()
    with terminal_progress(sys.stderr) as progress:
        for case in CASES:
            if case.law == HYBRID:
                title = f"{case.joints} joints, {case.rows} rows"
                progress(title, 0.0)
                speeds.append(time_simulation(case, seconds))
                if not reason:
                    speeds.append(time_native_simulation(case, seconds))
                progress(title, 1.0)
    if args.json:
        numbers = {
            "cases": [speed.numbers for speed in speeds],
            "bound": bound,
            "native_bound": native_bound,
            "native": reason or "measured",
            "within_bound": not missed(speeds, bound, native_bound),
        }
        print(json.dumps(numbers, indent=2))
    else:
        for speed in speeds:
            print(
                f"{speed.arm:<20}{speed.joints:>2} joints  {speed.engine:<7}"
                f"{speed.times_real_time:>6.1f} times real time"
            )
        if reason:
            print(f"No run in C++: {reason}")
    return bench.exit_status(missed(speeds, bound, native_bound))


def time_simulation(case: Any, seconds: float) -> Speed:
    """Run a `TickCase` in process for so many seconds, at least one piece after the warm-up."""
    from time import perf_counter

    import numpy as np

    from projected_control.compiled import COMPILED
    from projected_control.runs.runner import Runner

    loop, hardware = case.build()
    runner = Runner(loop, hardware)
    runner.open()
    for _ in range(CHUNK):
        runner.step()
    spent: list[float] = []
    begin = perf_counter()
    while not spent or perf_counter() - begin < seconds:
        start = perf_counter()
        for _ in range(CHUNK):
            runner.step()
        spent.append(perf_counter() - start)
    if runner.lost:
        raise InvalidValue(f"the run that is measured ended by itself: {runner.lost}")
    speed = CHUNK * loop.controller.period / float(np.median(spent))
    engine = "python" if COMPILED else "numpy"
    name = loop.controller.model.arm.name
    return Speed(name, case.joints, engine, speed, CHUNK * len(spent))


def time_native_simulation(case: Any, seconds: float) -> Speed:
    """The same with plant and loop in C++, many ticks per call."""
    from time import perf_counter

    import numpy as np

    from projected_control.native.simulation import NativeSimulation
    from projected_control.runs.runner import Runner

    loop, hardware = case.build()
    Runner(loop, hardware).open()
    simulation = NativeSimulation(loop, hardware)
    simulation.run(CHUNK)
    spent: list[float] = []
    begin = perf_counter()
    while not spent or perf_counter() - begin < seconds:
        start = perf_counter()
        record = simulation.run(CHUNK)
        spent.append(perf_counter() - start)
        if record.failure:
            raise InvalidValue(f"the run that is measured ended by itself: {record.failure}")
    speed = CHUNK * loop.controller.period / float(np.median(spent))
    name = loop.controller.model.arm.name
    return Speed(name, case.joints, "native", speed, CHUNK * len(spent))


def missed(speeds: list[Speed], bound: float, native_bound: float) -> list[str]:
    """The arms that the bounds are for and that went slower, in words."""
    sentences = []
    for speed in speeds:
        least = native_bound if speed.engine == "native" else bound
        if speed.joints == BOUND_JOINTS and speed.times_real_time < least:
            sentences.append(
                f"a closed loop with {speed.joints} joints went {speed.times_real_time:.1f} times "
                f"real time ({speed.engine}); it has to go {least:g} times"
            )
    return sentences

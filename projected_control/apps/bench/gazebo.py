"""``projected-control bench gazebo``: how fast does Gazebo go with our controllers in it?"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from projected_control.apps import bench
from projected_control.apps.console.command import Command, option
from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.with_parent import tied

BOUND, FORCE_BOUND = 5.0, 4.5
"""Times real time that Gazebo goes with motion control in it, and with force control."""

REPEATS, DEFAULT_SECONDS = 5, 8.0
PLAIN = "plain"
CASES = {"motion": BOUND, "force": FORCE_BOUND}
GZ = "gz sim -s -r"
RUN_SECONDS = 600.0  # within which a run ends, or has failed [s]

DESCRIPTION = f"""\
Runs the three-link arm on its slider in Gazebo, headless and as fast as it goes: with motion
control in the physics step, with force control, and the same world without a controller, in turn,
and takes the median of each. On a computer that has nothing else to do, simulated time goes at
least {BOUND:g} times as fast as the clock with motion control, {FORCE_BOUND:g} times with force
control.

The processor time of Gazebo's process per step, and its share of the time by the clock, tell a busy
computer from a slow program: where the share is far below 1, others had the processors, and the
speed says little; the processor time per step hardly changes then.
"""


@dataclass
class GazeboCase:
    """Runs of one kind."""

    name: str  # plain, or the controller
    runs: list[dict[str, Any]] = field(default_factory=list)  # what every run said of itself

    def of(self, quantity: str) -> list[float]:
        return [float(run[quantity]) for run in self.runs]

    def middle(self, quantity: str) -> float:
        """Its median."""
        return statistics.median(self.of(quantity))

    @property
    def factors(self) -> list[float]:
        """Simulated time over time spent, of every run."""
        return self.of("real_time_factor")

    @property
    def median(self) -> float:
        """Of these."""
        return self.middle("real_time_factor")

    @property
    def engine(self) -> str:
        """What made the ticks."""
        return str(self.runs[-1].get("engine", ""))

    def numbers(self, plain: float) -> dict[str, Any]:
        return {
            "times_real_time": round(self.median, 3),
            "of_plain": round(self.median / plain, 3),
            "us_per_step": round(1e3 / self.median, 1),
            "processor_us_per_step": round(self.middle("processor_us_per_step"), 1),
            "processor_share": round(self.middle("processor_share"), 3),
            "preempted_per_second": round(self.middle("preempted_per_second"), 1),
            "runs": [round(factor, 3) for factor in self.factors],
            "engine": self.engine,
        }


class Arguments(
    Command, help="the controllers inside Gazebo's physics step", description=DESCRIPTION
):
    seconds: float = option(
        "simulated time of every run, in s (default: %(default)g)", DEFAULT_SECONDS, "S"
    )
    repeats: int = option("runs of every kind (default: %(default)d)", REPEATS, "N")
    arm: str = option(
        "a file in config/ without its ending, or a path (default: %(default)s)",
        "three_link_slider",
    )
    access: str = option(
        "who reads the physics' numbers (default: %(default)s)",
        "auto",
        choices=["auto", "compiled", "python"],
    )
    gz: str = option("the command (default: %(default)s)", GZ)
    bound: float = bench.bound(BOUND, "simulated time over time spent with motion control", "less")
    force_bound: float = option(
        "the same with force control (default: %(default)g)", FORCE_BOUND, "B"
    )
    json: bool = bench.JSON


def run(args: Arguments) -> int:
    from projected_control import validate

    seconds = validate.positive("seconds", args.seconds)
    bounds = {
        "motion": validate.positive("bound", args.bound),
        "force": validate.positive("force bound", args.force_bound),
    }
    if args.repeats < 1:
        raise InvalidValue(f"repeats must be at least 1, got {args.repeats}")
    command = shlex.split(args.gz)
    if shutil.which(command[0]) is None:
        raise ProjectedControlError(
            f"the command {command[0]} was not found: Gazebo is not installed, or its setup file "
            "is not sourced (apt install ros-$ROS_DISTRO-ros-gz)"
        )
    from projected_control.apps.console.progress import terminal_progress
    from projected_control.apps.gazebo.gazebo_run import library

    access, reason = library(args.access)
    cases = {name: GazeboCase(name) for name in (PLAIN, *CASES)}
    with tempfile.TemporaryDirectory() as scratch, terminal_progress(sys.stderr) as progress:
        worlds = {name: _write(Path(scratch), name, args.arm, access) for name in cases}
        for turn in range(args.repeats):
            for name, case in cases.items():
                progress(f"{name}, run {turn + 1} of {args.repeats}", turn / args.repeats)
                case.runs.append(_simulate(command, worlds[name], seconds))
        progress("done", 1.0)
    _report(args, cases, bounds, reason)
    return bench.exit_status(
        [
            f"with {name} control Gazebo goes {cases[name].median:.2f} times real time, promised "
            f"are {bound:g} (without a controller {cases[PLAIN].median:.2f}); it had "
            f"{100 * cases[name].middle('processor_share'):.0f} % of a processor"
            for name, bound in bounds.items()
            if cases[name].median < bound
        ]
    )


def _write(scratch: Path, name: str, arm: str, access: Path | None) -> Path:
    """The world of a case."""
    from projected_control.apps.gazebo.world_files import WorldOptions, write_files
    from projected_control.apps.launch import choices

    folder = scratch / name
    folder.mkdir()
    given = {"controller": "motion" if name == PLAIN else name, "arm": arm}
    chosen = choices.choose({**given, "preset": "paper", "friction": "false"})
    layers = chosen.layers.on_top(chosen.all_motors, "bench")
    chosen = replace(chosen, layers=layers)
    controller = chosen.controller({})
    options = WorldOptions(access=access, bare=name == PLAIN)
    files = write_files(
        folder,
        chosen.case.node,
        controller,
        chosen.values(),
        options,
        summary=folder / "summary.json",
    )
    return files.world


def _simulate(command: list[str], world: Path, seconds: float) -> dict[str, Any]:
    """The numbers of a run."""
    from projected_control.apps.gazebo.gazebo_run import interpreter_environment

    environment = {
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        **os.environ,
        **interpreter_environment(),
        "GZ_PARTITION": f"projected_control_bench_{os.getpid()}",
    }
    summary = world.with_name("summary.json")
    summary.unlink(missing_ok=True)
    done = subprocess.run(
        tied([*command, "--iterations", str(round(1000 * seconds)), str(world)]),
        env=environment,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )
    if done.returncode or not summary.exists():
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-20:])
        raise ProjectedControlError(f"Gazebo failed with status {done.returncode}: {said}")
    return dict(json.loads(summary.read_text(encoding="utf-8")))


def _report(
    args: Arguments, cases: dict[str, GazeboCase], bounds: dict[str, float], reason: str
) -> None:
    plain = cases[PLAIN].median
    asked = "asked for" if args.access == "python" else ""
    if args.json:
        numbers = {name: case.numbers(plain) for name, case in cases.items()}
        print(json.dumps({**numbers, "bounds": bounds, "python_reads": reason or asked}))
        return
    if reason:
        print(reason)
    header = (
        "",
        "times real time",
        "µs per step",
        "processor µs",
        "share",
        "preempted/s",
        "of plain",
    )
    rows = [
        (
            name,
            f"{case.median:.2f}",
            f"{1e3 / case.median:.0f}",
            f"{case.middle('processor_us_per_step'):.0f}",
            f"{case.middle('processor_share'):.2f}",
            f"{case.middle('preempted_per_second'):.0f}",
            f"{case.median / plain:.2f}",
        )
        for name, case in cases.items()
    ]
    print(bench.table(header, rows))
    for name, case in cases.items():
        print(f"runs, {name}: {', '.join(f'{factor:.2f}' for factor in case.factors)}")

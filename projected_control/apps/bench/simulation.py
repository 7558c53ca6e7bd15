"""``projected-control bench simulation``: how much faster than real time do runs in process go?"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from projected_control.apps import bench
from projected_control.apps.console.command import Command, option
from projected_control.errors import InvalidValue

if TYPE_CHECKING:
    from projected_control.control.loop import ControlLoop
    from projected_control.native.simulation import NativeSimulation

BOUND = 25.0
"""The planar arm with three joints, loop and plant at 1 kHz, runs this many times real time."""

NATIVE_BOUND = 100.0  # the same with plant and loop in C++
BOUND_JOINTS = 3  # which arm the bound is for
SHARE_OF_SEVEN = 0.5  # of the bound in C++ that holds for seven joints

STAGE_BOUND = 1.5
"""A stage of the plant's step, one of the method or its check, over a tick's model evaluation."""

MUJOCO_BOUND = 20.0
"""The arm with seven joints in MuJoCo, one step a tick, runs this many times real time."""

MUJOCO_SHARE = 4.0
"""The same period over a bare mj_step and a bare tick together. Two is the aim: see the page."""

SEVEN = 7  # which arm that is
DEFAULT_SECONDS = 2.0
MAX_SECONDS = 600.0
CHUNK = 250  # ticks that are timed together
PIECE = 50  # the same in MuJoCo, so that some are quick on a busy computer, too

DESCRIPTION = f"""\
Times a closed loop in process: controller, guard and simulated arm, one control tick and one
integration step of fourth order per millisecond of simulated time, as `reproduce` and the tests run
them. The planar arm with three joints goes at least {BOUND:g} times real time, and at least
{NATIVE_BOUND:g} times with plant and loop in C++, where these can be built; half of that with seven
joints. It is the processor's time that counts, the median of the quieter half of the pieces, as
others on the same computer should not decide. In C++ a stage of the plant's step takes at most
{STAGE_BOUND:g} times the evaluation of the model in a tick. The arm with seven joints in MuJoCo,
where that is installed, goes at least {MUJOCO_BOUND:g} times real time, and takes at most
{MUJOCO_SHARE:g} times what a bare mj_step and a bare tick take together; of all three the quickest
round of the same run counts.
"""


@dataclass(frozen=True)
class Speed:
    """How fast a run in process goes."""

    arm: str  # which one
    joints: int  # how many it has
    engine: str  # what computes it
    # Simulated time over the processor's, median over the quieter half of the pieces of the run;
    # in MuJoCo over time spent.
    times_real_time: float
    ticks: int  # how many were timed
    # In MuJoCo, what a bare step and a bare tick take [µs]; else nothing.
    parts_us: tuple[float, ...] = ()
    # In C++, what a stage of the plant's step and the model's evaluation in a tick take [µs].
    stage_us: tuple[float, ...] = ()

    @property
    def share(self) -> float:
        """Time of a period over that of a bare step and a bare tick; 0 where they are not known."""
        period_us = 1e3 / self.times_real_time
        return period_us / sum(self.parts_us) if self.parts_us else 0.0

    @property
    def stage_share(self) -> float:
        """A stage of the plant's step over the model's evaluation in a tick; 0 if not known."""
        return self.stage_us[0] / self.stage_us[1] if self.stage_us else 0.0

    @property
    def beside(self) -> str:
        """What is told beside the speed."""
        if self.parts_us:
            return f", {self.share:.2f} × (mj_step + tick)"
        return f", a stage {self.stage_share:.2f} × a model evaluation" if self.stage_us else ""

    @property
    def numbers(self) -> dict[str, Any]:
        return {
            "arm": self.arm,
            "joints": self.joints,
            "engine": self.engine,
            "times_real_time": round(self.times_real_time, 2),
            "ticks": self.ticks,
            **({"bare_us": list(self.parts_us), "share": self.share} if self.parts_us else {}),
            **(
                {"stage_us": self.stage_us, "stage_share": self.stage_share}
                if self.stage_us
                else {}
            ),
        }


class Arguments(Command, help="a closed loop in process", description=DESCRIPTION):
    seconds: float = option(
        "measure each case for this long, in s (default: %(default)g)", DEFAULT_SECONDS, "S"
    )
    bound: float = bench.bound(BOUND, "simulated time over time spent", "less")
    native_bound: float = option(
        "the same with plant and loop in C++, half of it with seven joints (default: %(default)g)",
        NATIVE_BOUND,
        "B",
    )
    stage_bound: float = option(
        "a stage of the plant's step over the model's evaluation in a tick, in C++ "
        "(default: %(default)g)",
        STAGE_BOUND,
        "B",
    )
    mujoco_bound: float = option(
        "the same of the arm with seven joints in MuJoCo (default: %(default)g)", MUJOCO_BOUND, "B"
    )
    mujoco_share: float = option(
        "its period over a bare mj_step and a bare tick, at most (default: %(default)g)",
        MUJOCO_SHARE,
        "B",
    )
    json: bool = bench.JSON


def run(args: Arguments) -> int:
    from projected_control import validate

    seconds = validate.positive("seconds", args.seconds)
    bound = validate.positive("bound", args.bound)
    native_bound = validate.positive("native bound", args.native_bound)
    mujoco_bound = validate.positive("MuJoCo bound", args.mujoco_bound)
    share = validate.positive("MuJoCo share", args.mujoco_share)
    stage_bound = validate.positive("stage bound", args.stage_bound)
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
                if find_spec("mujoco") is not None:
                    speeds.append(time_mujoco(case, seconds))
                progress(title, 1.0)
    numbers = {
        "cases": [speed.numbers for speed in speeds],
        "bound": bound,
        "native_bound": native_bound,
        "stage_bound": stage_bound,
        "mujoco_bound": mujoco_bound,
        "mujoco_share": share,
        "native": reason or "measured",
    }
    lines = [
        f"{speed.arm:<20}{speed.joints:>2} joints  {speed.engine:<7}"
        f"{speed.times_real_time:>6.1f} times real time{speed.beside}"
        for speed in speeds
    ]
    lines += [f"No run in C++: {reason}"] if reason else []
    if find_spec("mujoco") is None:
        lines.append(
            "No run in MuJoCo, which is not installed: pip install 'projected_control[mujoco]'"
        )
    late = missed(speeds, bound, native_bound, mujoco_bound, share, stage_bound)
    return bench.report(args.json, numbers, "\n".join(lines), late)


def time_simulation(case: Any, seconds: float) -> Speed:
    """Run a `TickCase` in process for so many seconds, at least one piece after the warm-up."""
    from projected_control.compiled import COMPILED
    from projected_control.runs.runner import Runner

    loop, hardware = case.build()
    runner = Runner(loop, hardware)
    runner.open()

    def piece() -> str:
        for _ in range(CHUNK):
            runner.step()
        return runner.lost

    return _speed(case, "python" if COMPILED else "numpy", loop, piece, seconds)


def time_native_simulation(case: Any, seconds: float) -> Speed:
    """The same with plant and loop in C++, many ticks per call."""
    from projected_control.native.simulation import NativeSimulation
    from projected_control.runs.runner import Runner

    loop, hardware = case.build()
    Runner(loop, hardware).open()
    simulation = NativeSimulation(loop, hardware)
    speed = _speed(case, "native", loop, lambda: simulation.run(CHUNK).failure, seconds)
    return replace(speed, stage_us=_time_stages(case, simulation, seconds))


def _time_stages(case: Any, simulation: NativeSimulation, seconds: float) -> tuple[float, float]:
    """A stage of the plant's step, and beside each step an evaluation of the model of a tick [µs].

    Medians of the quieter half of the pieces. The check of what the stages gave, and its
    correction, counts as a stage: it evaluates the model as they do.
    """
    import numpy as np

    from projected_control import kernel_library
    from projected_control.apps.bench.tick_timing import quieter_half
    from projected_control.errors import SimulationFailed
    from projected_control.native.exports import python_frames
    from projected_control.native.kernel_calls import Call
    from projected_control.native.simulation import NativeLoop

    other = NativeLoop(case.build()[0])
    frame = python_frames()["projected_control.model.constrained_arm._evaluate"]
    names = [leaf.name for leaf in frame.leaves]
    own = {name: getattr(other.arm, name) for name in names if hasattr(other.arm, name)}
    arguments = other.loop.controller.model.arguments._replace(**own)
    call = Call(frame, (0.0, simulation.loop.q, simulation.loop.v, *arguments))
    library, kernels = simulation.library, kernel_library.load()
    taken, pieces = np.zeros((2, CHUNK), dtype=np.int64), []
    for _ in bench.rounds(seconds):
        status = library.projected_control_time_steps(
            *(ctypes.c_void_p(each) for each in (simulation.address, other.arm.address)),
            ctypes.cast(getattr(kernels, frame.symbol), ctypes.c_void_p),
            ctypes.c_void_p(call.address),
            ctypes.c_int64(CHUNK),
            *(ctypes.c_void_p(line.ctypes.data) for line in taken),
        )
        if status:
            raise SimulationFailed(f"the run that is measured ended with status {status}")
        pieces.append(np.median(taken, axis=1))
    library.projected_control_clock_cost.restype = ctypes.c_int64
    times = (np.array(pieces) - library.projected_control_clock_cost()) / 1e3
    step, model = np.median(times[quieter_half(times.sum(axis=1))], axis=0)
    return float(step / (simulation.plant.tableau.weights.size + 1)), float(model)


def _speed(
    case: Any, engine: str, loop: ControlLoop, piece: Callable[[], str], seconds: float
) -> Speed:
    """From pieces of a run, each of which says why it ended by itself, if it did."""
    from statistics import median
    from time import process_time

    piece()
    spent: list[float] = []
    for _ in bench.rounds(seconds):
        start = process_time()
        lost = piece()
        spent.append(process_time() - start)
        if lost:
            raise InvalidValue(f"the run that is measured ended by itself: {lost}")
    quiet = sorted(spent)[: (len(spent) + 1) // 2]
    speed = CHUNK * loop.controller.period / median(quiet)
    name = loop.controller.model.arm.name
    return Speed(name, case.joints, engine, speed, CHUNK * len(spent))


def time_mujoco(case: Any, seconds: float) -> Speed:
    """The same in MuJoCo, in turns with bare steps of MuJoCo and bare ticks, a piece of each."""
    from time import perf_counter

    import mujoco
    import numpy as np

    from projected_control.apps.bench.tick_timing import record
    from projected_control.runs.runner import Runner

    loop, hardware = case.build("mujoco")
    bare_loop, bare = case.build("mujoco")
    states = record(*case.build("mujoco"))[:PIECE]
    model, data, start = bare.plant.mj_model, bare.plant.mj_data, bare.plant.q
    runner = Runner(loop, hardware)
    runner.open()

    def steps() -> None:
        for _ in range(PIECE):
            mujoco.mj_step(model, data)

    def ticks() -> None:
        for state in states:
            bare_loop.update(state)

    def periods() -> None:
        for _ in range(PIECE):
            runner.step()

    pieces = (periods, PIECE), (steps, PIECE), (ticks, len(states))
    spent: list[list[float]] = [[] for _ in pieces]
    for _ in bench.rounds(seconds, 2):
        bare.plant.reset(start)
        bare_loop.begin(states[0])
        for kept, (piece, count) in zip(spent, pieces, strict=True):
            started = perf_counter()
            piece()
            kept.append((perf_counter() - started) / count)
    if runner.lost:
        raise InvalidValue(f"the run that is measured ended by itself: {runner.lost}")
    period, step, tick = (float(np.min(each[1:])) for each in spent)
    speed = loop.controller.period / period
    name = loop.controller.model.arm.name
    parts = (1e6 * step, 1e6 * tick)
    return Speed(name, case.joints, "mujoco", speed, PIECE * len(spent[0]), parts)


def missed(
    speeds: list[Speed],
    bound: float,
    native_bound: float = NATIVE_BOUND,
    mujoco_bound: float = MUJOCO_BOUND,
    mujoco_share: float = MUJOCO_SHARE,
    stage_bound: float = STAGE_BOUND,
) -> list[str]:
    """The arms that the bounds are for and that went slower, in words."""
    sentences = []
    bounds = {
        ("mujoco", SEVEN): mujoco_bound,
        ("native", BOUND_JOINTS): native_bound,
        ("native", SEVEN): SHARE_OF_SEVEN * native_bound,
        ("python", BOUND_JOINTS): bound,
        ("numpy", BOUND_JOINTS): bound,
    }
    for speed in speeds:
        least = bounds.get((speed.engine, speed.joints), 0.0)
        if speed.times_real_time < least:
            sentences.append(
                f"a closed loop with {speed.joints} joints went {speed.times_real_time:.1f} times "
                f"real time ({speed.engine}); it has to go {least:g} times"
            )
        if speed.joints == SEVEN and speed.share > mujoco_share:
            sentences.append(
                f"a period of {speed.joints} joints in MuJoCo took {speed.share:.2f} times mj_step "
                f"and tick; it may take {mujoco_share:g} times"
            )
        if speed.stage_share > stage_bound:
            sentences.append(
                f"a stage of the plant's step with {speed.joints} joints took "
                f"{speed.stage_share:.2f} times a model evaluation; it may take {stage_bound:g}"
            )
    return sentences

"""``projected-control bench sweep``: what many runs cost beyond their simulation."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from projected_control.apps import bench
from projected_control.apps.console.command import Command, option
from projected_control.apps.console.progress import Progress, silent

if TYPE_CHECKING:
    from projected_control.apps.sweeps.one_run import RunRow
    from projected_control.apps.sweeps.sweep_case import SweepCase

SHARE_BOUND = 0.8  # least rate of all cores, over the number of cores times the rate of one
OVERHEAD_BOUND = 20.0  # most time per run beyond what is spent in C++ [ms]

MEMORY_BOUND = 8.0
"""Most growth of any process between a tenth of the short runs and their end [MB]."""

SECONDS = 1.0  # simulated time of a run whose rate counts [s]
SHORT = 0.1  # simulated time of the runs over which memory is watched [s]

ROUNDS = 3

TASKS = {3: "slider", 7: "seven_joints"}  # tasks that are run, by the number of joints

DESCRIPTION = f"""\
Times sweeps of the slider (3 joints) and of the wipe (7 joints), runs of {SECONDS:g} s, by one
process and by one per core, by turns. All cores together make at least {SHARE_BOUND:g} times as
many runs as cores times what one makes; a run takes at most {OVERHEAD_BOUND:g} ms of processor
beyond its simulation in C++, the main process included; and no process grows by more than
{MEMORY_BOUND:g} MB over the last nine tenths of 10,000 runs of {SHORT:g} s. The first of these
needs a computer that has nothing else to do.
"""


@dataclass(frozen=True)
class Rate:
    """How fast a sweep goes."""

    joints: int  # of the arm
    workers: int  # processes
    runs_per_second: float  # runs on the clock
    overhead: float  # processor time per run beyond C++ [ms]
    simulated: float  # simulated seconds per second of processor, all included
    in_native: float  # the same of C++ alone


class Arguments(Command, help="many runs, on all cores", description=DESCRIPTION):
    runs: int = option("runs per turn (default: %(default)d)", 100, "N")
    rounds: int = option("turns of each kind (default: %(default)d)", ROUNDS, "N")
    memory_runs: int = option(
        "runs over which memory is watched, 0 for none (default: %(default)d)", 10_000, "N"
    )
    bound: float = bench.bound(SHARE_BOUND, "the share of all cores' rate", "less")
    overhead_bound: float = option(
        "the same for the overhead per run, in ms (default: %(default)g)", OVERHEAD_BOUND, "B"
    )
    memory_bound: float = option(
        "the same for the growth of a process, in MB (default: %(default)g)", MEMORY_BOUND, "B"
    )
    json: bool = bench.JSON


def run(args: Arguments) -> int:
    from projected_control.errors import InvalidValue

    if not 2 <= args.runs <= 1_000_000 or not 0 <= args.memory_runs <= 10_000_000:
        raise InvalidValue("runs must be 2 to a million, memory-runs 0 to ten million")
    bench.check_turns(1.0, args.rounds, 1.0)
    from projected_control.apps.console.progress import terminal_progress
    from projected_control.apps.reports.contents import as_json
    from projected_control.apps.sweeps.local_pool import cores

    count = cores()
    with terminal_progress(sys.stderr) as progress:
        rates = [
            rate
            for joints in TASKS
            for rate in rates_of(joints, args.runs, args.rounds, count, progress)
        ]
        grown = growth(args.memory_runs, count, progress) if args.memory_runs else {}
    numbers: dict[str, Any] = {
        "cores": count,
        "rates": [vars(rate) for rate in rates],
        "shares": shares(rates),
        "memory": grown,
    }
    wrong = missed(numbers, rates, args)
    if args.json:
        print(as_json({**numbers, "within_bound": not wrong}))
    else:
        for rate in rates:
            print(
                f"{rate.joints} joints, {rate.workers} processes: "
                f"{rate.runs_per_second:.1f} runs/s; overhead {rate.overhead:.1f} ms "
                f"per run; {rate.simulated:.1f} simulated seconds per second of processor "
                f"({rate.in_native:.1f} in C++ alone)"
            )
        for joints, share in numbers["shares"].items():
            print(f"{joints} joints: {100 * share:.0f} % of {count} cores times one core's rate")
        if grown:
            print(
                f"{args.memory_runs:,} runs of {SHORT:g} s: largest growth of a process "
                f"{grown['largest_growth_mb']:.1f} MB"
            )
    return bench.exit_status(wrong)


def case_of(joints: int, seconds: float, runs: int) -> tuple[Any, SweepCase]:
    """The study of a task, and its case."""
    from tempfile import TemporaryDirectory

    from projected_control.apps.sweeps.study import read_study
    from projected_control.apps.sweeps.sweep_case import make_case

    text = (
        f"task: {TASKS[joints]}\nseconds: {seconds}\nset: {{sensor.noise: 0.05}}\n"
        "vary: {simulation.mass_factor: [0.9, 1.1], gains.stiffness: [400.0, 500.0]}\n"
        f"design: {{kind: latin, runs: {runs}}}\n"
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "study.yaml"
        path.write_text(text, encoding="utf-8")
        study = read_study(path)
        return study, make_case(study)


def rates_of(joints: int, runs: int, rounds: int, count: int, progress: Progress) -> list[Rate]:
    """The rates of one process and of one per core, medians over turns."""
    from statistics import median

    found: dict[int, list[Rate]] = {1: [], count: []}
    title = f"{joints} joints"
    for turn in range(rounds):
        for place, workers in enumerate(found):
            progress(title, (turn + place / len(found)) / rounds)
            found[workers].append(one_turn(joints, workers, runs * workers))
    progress(title, 1.0)
    names = ("runs_per_second", "overhead", "simulated", "in_native")
    return [
        Rate(joints, workers, *(median(getattr(rate, name) for rate in each) for name in names))
        for workers, each in found.items()
    ]


def swept(study: Any, case: SweepCase, pool: Any, look: Progress = silent) -> list[RunRow]:
    """All rows of a study, in a folder that is gone afterwards."""
    from contextlib import closing
    from tempfile import TemporaryDirectory

    from projected_control.apps.sweeps.designs import design_of
    from projected_control.apps.sweeps.journal import Journal
    from projected_control.apps.sweeps.sweeping import sweep

    with (
        TemporaryDirectory() as folder,
        closing(Journal(Path(folder), {"case": case.digest})) as journal,
    ):
        return sweep(case, design_of(study, case), pool, journal, look)


def one_turn(joints: int, workers: int, runs: int) -> Rate:
    """A sweep by so many processes, which have made a run each before."""
    from contextlib import closing
    from time import perf_counter, process_time

    from projected_control.apps.sweeps.local_pool import LocalPool

    study, case = case_of(joints, SECONDS, runs)
    with closing(LocalPool(workers)) as pool:
        warm_up(pool, case)
        began, used = perf_counter(), process_time()
        rows = swept(study, case, pool)
        took, used = perf_counter() - began, process_time() - used
    count, native = len(rows), sum(row.took[1] for row in rows)
    used += sum(row.took[0] for row in rows)
    return Rate(
        joints,
        workers,
        count / took,
        1e3 * (used - native) / count,
        case.seconds * count / used,
        case.seconds * count / native,
    )


def warm_up(pool: Any, case: SweepCase) -> None:
    """Have every worker make runs before anything is timed."""
    from projected_control.apps.sweeps.one_run import RunPoint, run_points

    for number in range(pool.depth):
        pool.put(number, run_points, case.packed, [RunPoint(number, "warm-up", case.nominal)])
    left = pool.depth
    while left:
        left -= len(pool.take(1.0))


def growth(runs: int, count: int, progress: Progress) -> dict[str, Any]:
    """How much memory processes have after a tenth of short runs, and at their end."""
    import os
    from contextlib import closing

    from projected_control.apps.sweeps.local_pool import LocalPool

    study, case = case_of(3, SHORT, runs)
    seen: dict[int, float] = {}
    with closing(LocalPool(count)) as pool:

        def look(what: str, fraction: float, remark: str = "") -> None:
            progress(f"{runs:,} short runs", fraction, remark)
            if fraction >= 0.1 and not seen:
                seen.update({pid: resident(pid) for pid in pool.pids})

        swept(study, case, pool, look)
        after = {pid: resident(pid) for pid in pool.pids}
        here = resident(os.getpid())
    each = [after[pid] - seen[pid] for pid in after if pid in seen]
    return {
        "runs": runs,
        "workers_mb": list(after.values()),
        "main_mb": here,
        "growth_mb": each,
        "largest_growth_mb": max(each, default=float("nan")),
    }


def resident(pid: int) -> float:
    """Memory of a process that is in RAM [MB]."""
    import os

    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def shares(rates: list[Rate]) -> dict[int, float]:
    """Of all cores' rate, by joints."""
    found = {}
    for joints in TASKS:
        each = {rate.workers: rate.runs_per_second for rate in rates if rate.joints == joints}
        most = max(each)
        found[joints] = each[most] / (most * each[min(each)])
    return found


def missed(numbers: dict[str, Any], rates: list[Rate], args: Arguments) -> list[str]:
    """Bounds that were missed, in words."""
    sentences = [
        f"{joints} joints: all cores make {share:.2f} of cores times one core's rate; it has to be "
        f"{args.bound:g}"
        for joints, share in numbers["shares"].items()
        if share < args.bound
    ]
    sentences += [
        f"{rate.joints} joints, {rate.workers} processes: a run takes {rate.overhead:.1f} ms of "
        f"processor beyond its simulation; it may take {args.overhead_bound:g}"
        for rate in rates
        if rate.overhead > args.overhead_bound
    ]
    grown = numbers["memory"].get("largest_growth_mb", 0.0)
    if not grown <= args.memory_bound:
        sentences.append(
            f"a process has grown by {grown:.1f} MB; it may grow by {args.memory_bound:g}"
        )
    return sentences

"""Loops that wake up every millisecond: native, in Python, and a bare thread to compare with."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import resource
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control.apps.bench.tick_cases import CASES, PERIOD
from projected_control.apps.console.progress import Progress, silent
from projected_control.native.library import native_loop
from projected_control.native.simulation import NativeSimulation
from projected_control.runs.runner import Runner
from projected_control.with_parent import end_with

Array = NDArray[np.float64]

SLICE = 0.5
"""The loops take turns of this length, so that all see the same moods of the computer [s]."""

WARM_UP = 50  # ticks of a turn before the first that counts

EDGES = np.concatenate([[0.0], np.geomspace(1.0, 1e5, 51)])
"""Bins of the histograms [µs]: the first from 0 to 1, then ten per decade."""

IDLE, BUSY, LOAD = "idle", "busy interpreter thread", "busy process per core"


class _Deadlines(ctypes.Structure):
    """``struct projected_control_deadlines``."""

    _fields_ = [
        ("simulation", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("period_ns", "warm_up", "ticks", "priority")),
        ("late_us", ctypes.c_void_p),
        ("cycle_us", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("granted", "minor_faults", "major_faults")),
        *((name, ctypes.c_int64) for name in ("allocations", "failed")),
    ]


@dataclass
class Turns:
    """What the turns of one loop gave."""

    late: list[Array] = field(default_factory=list)
    cycle: list[Array] = field(default_factory=list)
    faults: int = 0
    allocations: int = 0
    granted: bool = True


def measure(seconds: float, priority: int, progress: Progress = silent) -> list[dict[str, Any]]:
    """All conditions, with and without SCHED_FIFO; one row per loop."""
    simulation = _simulation()
    rows: list[dict[str, Any]] = []
    conditions = ((IDLE, _nothing), (BUSY, _busy_thread), (LOAD, _busy_processes))
    priorities = (0, priority) if priority else (0,)
    for i, (name, condition) in enumerate(conditions):
        for j, level in enumerate(priorities):
            progress(name, (i + j / len(priorities)) / len(conditions))
            with condition():
                rows += _take_turns(name, simulation, seconds, level)
    progress("done", 1.0)
    return rows


def _simulation() -> NativeSimulation:
    loop, hardware = CASES[0].build()
    Runner(loop, hardware).open()
    return NativeSimulation(loop, hardware)


def _take_turns(
    condition: str, simulation: NativeSimulation, seconds: float, priority: int
) -> list[dict[str, Any]]:
    turns = {"bare": Turns(), "native": Turns(), "python": Turns()}
    runner = Runner(*CASES[0].build())
    runner.open()
    for _ in range(max(1, round(seconds / SLICE))):
        _native_turn(None, priority, turns["bare"])
        _native_turn(simulation, priority, turns["native"])
        thread = threading.Thread(target=_python_turn, args=(runner, priority, turns["python"]))
        thread.start()
        thread.join()
    return [_row(condition, name, priority, turn) for name, turn in turns.items() if turn.granted]


def _native_turn(simulation: NativeSimulation | None, priority: int, turns: Turns) -> None:
    ticks = round(SLICE / PERIOD)
    late, cycle = np.ones(ticks), np.ones(ticks)  # written to, so that their pages are there
    deadlines = _Deadlines(
        simulation=simulation.address if simulation is not None else None,
        period_ns=round(1e9 * PERIOD),
        warm_up=WARM_UP,
        ticks=ticks,
        priority=priority,
        late_us=late.ctypes.data,
        cycle_us=cycle.ctypes.data,
    )
    native_loop().projected_control_meet_deadlines(ctypes.byref(deadlines))
    turns.late.append(late)
    turns.cycle.append(cycle)
    turns.faults += deadlines.minor_faults + deadlines.major_faults
    turns.allocations += deadlines.allocations
    turns.granted = turns.granted and bool(deadlines.granted)


def _python_turn(runner: Runner, priority: int, turns: Turns) -> None:
    if priority:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        except PermissionError:
            turns.granted = False
            return
    port, loop, period = runner.port, runner.loop, round(1e9 * PERIOD)
    late, cycle = np.zeros(round(SLICE / PERIOD)), np.zeros(round(SLICE / PERIOD))
    counter = _allocation_counter()
    faults = allocated = 0
    moment = time.monotonic_ns() + period
    for i in range(-WARM_UP, late.size):
        if i == 0:
            faults, allocated = page_faults(), counter()
        time.sleep(max(moment - time.monotonic_ns(), 0) * 1e-9)
        woken = time.monotonic_ns()
        state = port.read()
        begin = time.monotonic_ns()
        if state is not None:
            effort = loop.update(state).effort
        end = time.monotonic_ns()
        port.write(effort)
        if i >= 0:
            late[i], cycle[i] = 1e-3 * (woken - moment), 1e-3 * (end - begin)
        moment += period  # periods that have passed already are lost, not made up for
        moment += max(0, (time.monotonic_ns() - moment) // period + 1) * period
    turns.faults += page_faults() - faults
    turns.allocations += counter() - allocated
    turns.late.append(late)
    turns.cycle.append(cycle)


def page_faults() -> int:
    """Of this thread, so far."""
    used = resource.getrusage(resource.RUSAGE_THREAD)
    return used.ru_minflt + used.ru_majflt


def _allocation_counter() -> Any:
    """What the preloaded allocator has counted in this thread; zero where none is preloaded."""
    try:
        counter = ctypes.CDLL(None).projected_control_allocations
    except AttributeError:
        return lambda: 0
    counter.restype = ctypes.c_int64
    return counter


def _row(condition: str, loop: str, priority: int, turns: Turns) -> dict[str, Any]:
    late, cycle = np.concatenate(turns.late), np.concatenate(turns.cycle)
    return {
        "condition": condition,
        "loop": loop,
        "fifo": bool(priority),
        "ticks": late.size,
        "late_us": _summary(late),
        "cycle_us": _summary(cycle),
        "page_faults": turns.faults,
        "allocations": turns.allocations,
        "histogram_us": EDGES.round(3).tolist(),
        "late_histogram": np.histogram(late, [*EDGES, np.inf])[0].tolist(),
        "cycle_histogram": np.histogram(cycle, [*EDGES, np.inf])[0].tolist(),
    }


def _summary(values: Array) -> dict[str, float]:
    p50, p99, p999 = np.quantile(values, [0.5, 0.99, 0.999])
    numbers = {"p50": p50, "p99": p99, "p99.9": p999, "max": values.max()}
    return {name: round(float(value), 2) for name, value in numbers.items()}


@contextmanager
def _nothing() -> Iterator[None]:
    yield


@contextmanager
def _busy_thread() -> Iterator[None]:
    """A thread that keeps the interpreter busy, as a planner or a plot would."""
    end = threading.Event()

    def work() -> None:
        numbers = list(range(1000))
        while not end.is_set():
            sum(number * number for number in numbers)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def _burn(parent: int) -> None:
    end_with(parent)
    while True:
        sum(number * number for number in range(10_000))


@contextmanager
def _busy_processes() -> Iterator[None]:
    """One busy process per core."""
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=_burn, args=(os.getpid(),), daemon=True)
        for _ in range(os.cpu_count() or 1)
    ]
    for process in processes:
        process.start()
    try:
        time.sleep(1.0)  # until they are past their imports
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()

"""One run of a case: from its number and its point to one row of numbers.

What a run does depends on case, number and point alone, so that it is the same to the last bit on
whichever worker and in whichever order it is made.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic, thread_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.apps.demo.task_run import EVERY, SETTLED, TaskRun, ready_task, simulated_arm
from projected_control.apps.reports.run_numbers import rms
from projected_control.apps.sweeps.code_digest import fingerprint
from projected_control.apps.sweeps.sweep_case import NUMBERS, SweepCase, unpack
from projected_control.control.events import Event, events_in
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Reference
from projected_control.errors import ProjectedControlError, SimulationFailed
from projected_control.native.simulation import SimulatedRows, run_in_pieces
from projected_control.runs.recorder import Recorder
from projected_control.runs.rows import Rows
from projected_control.runs.runner import Runner
from projected_control.runs.simulated import SimulatedArm
from projected_control.settings import build
from projected_control.settings.nodes import ControllerSettings, SimulatedArmSettings

Array = NDArray[np.float64]

DONE, LOST, DIVERGED = "done", "lost", "diverged"
REFUSED, RAISED, EXCEEDED = "refused", "raised", "exceeded its time"
PRUNED, DIED = "pruned", "died"
STATUSES = (DONE, LOST, DIVERGED, REFUSED, RAISED, EXCEEDED, PRUNED, DIED)
"""How a run ends: at its time; ended by the guard; left by the finite numbers or the constraint;
never begun, as the settings do not go together; by an error of the code; too slow; given up by a
pruner; with its process, several times."""

BY_CHANCE = (EXCEEDED, DIED)
"""Ends that depend on the computer, so that the same run may end otherwise another time."""

PIECE = 250  # ticks per call of C++, between which the clock is looked at

LIMITED = int(
    Event.EFFORT_LIMITED | Event.RATE_LIMITED | Event.POSITION_LIMIT | Event.VELOCITY_LIMIT
)

SMALL_FORCE, SMALL_ERROR = 0.1, 1e-4
"""RMS errors up to which growing means nothing [N or N·m, m or rad]."""

Prune = Callable[[int, float], bool]
"""Whether a run is given up, after so many checks, with this value so far."""


class RunPoint(NamedTuple):
    """A run that is asked for."""

    number: int  # of the run, from zero
    part: str  # Of which part of a study it is: ``sample``, ``map`` …
    values: tuple[float, ...]  # one number per axis of the case


@dataclass(frozen=True)
class RunRow:
    """What became of a run."""

    # number, part, values: as asked for.
    number: int
    part: str
    values: tuple[float, ...]
    status: str  # one of `STATUSES`
    reason: str = ""  # in words, why it did not end at its time
    events: int = 0  # A sum of the guard's `Event`s
    # Those of the tick in which it first sent something else than it was asked for.
    stopped_by: int = 0
    numbers: Mapping[str, float] = field(default_factory=dict)  # by name, see `NUMBERS`
    checks: tuple[float, ...] = ()  # what a pruner saw, in order
    # Seconds of processor, of which so many in C++; they differ from time to time.
    took: tuple[float, float] = field(default=(0.0, 0.0), compare=False)

    @property
    def failed(self) -> bool:
        """Whether it did not end at its time."""
        return self.status not in (DONE, PRUNED)


class Bench(NamedTuple):
    """What runs of a case share in one thread: its settings, and paths that are planned."""

    case: SweepCase
    controller: ControllerSettings
    arm: SimulatedArmSettings
    paths: dict[str, Reference | None]


_kept = threading.local()

FREE = (
    *("gains.", "contact.", "force.proportional", "force.integral", "force.cutoff"),
    *("force.delay", "force.normal_damping"),
)
"""How parameters begin on which no path depends (test/test_sweep.py compares)."""

MOST_PATHS = 50  # paths that a worker keeps


def bench_of(packed: bytes) -> Bench:
    """The settings of a packed case, unpacked once per thread."""
    found: tuple[bytes, Bench] | None = getattr(_kept, "bench", None)
    if found is None or found[0] != packed:
        case = unpack(packed)
        found = packed, Bench(case, *case.base(), {})
        _kept.bench = found
    return found[1]


def run_points(packed: bytes, points: Sequence[RunPoint], prune: bytes = b"") -> list[RunRow]:
    """Make runs of a case, one after the other: what a worker does.

    Args:
        packed: The case.
        points: Which.
        prune: A packed pruner (see `searches`); empty for none.
    """
    bench = bench_of(packed)
    return [run_one(bench, point, prune) for point in points]


def run_one(bench: Bench, point: RunPoint, prune: bytes = b"") -> RunRow:
    """Make one run; whatever goes wrong is in its row."""
    began = thread_time()
    row = RunRow(point.number, point.part, point.values, RAISED)
    attempt = Attempt(bench, point)
    try:
        row = attempt.run(_pruner(prune, bench.case))
    except SimulationFailed as error:
        row = attempt.row(DIVERGED, str(error))
    except ProjectedControlError as error:
        row = replace(row, status=REFUSED, reason=str(error))
    except Exception as error:  # of the code, which the sweep must outlive
        row = replace(row, reason=f"{type(error).__name__}: {error}")
    return replace(row, took=(thread_time() - began, attempt.in_native))


def _pruner(packed: bytes, case: SweepCase) -> tuple[Prune, int, str] | None:
    if not packed:
        return None
    from projected_control.apps.sweeps.searches import unpack_pruner

    return unpack_pruner(packed, case)


class Attempt:
    """A run while it is made."""

    def __init__(self, bench: Bench, point: RunPoint) -> None:
        self.bench, self.point = bench, point
        self.in_native, self._done = 0.0, 0
        self._task: TaskRun | None = None
        self._events, self._stopped, self._limited = 0, 0, 0
        self._first_stop, self._stopped_by = float("nan"), 0
        self._checks: list[float] = []

    def settings(self) -> tuple[ControllerSettings, SimulatedArmSettings]:
        """Of controller and arm at this point."""
        ours, theirs = self.bench.case.changes(self.point.values)
        controller = self.bench.controller.changed(ours) if ours else self.bench.controller
        return controller, self.bench.arm.changed(theirs) if theirs else self.bench.arm

    def ready(self) -> tuple[Runner, Reference]:
        """What is run: built, at its start; raises where a node would see a force loop diverge."""
        controller, arm = self.settings()
        path = self._path(controller)
        ready = ready_task(self.bench.case.node, controller, arm, self._seed, path)
        if (force := ready[0].loop.controller.force) is not None:
            force.contact_loop().require_stable()
        return ready

    def _path(self, controller: ControllerSettings) -> Reference | None:
        """The path of the task, planned from where the arm starts nominally."""
        paths, values = self.bench.paths, controller.values()
        key = repr(sorted((n, v) for n, v in values.items() if not n.startswith(FREE)))
        if key not in paths:
            if len(paths) >= MOST_PATHS:
                paths.clear()
            loop = build.build_loop(self.bench.case.node, controller)
            state = build.build_plant(self.bench.arm).sense()
            loop.controller.hold(state.q, state.v)
            here = build.starting_point(controller, loop.controller.model)
            paths[key] = build.plan_task(controller, here, state.q.copy())
        return paths[key]

    def _seed(self, loop: ControlLoop, arm: SimulatedArm) -> None:
        """Noise of its own for every run, from the study's seed and the run's number."""
        seeds = np.random.SeedSequence([self.bench.case.seed, self.point.number]).generate_state(2)
        if arm.sensor is not None:
            arm.sensor = replace(arm.sensor, seed=int(seeds[0]))
        arm.motors = replace(arm.motors, seed=int(seeds[1]))

    @property
    def ticks(self) -> int:
        """How many a whole run has."""
        return max(round(self.bench.case.seconds * self.bench.controller.rate), EVERY)

    def run(self, prune: tuple[Prune, int, str] | None) -> RunRow:
        """Make it, and judge it."""
        runner, reference = self.ready()
        ticks, late = self.ticks, monotonic() + self.bench.case.time_limit
        kept = Rows.of(runner.loop, ticks // EVERY, runner.port)
        statistics = runner.statistics
        self._task = TaskRun(runner.loop, simulated_arm(runner), reference, kept, statistics)
        decide, checks, number = prune or (None, 1, "")
        piece = min(PIECE, max(ticks // (2 * checks), EVERY))
        for part in self._parts(runner, ticks, piece):
            self._look_at(part.rows)
            if part.failure:
                return self.row(DIVERGED, part.failure)
            if runner.lost:
                return self.row(LOST, runner.lost)
            if monotonic() > late and self._done < ticks:
                limit = self.bench.case.time_limit
                return self.row(EXCEEDED, f"it took more than {limit:g} s (time_limit)")
            due = self._done * checks // ticks > len(self._checks)
            if decide is not None and due and self._done < ticks:
                value = self.row(DONE).numbers[number]
                self._checks.append(value)
                if np.isfinite(value) and decide(len(self._checks), value):
                    return self.row(PRUNED, "it was worse than the runs before (design.pruner)")
        return self.row(DONE)

    def _parts(self, runner: Runner, ticks: int, piece: int) -> Iterator[SimulatedRows]:
        make = run_in_pieces if fingerprint()["runs"] == "native" else _tick_by_tick
        parts = make(runner, ticks, piece)
        while True:
            began = thread_time()
            part = next(parts, None)
            self.in_native += thread_time() - began
            if part is None:
                return
            yield part

    def _look_at(self, rows: Rows) -> None:
        """Count what the guard did, and keep every tenth row."""
        assert self._task is not None
        done, part = self._done, rows.kept
        kept, period = self._task.kept, self._task.loop.controller.period
        take = part[(np.arange(done, done + len(part)) + 1) % EVERY == 0]
        have = int(kept.counters[1])
        kept.numbers[have : have + len(take)] = take
        kept.counters[:] = have + len(take)
        events, actions = rows.column("events").astype(np.int64), rows.column("action")
        self._events |= int(np.bitwise_or.reduce(events)) if len(events) else 0
        stops = np.flatnonzero(actions > 0.0)
        if stops.size and not self._stopped:
            self._first_stop = period * (done + int(stops[0]))
            self._stopped_by = int(events[stops[0]])
        self._stopped += stops.size
        settled = period * np.arange(done, done + len(part)) >= self._settled
        self._limited += int(np.count_nonzero(events[settled] & LIMITED))
        self._done += len(part)

    @property
    def _settled(self) -> float:
        return min(SETTLED, 0.5 * self.bench.case.seconds)

    def row(self, status: str, reason: str = "") -> RunRow:
        """What there is of it."""
        numbers = dict.fromkeys(NUMBERS, float("nan"))
        numbers |= {"ended": 0.0, "stopped": float(self._stopped), "limited": float(self._limited)}
        numbers["first_stop"] = self._first_stop
        if self._task is not None:
            numbers["ended"] = self._done * self._task.loop.controller.period
            numbers |= self._judged(self._task)
        return RunRow(
            *self.point,
            status,
            reason,
            self._events,
            self._stopped_by,
            numbers,
            tuple(self._checks),
        )

    def _judged(self, task: TaskRun) -> dict[str, float]:
        samples, controller = task.fresh_samples(), task.loop.controller
        late = samples.times >= self._settled
        if late.sum() < 3 or not np.isfinite(samples.multipliers).all():
            return {}
        _, off = samples.force(controller, late)
        error = task.coordinates.difference(samples.desired[late], samples.theta[late])
        return {
            **samples.measures(controller, self._settled),
            "force_error_max": float(np.linalg.norm(off, axis=1).max()) if off.size else 0.0,
            "error_growth": max(_growth(off, SMALL_FORCE), _growth(error, SMALL_ERROR)),
        }


def _growth(errors: Array, small: float) -> float:
    """RMS of the last third of errors over that of the second third, or over what is small."""
    third = len(errors) // 3
    before, after = rms(errors[third : 2 * third]), rms(errors[2 * third :])
    return after / max(before, small)


def _tick_by_tick(runner: Runner, ticks: int, piece: int) -> Iterator[SimulatedRows]:
    """`run_in_pieces` where there is no native loop: the same numbers, slowly."""
    runner.open()
    done, failure = 0, ""
    while done < ticks and not (runner.lost or failure):
        runner.keepers, most = (), min(piece, ticks - done)
        kept = runner.keep(most)
        try:
            while len(kept.kept) < most and not runner.lost:
                runner.step()
        except SimulationFailed as error:
            failure = str(error)
        done += len(kept.kept)
        yield SimulatedRows(kept, failure)


def record_run(bench: Bench, point: RunPoint, recorder: Recorder) -> str:
    """Make a run again, tick by tick, and record it; why it ended early, empty if it did not."""
    attempt = Attempt(bench, point)
    runner, _ = attempt.ready()
    try:
        return runner.run(attempt.ticks, record=recorder).lost
    except SimulationFailed as error:
        return str(error)


def phrases(events: int) -> str:
    """Events in words."""
    return ", ".join(event.phrase for event in events_in(events))

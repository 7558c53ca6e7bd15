"""One run of the test of force control, and the numbers of it.

The force is what a sensor below the surface feels (`Plant.force_below`), never the controller's.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import thread_time
from typing import Any, NamedTuple

import numpy as np

from projected_control.apps.assess.force_cases import CASES, LAWS, PRESS, ForceCase
from projected_control.apps.demo.task_run import ready_task, simulated_arm
from projected_control.apps.sweeps.one_run import (
    DIVERGED,
    DONE,
    LOST,
    RAISED,
    REFUSED,
    RunPoint,
    RunRow,
)
from projected_control.apps.sweeps.varied_axis import Axis
from projected_control.arrays import Array
from projected_control.control.references import Constant, Reference
from projected_control.errors import ProjectedControlError, SimulationFailed
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import Moving
from projected_control.native.library import reason_against
from projected_control.native.simulation import run_in_pieces
from projected_control.resources import share_file
from projected_control.runs.rows import Rows
from projected_control.runs.runner import Runner
from projected_control.runs.simulated import SimulatedArm
from projected_control.settings import build
from projected_control.settings.build.plants import PLANT_SINGULAR_VALUE
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import FORCE
from projected_control.simulation.engines import BUILT_IN, make_plant

TABLE = 0.3
"""Height of the surface in config/seven_joints.yaml [m]."""

CONTACT = 0.05
"""Force below which nothing touches [N]."""

BAND, LEAST_BAND = 0.05, 0.5
"""Settled is within this share of a change of λ_d, and not less than so many newtons."""

STAYS = 0.1
"""For how long it has to be within that, up to the end, to have settled [s]."""

ABOUT = {
    "force_error_mean": ("mean absolute error", "N"),
    "force_error_max": ("largest error", "N"),
    "overshoot": ("overshoot", "N"),
    "settling": ("settling", "s"),
    "losses": ("contact losses", ""),
    "drift": ("drift along the path", "m"),
}
NUMBERS = tuple(ABOUT)
"""Numbers of a run, with title and unit."""


@dataclass(frozen=True)
class ForceTest:
    """The whole test, as workers get it."""

    engine: str
    seed: int
    repeats: int
    laws: tuple[str, ...]
    cases: tuple[str, ...]
    numbers: tuple[str, ...] = NUMBERS

    @property
    def packed(self) -> bytes:
        """For another process."""
        return pickle.dumps(self, protocol=4)

    @property
    def digest(self) -> str:
        """Of all that the numbers depend on beside the code."""
        return f"{self.engine} {self.seed} {self.repeats} {self.laws} {self.cases}"

    @property
    def axes(self) -> tuple[Axis, ...]:
        """What differs from run to run: law and case by number, and which of the repetitions."""
        counts = {"law": len(self.laws), "case": len(self.cases), "repetition": self.repeats}
        return tuple(Axis(name, 0.0, n - 1.0, whole=True) for name, n in counts.items())

    @property
    def points(self) -> tuple[tuple[float, ...], ...]:
        ranges = (range(len(self.laws)), range(len(self.cases)), range(self.repeats))
        return tuple(
            (float(law), float(case), float(k))
            for law in ranges[0]
            for case in ranges[1]
            for k in ranges[2]
        )

    @property
    def about(self) -> dict[str, str]:
        """What does not vary, for the table."""
        return {
            "engine": self.engine,
            "seed": str(self.seed),
            "laws": json.dumps({name: dict(LAWS[name].settings) for name in self.laws}),
            "cases": json.dumps(self.cases),
        }


class ForceCurve(NamedTuple):
    """A run, one line per tick."""

    time: Array  # [s]
    force: Array  # below the surface [N]
    wanted: Array  # λ_d [N]
    drift: Array  # of the tool from its path, along the surface [m]


def run_points(packed: bytes, points: Sequence[RunPoint], prune: bytes = b"") -> list[RunRow]:
    """Make runs of a test, one after the other: what a worker does."""
    test: ForceTest = pickle.loads(packed)
    return [_run_one(test, point) for point in points]


def _run_one(test: ForceTest, point: RunPoint) -> RunRow:
    began = thread_time()
    law, case, repetition = (int(value) for value in point.values)
    row, chosen = RunRow(*point, RAISED), CASES[test.cases[case]]
    try:
        curve, failure, lost = follow(test.laws[law], chosen, test.engine, test.seed, repetition)
        status = LOST if lost else (DIVERGED if failure else DONE)
        row = replace(row, status=status, reason=lost or failure, numbers=judge(curve, chosen))
    except SimulationFailed as error:
        row = replace(row, status=DIVERGED, reason=str(error))
    except ProjectedControlError as error:
        row = replace(row, status=REFUSED, reason=str(error))
    except Exception as error:  # of the code, which the test must outlive
        row = replace(row, reason=f"{type(error).__name__}: {error}")
    return replace(row, took=(thread_time() - began, 0.0))


def ready(
    law: str, case: ForceCase, engine: str, seed: int, repetition: int
) -> tuple[Runner, Reference]:
    """A runner about to begin: the arm of seven joints with the parts of config/real.yaml."""
    layers = Layers.read(
        [share_file("config", name) for name in ("seven_joints.yaml", "real.yaml")]
    )
    begin = [0.45, -0.15] if case.shape != "circle" else [0.55, 0.0]
    path: dict[str, Any] = {
        "reference.along": ["tool.y"],
        "reference.centre": [0.0],
        "reference.size": [0.3],
    }
    if case.shape == "circle":
        path = {
            "reference.along": ["tool.x", "tool.y"],
            "reference.centre": [0.45, 0.0],
            "reference.radius": 0.1,
        }
    own = {
        **LAWS[law].settings,
        **path,
        **LAWS[law].told(case.stiffness),
        "reference.kind": case.shape or "line",
        "reference.speed": case.speed or 0.1,
        "reference.repeats": 2,
        "limits.residual": 0.05,
        "residual_tolerance": 0.05,
    }
    theirs = {
        "simulation.engine": engine,
        "simulation.step": 2.5e-4,
        "contact.stiffness": [case.stiffness],
        "constraint.one_sided": True,
        "simulation.coordinates": ["tool.x", "tool.y", "lean_x", "lean_y"],
        "simulation.values": [*begin, 0.0, 0.0],
    }
    controller = layers.on_top(own, f"the case {case.name}").controller(FORCE)
    arm = layers.on_top(theirs, f"the case {case.name}").arm()
    exact = arm.changed({"encoder.resolution": [0.0]})  # of the place from which a path is planned
    runner, reference = ready_task(FORCE, controller, exact)
    port = simulated_arm(runner)
    port.encoders = arm.encoder
    if case.above:
        above = {
            "simulation.touches": False,
            "simulation.coordinates": ["tool.x", "tool.y", "tool.z", "lean_x", "lean_y"],
            "simulation.values": [*begin, TABLE + case.above, 0.0, 0.0],
        }
        port.start_at(build.build_plant(arm.changed(above)).truth.q)
    if case.motion is not None:
        port = moved(port, case.motion, engine)
    seeds = np.random.SeedSequence([seed, repetition]).generate_state(2)
    if port.sensor is not None:
        port.sensor = replace(port.sensor, seed=int(seeds[0]))
    port.motors = replace(port.motors, seed=int(seeds[1]))
    runner = Runner(runner.loop, port)
    if not case.shape:
        reference = Constant(reference.at(0.0).value)
        runner.loop.set_reference(reference)
    runner.loop.set_force_reference(case.wanted)
    return runner, reference


def moved(port: SimulatedArm, motion: Reference, engine: str) -> SimulatedArm:
    """The same arm on the same surface, which moves."""
    plant = port.plant
    assert plant.model.constraint is not None
    driven = Moving(plant.model.constraint, motion)
    model = ConstrainedArm(plant.model.arm, driven, tolerance=PLANT_SINGULAR_VALUE)
    made = make_plant(
        engine,
        model,
        plant.step_size,
        friction=plant.friction,
        surface=plant.surface,
        one_sided=[int(side) for side in plant.contacts.side],
        stops=plant.terms.stops.copy(),
    )
    q = port.truth.q
    return SimulatedArm(
        made, q, period=port.period, sensor=port.sensor, encoders=port.encoders, motors=port.motors
    )


def follow(
    law: str, case: ForceCase, engine: str, seed: int = 0, repetition: int = 0
) -> tuple[ForceCurve, str, str]:
    """Make a run: its curve, why the simulation failed, why the guard ended it."""
    runner, reference = ready(law, case, engine, seed, repetition)
    ticks = round(case.seconds / runner.loop.controller.period)
    if engine == BUILT_IN and not reason_against():
        parts = list(run_in_pieces(runner, ticks, ticks))
        rows, failure = parts[0].rows, parts[0].failure
        force = rows.column("true_multipliers")[:, 0]  # this surface has no mass
    else:
        rows, failure, force = _tick_by_tick(runner, ticks)
    return _curve(runner, rows, force, case, reference), failure, runner.lost


def _tick_by_tick(runner: Runner, ticks: int) -> tuple[Rows, str, Array]:
    runner.open()
    kept, below, failure = runner.keep(ticks), [], ""
    try:
        while len(kept.kept) < ticks and not runner.lost:
            runner.step()
            below.append(float(simulated_arm(runner).plant.force_below[0]))
    except SimulationFailed as error:
        failure = str(error)
    return kept, failure, np.array(below[: len(kept.kept)])


def _curve(
    runner: Runner, rows: Rows, force: Array, case: ForceCase, reference: Reference
) -> ForceCurve:
    time = rows.column("stamp")
    probe = simulated_arm(runner).plant.model.arm.twin()
    coordinates = runner.loop.controller.model.coordinates
    assert coordinates is not None
    along = [coordinates.names.index(name) for name in ("tool.x", "tool.y")]
    still, q = np.zeros(probe.n), rows.column("true_q")
    drift = np.zeros(time.size)
    every = 10  # as often as a path has to be looked at
    for i in range(0, time.size, every):
        value = coordinates.value(probe.update(q[i], still))
        away = coordinates.difference(reference.at(time[i]).value, value)[along]
        drift[i : i + every] = float(np.linalg.norm(away))
    wanted = np.array([case.wanted.at(t).value[0] for t in time])
    return ForceCurve(time, force[: time.size], wanted, drift)


def judge(curve: ForceCurve, case: ForceCase) -> dict[str, float]:
    """The numbers of a run; NaN where it has none, and infinite where it did not settle."""
    change = abs(case.force[-1][1] - PRESS) or PRESS
    settles = len(case.force) > 1 or case.above > 0.0 or bool(case.rises)
    begin = case.rises[1][0] if case.rises else case.changes
    sign = 1.0 if case.force[-1][1] >= case.force[0][1] else -1.0
    return judge_curve(curve, case.changes, begin if settles else None, sign * change)


def judge_curve(
    curve: ForceCurve, judged: float, begin: float | None, change: float
) -> dict[str, float]:
    """The numbers of a curve.

    Args:
        curve: What was felt.
        judged: From when on errors count [s].
        begin: When the change began after which it is to settle [s]; None where there is none.
        change: How large it was [N].
    """
    late = curve.time >= judged
    if late.sum() < 3 or not np.isfinite(curve.force).all():
        return dict.fromkeys(NUMBERS, float("nan"))
    off = (curve.force - curve.wanted)[late]
    touched = np.flatnonzero(curve.force > CONTACT)
    free = curve.force[touched[0] :] <= CONTACT if touched.size else np.zeros(0, dtype=bool)
    losses = int(np.count_nonzero(np.diff(free.astype(int)) == 1))
    settling = overshoot = float("nan")
    if begin is not None:
        outside = np.flatnonzero(np.abs(off) > max(BAND * abs(change), LEAST_BAND))
        last = float(curve.time[late][outside[-1]]) if outside.size else begin
        stays = curve.time[-1] - last >= STAYS
        settling = max(last - begin, 0.0) if stays else float("inf")
        overshoot = max(float((np.sign(change) * off).max()), 0.0)
    return {
        "force_error_mean": float(np.abs(off).mean()),
        "force_error_max": float(np.abs(off).max()),
        "overshoot": overshoot,
        "settling": settling,
        "losses": float(losses),
        "drift": float(curve.drift[late].max()),
    }

"""Runs a case, in C++ where that can be, and keeps what happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from projected_control.apps.console.progress import Progress, silent
from projected_control.apps.experiments.case import Case
from projected_control.arrays import Array
from projected_control.control.loop import ControlLoop
from projected_control.errors import InvalidValue, SimulationFailed
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import Constraint
from projected_control.model.dynamics import Problem, projected
from projected_control.native.engine import NATIVE, NUMBA, wanted_engine
from projected_control.native.library import native_loop, reason_against
from projected_control.native.simulation import NativeSimulation, SimulatedRows
from projected_control.runs.runner import Runner
from projected_control.runs.simulated import SimulatedArm
from projected_control.simulation import TABLEAUX, Plant

PLANT_TOLERANCE = 1e-6
"""Singular values below which the simulated constraint loses a row. Smaller than a controller's,
so that no stage of an integration step falls into the gap that this tears."""

PROGRESS_SAMPLES = 250
"""Samples from one report of the progress to the next, a small part of a second."""


@dataclass(frozen=True)
class CaseRun:
    """What happened in a case, one row per sample (N of them)."""

    case: Case  # what was run
    time: Array  # N [s]
    # q, v, acceleration: N × n [rad or m, and per second, per second²].
    q: Array
    v: Array
    acceleration: Array
    effort: Array  # applied from this sample on, N × n [N·m or N]
    multipliers: Array  # λ, N × m [N or N·m]
    constraint_force: Array  # F = Aᵀλ, N × n [N·m or N]
    residual: Array  # ‖Φ‖, N [m or rad]
    energy: Array  # kinetic and potential, N [J]
    work: Array  # done on the arm since the start, N [J]
    rank: NDArray[np.int64]  # rank of A, N
    # What a guard noticed, N sums of its events; zeros where there is none.
    events: NDArray[np.int64]
    failure: str | None = None  # why the run ended early; None if it did not

    @property
    def residual_max(self) -> float:
        """Largest ‖Φ‖ [m or rad]."""
        return float(self.residual.max())

    @property
    def energy_drift(self) -> Array:
        """E − E(0) − work, N [J]; zero in an exact integration."""
        return self.energy - self.energy[0] - self.work

    @property
    def energy_error(self) -> float:
        """Largest magnitude of the energy drift [J]."""
        return float(np.abs(self.energy_drift).max())


@runtime_checkable
class HasLoop(Protocol):
    """A drive that is a control loop."""

    def loop(self, arm: Arm, constraint: Constraint, period: float) -> ControlLoop:
        """The loop, on an arm of its own."""


def simulate(case: Case, progress: Progress = silent) -> CaseRun:
    """Run a case.

    Raises:
        InvalidValue: Where the start is not on the constraint.
        SimulationFailed: Where the arm left the constraint or the finite numbers.
    """
    run = attempt(case, progress)
    if run.failure is not None:
        raise SimulationFailed(run.failure)
    return run


def attempt(case: Case, progress: Progress = silent) -> CaseRun:
    """Run a case as far as it goes; the result says why it ended if it ended early."""
    arm = case.arm.load()
    plant = Plant(
        ConstrainedArm(arm, case.constraint, tolerance=PLANT_TOLERANCE),
        case.sample / case.steps_per_sample,
        friction=case.friction,
        tableau=TABLEAUX[case.tableau],
        correct_velocity=case.correct_velocity,
    )
    hardware = SimulatedArm(plant, case.q0, case.v0, period=case.sample)
    progress(case.name, 0.0)
    done = _natively(case, hardware, arm.twin()) or _run(case, hardware, arm.twin(), progress)
    hardware.close()
    progress(case.name, 1.0)
    failure = f"{case.name}: {done.failure}" if done.failure else None
    if not len(done.rows.kept):
        raise SimulationFailed(failure)
    run = _case_run(case, done, failure)
    _begin_under_effort(plant, run)
    return run


def _natively(case: Case, hardware: SimulatedArm, arm: Arm) -> SimulatedRows | None:
    """Run a case in C++; None where Python has to do it, or shall."""
    engine = wanted_engine()
    if engine == NUMBA or not isinstance(case.drive, HasLoop):
        return None
    if engine == NATIVE:
        native_loop()  # asked for by name: say why not
    elif reason_against():
        return None
    loop = case.drive.loop(arm, case.constraint, case.sample)
    Runner(loop, hardware).open()
    try:
        simulation = NativeSimulation(loop, hardware)
    except InvalidValue:
        if engine == NATIVE:
            raise
        return None
    return simulation.run(case.samples + 1)


def _run(case: Case, hardware: SimulatedArm, arm: Arm, progress: Progress) -> SimulatedRows:
    """Run a case tick by tick."""
    ticks = case.samples + 1
    step, rows = case.drive.bind(hardware, arm, case.constraint, case.sample, ticks)
    for k in range(ticks):
        try:
            step()
        except SimulationFailed as error:
            return SimulatedRows(rows, str(error))
        if k % PROGRESS_SAMPLES == 0:
            progress(case.name, k / case.samples)
    return SimulatedRows(rows)


def _case_run(case: Case, done: SimulatedRows, failure: str | None) -> CaseRun:
    part = done.rows.column
    return CaseRun(
        case=case,
        # Without the rounding of a running sum.
        time=np.asarray(np.arange(len(done.rows.kept)) * case.sample, dtype=np.float64),
        q=part("true_q"),
        v=part("true_v"),
        acceleration=part("true_acceleration"),
        effort=part("effort"),
        multipliers=part("true_multipliers"),
        constraint_force=part("true_constraint_force"),
        residual=part("true_residual"),
        energy=part("true_energy"),
        work=part("true_work_done"),
        rank=part("true_rank").astype(np.int64),
        events=part("events").astype(np.int64),
        failure=failure,
    )


def _begin_under_effort(plant: Plant, run: CaseRun) -> None:
    """Give the first state, just reset, q̈, F and λ of the first effort instead of none."""
    plant.reset(run.case.q0, run.case.v0)
    load = run.effort[0] + plant.friction.effort(run.v[0])
    solution = projected(Problem.of(plant.model, load))
    run.acceleration[0] = solution.acceleration
    run.multipliers[0] = solution.multipliers
    run.constraint_force[0] = solution.constraint_force

"""Runs a case and keeps what happened."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from projected_control.apps.experiments.case import Case, Sent
from projected_control.apps.experiments.native_run import Run, run_natively
from projected_control.apps.experiments.progress import Progress, silent
from projected_control.errors import SimulationFailed
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.dynamics import Problem, projected
from projected_control.runs.simulated import SimulatedArm
from projected_control.simulation import TABLEAUX, Plant, PlantState

Array = NDArray[np.float64]

PLANT_TOLERANCE = 1e-6
"""Singular values below which the simulated constraint loses a row. Smaller than a controller's,
so that no stage of an integration step falls into the gap that this tears."""

PROGRESS_SAMPLES = 250
"""Samples from one report of the progress to the next, a small part of a second."""


@dataclass(frozen=True)
class Recording:
    """What happened, one row per sample (N of them).

    Attributes:
        case: What was run.
        time: N [s].
        q, v, acceleration: N × n [rad or m, and per second, per second²].
        effort: Applied from this sample on, N × n [N·m or N].
        multipliers: λ, N × m [N or N·m].
        constraint_force: F = Aᵀλ, N × n [N·m or N].
        residual: ‖Φ‖, N [m or rad].
        energy: Kinetic and potential, N [J].
        work: Done on the arm since the start, N [J].
        rank: Rank of A, N.
        events: What a guard noticed, N sums of its events; zeros where there is none.
        failure: Why the run ended early; None if it did not.
    """

    case: Case
    time: Array
    q: Array
    v: Array
    acceleration: Array
    effort: Array
    multipliers: Array
    constraint_force: Array
    residual: Array
    energy: Array
    work: Array
    rank: NDArray[np.int64]
    events: NDArray[np.int64]
    failure: str | None = None

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


def simulate(case: Case, progress: Progress = silent) -> Recording:
    """Run a case.

    Raises:
        InvalidValue: Where the start is not on the constraint.
        SimulationFailed: Where the arm left the constraint or the finite numbers.
    """
    recording = attempt(case, progress)
    if recording.failure is not None:
        raise SimulationFailed(recording.failure)
    return recording


def attempt(case: Case, progress: Progress = silent) -> Recording:
    """Run a case as far as it goes; the recording says why it ended if it ended early."""
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
    run = run_natively(case, hardware, arm.twin()) or _run(case, hardware, arm.twin(), progress)
    states, sent, failure = run
    hardware.close()
    progress(case.name, 1.0)
    if not states:
        raise SimulationFailed(failure)
    plant.reset(case.q0, case.v0)
    states[0] = _under(plant, states[0], sent[0].effort)
    return _recording(case, states, sent, failure)


def _run(case: Case, hardware: SimulatedArm, arm: Arm, progress: Progress) -> Run:
    """Run a case tick by tick."""
    step = case.drive.bind(hardware, arm, case.constraint, case.sample)
    states: list[PlantState] = []
    sent: list[Sent] = []
    for k in range(case.samples + 1):
        try:
            sent.append(step())
        except SimulationFailed as error:
            return Run(states, sent, f"{case.name}: {error}")
        states.append(hardware.truth)
        if k % PROGRESS_SAMPLES == 0:
            progress(case.name, k / case.samples)
    return Run(states, sent, None)


def _under(plant: Plant, state: PlantState, effort: Array) -> PlantState:
    """The state just reset, with q̈, F and λ of the first effort instead of none."""
    load = effort + plant.friction.effort(state.v)
    solution = projected(Problem.of(plant.model, load))
    return state._replace(
        acceleration=solution.acceleration,
        multipliers=solution.multipliers,
        constraint_force=solution.constraint_force,
    )


def _recording(
    case: Case, states: list[PlantState], sent: list[Sent], failure: str | None
) -> Recording:
    columns = {
        name: np.array([getattr(state, name) for state in states]) for name in PlantState._fields
    }
    columns["time"] = np.arange(len(states)) * case.sample  # without the rounding of a running sum
    effort, events = (np.array(column) for column in zip(*sent, strict=True))
    return Recording(case=case, effort=effort, events=events, failure=failure, **columns)

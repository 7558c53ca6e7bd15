"""Runs a case with plant and loop in C++, where the engine asked for is not numba."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from projected_control.apps.experiments.case import Case, Sent
from projected_control.control.loop import ControlLoop
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constraints import Constraint
from projected_control.native.engine import NATIVE, NUMBA, wanted_engine
from projected_control.native.library import native_loop, reason_against
from projected_control.native.simulation import NativeSimulation
from projected_control.runs.runner import Runner
from projected_control.runs.simulated import SimulatedArm
from projected_control.simulation import PlantState


class Run(NamedTuple):
    """What a run gave: states, what was sent at each, and why it ended early (None if not)."""

    states: list[PlantState]
    sent: list[Sent]
    failure: str | None


@runtime_checkable
class HasLoop(Protocol):
    """A drive that is a control loop."""

    def loop(self, arm: Arm, constraint: Constraint, period: float) -> ControlLoop:
        """The loop, on an arm of its own."""


def run_natively(case: Case, hardware: SimulatedArm, arm: Arm) -> Run | None:
    """Run a case in C++; None where Python has to do it, or shall."""
    engine = wanted_engine()
    if engine == NUMBA or not isinstance(case.drive, HasLoop):
        return None
    if engine == NATIVE:
        native_loop()  # asked for by name: say why not
    elif reason_against():
        return None
    loop = case.drive.loop(arm, case.constraint, case.sample)
    runner = Runner(loop, hardware)
    runner.open()
    try:
        simulation = NativeSimulation(loop, hardware)
    except InvalidValue:
        if engine == NATIVE:
            raise
        return None
    record = simulation.run(case.samples + 1)
    failed = bool(record.failure)
    c = record.columns
    ticks = len(record.rows) - failed  # what was sent last was never carried out
    states = [
        PlantState(
            float(c.time[i]),
            c.q[i],
            c.v[i],
            c.acceleration[i],
            c.multipliers[i],
            c.constraint_force[i],
            float(c.residual[i]),
            float(c.energy[i]),
            float(c.work_done[i]),
            int(c.rank[i]),
        )
        for i in range(ticks)
    ]
    sent = [Sent(c.effort[i], int(c.events[i])) for i in range(ticks)]
    return Run(states, sent, f"{case.name}: {record.failure}" if failed else None)

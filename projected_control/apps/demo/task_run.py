"""A task on the simulated arm in process, and the numbers by which it is judged.

They are taken from the simulated arm's own state, which no sensor blurs: what force the surface
really feels, where the tool really is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control.control.loop import ControlLoop, Tick
from projected_control.control.references import Reference
from projected_control.errors import ProjectedControlError
from projected_control.model.coordinates import Coordinates
from projected_control.model.function_kinds import AxisCosine
from projected_control.ports import SimulatedArm, run
from projected_control.ports.recorder import Recorder
from projected_control.ports.statistics import Statistics
from projected_control.settings import build
from projected_control.settings.nodes import ControllerSettings, SimulatedArmSettings

Array = NDArray[np.float64]

SETTLED = 1.0
"""Time from which on the numbers count [s]."""

MOVED = 1e-3
"""Travel from which on a coordinate counts as moved by the task [m or rad]."""

EVERY = 5
"""Ticks per recorded state."""


@dataclass(frozen=True)
class TaskRun:
    """What happened, one line per recorded state, from the beginning.

    Attributes:
        loop, arm: What ran.
        reference: What was to be followed.
        times: [s], N.
        q: True joint positions, N × n.
        theta, desired: True coordinates and their reference, N × k.
        multipliers: True λ, N × m.
        wanted: λ_d, N × m.
        effort_ratio: Largest effort over its limit, N.
        residual: ‖Φ‖ of the simulated arm, N.
        statistics: What the loop itself counted.
    """

    loop: ControlLoop
    arm: SimulatedArm
    reference: Reference
    times: Array
    q: Array
    theta: Array
    desired: Array
    multipliers: Array
    wanted: Array
    effort_ratio: Array
    residual: Array
    statistics: Statistics

    @property
    def coordinates(self) -> Coordinates:
        """What was moved."""
        coordinates = self.loop.controller.model.coordinates
        assert coordinates is not None
        return coordinates

    @property
    def error(self) -> Array:
        """θ_d − θ, N × k."""
        return self.coordinates.difference(self.desired, self.theta)

    def numbers(self, task: str) -> dict[str, Any]:
        """The numbers of the run after its first second, in SI units."""
        if self.statistics.lost:
            raise ProjectedControlError(f"the task {task} ended early: {self.statistics.lost}")
        late = self.times >= SETTLED
        if not late.any():
            raise ProjectedControlError(f"a task is judged after {SETTLED:g} s; let it run longer")
        error, members = self.error[late], self.coordinates.members
        lengths = [i for i, member in enumerate(members) if member.unit == "m"]
        tilts = [i for i, m in enumerate(members) if isinstance(m.function, AxisCosine)]
        moved = [i for i in range(len(members)) if np.ptp(self.desired[late, i]) > MOVED]
        force = self.loop.controller.force
        rows = np.flatnonzero(force.controlled) if force is not None else np.arange(0)
        wanted = self.wanted[late][:, rows]
        off = self.multipliers[late][:, rows] - wanted
        model = self.loop.controller.model
        return {
            "task": task,
            "arm": model.arm.name,
            "joints": model.n,
            "force_wanted": _rms(wanted),
            "force_error_rms": _rms(off),
            "lateral_drift": _largest(error[:, lengths]),
            "tilt_error": _largest(error[:, tilts]),
            "tracking_rms": _rms(error[:, moved]),
            "residual_max": float(self.residual[late].max()),
            "torque_peak_ratio": float(self.effort_ratio[late].max()),
        }


def run_task(
    node: str,
    controller: ControllerSettings,
    arm: SimulatedArmSettings,
    ticks: int,
    prepare: Callable[[ControlLoop, SimulatedArm], None] | None = None,
    record: Recorder | None = None,
) -> TaskRun:
    """Let a controller do its task on the simulated arm.

    Args:
        node: Which controller.
        controller, arm: Settings.
        ticks: How many.
        prepare: Changes what runs before it runs.
        record: Keeps every tick.
    """
    plant = build.build_plant(arm)
    loop = build.build_loop(node, controller)
    loop.warm_up()
    if prepare is not None:
        prepare(loop, plant)
    state = plant.read()
    loop.controller.hold(state.q, state.v)
    model = loop.controller.model
    here = build.starting_point(controller, model)
    reference = build.first_reference(controller, loop, here, state.q.copy())
    loop.set_reference(reference)
    rows: list[tuple[Any, ...]] = []
    limit = loop.guard.limits.effort

    def look(number: int, tick: Tick) -> None:
        if number % EVERY:
            return
        truth, force = plant.truth, loop.controller.force
        wanted = np.zeros(model.m) if force is None else force.desired.copy()
        ratio = np.max(np.abs(tick.report.effort) / limit)
        rows.append((truth.time, truth.q, truth.multipliers, wanted, ratio, truth.residual))

    statistics = run(loop, plant, ticks, look, record)
    times, q, multipliers, wanted, ratio, residual = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    assert model.coordinates is not None
    probe = plant.plant.model.arm.twin()
    still = np.zeros(model.n)
    theta = np.array([model.coordinates.value(probe.update(each, still)) for each in q])
    desired = np.array([reference.at(t).value for t in times])
    return TaskRun(
        loop,
        plant,
        reference,
        times,
        q,
        theta,
        desired,
        multipliers,
        wanted,
        ratio,
        residual,
        statistics,
    )


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(np.sum(values**2, axis=1)))) if values.size else 0.0


def _largest(values: Array) -> float:
    return float(np.linalg.norm(values, axis=1).max()) if values.size else 0.0

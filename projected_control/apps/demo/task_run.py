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

from projected_control.apps.demo.judging import Samples, is_sampled
from projected_control.apps.experiments.progress import BUILDING, Progress, each_percent, silent
from projected_control.control.loop import ControlLoop, Tick
from projected_control.control.references import Reference
from projected_control.model.coordinates import Coordinates
from projected_control.runs.recorder import Recorder
from projected_control.runs.runner import run
from projected_control.runs.simulated import SimulatedArm
from projected_control.runs.statistics import Statistics
from projected_control.settings import build
from projected_control.settings.nodes import ControllerSettings, SimulatedArmSettings

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TaskRun:
    """What happened, one line per sample, from the beginning.

    Attributes:
        loop, arm: What ran.
        reference: What was to be followed.
        q: True joint positions, N × n.
        samples: What the run is judged by.
        statistics: What the loop itself counted.
    """

    loop: ControlLoop
    arm: SimulatedArm
    reference: Reference
    q: Array
    samples: Samples
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
        return self.coordinates.difference(self.samples.desired, self.samples.theta)

    def numbers(self, task: str) -> dict[str, Any]:
        """The numbers of the run after its first second, in SI units."""
        return self.samples.numbers(task, self.loop.controller, self.statistics.lost)


def run_task(
    node: str,
    controller: ControllerSettings,
    arm: SimulatedArmSettings,
    ticks: int,
    prepare: Callable[[ControlLoop, SimulatedArm], None] | None = None,
    record: Recorder | None = None,
    progress: Progress = silent,
) -> TaskRun:
    """Let a controller do its task on the simulated arm.

    Args:
        node: Which controller.
        controller, arm: Settings.
        ticks: How many.
        prepare: Changes what runs before it runs.
        record: Keeps every tick.
        progress: Told how far it is.
    """
    progress(BUILDING, 0.0)
    told = each_percent(ticks, progress)
    loop = build.build_loop(node, controller)
    plant = build.build_plant(arm)
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

    progress(BUILDING, 1.0)

    def look(number: int, tick: Tick) -> None:
        told(number, tick)
        if not is_sampled(number):
            return
        truth, force = plant.truth, loop.controller.force
        wanted = np.zeros(model.m) if force is None else force.desired.copy()
        ratio = np.max(np.abs(tick.report.effort) / limit)
        rows.append((truth.time, truth.q, truth.multipliers, wanted, ratio, truth.residual))

    statistics = run(loop, plant, ticks, look, record)
    times, q, multipliers, wanted, ratio, residual = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    theta = coordinates_at(loop, plant, q)
    desired = np.array([reference.at(t).value for t in times])
    samples = Samples(times, theta, desired, multipliers, wanted, ratio, residual)
    return TaskRun(loop, plant, reference, q, samples, statistics)


def coordinates_at(loop: ControlLoop, plant: SimulatedArm, q: Array) -> Array:
    """The coordinates of a loop at joint positions of the arm itself, N × k."""
    coordinates, probe = loop.controller.model.coordinates, plant.plant.model.arm.twin()
    assert coordinates is not None
    still = np.zeros(q.shape[1])
    return np.array([coordinates.value(probe.update(each, still)) for each in q])

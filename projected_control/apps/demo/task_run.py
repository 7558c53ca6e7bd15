"""A task on the simulated arm, in process or by nodes, and how it is judged.

It is judged by what the simulated arm itself did, which no sensor blurs: what force the surface
really felt, where the tool really was. In process rows have it; of nodes it comes by topics, the
simulated arm's ~/truth beside the controller's ~/state. Where the tool should have been, which
force was wanted and which efforts were sent come from the controller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control.apps.console.progress import BUILDING, Progress, each_percent, silent
from projected_control.apps.reports.run_numbers import rms
from projected_control.arrays import Array
from projected_control.control.controllers import Controller
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Reference
from projected_control.errors import ProjectedControlError
from projected_control.model.coordinates import Coordinates
from projected_control.model.function_kinds import AxisCosine
from projected_control.runs.recorder import Recorder
from projected_control.runs.rows import Rows
from projected_control.runs.runner import Runner
from projected_control.runs.simulated import SimulatedArm
from projected_control.runs.statistics import Statistics
from projected_control.settings import build
from projected_control.settings.nodes import ControllerSettings, SimulatedArmSettings

Series = tuple[Array, dict[str, Array]]
"""Times, N [s], and every quantity over them, N each, by name."""

SETTLED = 1.0
"""Time from which on the numbers count [s]."""

MOVED = 1e-3
"""Travel from which on a coordinate counts as moved by the task [m or rad]."""

EVERY = 10
"""Ticks per sample, the last of which is kept, as on the nodes' topics ~/state and ~/truth."""


@dataclass(frozen=True)
class Samples:
    """A run, one line per sample, from its beginning."""

    times: Array  # [s], N
    # theta, desired: true coordinates and their reference, N × k.
    theta: Array
    desired: Array
    multipliers: Array  # true λ, N × m
    wanted: Array  # λ_d, N × m
    effort_ratio: Array  # largest effort over its limit, N
    residual: Array  # ‖Φ‖ of the simulated arm, N

    def numbers(self, task: str, controller: Controller, lost: str = "") -> dict[str, Any]:
        """The numbers of the run after its first second, in SI units.

        Args:
            task: Its name.
            controller: That did it, for its coordinates and its force.
            lost: Why it ended early; empty where it did not.
        """
        if lost:
            raise ProjectedControlError(f"the task {task} ended early: {lost}")
        if not (self.times >= SETTLED).any():
            raise ProjectedControlError(f"a task is judged after {SETTLED:g} s; let it run longer")
        model = controller.model
        about = {"task": task, "arm": model.arm.name, "joints": model.n}
        return about | self.measures(controller, SETTLED)

    def measures(self, controller: Controller, settled: float) -> dict[str, float]:
        """The same of any part of a run, from a time on [s]."""
        late = self.times >= settled
        model = controller.model
        assert model.coordinates is not None
        members = model.coordinates.members
        error = model.coordinates.difference(self.desired[late], self.theta[late])
        lengths = [i for i, member in enumerate(members) if member.unit == "m"]
        tilts = [i for i, m in enumerate(members) if isinstance(m.function, AxisCosine)]
        moved = [i for i in range(len(members)) if np.ptp(self.desired[late, i]) > MOVED]
        wanted, off = self.force(controller, late)
        return {
            "force_wanted": rms(wanted),
            "force_error_rms": rms(off),
            "lateral_drift": _largest(error[:, lengths]),
            "tilt_error": _largest(error[:, tilts]),
            "tracking_rms": rms(error[:, moved]),
            "residual_max": float(self.residual[late].max()),
            "torque_peak_ratio": float(self.effort_ratio[late].max()),
        }

    def force(self, controller: Controller, which: NDArray[np.bool_]) -> tuple[Array, Array]:
        """λ_d of the controlled rows in some samples, and by how much λ is off."""
        force = controller.force
        rows = np.flatnonzero(force.controlled) if force is not None else np.arange(0)
        wanted = self.wanted[which][:, rows]
        return wanted, self.multipliers[which][:, rows] - wanted


def _largest(values: Array) -> float:
    return float(np.linalg.norm(values, axis=1).max()) if values.size else 0.0


FEWEST = 4
"""Samples between which something can be interpolated."""


@dataclass(frozen=True)
class TaskRun:
    """What happened, one row per sample, from the beginning."""

    # loop, arm: what ran.
    loop: ControlLoop
    arm: SimulatedArm
    reference: Reference  # what was to be followed
    kept: Rows  # what the ticks did
    statistics: Statistics  # what the loop itself counted

    @property
    def q(self) -> Array:
        """True joint positions, N × n."""
        return self.kept.column("true_q")

    @cached_property
    def samples(self) -> Samples:
        """What the run is judged by."""
        return self.fresh_samples()

    def fresh_samples(self) -> Samples:
        """The same of a run that goes on."""
        part, limit = self.kept.column, self.loop.guard.limits.effort
        times = part("stamp")
        own = times - part("path_lag")  # by its own clock, where the path has waited
        return Samples(
            times,
            coordinates_at(self.loop, self.arm, self.q),
            np.array([self.reference.at(t).value for t in own]),
            part("true_multipliers"),
            part("lambda_desired"),
            np.max(np.abs(part("effort"))[:, limit > 0.0] / limit[limit > 0.0], axis=1),
            part("true_residual"),
        )

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
    runner, reference = ready_task(node, controller, arm, prepare)
    progress(BUILDING, 1.0)
    kept = runner.keep(ticks // EVERY, EVERY)
    statistics = runner.run(ticks, told, record)
    return TaskRun(runner.loop, simulated_arm(runner), reference, kept, statistics)


def ready_task(
    node: str,
    controller: ControllerSettings,
    arm: SimulatedArmSettings,
    prepare: Callable[[ControlLoop, SimulatedArm], None] | None = None,
    path: Reference | None = None,
) -> tuple[Runner, Reference]:
    """A runner whose controller is about to do its task on the simulated arm.

    Args:
        node, controller, arm, prepare: See `run_task`.
        path: The path of the task, where it is planned already (see `build.plan_task`).
    """
    loop = build.build_loop(node, controller)
    plant = build.build_plant(arm)
    if prepare is not None:
        prepare(loop, plant)
    state = plant.sense()
    loop.controller.hold(state.q, state.v)
    here = build.starting_point(controller, loop.controller.model)
    reference = build.first_reference(controller, loop, here, state.q.copy(), path)
    loop.set_reference(reference)
    return Runner(loop, plant), reference


def simulated_arm(runner: Runner) -> SimulatedArm:
    """The simulated arm that a runner steps."""
    assert isinstance(runner.port, SimulatedArm)
    return runner.port


def coordinates_at(loop: ControlLoop, plant: SimulatedArm, q: Array) -> Array:
    """The coordinates of a loop at joint positions of the arm itself, N × k."""
    coordinates, probe = loop.controller.model.coordinates, plant.plant.model.arm.twin()
    assert coordinates is not None
    still = np.zeros(q.shape[1])
    return np.array([coordinates.value(probe.update(each, still)) for each in q])


def node_samples(state: Series, truth: Series, twin: TaskRun) -> Samples:
    """Put together what controller and arm told.

    Both tell every hundredth of a second. In lockstep they tell the same ticks; in real time the
    controller begins with any of them, and its reference is interpolated to the arm's instants.

    Args:
        state: Of the controller's topic ~/state: times, and quantities by name.
        truth: Of the simulated arm's topic ~/truth, in the same form.
        twin: The same task in process, for its model and its limits.
    """
    from scipy.interpolate import make_interp_spline  # takes long to load

    (told, controller), (times, arm) = state, truth
    told, first = np.unique(told, return_index=True)
    times, once = np.unique(times, return_index=True)
    if min(told.size, times.size) < FEWEST:
        raise ProjectedControlError(
            f"a task cannot be judged by {told.size} states of the controller and {times.size} of "
            "the simulated arm; let it run longer"
        )
    both = (times >= told[0] - 1e-9) & (times <= told[-1] + 1e-9)
    model = twin.loop.controller.model
    names = model.coordinates.names if model.coordinates is not None else ()

    def stacked(columns: dict[str, Array], keys: list[str], rows: NDArray[np.int64]) -> Array:
        found = [columns[key][rows] for key in keys]
        return np.stack(found, axis=1) if found else np.zeros((rows.size, 0))

    def at_times(keys: list[str], degree: int) -> Array:
        table = stacked(controller, keys, first)
        return np.asarray(make_interp_spline(told, table, k=degree)(times[both]))

    q = stacked(arm, list(model.arm.joint_names), once)[both]
    efforts = at_times([f"{joint}/effort" for joint in model.arm.joint_names], 1)
    return Samples(
        times[both],
        coordinates_at(twin.loop, twin.arm, q),
        at_times([f"{name}/desired" for name in names], 3),
        stacked(arm, [f"lambda_{row}" for row in range(model.m)], once)[both],
        at_times([f"lambda_{row}/desired" for row in range(model.m)], 1),
        np.max(np.abs(efforts) / twin.loop.guard.limits.effort, axis=1),
        arm["residual"][once][both],
    )

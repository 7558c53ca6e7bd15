"""What a task of nodes is judged by: the simulated arm's ~/truth beside the controller's ~/state.

Both tell every hundredth of a second. In lockstep they tell the same ticks; in real time the
controller begins with any of them, and its reference is interpolated to the arm's instants.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.apps.demo.judging import Samples
from projected_control.apps.demo.task_run import TaskRun, coordinates_at
from projected_control.errors import ProjectedControlError

Array = NDArray[np.float64]
Recording = tuple[Array, dict[str, Array]]

FEWEST = 4
"""Samples between which something can be interpolated."""


def node_samples(state: Recording, truth: Recording, twin: TaskRun) -> Samples:
    """Put together what controller and arm told.

    Args:
        state: Of the controller's topic ~/state: times, and quantities by name.
        truth: Of the simulated arm's topic ~/truth, likewise.
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

"""How a task is judged: by what the simulated arm itself did, which no sensor blurs.

What force the surface really felt and where the tool really was come from the arm; where the tool
should have been, which force was wanted and which efforts were sent come from the controller:
`task_run` puts both together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control.apps.reports.run_numbers import rms
from projected_control.arrays import Array
from projected_control.control.controllers import Controller
from projected_control.errors import ProjectedControlError
from projected_control.model.function_kinds import AxisCosine

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
    """A run, one line per sample, from its beginning.

    Attributes:
        times: [s], N.
        theta, desired: True coordinates and their reference, N × k.
        multipliers: True λ, N × m.
        wanted: λ_d, N × m.
        effort_ratio: Largest effort over its limit, N.
        residual: ‖Φ‖ of the simulated arm, N.
    """

    times: Array
    theta: Array
    desired: Array
    multipliers: Array
    wanted: Array
    effort_ratio: Array
    residual: Array

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

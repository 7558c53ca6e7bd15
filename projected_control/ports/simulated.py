"""The simulated arm as hardware: time passes when an effort is written."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue
from projected_control.ports.port import ArmState, Hardware
from projected_control.simulation.plant import Plant, PlantState
from projected_control.simulation.sensors import ForceSensor

Array = NDArray[np.float64]


class SimulatedArm(Hardware):
    """A plant that is read and moved like an arm.

    Args:
        plant: What moves.
        q0: Where it starts.
        v0: How fast; at rest unless given.
        period: Of the control loop [s]: a whole number of the plant's steps.
        sensor: What measures λ; an ideal one unless given.
        measures_force: False for an arm without a force sensor.
    """

    def __init__(
        self,
        plant: Plant,
        q0: ArrayLike,
        v0: ArrayLike | None = None,
        *,
        period: float | None = None,
        sensor: ForceSensor | None = None,
        measures_force: bool = True,
    ) -> None:
        self.plant = plant
        self.sensor = (sensor or ForceSensor()) if measures_force else None
        self._start = (q0, v0)
        steps = validate.positive("period", period or plant.step_size) / plant.step_size
        self.substeps = round(steps)
        if self.substeps < 1 or abs(steps - self.substeps) > 1e-9 * steps:
            raise InvalidValue(
                f"the loop's period must be a whole number of integration steps, got {period:g} s "
                f"with steps of {plant.step_size:g} s"
            )
        self.truth: PlantState = plant.reset(*self._start)

    def activate(self) -> None:
        self.truth = self.plant.reset(*self._start)
        if self.sensor is not None:
            self.sensor.reset()

    def read(self) -> ArmState:
        self.truth = state = self.plant.state
        measured = None if self.sensor is None else self.sensor.read(state.multipliers)
        return ArmState(state.q, state.v, measured, state.time)

    def write(self, effort: Array) -> None:
        for _ in range(self.substeps):
            self.plant.step(effort)

    def deactivate(self) -> None:
        """Nothing holds the simulated arm."""

"""The simulated arm as a port: time passes when an effort is written."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.control.state import RawState
from projected_control.errors import InvalidValue
from projected_control.model.linalg import matvec
from projected_control.ports.port import Port
from projected_control.simulation.plant import Plant, PlantState
from projected_control.simulation.sensors import ForceSensor

Array = NDArray[np.float64]


class SimulatedArm(Port):
    """A plant that is read and moved like an arm.

    Args:
        plant: What moves.
        q0: Where it starts.
        v0: How fast; at rest unless given.
        period: Period of the control loop [s]: a whole number of the plant's steps.
        sensor: What measures the constraint force; an ideal one unless given.
        measures_force: False for an arm without a force sensor.
        frame: Where the sensor sits; the constraint's own frame unless given.

    Attributes:
        basis: W at the sensor, 6 × m, where it is the same for every q; else None.
        truth: The plant's state at the last reading, with what no sensor shows.
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
        frame: str | None = None,
    ) -> None:
        self.plant = plant
        self.sensor = (sensor or ForceSensor()) if measures_force else None
        constraint = plant.model.constraint
        self.frame = frame or (None if constraint is None else constraint.frame)
        self.basis: Array | None = None
        if constraint is not None and self.frame and constraint.basis_is_constant(self.frame):
            basis = constraint.wrench_basis(plant.model.arm, self.frame)
            self.basis = np.ascontiguousarray(basis)
        self._start = (q0, v0)
        steps = validate.positive("period", period or plant.step_size) / plant.step_size
        self.substeps = round(steps)
        if self.substeps < 1 or abs(steps - self.substeps) > 1e-9 * steps:
            raise InvalidValue(
                f"the loop's period must be a whole number of integration steps, got {period:g} s "
                f"with steps of {plant.step_size:g} s"
            )
        self.truth: PlantState = plant.reset(*self._start)

    def open(self) -> RawState:
        self.reset()
        state = self.read()
        self.reset()
        return state

    def reset(self) -> None:
        """Back to the start."""
        self.truth = self.plant.reset(*self._start)
        if self.sensor is not None:
            self.sensor.reset()

    def read(self) -> RawState:
        self.truth = state = self.plant.state
        return RawState(state.q, state.v, state.time, self._measure(state))

    @property
    def measures(self) -> bool:
        """Whether readings come with a wrench."""
        constraint = self.plant.model.constraint
        return self.sensor is not None and self.frame is not None and constraint is not None

    def _measure(self, state: PlantState) -> Array | None:
        model = self.plant.model
        if self.sensor is None or self.frame is None or model.constraint is None:
            return None
        multipliers = self.sensor.read(state.multipliers)
        if self.basis is not None:
            wrench = np.empty(6)
            matvec(self.basis, multipliers, wrench)  # as kernels do: the same to the last bit
            return wrench
        return model.constraint.wrench(model.arm, self.frame, multipliers)

    def write(self, effort: Array) -> None:
        for _ in range(self.substeps):
            self.plant.step(effort)

    def hold(self, effort: Array) -> None:
        """Apply an effort while brakes hold the arm: forces answer, but time stands still."""
        self.plant.apply(effort)

    def close(self) -> None:
        """Nothing holds the simulated arm."""

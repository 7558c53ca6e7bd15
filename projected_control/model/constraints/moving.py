"""Constraints that are driven."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.model.arm import Arm
from projected_control.model.constraints.base import Constraint, Target
from projected_control.model.constraints.shapes import Shape
from projected_control.model.motion_tables import MotionTable

Array = NDArray[np.float64]


@runtime_checkable
class TabulatedMotion(Protocol):
    """What is known both as a function of time and as a table, such as a reference."""

    @property
    def table(self) -> MotionTable | None:
        """As numbers; None where there are none."""

    def at(self, time: float) -> Iterable[Array]:
        """Value, rate and acceleration at a time [s]."""


@dataclass(frozen=True)
class Travel:
    """x(t) = rate t + amplitude (sin(2π frequency t + phase) − sin(phase)), one number per row."""

    rate: Array  # [m/s or rad/s]
    amplitude: Array  # [m or rad]
    frequency: Array  # [Hz]
    phase: Array  # [rad]

    def at(self, time: float) -> Target:
        """x, ẋ and ẍ at a time [s]."""
        omega = 2.0 * np.pi * self.frequency
        angle = omega * time + self.phase
        return Target(
            self.rate * time + self.amplitude * (np.sin(angle) - np.sin(self.phase)),
            self.rate + self.amplitude * omega * np.cos(angle),
            -self.amplitude * omega**2 * np.sin(angle),
        )

    @property
    def table(self) -> MotionTable:
        """The same as numbers, for the compiled tick."""
        waves = [
            (i, a, 2.0 * np.pi * f, p)
            for i, (a, f, p) in enumerate(
                zip(self.amplitude, self.frequency, self.phase, strict=True)
            )
            if a != 0.0
        ]
        sines = np.array(waves, dtype=np.float64).reshape(-1, 4)
        table = MotionTable.of_sines(-self.amplitude * np.sin(self.phase), sines)
        table.coefficients[0, :, 1] = self.rate
        return table


class Moving(Constraint):
    """A constraint that is driven: Φ(q) = x(t), a rail that travels or a task that is imposed.

    Args:
        constraint: What moves.
        motion: x, ẋ, ẍ at a time [s], each one number per row: a reference such as `Sines` or
            `Waypoints`, which a compiled tick follows by itself, or any function of time, which
            Python is asked for in every tick.
    """

    def __init__(
        self, constraint: Constraint, motion: Callable[[float], Target] | TabulatedMotion
    ) -> None:
        self.constraint, self.motion = constraint, motion
        self._tabulated: TabulatedMotion | None = None
        if isinstance(motion, TabulatedMotion):
            self._tabulated = motion
        else:
            self._function = motion
        self.rows, self.frame = constraint.rows, constraint.frame
        self.row_names, self.row_units = constraint.row_names, constraint.row_units
        for name, value in self.target(0.0)._asdict().items():
            validate.finite_array(f"{name} of the moving constraint", value, (self.rows,))

    def residual(self, arm: Arm) -> Array:
        return self.constraint.residual(arm)

    def jacobian(self, arm: Arm) -> Array:
        return self.constraint.jacobian(arm)

    def bias(self, arm: Arm) -> Array:
        return self.constraint.bias(arm)

    def target(self, time: float) -> Target:
        if self._tabulated is not None:
            return Target(*self._tabulated.at(time))
        return self._function(time)

    @property
    def target_table(self) -> MotionTable | None:
        return None if self._tabulated is None else self._tabulated.table

    def wrench_basis(self, arm: Arm, frame: str) -> Array:
        return self.constraint.wrench_basis(arm, frame)

    def basis_is_constant(self, frame: str) -> bool:
        return self.constraint.basis_is_constant(frame)

    def multiplier_map(self, arm: Arm, frame: str) -> Array:
        return self.constraint.multiplier_map(arm, frame)

    def shapes_at(self, x: Array) -> list[Shape]:
        return self.constraint.shapes_at(x)

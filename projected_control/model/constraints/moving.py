"""Constraints that are driven."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.model.arm import Arm
from projected_control.model.constraints.base import Constraint, Target
from projected_control.model.constraints.shapes import Shape

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Travel:
    """x(t) = rate t + amplitude (sin(2π frequency t + phase) − sin(phase)), one number per row.

    Attributes:
        rate: [m/s or rad/s].
        amplitude: [m or rad].
        frequency: [Hz].
        phase: [rad].
    """

    rate: Array
    amplitude: Array
    frequency: Array
    phase: Array

    def __call__(self, time: float) -> Target:
        """x, ẋ and ẍ at a time [s]."""
        omega = 2.0 * np.pi * self.frequency
        angle = omega * time + self.phase
        return Target(
            self.rate * time + self.amplitude * (np.sin(angle) - np.sin(self.phase)),
            self.rate + self.amplitude * omega * np.cos(angle),
            -self.amplitude * omega**2 * np.sin(angle),
        )


class Moving(Constraint):
    """A constraint that is driven: Φ(q) = x(t), a rail that travels or a task that is imposed.

    Args:
        constraint: What moves.
        motion: x, ẋ, ẍ at a time [s], each one number per row.
    """

    def __init__(self, constraint: Constraint, motion: Callable[[float], Target]) -> None:
        self.constraint, self.motion = constraint, motion
        self.rows, self.frame = constraint.rows, constraint.frame
        self.row_names, self.row_units = constraint.row_names, constraint.row_units
        for name, value in motion(0.0)._asdict().items():
            validate.finite_array(f"{name} of the moving constraint", value, (self.rows,))

    def residual(self, arm: Arm) -> Array:
        return self.constraint.residual(arm)

    def jacobian(self, arm: Arm) -> Array:
        return self.constraint.jacobian(arm)

    def bias(self, arm: Arm) -> Array:
        return self.constraint.bias(arm)

    def target(self, time: float) -> Target | None:
        return self.motion(time)

    def wrench_basis(self, arm: Arm, frame: str) -> Array:
        return self.constraint.wrench_basis(arm, frame)

    def basis_is_constant(self, frame: str) -> bool:
        return self.constraint.basis_is_constant(frame)

    def multiplier_map(self, arm: Arm, frame: str) -> Array:
        return self.constraint.multiplier_map(arm, frame)

    def shapes_at(self, x: Array) -> list[Shape]:
        return self.constraint.shapes_at(x)

"""Constraints that are driven."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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

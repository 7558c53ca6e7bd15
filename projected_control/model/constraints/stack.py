"""Several constraints at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constraints.base import Constraint, Target
from projected_control.model.constraints.shapes import Shape
from projected_control.model.motion_tables import MotionTable

Array = NDArray[np.float64]


class Stack(Constraint):
    """Several constraints at once. They may repeat each other, but not contradict each other.

    Its force is measured at the frame of the first part that has one; a sensor there measures only
    those parts whose force passes through it, and the multipliers of the others are zero.

    Args:
        constraints: The parts; their rows follow each other in this order.
        names: What the parts are called; their rows are then ``name.row``.
    """

    def __init__(
        self, constraints: Sequence[Constraint], names: Sequence[str] | None = None
    ) -> None:
        if not constraints:
            raise InvalidValue("a stack needs at least one constraint; leave it out for a free arm")
        self.constraints = tuple(constraints)
        self.rows = sum(c.rows for c in self.constraints)
        if names is not None and (len(names), len(set(names))) != (len(constraints),) * 2:
            raise InvalidValue(f"{len(constraints)} constraints need as many names, got {names}")
        self.names = tuple(names or map(str, range(1, len(self.constraints) + 1)))
        parts = list(zip(self.names, self.constraints, strict=True))
        self.row_names = tuple(f"{name}.{row}" for name, c in parts for row in c.row_names)
        self.row_units = tuple(unit for c in self.constraints for unit in c.row_units)
        self.frame = next((c.frame for c in self.constraints if c.frame is not None), None)

    def residual(self, arm: Arm) -> Array:
        return np.concatenate([c.residual(arm) for c in self.constraints])

    def jacobian(self, arm: Arm) -> Array:
        return np.concatenate([c.jacobian(arm) for c in self.constraints])

    def bias(self, arm: Arm) -> Array:
        return np.concatenate([c.bias(arm) for c in self.constraints])

    def target(self, time: float) -> Target | None:
        targets = [c.target(time) for c in self.constraints]
        if all(target is None for target in targets):
            return None
        still = [Target(*np.zeros((3, c.rows))) for c in self.constraints]
        parts = [target or zero for target, zero in zip(targets, still, strict=True)]
        return Target(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    @property
    def target_table(self) -> MotionTable | None:
        tables = [c.target_table for c in self.constraints]
        moving = [c.target(0.0) is not None for c in self.constraints]
        if not any(moving) or any(m and t is None for m, t in zip(moving, tables, strict=True)):
            return None
        still = [MotionTable.constant(np.zeros(c.rows)) for c in self.constraints]
        return MotionTable.stacked([t or zero for t, zero in zip(tables, still, strict=True)])

    def wrench_basis(self, arm: Arm, frame: str) -> Array:
        return np.concatenate([c.wrench_basis(arm, frame) for c in self.constraints], axis=1)

    def basis_is_constant(self, frame: str) -> bool:
        return all(c.basis_is_constant(frame) for c in self.constraints)

    def shapes_at(self, x: Array) -> list[Shape]:
        ends = np.cumsum([c.rows for c in self.constraints])[:-1]
        parts = zip(self.constraints, np.split(x, ends), strict=True)
        return [shape for c, share in parts for shape in c.shapes_at(share)]

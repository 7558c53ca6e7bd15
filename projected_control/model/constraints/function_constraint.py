"""Constraints made of scalar functions of q, which are compiled and know their directions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constraints.base import Constraint
from projected_control.model.constraints.wrenches import ends_felt, function_wrench
from projected_control.model.function_kinds import PositionAlong, ScalarFunction, frame_names
from projected_control.model.scalar_functions import FunctionTable

Array = NDArray[np.float64]


class FunctionConstraint(Constraint):
    """A constraint whose rows are scalar functions, evaluated together (see `scalar_functions`).

    Args:
        functions: One per row; each is held at zero.
        row_names: What the rows are called, where they are more than numbers.

    Attributes:
        functions: As given.
    """

    def __init__(
        self, functions: Sequence[ScalarFunction], row_names: Sequence[str] | None = None
    ) -> None:
        if not functions:
            raise InvalidValue(
                "a constraint needs at least one equation; leave it out for a free arm"
            )
        self.functions = tuple(functions)
        self.rows = len(self.functions)
        if row_names is not None:
            self.row_names = tuple(row_names)
        frames = frame_names(self.functions)
        self.frame = frames[0] if frames else None
        self.row_units = tuple(f.unit for f in self.functions)
        self._table: tuple[Arm, FunctionTable] | None = None
        self._ends: tuple[Arm, str, list[list[str]]] | None = None

    @property
    def is_its_functions(self) -> bool:
        """Whether the functions say everything: false where a subclass changes what they say."""
        kind, plain = type(self), FunctionConstraint
        return (kind.residual, kind.jacobian, kind.bias) == (
            plain.residual,
            plain.jacobian,
            plain.bias,
        )

    def _evaluate(self, arm: Arm) -> FunctionTable:
        if self._table is None or self._table[0] is not arm:
            self._table = arm, FunctionTable(arm, self.functions)
        return self._table[1].evaluate()

    def residual(self, arm: Arm) -> Array:
        return self._evaluate(arm).value.copy()

    def jacobian(self, arm: Arm) -> Array:
        return self._evaluate(arm).jacobian.copy()

    def bias(self, arm: Arm) -> Array:
        return self._evaluate(arm).bias.copy()

    def wrench_basis(self, arm: Arm, frame: str) -> Array:
        """W from the functions' own directions (see `wrenches.function_wrench`)."""
        if not self.is_its_functions:
            return super().wrench_basis(arm, frame)
        ends = self._ends_felt(arm, frame)
        rows = zip(self.functions, ends, strict=True)
        return np.array([function_wrench(arm, f, frame, felt) for f, felt in rows]).T

    def _ends_felt(self, arm: Arm, frame: str) -> list[list[str]]:
        if self._ends is None or self._ends[:2] != (arm, frame):
            self._ends = arm, frame, [ends_felt(arm, f, frame) for f in self.functions]
        return self._ends[2]

    def basis_is_constant(self, frame: str) -> bool:
        """True for points that are held at this very frame: their directions stand in the world."""
        return self.is_its_functions and all(
            isinstance(f, PositionAlong) and f.axes is None and frame in (f.frame, f.other)
            for f in self.functions
        )

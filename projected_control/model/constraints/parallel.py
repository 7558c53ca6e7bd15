"""The axis that keeps its direction: two rows, and not the opposite direction."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.model.constraints.function_constraint import FunctionConstraint
from projected_control.model.constraints.kinds import (
    AXIS,
    ConstraintKind,
    ConstraintSettings,
    Setting,
)
from projected_control.model.constraints.poses import parallel_rows
from projected_control.model.constraints.shapes import Line, Shape

Array = NDArray[np.float64]


class Parallel(FunctionConstraint):
    """An axis of a frame stays along a direction, in the world or in another frame.

    Two rows, e₁ᵀa = e₂ᵀa = 0 with e₁, e₂ at right angles to the direction. (The one row aᵀd = 1
    says the same, but its gradient vanishes where it holds.) The rows vanish for the opposite
    direction too; there the residual is put at one, so that no controller starts and a running
    one stops.

    Args:
        frame: Name of the frame.
        axis: a, in the frame.
        direction: In the world, or in `other`.
        other: Name of the frame that gives the direction; None for the world.
    """

    def __init__(
        self, frame: str, axis: ArrayLike, direction: ArrayLike, other: str | None = None
    ) -> None:
        self._axis = validate.direction("axis", axis)
        along = validate.direction("direction", direction)
        self._frame = frame
        super().__init__(parallel_rows(frame, self._axis, along, other))

    def shapes_at(self, x: Array) -> list[Shape]:
        return [Line(np.zeros(3), self._axis, self._frame)]


def _make(settings: ConstraintSettings) -> Parallel:
    other = settings.other_frame or None
    return Parallel(settings.frame, settings.axis, settings.direction, other)


RECORD = ConstraintKind(
    "parallel",
    "an axis of a frame along a direction",
    _make,
    needs=(
        Setting("frame", "link whose axis is held"),
        AXIS,
        Setting("direction", "along which it stays, in the world or in other_frame"),
    ),
    takes=(Setting("other_frame", "link that gives the direction; empty for the world"),),
)

"""The angle between two axes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue
from projected_control.model.constraints.function_constraint import FunctionConstraint
from projected_control.model.constraints.kinds import (
    AXIS,
    ConstraintKind,
    ConstraintSettings,
    Setting,
)
from projected_control.model.constraints.shapes import Line, Shape
from projected_control.model.function_kinds import AxisCosine

Array = NDArray[np.float64]

LEAST_ANGLE = np.radians(3.0)
"""How near 0 and π an angle may be: at these the gradient vanishes, `parallel` is meant there."""


class Angle(FunctionConstraint):
    """An axis of a frame keeps an angle with a direction, in the world or in another frame.

    One row, (cos α − aᵀd)/sin α = 0, near which it is the angle minus α [rad]; λ is the moment that
    opens the angle.

    Args:
        frame: Name of the frame.
        axis: a, in the frame.
        direction: d, in the world or in `other`.
        angle: α [rad], away from 0 and π.
        other: Name of the frame that gives the direction; None for the world.
    """

    def __init__(
        self,
        frame: str,
        axis: ArrayLike,
        direction: ArrayLike,
        angle: float,
        other: str | None = None,
    ) -> None:
        self._frame, self._axis = frame, validate.direction("axis", axis)
        along = validate.direction("direction", direction)
        alpha = validate.finite("angle", angle)
        if not LEAST_ANGLE <= alpha <= np.pi - LEAST_ANGLE:
            raise InvalidValue(
                f"angle must be between {LEAST_ANGLE:.3g} and {np.pi - LEAST_ANGLE:.3g} rad, got "
                f"{alpha:g}; near 0 and π the row loses its rank: use the kind 'parallel'"
            )
        row = AxisCosine(frame, self._axis, -along / np.sin(alpha), -1.0 / np.tan(alpha), other)
        super().__init__([row])

    def shapes_at(self, x: Array) -> list[Shape]:
        return [Line(np.zeros(3), self._axis, self._frame)]


def _make(settings: ConstraintSettings) -> Angle:
    other = settings.other_frame or None
    return Angle(settings.frame, settings.axis, settings.direction, settings.angle, other)


RECORD = ConstraintKind(
    "angle",
    "an angle between an axis and a direction",
    _make,
    needs=(
        Setting("frame", "link whose axis is held"),
        AXIS,
        Setting("direction", "the other direction, in the world or in other_frame"),
        Setting("angle", "the angle between them, away from 0 and π", "rad"),
    ),
    takes=(Setting("other_frame", "link that gives the direction; empty for the world"),),
)

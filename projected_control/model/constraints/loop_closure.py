"""The closed chain: two frames of one arm coincide."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue
from projected_control.model.constraints.axes import axes_of_motion
from projected_control.model.constraints.function_constraint import FunctionConstraint
from projected_control.model.constraints.kinds import (
    PLANE_NORMAL,
    ConstraintKind,
    ConstraintSettings,
    Setting,
)
from projected_control.model.constraints.shapes import Point, Shape
from projected_control.model.scalar_functions import HeadingInPlane, PositionAlong, ScalarFunction

Array = NDArray[np.float64]


class LoopClosure(FunctionConstraint):
    """Two frames of the arm coincide, in a plane or in space: the closed chain.

    λ is the force that the first frame exerts on the other.

    Args:
        frame: Name of one frame.
        other: Name of the other.
        plane_normal: Normal of the plane of motion: two equations instead of three.
        heading: Also keep this angle in the plane from `other`'s x axis to `frame`'s [rad], for
            a rigid joint; needs the plane.
    """

    def __init__(
        self,
        frame: str,
        other: str,
        plane_normal: ArrayLike | None = None,
        heading: float | None = None,
    ) -> None:
        axes = axes_of_motion(plane_normal)
        functions: list[ScalarFunction] = [PositionAlong(frame, a, 0.0, other) for a in axes]
        if heading is not None:
            if plane_normal is None:
                raise InvalidValue("a heading needs the plane it is measured in: give plane_normal")
            angle = validate.finite("heading", heading)
            x_axis = np.array([1.0, 0.0, 0.0])
            functions.append(HeadingInPlane(frame, x_axis, axes[0], axes[1], angle, other))
        self._joined = frame, other
        super().__init__(functions)

    def shapes_at(self, x: Array) -> list[Shape]:
        return [Point(np.zeros(3), frame) for frame in self._joined]


def _make(settings: ConstraintSettings) -> LoopClosure:
    plane = settings.plane_normal if len(settings.plane_normal) else None
    return LoopClosure(settings.frame, settings.other_frame, plane)


RECORD = ConstraintKind(
    "loop",
    "two frames of the arm coincide",
    _make,
    needs=(
        Setting("frame", "one of the two links that coincide"),
        Setting("other_frame", "the other of the two links that coincide"),
    ),
    takes=(PLANE_NORMAL,),
)

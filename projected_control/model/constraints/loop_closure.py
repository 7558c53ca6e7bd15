"""The closed chain: two frames of one arm coincide."""

from __future__ import annotations

from collections.abc import Sequence

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
from projected_control.model.constraints.poses import (
    directions_of,
    position_rows,
    rotation_matrix,
    rotation_rows,
)
from projected_control.model.constraints.shapes import Point, Shape
from projected_control.model.function_kinds import HeadingInPlane, PositionAlong, ScalarFunction

Array = NDArray[np.float64]


class LoopClosure(FunctionConstraint):
    """Two frames of the arm coincide, in a plane or in space: the closed chain.

    λ is the force that the first frame exerts on the other. Two arms are one arm whose tree has two
    branches.

    Args:
        frame: Name of one frame.
        other: Name of the other.
        plane_normal: Normal of the plane of motion: two equations instead of three.
        heading: Also keep this angle in the plane from `other`'s x axis to `frame`'s [rad], for
            a rigid joint; needs the plane.
        directions: Some of tx, ty, tz, rx, ry, rz, in `other`'s axes, that coincide; None for
            their origins alone.
        point: Where the frame's origin is in the other's axes [m], with directions.
        orientation: Roll, pitch and yaw of the frame in the other's axes [rad], with directions.
    """

    def __init__(
        self,
        frame: str,
        other: str,
        plane_normal: ArrayLike | None = None,
        heading: float | None = None,
        directions: Sequence[str] | None = None,
        point: ArrayLike = (0.0, 0.0, 0.0),
        orientation: ArrayLike = (0.0, 0.0, 0.0),
    ) -> None:
        self._joined = frame, other
        if frame == other:
            raise InvalidValue(f"a loop joins two frames, got {frame!r} twice")
        if directions is not None:
            if plane_normal is not None or heading is not None:
                raise InvalidValue("directions say all: leave plane_normal and heading out")
            held = directions_of("directions", directions)
            place = validate.finite_array("point", point, (3,))
            turn = rotation_matrix("orientation", np.asarray(orientation, dtype=np.float64))
            rows = position_rows(frame, held, place, other)
            super().__init__(rows + rotation_rows(frame, held, turn, other), held)
            return
        axes = axes_of_motion(plane_normal)
        functions: list[ScalarFunction] = [PositionAlong(frame, a, 0.0, other) for a in axes]
        if heading is not None:
            if plane_normal is None:
                raise InvalidValue("a heading needs the plane it is measured in: give plane_normal")
            angle = validate.finite("heading", heading)
            x_axis = np.array([1.0, 0.0, 0.0])
            functions.append(HeadingInPlane(frame, x_axis, axes[0], axes[1], angle, other))
        super().__init__(functions)

    def shapes_at(self, x: Array) -> list[Shape]:
        return [Point(np.zeros(3), frame) for frame in self._joined]


def _make(settings: ConstraintSettings) -> LoopClosure:
    plane = settings.plane_normal if len(settings.plane_normal) else None
    if not len(settings.directions):
        return LoopClosure(settings.frame, settings.other_frame, plane)
    return LoopClosure(
        settings.frame,
        settings.other_frame,
        directions=settings.directions,
        point=settings.point if len(settings.point) else (0.0, 0.0, 0.0),
        orientation=settings.orientation if len(settings.orientation) else (0.0, 0.0, 0.0),
    )


RECORD = ConstraintKind(
    "loop",
    "two frames of the arm coincide",
    _make,
    needs=(
        Setting("frame", "one of the two links that coincide"),
        Setting("other_frame", "the other of the two links that coincide"),
    ),
    takes=(
        PLANE_NORMAL,
        Setting(
            "directions", "some of tx, ty, tz, rx, ry, rz of other_frame; empty for the origins"
        ),
        Setting("point", "frame's origin in other_frame's axes, with directions", "m"),
        Setting("orientation", "frame's roll, pitch and yaw there, with directions", "rad"),
    ),
)

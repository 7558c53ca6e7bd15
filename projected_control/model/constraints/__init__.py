"""Constraints on an arm's motion: Φ(q) = x(t), with A = ∂Φ/∂q and the bias Ȧq̇.

Each kind stands in a file of its own, with the record by which a parameter file names it. A kind of
one's own is one class with two methods; the rest (bias, wrench, multipliers) is worked out unless
it is given::

    class TipOnCircle(Constraint):
        rows, frame = 1, "tip"

        def __init__(self, radius):
            self.radius = radius

        def residual(self, arm):
            x, y, _ = arm.frame("tip").position
            return np.array([np.hypot(x, y) - self.radius])

        def jacobian(self, arm):
            tip = arm.frame("tip")
            x, y, _ = tip.position
            return np.array([[x, y]]) / np.hypot(x, y) @ tip.jacobian[:2]
"""

from projected_control.model.constraints import (
    angle,
    distance,
    frame_fixed,
    hinge,
    joints,
    kinds,
    loop_closure,
    parallel,
    point_at_point,
    point_on_circle,
    point_on_line,
    point_on_plane,
    point_on_surface,
)
from projected_control.model.constraints.angle import Angle
from projected_control.model.constraints.axes import plane_axes
from projected_control.model.constraints.base import Constraint, Target
from projected_control.model.constraints.distance import Distance
from projected_control.model.constraints.frame_fixed import FrameFixed
from projected_control.model.constraints.function_constraint import FunctionConstraint
from projected_control.model.constraints.hinge import Hinge
from projected_control.model.constraints.joints import (
    JointCoupling,
    JointLocked,
    with_mimics,
)
from projected_control.model.constraints.kinds import (
    CONSTRAINTS,
    ConstraintKind,
    ConstraintSettings,
    Setting,
)
from projected_control.model.constraints.loop_closure import LoopClosure
from projected_control.model.constraints.moving import Moving
from projected_control.model.constraints.parallel import Parallel
from projected_control.model.constraints.point_at_point import PointAtPoint
from projected_control.model.constraints.point_on_circle import PointOnCircle
from projected_control.model.constraints.point_on_line import PointOnLine
from projected_control.model.constraints.point_on_plane import PointOnPlane
from projected_control.model.constraints.point_on_surface import (
    PointOnCylinder,
    PointOnHeightMap,
    PointOnSphere,
)
from projected_control.model.constraints.shapes import Curve, Line, Plane, Point, Shape
from projected_control.model.constraints.stack import Stack

__all__ = [
    "CONSTRAINTS",
    "Angle",
    "Constraint",
    "ConstraintKind",
    "ConstraintSettings",
    "Curve",
    "Distance",
    "FrameFixed",
    "FunctionConstraint",
    "Hinge",
    "JointCoupling",
    "JointLocked",
    "Line",
    "LoopClosure",
    "Moving",
    "Parallel",
    "Plane",
    "Point",
    "PointAtPoint",
    "PointOnCircle",
    "PointOnCylinder",
    "PointOnHeightMap",
    "PointOnLine",
    "PointOnPlane",
    "PointOnSphere",
    "Setting",
    "Shape",
    "Stack",
    "Target",
    "plane_axes",
    "with_mimics",
]

for _record in (
    point_on_line.RECORD,
    point_on_plane.RECORD,
    point_at_point.RECORD,
    point_on_circle.RECORD,
    point_on_surface.RECORD,
    distance.RECORD,
    parallel.RECORD,
    angle.RECORD,
    frame_fixed.RECORD,
    hinge.RECORD,
    loop_closure.RECORD,
    joints.COUPLING,
    joints.LOCK,
    kinds.NO_CONSTRAINT,
):
    CONSTRAINTS.add(_record)

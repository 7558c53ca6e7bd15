"""Every kind of constraint, ours and some computed in Python, for the tests that go through all."""

from __future__ import annotations

import numpy as np
from arms import random_urdf, three_link_arm

from projected_control.model.arm import Arm
from projected_control.model.constraints import (
    Angle,
    Constraint,
    Distance,
    FrameFixed,
    FunctionConstraint,
    Hinge,
    JointCoupling,
    JointLocked,
    LoopClosure,
    Moving,
    Parallel,
    PointAtPoint,
    PointOnCircle,
    PointOnCylinder,
    PointOnHeightMap,
    PointOnLine,
    PointOnPlane,
    PointOnSphere,
    Stack,
    Target,
    plane_axes,
)
from projected_control.model.function_kinds import HeadingInPlane, JointPosition
from projected_control.model.height_map import HeightMap

LEVEL = [0.0, 0.0, 1.0]
POINT = [0.1, -0.2, 0.3]


class TipOnCircle(Constraint):
    """As short as a kind of one's own can be."""

    rows = 1

    def __init__(self, frame, radius):
        self.frame, self.radius = frame, radius

    def residual(self, arm):
        x, y, _ = arm.frame(self.frame).position
        return np.array([np.hypot(x, y) - self.radius])

    def jacobian(self, arm):
        tip = arm.frame(self.frame)
        x, y, _ = tip.position
        return np.array([[x, y]]) / np.hypot(x, y) @ tip.jacobian[:2]


class TipOnSphere(Constraint):
    """½ (pᵀp − r²) = 0, with its own bias pᵀ J̇q̇ + ṗᵀṗ."""

    rows = 1

    def __init__(self, frame, radius):
        self.frame, self.radius = frame, radius

    def residual(self, arm):
        p = arm.frame(self.frame).position
        return np.array([0.5 * (p @ p - self.radius**2)])

    def jacobian(self, arm):
        tip = arm.frame(self.frame)
        return (tip.position @ tip.jacobian[:3])[None]

    def bias(self, arm):
        tip = arm.frame(self.frame)
        rate = tip.jacobian[:3] @ arm.v
        return np.array([tip.position @ tip.bias[:3] + rate @ rate])


class ScaledLine(PointOnLine):
    """A kind made of scalar functions that changes what they say."""

    def residual(self, arm):
        return 3.0 * super().residual(arm)

    def jacobian(self, arm):
        return 3.0 * super().jacobian(arm)

    def bias(self, arm):
        return 3.0 * super().bias(arm)


def wave(time):
    return Target(
        np.array([0.1 * np.sin(time), 0.0]),
        np.array([0.1 * np.cos(time), 0.0]),
        np.array([-0.1 * np.sin(time), 0.0]),
    )


def hills():
    """A wavy surface with slopes of order one."""
    x, y = np.meshgrid(np.linspace(0, 2, 21), np.linspace(0, 2, 21), indexing="ij")
    return HeightMap(0.1 * np.sin(3 * x) * np.cos(2 * y) + 0.05 * x * y, 0.1)


AXES = plane_axes(LEVEL)
TOOL = [0.6, 0.0, 0.8]
POSE = {"point": POINT, "orientation": [0.3, -0.4, 0.5]}
KINDS = {
    "line": lambda tip, other: PointOnLine(tip, POINT, [1.0, 2.0, 3.0]),
    "line in a plane": lambda tip, other: PointOnLine(tip, POINT, [1.0, 2.0, 0.0], LEVEL),
    "plane": lambda tip, other: PointOnPlane(tip, POINT, [1.0, -1.0, 0.5]),
    "point": lambda tip, other: PointAtPoint(tip, POINT),
    "point in a plane": lambda tip, other: PointAtPoint(tip, POINT, LEVEL),
    "loop": lambda tip, other: LoopClosure(tip, other),
    "loop in a plane": lambda tip, other: LoopClosure(tip, other, LEVEL),
    "loop with heading": lambda tip, other: LoopClosure(tip, other, LEVEL, heading=0.4),
    "joint and heading": lambda tip, other: FunctionConstraint(
        [
            JointPosition("joint_2", 0.1),
            HeadingInPlane(tip, np.array([0.0, 0.6, 0.8]), *AXES, 0.2),
        ]
    ),
    "circle": lambda tip, other: PointOnCircle(tip, POINT, [1.0, 2.0, 3.0], 0.3),
    "circle in a plane": lambda tip, other: PointOnCircle(tip, POINT, LEVEL, 0.3, LEVEL),
    "sphere": lambda tip, other: PointOnSphere(tip, POINT, 0.3),
    "cylinder": lambda tip, other: PointOnCylinder(tip, POINT, [1.0, 2.0, 3.0], 0.3),
    "height map": lambda tip, other: PointOnHeightMap(tip, hills(), [-1.0, -1.0, 0.1]),
    "tilted height map": lambda tip, other: PointOnHeightMap(tip, hills(), POINT, [1.0, 2.0, 3.0]),
    "distance from a point": lambda tip, other: Distance(tip, 0.3, point=POINT),
    "distance of two frames": lambda tip, other: Distance(tip, 0.3, other),
    "parallel": lambda tip, other: Parallel(tip, TOOL, [1.0, 2.0, 3.0]),
    "parallel to a frame": lambda tip, other: Parallel(tip, TOOL, [1.0, 2.0, 3.0], other),
    "angle": lambda tip, other: Angle(tip, TOOL, [1.0, 2.0, 3.0], 0.7),
    "angle of two frames": lambda tip, other: Angle(tip, TOOL, [1.0, 2.0, 3.0], 2.0, other),
    "weld": lambda tip, other: FrameFixed(tip, **POSE),
    "pad": lambda tip, other: FrameFixed(tip, ["tz", "rx", "ry"], **POSE),
    "key": lambda tip, other: FrameFixed(tip, ["tx", "rz"], **POSE),
    "weld to a frame": lambda tip, other: FrameFixed(tip, **POSE, other=other),
    "hinge": lambda tip, other: Hinge(tip, TOOL, POINT, [1.0, 2.0, 3.0]),
    "hinge on a frame": lambda tip, other: Hinge(tip, TOOL, POINT, [1.0, 2.0, 3.0], other),
    "loop in six directions": lambda tip, other: LoopClosure(
        tip, other, directions=["tx", "ty", "tz", "rx", "ry", "rz"], **POSE
    ),
    "loop that slides": lambda tip, other: LoopClosure(
        tip, other, directions=["tx", "ty", "rx", "rz"], **POSE
    ),
    "gear": lambda tip, other: JointCoupling("joint_2", "joint_1", -2.5, 0.1),
    "lock": lambda tip, other: JointLocked("joint_2", 0.4),
    "stack": lambda tip, other: Stack(
        [PointOnPlane(tip, POINT, [1.0, 1.0, 0.0]), PointOnLine(other, POINT, [1.0, 0.0, 0.0])]
    ),
    "redundant stack": lambda tip, other: Stack(
        [PointOnPlane(tip, POINT, LEVEL), PointAtPoint(tip, POINT), TipOnSphere(tip, 1.0)]
    ),
    "moving": lambda tip, other: Moving(PointOnLine(tip, POINT, [1.0, 0.0, 0.0]), wave),
    "stack with a moving one": lambda tip, other: Stack(
        [TipOnSphere(other, 1.0), Moving(PointOnLine(tip, POINT, [1.0, 0.0, 0.0]), wave)]
    ),
    "own": lambda tip, other: TipOnCircle(tip, 0.3),
    "own with bias": lambda tip, other: TipOnSphere(tip, 0.3),
    "own made of functions": lambda tip, other: ScaledLine(tip, POINT, [1.0, 2.0, 3.0]),
}
ARMS = {
    "3R": (three_link_arm, "tip", "link_2"),
    "spatial": (lambda: Arm.from_urdf(random_urdf(3, 7)), "end_7", "end_4"),
}

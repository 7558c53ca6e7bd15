"""A planar five-bar: two arms of two joints on one base, joined at their ends.

The first joint of either arm has a motor, the second has none. All lengths in m, masses in kg.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.control import MotionGains, PassiveJointController
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import LoopClosure
from projected_control.model.coordinates import Coordinates
from projected_control.runs.simulated import SimulatedArm
from projected_control.simulation import Plant

Array = NDArray[np.float64]

UPPER, LOWER, HALF_BASE, WHERE = 0.30, 0.35, 0.10, (0.02, 0.45)
"""Lengths of the links, half the distance of the motors, and where the ends meet at the start."""

ACTUATED, PASSIVE = ("left_motor", "right_motor"), ("left_elbow", "right_elbow")
ENDS = ("left_end", "right_end")


def five_bar_urdf() -> str:
    """The description: the two arms, not joined."""
    parts = ['<robot name="five_bar"><link name="base"/>']
    for side, x in (("left", -HALF_BASE), ("right", HALF_BASE)):
        parts += [
            _joint(f"{side}_motor", "revolute", "base", f"{side}_upper", x),
            _link(f"{side}_upper", UPPER, 0.4),
            _joint(f"{side}_elbow", "revolute", f"{side}_upper", f"{side}_lower", UPPER),
            _link(f"{side}_lower", LOWER, 0.3),
            _joint(f"{side}_tip", "fixed", f"{side}_lower", f"{side}_end", LOWER),
            f'<link name="{side}_end"/>',
        ]
    return "".join([*parts, "</robot>"])


def _joint(name: str, kind: str, parent: str, child: str, x: float) -> str:
    limit = '<limit lower="-6" upper="6" effort="50" velocity="50"/>' if kind != "fixed" else ""
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{x} 0 0"/><axis xyz="0 0 1"/>{limit}</joint>'
    )


def _link(name: str, length: float, mass: float) -> str:
    across = mass * length**2 / 12.0
    return (
        f'<link name="{name}"><inertial><origin xyz="{length / 2} 0 0"/><mass value="{mass}"/>'
        f'<inertia ixx="{0.1 * across}" iyy="{across}" izz="{across}" ixy="0" ixz="0" iyz="0"/>'
        "</inertial></link>"
    )


def assembled() -> dict[str, float]:
    """Joint positions at which the ends meet, elbows outwards [rad]."""
    positions = {}
    for side, x, bend in (("left", -HALF_BASE, -1.0), ("right", HALF_BASE, 1.0)):
        reach = np.array(WHERE) - np.array([x, 0.0])
        distance = np.hypot(*reach)
        elbow = np.arccos((distance**2 - UPPER**2 - LOWER**2) / (2.0 * UPPER * LOWER))
        inner = np.arctan2(LOWER * np.sin(elbow), UPPER + LOWER * np.cos(elbow))
        positions[f"{side}_motor"] = float(np.arctan2(reach[1], reach[0]) - bend * inner)
        positions[f"{side}_elbow"] = float(bend * elbow)
    return positions


def five_bar_loop(period: float = 1e-3) -> tuple[ControlLoop, SimulatedArm]:
    """Our loop on it: the law for passive joints, which moves both motors a little."""
    arm = Arm.from_urdf(five_bar_urdf(), passive=PASSIVE)
    constraint = LoopClosure(*ENDS, plane_normal=[0.0, 0.0, 1.0])
    model = ConstrainedArm(arm, constraint, Coordinates.of_joints(ACTUATED))
    q0 = np.array([assembled()[name] for name in arm.joint_names])
    goal = model.evaluate(q0, np.zeros(arm.n)).theta + 0.05
    controller = PassiveJointController(model, MotionGains.from_bandwidth(2.0), period=period)
    limits = Limits.of(arm, effort_rate=1e6)
    plant = Plant(ConstrainedArm(arm.twin(), constraint, tolerance=1e-6), period)
    return ControlLoop(controller, Constant(goal), limits=limits), SimulatedArm(plant, q0)

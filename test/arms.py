"""Arms the tests share: those of the papers, and random ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio

from projected_control.apps.bench.random_trees import random_urdf
from projected_control.control.state import RawState
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointAtPoint, PointOnLine
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.model.projection import Metric
from projected_control.planning import assemble

URDF = Path(__file__).parents[1] / "urdf"

UPRIGHT = [0.0, -1.0, 0.0]
"""Normal of the vertical plane the planar arms move in: a positive angle turns x towards z."""

UNIT_LINKS = {
    f"{key}{i}": value for i in (1, 2, 3) for key, value in [("l", 1), ("m", 1), ("inertia", 0.1)]
} | {"plane": "vertical"}
"""Moura IV-A: 1 m, 1 kg, 0.1 kg·m²."""


def three_link_arm(**arguments: object) -> Arm:
    """The 3R arm of Aghili IX, horizontal unless told otherwise."""
    return Arm.from_urdf(URDF / "three_link_slider.urdf.xacro", mappings=arguments)


def free_fall_case() -> tuple[Arm, PointOnLine, np.ndarray]:
    """The arm of Moura IV-A, its vertical slider and its start."""
    arm = three_link_arm(**UNIT_LINKS)
    q = np.full(3, np.pi / 6)
    tip = arm.update(q, np.zeros(3)).frame("tip").position
    return arm, PointOnLine("tip", tip, [0.0, 0.0, 1.0], plane_normal=UPRIGHT), q


def slider_crank_case(gravity: float = 9.81) -> tuple[Arm, PointOnLine]:
    """The slider-crank of Aghili VIII."""
    arm = Arm.from_urdf(URDF / "slider_crank.urdf.xacro", gravity=gravity)
    return arm, PointOnLine("tip", [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], plane_normal=UPRIGHT)


def random_state(arm: Arm, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities of order one."""
    random = np.random.default_rng(seed)
    return random.uniform(-1.5, 1.5, arm.n), random.uniform(-1.5, 1.5, arm.n)


def slider_model(
    place: float = -0.27, metric: Metric | None = None, passive: tuple[str, ...] = ()
) -> ConstrainedArm:
    """The 3R arm of Aghili IX on its slider, moved by the tip's place on it and its heading."""
    arm = Arm.from_urdf(URDF / "three_link_slider.urdf.xacro", passive=passive)
    slider = PointOnLine("tip", [0.0, place, 0.0], [1.0, 0.0, 0.0], plane_normal=[0.0, 0.0, 1.0])
    tip = [Coordinate.position("tip", "x"), Coordinate.heading("tip", [0.0, 0.0, 1.0])]
    return ConstrainedArm(arm, slider, Coordinates(tip), metric=metric)


def spatial_model(metric: Metric | None = None, passive: tuple[str, ...] = ()) -> ConstrainedArm:
    """Seven joints under gravity, the end held at a point: three rows, four free directions."""
    arm = Arm.from_urdf(random_urdf(3, 7), passive=passive)
    place = arm.update(np.full(7, 0.4), np.zeros(7)).frame("end_7").position
    coordinates = Coordinates(
        [
            Coordinate.position("end_6", "z"),
            Coordinate.joint("joint_2"),
            Coordinate.joint("joint_6"),
            Coordinate.heading("end_7", [0.1, 0.2, 1.0]),
        ]
    )
    return ConstrainedArm(arm, PointAtPoint("end_7", place), coordinates, metric=metric)


def planar_chain_model(passive: tuple[str, ...] = ()) -> ConstrainedArm:
    """Four equal links in the horizontal plane, the tip hinged at a point: two rows."""
    parts = ['<robot name="chain"><link name="link_0"/>']
    for i in range(1, 5):
        parts.append(
            f'<joint name="joint_{i}" type="revolute"><parent link="link_{i - 1}"/>'
            f'<child link="link_{i}"/><origin xyz="{0.3 if i > 1 else 0.0} 0 0"/>'
            '<axis xyz="0 0 1"/><limit lower="-6" upper="6" effort="50" velocity="20"/></joint>'
            f'<link name="link_{i}"><inertial><origin xyz="0.15 0 0"/><mass value="1"/>'
            '<inertia ixx="1e-5" iyy="0.0075" izz="0.0075" ixy="0" ixz="0" iyz="0"/>'
            "</inertial></link>"
        )
    parts.append(
        '<link name="tip"/><joint name="tip_joint" type="fixed"><parent link="link_4"/>'
        '<child link="tip"/><origin xyz="0.3 0 0"/></joint></robot>'
    )
    arm = Arm.from_urdf("".join(parts), passive=passive)
    hinge = PointAtPoint("tip", [0.6, 0.2, 0.0], plane_normal=[0.0, 0.0, 1.0])
    return ConstrainedArm(arm, hinge, Coordinates.of_joints(["joint_1", "joint_2"]))


def state_on(
    model: ConstrainedArm, seed: int, near: float | np.ndarray = 0.0, spread: float = 0.8
) -> tuple[np.ndarray, np.ndarray]:
    """A random state that the constraint permits, not far from a configuration."""
    random = np.random.default_rng(seed)
    guess = near + spread * random.uniform(-1.0, 1.0, model.n)
    q = assemble(model.arm, model.constraint, guess)
    v = random.uniform(-1.5, 1.5, model.n)
    model.evaluate(q, v)
    return q, model.P @ (v * model.sqrt_metric) / model.sqrt_metric


def raw_state(
    model: ConstrainedArm,
    q: np.ndarray,
    v: np.ndarray,
    force: np.ndarray | float | None,
    stamp: float,
) -> RawState:
    """What an arm says whose sensor measures the multipliers λ (None: it has none)."""
    wrench = None
    if force is not None and model.constraint is not None:
        multipliers = np.atleast_1d(np.asarray(force, dtype=float))
        wrench = model.constraint.wrench(model.arm, model.constraint.frame, multipliers)
    return RawState(np.array(q, dtype=float), np.array(v, dtype=float), stamp, wrench)


def pinocchio_solution(
    arm: Arm, q: np.ndarray, v: np.ndarray, f: np.ndarray, contact: object
) -> tuple[np.ndarray, np.ndarray]:
    """q̈ of Pinocchio's constrained dynamics, and minus its force at the frame, which is our λ."""
    model = arm.pinocchio_model
    data = model.createData()
    constraints = pinocchio.StdVec_RigidConstraintModel()
    constraints.append(contact)
    datas = pinocchio.StdVec_RigidConstraintData()
    datas.append(contact.createData())
    version_4 = int(pinocchio.__version__.split(".")[0]) >= 4
    pinocchio.initConstraintDynamics(model, data, constraints, *([datas] if version_4 else []))
    accuracy = pinocchio.ProximalSettings(1e-14, 0.0, 20)
    acceleration = pinocchio.constraintDynamics(model, data, q, v, f, constraints, datas, accuracy)
    return np.array(acceleration), -np.array(datas[0].contact_force.linear)


def place_in(arm: Arm, name: str) -> tuple[int, object]:
    """The joint that carries a frame, and where on it, for Pinocchio."""
    frame = arm.pinocchio_model.frames[arm.pinocchio_model.getFrameId(name)]
    return frame.parentJoint, frame.placement

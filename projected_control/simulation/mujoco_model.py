"""An arm as a model of MuJoCo: bodies, joints and inertias of Pinocchio's model.

What counts is Pinocchio's model and not the description, as all that was done to the arm since it
was read is in it: joints that are locked, a payload, an armature, masses that are not the
description's. Meshes play no part, nor does contact between links.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control.errors import InvalidValue
from projected_control.extras import require
from projected_control.model.arm import Arm

Array = NDArray[np.float64]

LEAST = 1e-15
"""Mass and inertia that MuJoCo takes for a body that moves [kg, kg·m²]."""


BASE_JOINT = "floating base"
"""What MuJoCo's free joint is called."""

SOFTNESS = 1e-3
"""By which MuJoCo's measure of how easily bodies give way (``invweight0``) is made smaller for
equalities: they lose a share (1 − d) of that to softness, and d = 0.9999 is the most that it takes.
Friction and stops, which act or do not, keep MuJoCo's: harder ones keep its solver from an end."""


def import_mujoco() -> ModuleType:
    """MuJoCo's Python package; `MissingExtra` where it is not installed.

    Its warnings go into a file where it is run unless something takes them. The one that matters
    here, of an arm that diverges, is an error of ours (see `MujocoPlant.step`).
    """
    mujoco = require("mujoco", "simulation.engine mujoco")
    if mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(_ignore)
    return mujoco


def _ignore(warning: str) -> None:
    """Nothing."""


def quaternion(rotation: Array) -> Array:
    """A rotation matrix as MuJoCo's quaternion, w first."""
    found = np.zeros(4)
    import_mujoco().mju_mat2Quat(found, np.ascontiguousarray(rotation).reshape(-1))
    return found


class ArmSpec:
    """The specification of an arm in MuJoCo, to which constraints are added before it is compiled.

    Args:
        arm: The arm.

    Attributes:
        spec: MuJoCo's specification.
    """

    def __init__(self, arm: Arm) -> None:
        mujoco = import_mujoco()
        self.arm, self.spec = arm, mujoco.MjSpec()
        self.spec.compiler.degree = False
        self.spec.option.gravity = arm.gravity
        self._bodies = [self.spec.worldbody]
        self._count = 0
        model = arm.pinocchio_model
        axes = self._joint_axes()
        for joint in range(1, model.njoints):
            place = model.jointPlacements[joint]
            body = self._bodies[model.parents[joint]].add_body(
                name=self.body_name(joint),
                pos=np.array(place.translation),
                quat=quaternion(np.array(place.rotation)),
                mass=1.0,
                inertia=[1.0, 1.0, 1.0],
                explicitinertial=True,
            )
            self._bodies.append(body)
            if arm.floats and joint == 1:
                body.add_freejoint(name=BASE_JOINT)
                continue
            index = model.joints[joint].idx_v
            slides, kinds = arm.prismatic[index], mujoco.mjtJoint
            body.add_joint(
                name=arm.joint_names[index],
                type=kinds.mjJNT_SLIDE if slides else kinds.mjJNT_HINGE,
                axis=axes[joint],
            )

    @staticmethod
    def body_name(joint: int) -> str:
        """What the body behind a joint of Pinocchio's is called, by the joint's number."""
        return f"body_{joint}"

    def _joint_axes(self) -> list[Array]:
        """Axes of the joints in their own frames; the first is the world's and has none."""
        probe = self.arm.twin().update(np.zeros(self.arm.n), np.zeros(self.arm.n))
        model = self.arm.pinocchio_model
        axes = [np.zeros(3)]
        for joint in range(1, model.njoints):
            if model.joints[joint].nv > 1:
                axes.append(np.zeros(3))
                continue
            index = model.joints[joint].idx_v
            twist = probe.spatial_jacobian[:, index]
            rotation = probe.placements[joint][:9].reshape(3, 3).T
            axes.append(rotation.T @ (twist[:3] if self.arm.prismatic[index] else twist[3:]))
        return axes

    def new_name(self, what: str) -> str:
        """A name that nothing has yet."""
        self._count += 1
        return f"{what}_{self._count}"

    def body_of(self, frame: str | None) -> tuple[Any, Array, Array]:
        """The body that carries a frame (None: the world), its place and rotation in that body."""
        if frame is None:
            return self.spec.worldbody, np.zeros(3), np.eye(3)
        place = self.arm.attachment(frame)
        return self._bodies[place.joint], place.translation, place.rotation

    def site(self, frame: str | None, offset: Array, turn: Array) -> str:
        """A site at an offset from a frame, turned in it; its name."""
        body, position, rotation = self.body_of(frame)
        return self.site_on(body, position + rotation @ offset, rotation @ turn)

    def site_on(self, body: Any, position: Array, rotation: Array) -> str:
        """A site on a body, in its axes; its name."""
        name = self.new_name("site")
        body.add_site(name=name, pos=position, quat=quaternion(rotation))
        return name


def take_inertias(model: Any, data: Any, arm: Arm, carriages: list[int]) -> None:
    """Give a compiled model the masses and inertias that the arm has now, payload and all.

    Args:
        model, data: MuJoCo's; what follows from the masses is worked out anew.
        arm: The arm.
        carriages: Bodies that are not the arm's. Constraints and friction at them get the hardness
            of what they hold, not that of these bodies, which weigh next to nothing.
    """
    mujoco, bodies = import_mujoco(), arm.pinocchio_model.inertias
    for joint in range(1, arm.pinocchio_model.njoints):
        inertia = bodies[joint]
        moments, axes = np.linalg.eigh(np.array(inertia.inertia))
        if np.linalg.det(axes) < 0.0:
            axes[:, 0] *= -1.0
        number = model.body(ArmSpec.body_name(joint)).id
        model.body_mass[number] = max(float(inertia.mass), LEAST)
        model.body_inertia[number] = np.maximum(moments, LEAST)
        model.body_ipos[number] = np.array(inertia.lever)
        model.body_iquat[number] = quaternion(axes)
    base = arm.base_size
    rotors = arm.pinocchio_model.armature[base:]
    for name, rotor in zip(arm.joint_names[base:], rotors, strict=True):
        model.dof_armature[model.joint(name).dofadr[0]] = rotor
    before = np.array(data.qpos)
    mujoco.mj_setConst(model, data)
    data.qpos[:] = before
    model.body_invweight0[carriages] = 0.0
    riding = np.isin(model.dof_bodyid, carriages)
    model.dof_invweight0[riding] = 1.0 / float(model.body_subtreemass[0])
    for weights in (model.body_invweight0, model.tendon_invweight0):
        weights *= SOFTNESS


def require_inertia(arm: Arm) -> None:
    """Refuse an arm of which MuJoCo cannot make the inertia matrix's inverse."""
    eigenvalues = np.linalg.eigvalsh(arm.M)
    if not eigenvalues[0] > 1e-12 * eigenvalues[-1]:
        raise InvalidValue(
            "MuJoCo cannot move this arm: a motion of its joints has no inertia, and it divides by "
            "the whole inertia matrix before constraints count; give the link an <inertial>, or "
            "the joint an armature, or take simulation.engine built_in"
        )

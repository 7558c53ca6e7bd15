"""Our constraints against MuJoCo's equalities: at rest, and in motion to the order of integration.

MuJoCo's are springs that get harder as the step gets shorter (here: time constant of two steps, the
largest impedance it takes, 0.9999), and it leaves Ȧq̇ to them. At rest accelerations agree to that
impedance; in motion the difference vanishes with the step.
"""

import numpy as np
import pytest
from arms import random_urdf
from kinds import POINT

from projected_control.errors import Unreachable
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import (
    Distance,
    FrameFixed,
    Hinge,
    JointCoupling,
    JointLocked,
    LoopClosure,
    PointAtPoint,
)
from projected_control.model.constraints.poses import rotation_matrix
from projected_control.model.dynamics import Problem, projected
from projected_control.planning import assemble
from projected_control.simulation import Plant

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")

ARM = Arm.from_urdf(random_urdf(3, 9))
TIP, OTHER = "end_9", "end_2"
TURN = (0.3, -0.4, 0.5)
AXIS = np.array([0.6, 0.0, 0.8])
SECONDS = 0.1
HARDEST = 0.9999
"""The largest impedance that MuJoCo takes; one would be rigid."""

ALL = ["tx", "ty", "tz", "rx", "ry", "rz"]


def quaternion(rotation):
    found = np.zeros(4)
    mujoco.mju_mat2Quat(found, np.ascontiguousarray(rotation).ravel())
    return found


class Twin:
    """The arm in MuJoCo, with places on its links."""

    def __init__(self):
        self.spec = mujoco.MjSpec.from_string(ARM.urdf)
        self.spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_LIMIT)
        self.spec.option.tolerance = 1e-14
        self.spec.option.iterations = 200

    def site(self, frame, offset=(0.0, 0.0, 0.0), turn=(0.0, 0.0, 0.0)):
        """A site at an offset from a frame (None: the world)."""
        position, rotation = np.array(offset), rotation_matrix("turn", turn)
        body = self.spec.worldbody
        if frame is not None:
            place = ARM.attachment(frame)
            position = place.translation + place.rotation @ position
            rotation = place.rotation @ rotation
            body = self.spec.body(frame.replace("end", "link"))
        name = f"site_{len(self.spec.sites)}"
        body.add_site(name=name, pos=position, quat=quaternion(rotation))
        return name

    def join(self, kind, first, second):
        self.spec.add_equality(
            type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, name1=first, name2=second
        )

    def connect(self, *sites):
        self.join(mujoco.mjtEq.mjEQ_CONNECT, *sites)

    def weld(self, *sites):
        self.join(mujoco.mjtEq.mjEQ_WELD, *sites)

    def couple(self, first, second, offset, ratio):
        equality = self.spec.add_equality(
            type=mujoco.mjtEq.mjEQ_JOINT, objtype=mujoco.mjtObj.mjOBJ_JOINT, name1=first
        )
        if second:
            equality.name2 = second
        equality.data[:5] = [offset, ratio, 0.0, 0.0, 0.0]

    def rod(self, first, second, length):
        tendon = self.spec.add_tendon(name="rod")
        tendon.wrap_site(first)
        tendon.wrap_site(second)
        self._length = length
        self.spec.add_equality(
            type=mujoco.mjtEq.mjEQ_TENDON, objtype=mujoco.mjtObj.mjOBJ_TENDON, name1="rod"
        )

    def compiled(self, step, impedance=HARDEST):
        """The model with constraints as hard as this step permits."""
        model = self.spec.compile()
        model.opt.timestep = step
        model.eq_solref[:] = [2.0 * step, 1.0]
        model.eq_solimp[:] = [impedance, impedance, 0.001, 0.5, 2.0]
        for i in np.flatnonzero(model.eq_type == mujoco.mjtEq.mjEQ_TENDON):
            model.eq_data[i, 0] = self._length - model.tendon_length0[model.eq_obj1id[i]]
        return model


def point(twin):
    twin.connect(twin.site(TIP), twin.site(None, POINT))
    return PointAtPoint(TIP, POINT)


def loop(twin):
    twin.connect(twin.site(TIP), twin.site(OTHER))
    return LoopClosure(TIP, OTHER)


def weld(twin):
    twin.weld(twin.site(TIP), twin.site(None, POINT, TURN))
    return FrameFixed(TIP, ALL, POINT, TURN)


def welded_loop(twin):
    twin.weld(twin.site(TIP), twin.site(OTHER, POINT, TURN))
    return LoopClosure(TIP, OTHER, directions=ALL, point=POINT, orientation=TURN)


def hinge(twin):
    """Two points on the axis: one row of six repeats."""
    direction = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0)
    twin.connect(twin.site(TIP), twin.site(None, POINT))
    twin.connect(twin.site(TIP, AXIS), twin.site(None, POINT + direction))
    return Hinge(TIP, AXIS, POINT, direction)


def rod(twin):
    twin.rod(twin.site(TIP), twin.site(OTHER), 0.3)
    return Distance(TIP, 0.3, OTHER)


def gear(twin):
    twin.couple("joint_2", "joint_1", 0.1, -2.5)
    return JointCoupling("joint_2", "joint_1", -2.5, 0.1)


def lock(twin):
    twin.couple("joint_2", None, 0.4, 0.0)
    return JointLocked("joint_2", 0.4)


KINDS = (point, loop, weld, welded_loop, hinge, rod, gear, lock)


def assembled(constraint, seed=0):
    random = np.random.default_rng(seed)
    for _ in range(50):
        try:
            q = assemble(ARM, constraint, random.uniform(-1.5, 1.5, ARM.n))
        except Unreachable:
            continue
        P = ConstrainedArm(ARM, constraint).evaluate(q, np.zeros(ARM.n)).P
        return q, P @ random.normal(size=ARM.n), 5.0 * random.normal(size=ARM.n)
    raise AssertionError("nowhere assembled")


def difference_at_rest(twin, constraint, impedance):
    """Of q̈ and of F = Aᵀλ, as shares of ours."""
    q, _, effort = assembled(constraint)
    model = twin.compiled(1e-3, impedance)
    data = mujoco.MjData(model)
    data.qpos[:], data.qfrc_applied[:] = q, effort
    mujoco.mj_forward(model, data)
    at = ConstrainedArm(ARM, constraint).evaluate(q, np.zeros(ARM.n))
    ours = projected(Problem.of(at, effort))
    pairs = (data.qacc, ours.acceleration), (-data.qfrc_constraint, ours.constraint_force)
    return np.array([np.linalg.norm(its - our) / np.linalg.norm(our) for its, our in pairs])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_accelerations_and_forces_at_rest_are_mujocos(kind):
    """To the softness that MuJoCo cannot do without: a tenth of it, a tenth of the difference."""
    twin = Twin()
    constraint = kind(twin)
    soft, hard = (difference_at_rest(twin, constraint, d) for d in (0.999, HARDEST))
    assert (hard < 6e-3).all()
    np.testing.assert_array_less(hard, 0.13 * soft)


def end_of_mujoco(twin, q, v, effort, step):
    model = twin.compiled(step)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, effort
    mujoco.mj_step(model, data, round(SECONDS / step))
    return np.array(data.qpos)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_motion_is_mujocos_to_the_order_of_integration(kind):
    """Half the step, half the difference; what is left without that first order is below 1e-5."""
    twin = Twin()
    constraint = kind(twin)
    q, v, effort = assembled(constraint)
    plant = Plant(ConstrainedArm(ARM.twin(), constraint), 1e-3)
    plant.reset(q, v)
    for _ in range(round(SECONDS / 1e-3)):
        plant.step(effort)
    assert np.linalg.norm(plant.q - q) > 0.2  # it moves
    coarse, fine = (end_of_mujoco(twin, q, v, effort, step) for step in (2e-4, 1e-4))
    errors = [np.linalg.norm(end - plant.q) for end in (coarse, fine)]
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.02)
    assert np.linalg.norm(2.0 * fine - coarse - plant.q) < 1e-5

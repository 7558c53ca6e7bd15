"""Computed torque in joint space, and gravity compensation as its simplest form.

    computed torque:  f = h + M (q̈_d + G_D ė + G_P e),    e = q_d − q
    gravity:          f = h − d M q̇

What people start an arm with: neither knows of a constraint, and neither needs any but the joints'
own positions. Gravity compensation carries the arm (and cancels Coriolis and centrifugal terms),
so that it can be led by hand; d (`gains.null_damping`) has it come to rest. Computed torque gives
ë + G_D ė + G_P e = 0 for every joint.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.controllers import Controller, SampledLoop, refuse_passive
from projected_control.control.disturbance import Disturbance, DisturbanceKind
from projected_control.control.gains import BLEND_SECONDS, MotionGains
from projected_control.control.law_kinds import LAWS, MOTION, Law, LawKind, LawRequest
from projected_control.control.motion import (
    asked_acceleration,
    brake,
    carry_all,
    find_effort,
    keep_all,
    prepare_motion,
)
from projected_control.control.terms import ControlTerms
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import ConstrainedArm, Terms
from projected_control.model.function_kinds import JointPosition
from projected_control.model.linalg import axpy, fill


@compiled
def joint_acceleration(t: Terms, c: ControlTerms) -> None:
    """u_p = q̈_d + G_D ė + G_P e, in the metric's coordinates: row r of J_θ picks its joint."""
    asked_acceleration(t, c)
    fill(c.u_p, 0.0)
    for r in range(c.a.size):
        axpy(c.a[r], t.jacobian[t.b.size + r], c.u_p)
    for i in range(c.u_p.size):
        c.u_p[i] *= t.sqrt_metric[i]


@compiled
def send_all(stop: bool, gravity: bool, t: Terms, c: ControlTerms) -> None:
    """f = h + M u_p, with u_p = −d q̇ for gravity compensation."""
    prepare_motion(stop, True, t, c)
    if stop:
        brake(t, c)
        carry_all(t, c)
        return
    if gravity:
        fill(c.u_p, 0.0)
        axpy(-c.gains[2, 0], t.v, c.u_p)
    else:
        joint_acceleration(t, c)
    find_effort(t, c)
    keep_all(t, c)


@compiled
def computed_torque_law(stop: bool, passive: NDArray[np.int64], t: Terms, c: ControlTerms) -> None:
    """f = h + M (q̈_d + G_D ė + G_P e)."""
    send_all(stop, False, t, c)


@compiled
def gravity_law(stop: bool, passive: NDArray[np.int64], t: Terms, c: ControlTerms) -> None:
    """f = h − d M q̇."""
    send_all(stop, True, t, c)


class ComputedTorqueController(Controller):
    """Inverse dynamics of all joints; or gravity compensation, to lead an arm by hand.

    Args:
        model: The arm; its coordinates are its joints, all of them.
        gains: On the joints; for gravity compensation the damping of the null space counts.
        period: Period of the loop [s].
        gravity: Carry the arm and damp it, follow nothing; the coordinates may then be any.
    """

    needs_independence = False

    def __init__(
        self,
        model: ConstrainedArm,
        gains: MotionGains,
        period: float = 1e-3,
        *,
        gravity: bool = False,
    ) -> None:
        refuse_passive(model)
        super().__init__(model, gains, period, Law.GRAVITY if gravity else Law.COMPUTED_TORQUE)
        functions = model.coordinates.functions if model.coordinates else []
        named = [f.joint for f in functions if isinstance(f, JointPosition)]
        joints = model.arm.joint_names
        if not gravity and (len(named) != model.k or sorted(named) != sorted(joints)):
            raise InvalidValue(
                f"computed torque follows every joint: the coordinates must be {', '.join(joints)}"
            )

    def motion_loops(self, delay: int) -> list[tuple[SampledLoop, str]]:
        return [] if self.law is Law.GRAVITY else super().motion_loops(delay)

    def set_disturbance(self, disturbance: Disturbance, seconds: float = BLEND_SECONDS) -> None:
        if self.law is Law.GRAVITY and disturbance.number is not DisturbanceKind.NONE:
            raise InvalidValue(
                "gravity compensation lets the arm be led by hand; disturbance.kind must be none"
            )
        super().set_disturbance(disturbance, seconds)


def make_controller(asked: LawRequest) -> ComputedTorqueController:
    """As parameters say."""
    gravity = asked.kind.number is Law.GRAVITY
    return ComputedTorqueController(asked.model, asked.gains, asked.period, gravity=gravity)


LAWS.add(
    LawKind(
        "computed_torque",
        "inverse dynamics of the joints, which are the coordinates",
        Law.COMPUTED_TORQUE,
        (MOTION,),
        kernel=computed_torque_law,
        make=make_controller,
        projected=False,
    )
)
LAWS.add(
    LawKind(
        "gravity",
        "the arm's weight and a damping, to lead it by hand",
        Law.GRAVITY,
        (MOTION,),
        kernel=gravity_law,
        make=make_controller,
        projected=False,
        follows=False,
        uses_gains=False,
    )
)

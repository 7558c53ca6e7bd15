"""Resolved-rate control: velocities of the joints for velocities of the tasks (Stadelmann 3).

    ẋ* = ẋ_d + K e,    K = G_P / G_D,
    q̇  ← A⁺ẋ_c
    q̇  ← q̇ + (J_i N)⁺ (ẋ*_i − J_i q̇),    N ← N − V_i V_iᵀ,    V_i = R((J_i N)ᵀ)     i = 1, 2, …
    q̇  ← q̇ + N √K₀ (q₀ − q)

N₀ = P: what a level gets lies in what the constraint (which may move with ẋ_c) and the levels
before leave free; the posture has the rest. These are the levels of `operational_space`, with
velocities instead of accelerations; J_i N is damped near singular poses as there. Where the drives
follow, ė = −K e, which is G_D ė + G_P e = 0: the same gains as elsewhere, without the inertia.

What is sent is a velocity of each joint [rad/s or m/s], whatever the arm weighs: it is for joints
with drives, `simulation.drive` of a simulated arm. `keep_rates` bounds it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.compiled import compiled
from projected_control.control.controllers import Controller
from projected_control.control.gains import MotionGains
from projected_control.control.law_kinds import LAWS, MOTION, VELOCITY, Law, LawKind, LawRequest
from projected_control.control.laws.operational_space import (
    check_priority,
    leave_to_level,
    meet_levels,
    whole_levels,
)
from projected_control.control.motion import SINGULAR_RANGE, prepare_motion, way_to
from projected_control.control.task_terms import unpack_task
from projected_control.control.terms import ControlTerms
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import ConstrainedArm, Terms
from projected_control.model.linalg import axpy, copy, fill
from projected_control.model.on_constraint import least_motion_add


@compiled
def resolved_rate_law(stop: bool, passive: NDArray[np.int64], t: Terms, c: ControlTerms) -> None:
    """tangent = q̇; in a stop what the constraint itself moves with, see `keep_rates`."""
    prepare_motion(stop, True, t, c)
    s = unpack_task(c.task, t.v.size, t.theta.size)
    fill(c.u_p, 0.0)
    s.taken_rows[0] = 0.0
    least_motion_add(t, t.target[1], c.u_p)
    if not stop:
        for i in range(c.a.size):
            K = c.gains[0, i] / c.gains[1, i] if c.gains[1, i] > 0.0 else 0.0
            c.a[i] = t.theta_rate[i] + c.error[1, i] + K * c.error[0, i]
        meet_levels(t, c, s)
        way_to(c.posture, t, c.load)
        draw = np.sqrt(c.posture_gains[0] * (1.0 - c.rejoin[2]))
        for i in range(t.v.size):
            c.load[i] *= draw * t.sqrt_metric[i]
        leave_to_level(t, s, c.load, c.net)
        axpy(1.0, c.net, c.u_p)
    for i in range(t.v.size):  # efforts have the other units in the metric
        c.tangent[i] = c.u_p[i] / (t.sqrt_metric[i] * t.sqrt_metric[i])
    copy(c.tangent, c.full)
    fill(c.normal, 0.0)
    c.as_asked[0] = 1.0


class ResolvedRateController(Controller):
    """Velocities of the joints for tasks by priority, in what the constraint leaves free.

    Args:
        model: The arm, its constraint and its coordinates; every joint has a drive.
        gains: On the coordinates; their stiffness over their damping is K.
        priority: Level of each coordinate, 1 is the highest; all on one level unless given.
        period: Period of the loop [s].
        singular_range: Singular values of a level's J_i N from which on it is damped.
    """

    needs_independence = False

    def __init__(
        self,
        model: ConstrainedArm,
        gains: MotionGains,
        priority: Sequence[int] = (),
        period: float = 1e-3,
        *,
        singular_range: float = SINGULAR_RANGE,
    ) -> None:
        super().__init__(model, gains, period, Law.RESOLVED_RATE)
        if self.passive.size:
            names = [model.arm.joint_names[i] for i in self.passive]
            raise InvalidValue(
                f"resolved_rate sends velocities to drives, which {', '.join(names)} have none of: "
                "take another law",
                key="law",
            )
        self.task.level[:] = check_priority(model, priority)
        self.task.singular_range[0] = validate.positive("singular range", singular_range)


def make_controller(asked: LawRequest) -> ResolvedRateController:
    """As parameters say."""
    group = asked.settings.operational_space
    return ResolvedRateController(
        asked.model,
        asked.gains,
        whole_levels(group),
        asked.period,
        singular_range=group.singular_range,
    )


LAWS.add(
    LawKind(
        "resolved_rate",
        "velocities instead of efforts, tasks by priority",
        Law.RESOLVED_RATE,
        (MOTION,),
        kernel=resolved_rate_law,
        make=make_controller,
        commands=VELOCITY,
    )
)

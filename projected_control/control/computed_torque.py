"""Computed torque in joint space, and gravity compensation as its simplest form.

    computed torque:  f = h + M (q̈_d + G_D ė + G_P e),    e = q_d − q
    gravity:          f = h − d M q̇

What people start an arm with: neither knows of a constraint, and neither needs any but the joints'
own positions. Gravity compensation carries the arm (and cancels Coriolis and centrifugal terms),
so that it can be led by hand; d (`gains.null_damping`) has it come to rest. Computed torque gives
ë + G_D ė + G_P e = 0 for every joint.
"""

from __future__ import annotations

from projected_control.compiled import compiled
from projected_control.control.law_kinds import LAWS, MOTION, Law, LawKind
from projected_control.control.motion import (
    asked_acceleration,
    brake,
    carry_all,
    find_effort,
    keep_all,
    prepare_motion,
)
from projected_control.control.terms import ControlTerms
from projected_control.model.constrained_arm import Terms
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
def computed_torque_law(gravity: bool, stop: bool, t: Terms, c: ControlTerms) -> None:
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


LAWS.add(
    LawKind(
        "computed_torque",
        "inverse dynamics of the joints, which are the coordinates",
        Law.COMPUTED_TORQUE,
        (MOTION,),
    )
)
LAWS.add(
    LawKind(
        "gravity",
        "the arm's weight and a damping, to lead it by hand",
        Law.GRAVITY,
        (MOTION,),
    )
)

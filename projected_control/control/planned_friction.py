"""The friction that a controller will compensate along a motion that is still being planned."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.control.compensation import FrictionCompensation
from projected_control.model.constrained_arm import ConstrainedArm

Array = NDArray[np.float64]


def planned_friction(
    compensation: FrictionCompensation, model: ConstrainedArm, v: Array, desired: Array
) -> Array:
    """τ that is compensated along a motion that is planned, where the model was evaluated, n.

    Static friction counts in full, since a joint that moves slowly takes it.

    Args:
        compensation: What is known.
        model: The arm, evaluated there.
        v: Joint velocities of the motion, n [rad/s or m/s].
        desired: λ_d, m.
    """
    known = compensation.array(model.n)[: 5 * model.n].reshape(5, model.n)
    _, static, _, viscous, width = known
    friction = static * np.tanh(v / width) + viscous * v
    constraint = model.constraint
    if compensation.contact and constraint is not None and constraint.frame is not None:
        J = model.arm.frame(constraint.frame).jacobian[:3]
        along = J @ v
        forces = desired[[unit == "m" for unit in constraint.row_units]]
        size = compensation.contact * np.linalg.norm(forces)
        speed = max(float(np.linalg.norm(along)), compensation.contact_width)
        friction = friction + size * (J.T @ along) / speed
    return np.asarray(friction)

"""Which efforts a controller sends for a motion that is planned: for timing and flight check."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from projected_control.arrays import Array
from projected_control.control.compensation import FrictionCompensation
from projected_control.control.controllers import Controller
from projected_control.control.force import own_force
from projected_control.control.independence import CONTROLLABILITY_TOLERANCE
from projected_control.control.law_kinds import Law
from projected_control.model.constrained_arm import ConstrainedArm


class SentEffort(NamedTuple):
    """What a controller sends at one state, in joint units: S f + G λ_d."""

    S: Array  # for the efforts f = h + M q̈ that a motion takes, n × n
    G: Array  # for the force that is asked for, n × m; zero for a law that asks for none


def is_projected(controller: Controller) -> bool:
    """Whether across the constraint a controller sends what its force loop asks for, no more."""
    return controller.kind.projected and bool(controller.task.projected[0] != 0.0)


def leans(controller: Controller) -> bool:
    """Whether it leaves to the constraint what of the weight that can carry."""
    return is_projected(controller) and controller.force is None


def asked_motion(controller: Controller, v: Array, a: Array) -> Array:
    """The acceleration that a controller sends efforts for, along a motion of joints, n.

    That of the motion itself; a law that follows no reference asks for −d q̇.
    """
    return a if controller.kind.follows else -controller.gains.null_damping * v


def sent_effort(controller: Controller) -> SentEffort:
    """What a controller sends for a motion that is followed exactly, where its model is.

    `test_sent_effort.py` holds it against every law. With C = diag(controlled) the rows whose force
    is controlled, S_f the selection of directions for a force (see `selection`):

        projected, no force    P f
        projected, force       (P + Aᵀ C A⁺ᵀ) f + Aᵀ C λ_d,    which is f + Aᵀλ_d for all rows
        not projected          f,  f + Aᵀ C λ_d,  or f + Jᵀ S_f J⁺ᵀ Aᵀ C λ_d for a selection
        passive joints         (I − (I − P) Q⁺ (I − B)) times the same
        least contact force    (I − Aᵀ (A_pᵀ)⁺ (I − B)_p) f

    Args:
        controller: Its model was evaluated at the state.
    """
    model, force = controller.model, controller.force
    n, m, scale, P = model.n, model.m, model.sqrt_metric, model.P
    eye, projected = np.eye(n), is_projected(controller)
    S, G = P if projected else eye, np.zeros((n, m))
    if force is not None:
        G = model.A.T * force.controlled
        if projected and not force.controlled.all():
            G = G * own_force(model.terms, controller.terms)
            S = P + G @ model.A_pinv.T
        elif projected:
            S = eye
    if controller.kind.pressing is not None:
        G = controller.kind.pressing(controller) @ G
    if controller.kind.number is Law.LEAST_CONTACT_FORCE:
        rows = model.terms.row_scale[:, None] * model.A
        S = eye - rows.T @ np.linalg.pinv(rows[:, controller.passive].T) @ eye[controller.passive]
    elif controller.passive.size:
        B = np.diag(model.arm.actuated)
        Q = (eye - B) @ (eye - P)
        Q_pinv = np.linalg.pinv(Q, rcond=CONTROLLABILITY_TOLERANCE)
        spared = eye - (eye - P) @ Q_pinv @ (eye - B)
        S, G = spared @ S, spared @ G
    return SentEffort(scale[:, None] * S / scale[None, :], scale[:, None] * G)


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

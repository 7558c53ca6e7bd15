"""From a robot description to Pinocchio's model of the joints that move, and their limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidDescription, InvalidValue
from projected_control.model.description import UNLIMITED, Description, Mimic
from projected_control.model.floating_base import BASE, SIZE

Array = NDArray[np.float64]

FIXED, FLOATING = BASES = ("fixed", "floating")
"""What the first link stands on: the world, or nothing."""


@dataclass(frozen=True)
class JointLimits:
    """Limits of the joints, one number per joint; infinite where the description gives none.

    Attributes:
        effort: Largest magnitude, zero for a joint that has no motor [N·m or N].
        velocity: Largest magnitude [rad/s or m/s].
        lower: Smallest position [rad or m].
        upper: Largest position [rad or m].
    """

    effort: Array
    velocity: Array
    lower: Array
    upper: Array

    def __post_init__(self) -> None:
        if not (np.asarray(self.effort) >= 0.0).all():
            raise InvalidValue(
                f"effort limits must not be negative, got {np.asarray(self.effort).tolist()}"
            )
        if not (np.asarray(self.velocity) > 0.0).all():
            raise InvalidValue(
                f"velocity limits must be positive, got {np.asarray(self.velocity).tolist()}"
            )
        if not (np.asarray(self.lower) < np.asarray(self.upper)).all():
            raise InvalidValue(
                f"position limits are inconsistent: lower {np.asarray(self.lower).tolist()} "
                f"is not below upper {np.asarray(self.upper).tolist()}"
            )


def limits_of(model: pinocchio.Model) -> JointLimits:
    """The limits of a model's joints; infinite where the description gives none."""

    def unlimited(values: Array) -> Array:
        values = np.array(values)
        return np.where(np.abs(values) >= UNLIMITED, np.copysign(np.inf, values), values)

    limits = [
        unlimited(values[model.nq - model.nv :])
        for values in (model.lowerPositionLimit, model.upperPositionLimit)
    ]
    effort, velocity = unlimited(model.effortLimit), unlimited(model.velocityLimit)
    if model.nq > model.nv:  # a floating base, which has neither motors nor ends
        effort[:SIZE] = 0.0
        velocity[:SIZE] = limits[1][:SIZE] = np.inf
        limits[0][:SIZE] = -np.inf
    return JointLimits(effort, velocity, *limits)


def build_model(
    description: Description,
    joints: Iterable[str] | None,
    locked: Mapping[str, float],
    base: str = FIXED,
) -> pinocchio.Model:
    """Pinocchio's model with these joints moving; the others locked, at zero unless said."""
    floats = validate.one_of("base", base, BASES) == FLOATING
    root = (pinocchio.JointModelFreeFlyer(),) if floats else ()
    if floats and (taken := sorted(set(BASE) & set(description.joints))):
        raise InvalidDescription(
            f"joints {taken} are called as those of a floating base are; rename them"
        )
    try:
        model = pinocchio.buildModelFromXML(description.urdf, *root)
    except (ValueError, RuntimeError) as error:
        raise InvalidDescription(f"Pinocchio cannot read the robot description: {error}") from None
    names = tuple(model.names)[1 + floats :]
    for name in locked:
        validate.one_of("joint", name, names)
    if joints is None:
        moving = [name for name in names if name not in locked]
    else:
        moving = [validate.one_of("joint", name, names) for name in joints]
        if len(set(moving)) != len(moving):
            raise InvalidValue(f"joints are named twice in {moving}")
        if overlap := sorted(set(moving) & set(locked)):
            raise InvalidValue(f"joints {overlap} are said to move and to be locked")
    if not moving:
        raise InvalidValue("an arm needs at least one joint that moves")
    rest = [model.getJointId(name) for name in names if name not in moving]
    if rest:
        reference = pinocchio.neutral(model)
        for name, position in locked.items():
            reference[model.joints[model.getJointId(name)].idx_q] = validate.finite(
                f"locked {name}", position
            )
        model = pinocchio.buildReducedModel(model, rest, reference)
    return model


def mimics_of(description: Description, moving: Sequence[str]) -> dict[str, Mimic]:
    """Moving joints that follow others; a leader that is locked leaves nothing to follow."""
    mimics = {}
    for name in moving:
        mimic = description.joints[name].mimic
        if mimic is None:
            continue
        if mimic.leader not in moving:
            raise InvalidValue(
                f"joint {name!r} mimics {mimic.leader!r}, which is locked; lock {name!r} too, or "
                f"let {mimic.leader!r} move"
            )
        mimics[name] = mimic
    return mimics


def gravity_vector(gravity: float | ArrayLike) -> Array:
    """Acceleration of gravity: along −z, or as it is given [m/s²]."""
    if np.ndim(gravity) == 0:
        return np.array([0.0, 0.0, -validate.finite("gravity", float(np.asarray(gravity)))])
    return validate.finite_array("gravity", gravity, (3,))

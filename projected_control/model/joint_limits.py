"""Limits of joints, as a description gives them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio
from numpy.typing import NDArray

from projected_control.errors import InvalidValue
from projected_control.model.description import UNLIMITED

Array = NDArray[np.float64]


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

    return JointLimits(
        effort=unlimited(model.effortLimit),
        velocity=unlimited(model.velocityLimit),
        lower=unlimited(model.lowerPositionLimit),
        upper=unlimited(model.upperPositionLimit),
    )

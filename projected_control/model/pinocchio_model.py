"""From a robot description to Pinocchio's model of those joints of it that move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pinocchio
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidDescription, InvalidValue
from projected_control.model.description import Description, Mimic

Array = NDArray[np.float64]


def build_model(
    description: Description, joints: Iterable[str] | None, locked: Mapping[str, float]
) -> pinocchio.Model:
    """Pinocchio's model with these joints moving; the others locked, at zero unless said."""
    try:
        model = pinocchio.buildModelFromXML(description.urdf)
    except (ValueError, RuntimeError) as error:
        raise InvalidDescription(f"Pinocchio cannot read the robot description: {error}") from None
    names = tuple(model.names)[1:]
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

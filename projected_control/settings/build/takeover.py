"""What a controller follows from its activation on: bumpless, wherever the arm is and as it moves.

An arm that was let go may be elsewhere than it was, and may still move. Its reference takes that
motion up and leads it to where it is to begin, rather than asking it to stand still at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.control.loop import ControlLoop
from projected_control.control.references import Reference, ReferencePoint
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.settings.build.loops import build_reference, motion_limits
from projected_control.settings.nodes import ControllerSettings, MovedArmSettings

Array = NDArray[np.float64]

SLOW = 0.1
"""Share of ``reference.max_rate`` up to which a coordinate counts as at rest, and up to which its
rate may differ from that of a reference that is followed at once: what a sensor's noise makes."""


def starting_point(settings: MovedArmSettings, model: ConstrainedArm) -> ReferencePoint:
    """Where an arm is, and how it moves, as what its reference begins with.

    Args:
        settings: Of the controller.
        model: Evaluated at the state of the arm.
    """
    place, rate = model.theta.copy(), np.zeros(model.k)
    if model.coordinates is not None:
        rate = model.coordinates.rate(place, model.theta_rate)
        rate[np.abs(rate) <= _slow(settings, model.k)] = 0.0
    return ReferencePoint(place, rate, np.zeros(model.k))


def first_reference(
    settings: ControllerSettings, loop: ControlLoop, here: ReferencePoint, q: Array
) -> Reference:
    """What a controller follows from time zero on.

    Args:
        settings: Of the controller; without ``reference.approach`` an arm that is at the beginning
            of its motion, and moves along, follows it at once.
        loop: What is going to follow it.
        here: See `starting_point`.
        q: Where the arm is, n [rad or m].
    """
    reference = build_reference(settings, here, 0.0, q)
    if _begins_here(settings, loop, reference, here):
        return reference
    return build_reference(settings.changed({"reference.approach": True}), here, 0.0, q)


def _begins_here(
    settings: MovedArmSettings, loop: ControlLoop, reference: Reference, here: ReferencePoint
) -> bool:
    coordinates = loop.controller.model.coordinates
    if coordinates is None:
        return True
    begin = reference.at(0.0)
    away = np.abs(coordinates.difference(begin.value, here.value))
    faster = np.abs(begin.rate - here.rate)
    near = (away <= loop.guard.limits.reference_jump).all()
    return bool(near and (faster <= _slow(settings, here.value.size)).all())


def _slow(settings: MovedArmSettings, k: int) -> Array:
    slow: Array = SLOW * motion_limits(settings, k).array(k)[0]
    return slow

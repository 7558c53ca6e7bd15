"""From settings to what looks at a reference before an arm follows it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.control.loop import ControlLoop
from projected_control.control.references import ReferencePoint
from projected_control.planning import flight_check
from projected_control.planning.way_check import WayBounds, WayCheck
from projected_control.settings.build.arms import build_model
from projected_control.settings.build.controllers import delay_of
from projected_control.settings.build.loops import build_loop, build_reference, motion_limits
from projected_control.settings.build.paths import posture_of
from projected_control.settings.nodes import ControllerSettings
from projected_control.settings.real_arms import is_real
from projected_control.validate import spread

Array = NDArray[np.float64]

REAL_DISTANCE = 0.05
"""How far a reference leads on a real arm unless ``reference.max_distance`` says it [m or rad]."""


def fly(loop: ControlLoop, settings: ControllerSettings, q: Array) -> flight_check.FlightCheck:
    """Look at a controller along its whole reference, from where an arm stands.

    Args:
        loop: Of these settings.
        settings: Its settings.
        q: Where the arm stands, n [rad or m]; on its constraint.
    """
    model = build_model(settings)
    model.evaluate(q, np.zeros(model.n))
    here = ReferencePoint(model.theta.copy(), *np.zeros((2, model.k)))
    again = settings.reference.repeats > 1
    once = {"reference.approach": True, "reference.repeats": 1}
    once |= {"reference.back": settings.reference.back or again}  # what repeats is gone once
    reference = build_reference(settings.changed(once), here, 0.0, q)
    posture = posture_of(settings, model, q)
    return flight_check.fly(loop, model, reference, q, posture=posture, delay=delay_of(settings))


def build_way_check(node: str, settings: ControllerSettings) -> WayCheck:
    """What looks at references for a controller with these settings."""
    loop, model, group = build_loop(node, settings), build_model(settings), settings.reference
    real = is_real(settings)
    distance = np.full(model.k, REAL_DISTANCE if real else np.inf)
    if group.max_distance:
        distance = spread("reference.max_distance", group.max_distance, model.k)
    return WayCheck(
        loop,
        model,
        WayBounds(distance, motion_limits(settings, model.k), slow=real, looks=group.check),
        lambda q: posture_of(settings, model, q),
        delay_of(settings),
    )

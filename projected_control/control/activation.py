"""What must be so for a controller to start: the same for a node, a launch file and `check`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.control.loop import ControlLoop
from projected_control.errors import ProjectedControlError, Uncontrollable, UnstableMotionLoop
from projected_control.model.description import UNLIMITED
from projected_control.model.dynamics import massless_joints

Array = NDArray[np.float64]

INDEPENDENT = 1e-3
"""Smallest singular value of J_θ P, in the metric's coordinates, from which coordinates count as
independent of the constraint and of each other."""

HOW_BACK = (
    "a simulated one with its service ~/reset, or Reset on the live page; a real one by hand, or "
    "with its own controller"
)


class CannotStart(ProjectedControlError, ValueError):
    """An arm that cannot be taken over as it stands; the message says all that is against it."""


def obstacles(loop: ControlLoop, q: Array, tolerance: float) -> list[str]:
    """All that keeps a controller from starting at q, in words; empty where nothing does.

    Evaluates the model at q, at rest.

    Args:
        loop: With the controller and its limits.
        q: Joint positions [rad or m].
        tolerance: ‖Φ‖ up to which the arm counts as on its constraint [m].
    """
    controller, model = loop.controller, loop.controller.model
    found = []
    controller.stop(q, np.zeros(model.n))
    residual = float(np.linalg.norm(model.residual))
    if not residual <= tolerance:
        found.append(
            f"the arm is not on its constraint: ‖Φ‖ = {residual:.4g} m, allowed are "
            f"{tolerance:g} m (constraint.residual_tolerance); at q = {np.round(q, 4).tolist()}"
        )
    found += _outside(loop, q)
    found += model.arm.implausible
    if lost := massless_joints(model.M, model.P, model.arm.joint_names):
        found.append(
            f"joint {', '.join(lost)} has no inertia, and the constraint does not carry it: give "
            "its link an <inertial>, or the joint an armature"
        )
    found += _dependent(loop)
    if controller.passive.size:
        try:
            controller.require_controllable(q)
        except Uncontrollable as error:
            found.append(str(error))
    found += _unstable(loop)
    return found + _too_heavy(loop)


def require_start(loop: ControlLoop, q: Array, tolerance: float) -> None:
    """Raise where something keeps a controller from starting at q; see `obstacles`."""
    if found := obstacles(loop, q, tolerance):
        raise CannotStart("; ".join(found))


def require_limits(loop: ControlLoop) -> None:
    """Raise where a joint of a real arm has no effort or velocity limit that somebody gave.

    A joint without a motor needs no effort limit: nothing is asked of it.
    """
    limits, arm = loop.guard.limits, loop.controller.model.arm
    everywhere = np.ones(arm.n)
    missing = [
        f"{name} ({what})"
        for what, values, needed in (
            ("effort", limits.effort, arm.actuated),
            ("velocity", limits.velocity, everywhere),
        )
        for name, value, needs in zip(arm.joint_names, values, needed, strict=True)
        if needs and not value < UNLIMITED
    ]
    if missing:
        raise CannotStart(
            f"a real arm does not move without limits: {', '.join(missing)} has none; give them in "
            "the description, or as limits.effort and limits.velocity"
        )


def _outside(loop: ControlLoop, q: Array) -> list[str]:
    limits, names = loop.guard.limits, loop.controller.model.arm.joint_names
    outside = [
        f"{name} at {x:.4g}, allowed are {low:.4g} to {high:.4g}"
        for name, x, low, high in zip(names, q, limits.lower, limits.upper, strict=True)
        if not low <= x <= high
    ]
    if not outside:
        return []
    return [
        f"joints are outside their limits: {'; '.join(outside)}; bring the arm back ({HOW_BACK})"
    ]


def _dependent(loop: ControlLoop) -> list[str]:
    controller, model = loop.controller, loop.controller.model
    if not controller.needs_independence:
        return []
    if model.k > model.free_directions:
        return [
            f"{model.k} coordinates cannot all move: the constraint leaves "
            f"{model.free_directions} of {model.n} directions free"
        ]
    if controller.margins[0] < INDEPENDENT:
        return ["the coordinates do not describe what the constraint leaves free here"]
    return []


def _unstable(loop: ControlLoop) -> list[str]:
    try:
        for sampled, name in loop.controller.motion_loops(loop.controller.delay):
            sampled.require_stable(name)
    except UnstableMotionLoop as error:
        return [str(error)]
    return []


def _too_heavy(loop: ControlLoop) -> list[str]:
    arm, limits = loop.controller.model.arm, loop.guard.limits
    weight = np.abs(loop.controller.effort.total)
    names = [
        f"{name} needs {need:.3g} of {most:.3g}"
        for name, need, most in zip(arm.joint_names, weight, limits.effort, strict=True)
        if need > most
    ]
    if not names:
        return []
    return [f"carrying the arm's weight here takes more than the effort limits: {'; '.join(names)}"]

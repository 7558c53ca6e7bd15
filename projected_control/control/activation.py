"""What must be so for a controller to start: the same for a node, a launch file and `check`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.control.independence import INDEPENDENT, explain_dependence
from projected_control.control.law_kinds import VELOCITY
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.errors import (
    InvalidValue,
    ProjectedControlError,
    Uncontrollable,
    UnstableForceLoop,
    UnstableMotionLoop,
)
from projected_control.model.arm import Arm
from projected_control.model.consistency import contradiction
from projected_control.model.description import UNLIMITED
from projected_control.model.dynamics import massless_joints

Array = NDArray[np.float64]

_BACK = "its brakes released and by hand, or with its own controller"

NEGLIGIBLE_WEIGHT = 0.01
"""Share of a joint's effort limit that its weight may take without counting as weight to carry."""

PLACES = 200
"""Configurations at which the weight is looked at, beside the present one."""


def how_back(real: bool) -> str:
    """In words, how an arm is brought back to where it may start.

    Args:
        real: Whether it is a real one, or behind a controller manager: it has no ~/reset.
    """
    if real:
        return _BACK
    return (
        "a simulated one with ~/reset of its node simulated_arm, or Reset on the live page; a real "
        f"one {_BACK}"
    )


class CannotStart(ProjectedControlError, ValueError):
    """An arm that cannot be taken over as it stands; the message says all that is against it."""


def obstacles(loop: ControlLoop, q: Array, tolerance: float, *, real: bool = False) -> list[str]:
    """All that keeps a controller from starting at q, in words; empty where nothing does.

    Evaluates the model at q, at rest.

    Args:
        loop: With the controller and its limits.
        q: Joint positions [rad or m].
        tolerance: ‖Φ‖ up to which the arm counts as on its constraint [m].
        real: Whether the arm is a real one, or behind a controller manager: it has no ~/reset.
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
    if against := contradiction(model.arm, model.constraint, q):
        found.append(against)
    found += _outside(loop, q, how_back(real))
    found += model.arm.implausible
    if lost := massless_joints(model.M, model.P, model.arm.joint_names):
        found.append(
            f"joint {', '.join(lost)} has no inertia, and the constraint does not carry it: give "
            "its link an <inertial>, or the joint an armature"
        )
    found += _shared_force(loop)
    found += _dependent(loop)
    if controller.passive.size:
        try:
            controller.require_controllable(q)
        except Uncontrollable as error:
            found.append(str(error))
    found += _unstable(loop) + _unstable_on_surface(loop)
    return found + _too_heavy(loop)


def require_start(loop: ControlLoop, q: Array, tolerance: float, *, real: bool = False) -> None:
    """Raise where something keeps a controller from starting at q; see `obstacles`."""
    if found := obstacles(loop, q, tolerance, real=real):
        raise CannotStart("; ".join(found))


def require_limits(loop: ControlLoop) -> None:
    """Raise where a joint of a real arm has no effort or velocity limit that was given.

    A joint without a motor needs no effort limit: nothing is asked of it; a floating base neither.
    """
    limits, arm = loop.guard.limits, loop.controller.model.arm
    of_joints = np.arange(arm.n) >= arm.base_size
    missing = [
        f"{name} ({what})"
        for what, values, needed in (
            ("effort", limits.effort, arm.actuated),
            ("velocity", limits.velocity, of_joints),
        )
        for name, value, needs in zip(arm.joint_names, values, needed, strict=True)
        if needs and not value < UNLIMITED
    ]
    if missing:
        raise CannotStart(
            f"a real arm does not move without limits: {', '.join(missing)} has none; give them in "
            "the description, or as limits.effort and limits.velocity"
        )


def weight_to_carry(arm: Arm, limits: Limits) -> list[str]:
    """Joints that carry weight somewhere in their range, with how much at most; often none.

    Args:
        arm: Without gravity where its firmware carries the weight.
        limits: Effort limits, against which a weight counts, and the ranges.
    """
    lower = np.where(limits.lower > -UNLIMITED, limits.lower, -np.pi)
    upper = np.where(limits.upper < UNLIMITED, limits.upper, np.pi)
    shares = np.random.default_rng(0).random((PLACES, arm.n))
    twin, rest = arm.twin(), np.zeros(arm.n)
    places = [lower + share * (upper - lower) for share in shares]
    most = np.max([np.abs(twin.update(q, rest).h) for q in places], axis=0)
    counts = (most > NEGLIGIBLE_WEIGHT * limits.effort) & (arm.actuated > 0.0)
    return [f"{arm.joint_names[i]} up to {most[i]:.3g}" for i in np.flatnonzero(counts)]


def require_held(arm: Arm, limits: Limits, why: str = "") -> None:
    """Raise where an arm that carries its weight by our efforts over topics would fall without.

    Args:
        arm, limits: See `weight_to_carry`.
        why: Why it is carried over topics, where that was not asked for.
    """
    if carried := weight_to_carry(arm, limits):
        reason = f"{why}; " if why else ""
        raise CannotStart(
            f"{reason}this arm's weight is carried by our efforts ({', '.join(carried)} N·m or N), "
            "and over topics they end where this node is late or dies: the arm would fall; let the "
            "plugin hold it (hardware: plugin, loop:=plugin), set effort_includes_gravity to false "
            "where the arm carries itself, or ask for it: ros2_control.may_fall true, "
            "may_fall:=true of the launch file"
        )


def _outside(loop: ControlLoop, q: Array, how_back: str) -> list[str]:
    limits, names = loop.guard.limits, loop.controller.model.arm.joint_names
    outside = [
        f"{name} at {x:.4g}, allowed are {low:.4g} to {high:.4g}"
        for name, x, low, high in zip(names, q, limits.lower, limits.upper, strict=True)
        if not low - limits.return_margin <= x <= high + limits.return_margin
    ]
    if not outside:
        return []
    return [
        f"joints are outside their limits: {'; '.join(outside)}; bring the arm back ({how_back}), "
        "or have it led back in by a controller whose limits.return_margin is as large as that"
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
    if controller.margins[0] < INDEPENDENT or not np.isfinite(model.J_theta).all():
        return [explain_dependence(model)]
    return []


def _shared_force(loop: ControlLoop) -> list[str]:
    force = loop.controller.force
    if force is None or force.definite:
        return []
    rows = np.flatnonzero(force.controlled).tolist()
    return [
        f"the force of rows {rows} alone cannot be controlled: the constraint's "
        f"{force.controlled.size} rows, of which {loop.controller.model.rank} are independent, "
        "share it; control all of them (force.rows), or name each constraint once"
    ]


def _unstable(loop: ControlLoop) -> list[str]:
    try:
        for sampled, name in loop.controller.motion_loops(loop.controller.delay):
            sampled.require_stable(name)
    except (UnstableMotionLoop, InvalidValue) as error:
        return [str(error)]
    return []


def _unstable_on_surface(loop: ControlLoop) -> list[str]:
    force = loop.controller.force
    try:
        if force is not None:
            force.contact_loop().require_stable()
    except (UnstableForceLoop, InvalidValue) as error:
        return [str(error)]
    return []


def _too_heavy(loop: ControlLoop) -> list[str]:
    if loop.controller.kind.commands == VELOCITY:
        return []  # the drives carry it
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

"""Whether settings make a controller that would start, and what there is to say of it.

`projected-control check` and the launch files ask here, and the node makes the same checks when it
is activated (see `control.activation`): what one accepts the other starts.

It also warns where the world could not carry the force of a constraint. A constraint is what the
world enforces; declared where it enforces nothing, the controller relies on a force that nothing
exerts. That is not known for sure here, and so a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from projected_control import validate
from projected_control.arrays import Array
from projected_control.control.activation import obstacles
from projected_control.control.contact import Contact
from projected_control.control.force import ForceLoopState
from projected_control.control.loop import ControlLoop
from projected_control.errors import ProjectedControlError
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.dynamics import condition_numbers
from projected_control.planning import assemble
from projected_control.settings import build, groups
from projected_control.settings.nodes import (
    ControllerSettings,
    ForceControllerSettings,
    SimulatedArmSettings,
)
from projected_control.settings.real_arms import unsaid


@dataclass(frozen=True)
class Inspection:
    """What was found."""

    numbers: dict[str, Any]  # what there is to say, by name
    troubles: list[str]  # what would keep the controller from starting
    warnings: list[str]  # what is doubtful, but would not


def inspect(
    node: str,
    settings: ControllerSettings,
    q: Sequence[float] | None = None,
    guess: Sequence[float] = (),
) -> Inspection:
    """Build a controller and look at it where an arm may stand.

    Args:
        node: Which controller.
        settings: Its settings.
        q: Where to look [rad or m]; the configuration on the constraint nearest a guess if None.
        guess: That guess; one within the joints' ranges if empty.

    Raises:
        ProjectedControlError: Where nothing can be built from the settings.
    """
    loop = build.build_loop(node, settings)
    model = loop.controller.model
    build.check_reference(settings, model.k)
    if q is None:
        place = assemble(model.arm, model.constraint, build.start_guess(model.arm, guess))
    else:
        place = validate.finite_array("the joint positions", q, (model.n,))
    loop.controller.hold(place)
    troubles = unsaid(settings) + obstacles(loop, place, settings.constraint.residual_tolerance)
    numbers = _numbers(loop, place)
    return Inspection(numbers, troubles, _warnings(settings, loop))


def require_sound(
    node: str, settings: ControllerSettings, guess: Sequence[float] = ()
) -> list[str]:
    """Raise where a controller with these settings would not start; the warnings."""
    found = inspect(node, settings, None, guess)
    if found.troubles:
        raise ProjectedControlError(f"{node} would not start: {'; '.join(found.troubles)}")
    return found.warnings


def _warnings(settings: ControllerSettings, loop: ControlLoop) -> list[str]:
    return [
        *build.gain_warnings(settings),
        *locked(settings),
        *loop.controller.model.arm.warnings,
        *uncarried(settings, loop),
        *drifting(loop),
        *idle_friction(settings, loop),
    ]


def idle_friction(settings: ControllerSettings, loop: ControlLoop) -> list[str]:
    """In words, that a cone is given, and no contact has one, and none slides."""
    slides = loop.controller.contacts.felt and loop.controller.has_contact
    has_cone = slides or any(each.tangents.size for each in loop.controller.contacts.members)
    contact = settings.contact if isinstance(settings, ForceControllerSettings) else None
    if contact is None or contact.friction == 0.0 or has_cone:
        return []
    return [
        "contact.friction keeps no force in its cone, as no contact sticks: that is a "
        "point_at_point with one_sided and a direction"
    ]


def drifting(loop: ControlLoop) -> list[str]:
    """In words, that there are motions that nothing holds; those that are led by hand are not."""
    controller, left = loop.controller, loop.controller.undescribed
    if left == 0 or controller.posture_acts or not controller.kind.follows:
        return []
    return [
        f"{left} of the arm's {controller.model.free_directions} free directions have no "
        "coordinate and no posture: they are only damped, and drift with whatever the description "
        "does not know of the arm's weight; set posture.hold or posture.target, or add coordinates"
    ]


def locked(settings: ControllerSettings) -> list[str]:
    """In words, that joints of the description are locked, and where."""
    if not settings.joints:
        return []
    whole = build.build_arm(settings.changed({"joints": [], **_all_motors(settings)}))
    own = whole.joint_names[whole.base_size :]
    left = [name for name in own if name not in settings.joints]
    if not left:
        return []
    return [f"{', '.join(left)} of {whole.name} are locked at 0, as joints does not name them"]


def _all_motors(settings: ControllerSettings) -> dict[str, Any]:
    return {"passive_joints": []} if "passive_joints" in settings.parameters() else {}


def _numbers(loop: ControlLoop, place: Any) -> dict[str, Any]:
    controller, model = loop.controller, loop.controller.model
    arm: Arm = model.arm
    numbers: dict[str, Any] = {
        "arm": arm.name,
        "joints": list(arm.joint_names),
        "passive": sorted(arm.passive),
        "effort_limits": loop.guard.limits.effort.tolist(),
        "at": np.round(place, 6).tolist(),
        "q": np.asarray(place).tolist(),
        "residual": float(np.linalg.norm(model.residual)),
        "constraint_rows": model.m,
        "rank": model.rank,
        "singular_values": np.sort(model.singular_values)[::-1].tolist(),
        "coordinates": list(model.coordinates.names) if model.coordinates else [],
        "undescribed_directions": controller.undescribed,
        "held_by": controller.held_by,
        "coordinate_independence": float(controller.margins[0]),
        "condition_number": condition_numbers(model.M, model.P)["R2"],
        "effort_at_rest": controller.effort.total.tolist(),
    }
    if controller.passive.size:
        numbers["controllability"] = float(controller.margins[1])
    if controller.force is not None:
        sampled = controller.force.gains.loop(controller.period)
        numbers["force_loop_gain_margin"] = sampled.gain_margin
        numbers["largest_stable_G_F"] = sampled.proportional_bound
        numbers |= _surface_numbers(loop, controller.force)
    return numbers


def _surface_numbers(loop: ControlLoop, force: ForceLoopState) -> dict[str, Any]:
    """Of the force loop on a surface that gives; nothing where the contact is rigid."""
    if not force.contact.gives:
        return {}
    on_surface, reference = force.contact_loop(), loop.force_reference
    numbers: dict[str, Any] = {
        "contact_stiffness": list(force.contact.stiffness),
        "normal_mass": on_surface.masses.tolist(),
        "contact_spectral_radius": on_surface.spectral_radius,
        "contact_gain_margin": on_surface.gain_margin,
    }
    if (bounds := on_surface.damping_bounds) is not None:
        numbers["stable_normal_damping"] = list(bounds)
    pressed = np.zeros(0) if reference is None else np.abs(reference.at(0.0).value)
    if (pressed := pressed[pressed > 0.0]).size and on_surface.masses.size:
        numbers["largest_touch_speed"] = on_surface.bounce_speed(float(pressed.min()))
    return numbers


FELT = 3.0
"""Least `contact.threshold` over the noise of the sensor, one σ."""

SAME_MU = 0.1
"""Share by which two coefficients of friction of one contact may differ."""


def unlike_the_arm(settings: ControllerSettings, arm: SimulatedArmSettings) -> list[str]:
    """In words, where a controller's contacts contradict each other, or its simulated arm."""
    contact, noise = getattr(settings, "contact", None), arm.sensor.noise
    if not isinstance(contact, Contact):
        return []
    found, felt = [], FELT * noise * (1.0 - 1e-9)
    if any(group.one_sided for group in _named(settings).values()) and contact.threshold < felt:
        found.append(
            f"contact.threshold {contact.threshold:g} is less than three times the noise of the "
            f"sensor (sensor.noise {noise:g}): noise alone would make and lose contacts; at least "
            f"{felt:.3g}"
        )
    there, removed = arm.friction.contact, settings.compensation.contact
    for name, mu in (("contact.friction", contact.friction), ("compensation.contact", removed)):
        if there > 0.0 and mu > there * (1.0 + SAME_MU):
            found.append(f"{name} {mu:g} counts on more than friction.contact {there:g} has")
    if 0.0 < removed < there * (1.0 - SAME_MU):
        found.append(f"compensation.contact {removed:g} leaves some of friction.contact {there:g}")
    return found


POINTS = (
    "point_on_line",
    "point_on_plane",
    "point_at_point",
    "point_on_circle",
    "point_on_surface",
)
"""Kinds of constraint that touch a point, and so give it no moment."""

CARRIED = 1e-3
"""Share of λ_d that may be missing without a word."""


def uncarried(settings: ControllerSettings, loop: ControlLoop) -> list[str]:
    """In words, all that the world could not carry where the loop's model was evaluated last."""
    return [
        *missing_moments(settings),
        *idle_constraints(loop.controller.model),
        *impossible_forces(loop),
    ]


def _named(settings: ControllerSettings) -> dict[str, groups.Constraint]:
    """Every group of a constraint, by its name in a parameter file."""
    if settings.constraints:
        return {f"constraints.{name}": group for name, group in settings.constraints.items()}
    return {"constraint": settings.constraint}


def missing_moments(settings: ControllerSettings) -> list[str]:
    """In words, where a constraint takes for granted a moment that a point contact cannot give."""
    given, found = _named(settings), []
    for name, group in given.items():
        if not _is_turn_alone(group) or group.other_frame:
            continue
        touching = [
            other
            for other, each in given.items()
            if each.kind in POINTS and each.frame == group.frame
        ]
        what = f"{touching[0]} holds a point and gives none" if touching else "nothing here does"
        instead = (
            "a coordinate of kind tilt"
            if group.kind == "angle"
            else "two coordinates of kind tilt"
            if group.kind == "parallel"
            else "coordinates of kind tilt or orientation"
        )
        found.append(
            f"{name} ({group.kind}) needs something in the world that gives {group.frame} a "
            f"moment: {what}. If the direction is what you want, not what the world enforces, "
            f"make it {instead}; if the link lies flat, frame_fixed in tz, rx, ry"
        )
    return found


def _is_turn_alone(group: groups.Constraint) -> bool:
    """Whether a constraint takes nothing but moments."""
    if group.kind in ("frame_fixed", "loop"):
        return bool(group.directions) and all(each.startswith("r") for each in group.directions)
    return group.kind in ("parallel", "angle")


def _parts(model: ConstrainedArm) -> Iterator[tuple[str, list[int]]]:
    """Names of constraints, as rows are called, and their rows; one without a name is whole."""
    if model.constraint is None:
        return
    parts: dict[str, list[int]] = {}
    for row, name in enumerate(model.constraint.row_names):
        parts.setdefault(name.rpartition(".")[0], []).append(row)
    yield from parts.items()


def idle_constraints(model: ConstrainedArm) -> list[str]:
    """In words, constraints that no joint could break, which carry nothing."""
    return [
        f"{f'constraints.{name}' if name else 'constraint'} holds nothing: no joint moves the arm "
        f"along {'its row' if len(rows) == 1 else 'any of its rows'} where it stands, so that "
        "there is no force to carry; look whether frame and direction are the ones you mean"
        for name, rows in _parts(model)
        if np.abs(model.A[rows]).max(initial=0.0) <= model.tolerance
    ]


def impossible_forces(loop: ControlLoop) -> list[str]:
    """In words, where λ_d has a part outside R(A), which no force is."""
    force, model, reference = loop.controller.force, loop.controller.model, loop.force_reference
    if force is None or model.constraint is None or reference is None:
        return []
    rows = np.flatnonzero(force.controlled)
    wanted: Array = np.asarray(reference.at(0.0).value)[rows]
    A = model.A[rows]
    possible = A @ (np.linalg.pinv(A, rcond=1e-9) @ wanted) if rows.size else wanted
    if np.linalg.norm(wanted - possible) <= CARRIED * np.linalg.norm(wanted):
        return []
    names = [model.constraint.row_names[row] for row in rows]
    return [
        f"force.reference asks for {_rounded(wanted)} N or N·m on {', '.join(names)}; of that the "
        f"rows can carry {_rounded(possible)} only where the arm stands, as they repeat each "
        "other or are rows along which no joint moves it: name rows that are independent in "
        "force.rows, or ask for what they can carry"
    ]


def _rounded(values: Array) -> str:
    return ", ".join(f"{value:.4g}" for value in np.round(values, 9) + 0.0)

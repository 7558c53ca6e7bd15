"""From settings to a controller and its gains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from projected_control.control import Controller, ForceGains, MotionGains, Posture
from projected_control.control.contact import Unexpected
from projected_control.control.controllers import motion_loops
from projected_control.control.force import ForceLoopState
from projected_control.control.law_kinds import LAWS, LawRequest
from projected_control.control.references import Constant
from projected_control.control.stability import MotionLoop
from projected_control.errors import InvalidValue, UnknownName, about
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import Constraint
from projected_control.settings.build.arms import build_model
from projected_control.settings.build.contacts import one_sided_of
from projected_control.settings.nodes import (
    CONTROLLERS,
    ControllerSettings,
    ForceControllerSettings,
    MotionControllerSettings,
    MovedArmSettings,
    PassiveJointControllerSettings,
    TimedSettings,
)
from projected_control.settings.placing import given_of

DISTURBANCES = ("disturbance.integral", "disturbance.bandwidth")
FORCE_LOOP = ("force.proportional", "force.integral", "force.cutoff", "force.delay")
"""Parameters that decide whether a sampled loop is stable, besides the gains on the motion."""


def build_controller(node: str, settings: ControllerSettings) -> Controller:
    """The controller of a node."""
    if node not in CONTROLLERS:
        raise InvalidValue(f"{node} is no controller; there are: {', '.join(CONTROLLERS)}")
    kind = CONTROLLERS[node]
    if not isinstance(settings, kind.settings):
        raise InvalidValue(f"{type(settings).__name__} are not the settings of {node}")
    model = build_model(settings)
    controller = kind.make(settings, model, build_gains(settings, model.k))
    if settings.posture.has_target:
        controller.set_posture(settings.posture)
        with about(given_of(settings, "posture.stiffness", "posture.damping", "posture.target")):
            for loop, name in controller.posture_loops(controller.gains, delay_of(settings)):
                loop.require_stable(name)
    elif settings.posture.hold > 0.0 and controller.kind.follows:
        held = Posture.held(settings.posture.hold, settings.gains.null_damping)
        controller.set_posture(held)
    controller.set_compensation(settings.compensation, 0.0)
    with about("disturbance.kind"):
        controller.set_disturbance(settings.disturbance, 0.0)
    force = controller.force
    if model.constraint is not None:
        controller.contacts.lay(one_sided_of(settings, model.constraint))
    if isinstance(settings, ForceControllerSettings):
        check_contact(settings, with_force=force is not None)
        if force is not None and model.constraint is not None:
            force.control_rows(controlled_rows(settings, model.constraint))
            if settings.force.source == "momentum":
                force.source_cutoff = settings.force.observer_bandwidth
        controller.set_contact(settings.contact)
    if (felt := unexpected_of(settings)) is not None:
        controller.feel_collisions(felt.unexpected, stop=felt.on_unexpected == "stop")
    return controller


def motion_controller(
    settings: MotionControllerSettings, model: ConstrainedArm, gains: MotionGains
) -> Controller:
    """PIDC, or another law without a force loop by parameter."""
    return _by_law(settings, settings.law, model, gains, None)


def force_controller(
    settings: ForceControllerSettings, model: ConstrainedArm, gains: MotionGains
) -> Controller:
    """Hybrid control of motion and force, or another law with a force loop."""
    return _by_law(settings, settings.law, model, gains, build_force_gains(settings))


def passive_joint_controller(
    settings: PassiveJointControllerSettings, model: ConstrainedArm, gains: MotionGains
) -> Controller:
    """(I + H) f∥, and the force where it is asked for."""
    force = build_force_gains(settings) if settings.force.enabled else None
    if not model.arm.passive:
        raise InvalidValue(
            "no joint is passive; use a motion or force controller, or name passive joints",
            key="passive_joints",
        )
    law = "passive" if settings.law == "pidc" else settings.law
    return _by_law(settings, law, model, gains, force)


def _by_law(
    settings: MovedArmSettings,
    law: str,
    model: ConstrainedArm,
    gains: MotionGains,
    force: ForceGains | None,
) -> Controller:
    kind, rate = LAWS[law], settings.rate if isinstance(settings, TimedSettings) else 1000.0
    return kind.make(LawRequest(kind, model, gains, force, 1.0 / rate, settings))


def delay_of(settings: MovedArmSettings, arm_delay: int = 1) -> int:
    """From a state to the effect of its answer: as it is set, at least the arm's own [samples]."""
    asked = settings.force.delay if isinstance(settings, ForceControllerSettings) else 1
    return max(asked, arm_delay)


def build_gains(settings: MovedArmSettings, k: int, arm_delay: int = 1) -> MotionGains:
    """Gains on k coordinates, refused where a sampled loop would diverge.

    Args:
        settings: Of the controller.
        k: Number of coordinates.
        arm_delay: What is known of the arm's own delay [samples].
    """
    with about(given_of(settings, "gains.stiffness", "gains.damping", *DISTURBANCES)):
        for loop, name in _loops_of(settings, k, arm_delay):
            loop.require_stable(name)
    stiffness, damping, _ = settings.gains.array(k)
    return replace(settings.gains, stiffness=stiffness, damping=damping)


def gain_warnings(settings: MovedArmSettings, arm_delay: int = 1) -> list[str]:
    """What is doubtful about the gains though nothing is wrong with them."""
    found = []
    law = getattr(settings, "law", "")
    if not law or LAWS[law].uses_gains:
        loops = _loops_of(settings, len(settings.coordinates), arm_delay)
        found += [loop.warning(name) for loop, name in loops]
    if isinstance(settings, ForceControllerSettings):
        gains = build_force_gains(settings, arm_delay)
        found.append(gains.loop(1.0 / settings.rate).warning())
    return [text for text in found if text]


def _loops_of(settings: MovedArmSettings, k: int, arm_delay: int) -> list[tuple[MotionLoop, str]]:
    """The sampled loops of k coordinates with their names."""
    names = settings.coordinates if len(settings.coordinates) == k else [""] * k
    rate = settings.rate if isinstance(settings, TimedSettings) else 1000.0
    delay = delay_of(settings, arm_delay)
    return motion_loops(settings.gains, settings.disturbance, names, 1.0 / rate, delay)


def build_force_gains(settings: ForceControllerSettings, arm_delay: int = 1) -> ForceGains:
    """Gains on λ, refused where the sampled loop would diverge; see `build_gains`."""
    force = settings.force
    gains = replace(force, cutoff=force.cutoff or None, delay=delay_of(settings, arm_delay))
    with about(given_of(settings, *FORCE_LOOP)):
        gains.loop(1.0 / settings.rate).require_stable()
    return gains


def unexpected_of(settings: ControllerSettings) -> Unexpected | None:
    """What is said of contacts that nobody declared; None where nothing can be."""
    found = getattr(settings, "contact", None)
    return found if isinstance(found, Unexpected) else None


def check_contact(settings: ForceControllerSettings, *, with_force: bool = True) -> None:
    """Raise where a surface that gives counts for nothing, or the source of λ does not know it."""
    if settings.contact.gives and not with_force:
        raise InvalidValue(
            "contact.stiffness is for a force loop, and none is closed here; leave it empty, or "
            "set force.enabled",
            key="contact.stiffness",
        )
    mu, again = settings.contact.friction, settings.compensation.contact
    if mu > 0.0 and again > 0.0:
        raise InvalidValue(
            f"compensation.contact ({again:g}) would send friction a second time, as "
            f"contact.friction ({mu:g}) has it sent where a contact slides: set one of them to 0",
            key="compensation.contact",
        )
    if settings.contact.gives and settings.force.source == "model":
        raise InvalidValue(
            "on a surface that gives (contact.stiffness) the model does not know the force: it "
            "takes the constraint for rigid. Take force.source sensor or momentum, or leave "
            "contact.stiffness empty",
            key="force.source",
        )


def build_force_reference(settings: ForceControllerSettings, force: ForceLoopState) -> Constant:
    """λ_d of every row; zero for those that are not controlled."""
    values = np.asarray(settings.force.reference, dtype=np.float64)
    rows = int(force.controlled.sum())
    if values.size not in (1, rows):
        raise InvalidValue(
            f"force.reference must have {rows} numbers, one per row of the constraint that is "
            f"controlled, got {values.size}",
            key="force.reference",
        )
    return Constant(force.expanded(values))


def controlled_rows(settings: ForceControllerSettings, constraint: Constraint) -> list[int]:
    """The rows that ``force.rows`` names: each as constraint.row, or a constraint for all."""
    names = list(constraint.row_names)
    if not settings.force.rows:
        return list(range(constraint.rows))
    rows: list[int] = []
    for word in settings.force.rows:
        found = [i for i, name in enumerate(names) if name == word or name.startswith(f"{word}.")]
        if not found:
            raise UnknownName("row of the constraint (force.rows)", word, names, "force.rows")
        rows += found
    if len(set(rows)) != len(rows):
        raise InvalidValue(
            f"force.rows names rows twice: {list(settings.force.rows)}", key="force.rows"
        )
    return rows

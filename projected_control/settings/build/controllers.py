"""From settings to a controller and its gains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from projected_control.control import (
    AntiWindup,
    Controller,
    ForceController,
    ForceGains,
    Law,
    MotionController,
    MotionGains,
    PassiveJointController,
    Posture,
)
from projected_control.control.compensation import FrictionCompensation
from projected_control.control.disturbance import Disturbance
from projected_control.control.stability import MotionLoop
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.settings.build.arms import build_model
from projected_control.settings.nodes import (
    CONTROLLERS,
    ControllerSettings,
    ForceControllerSettings,
    MotionControllerSettings,
    MovedArmSettings,
    PassiveJointControllerSettings,
    TimedSettings,
)
from projected_control.settings.references import spread

Array = NDArray[np.float64]


def build_controller(node: str, settings: ControllerSettings) -> Controller:
    """The controller of a node."""
    if node not in CONTROLLERS:
        raise InvalidValue(f"{node} is no controller; there are: {', '.join(CONTROLLERS)}")
    kind = CONTROLLERS[node]
    if not isinstance(settings, kind.settings):
        raise InvalidValue(f"{type(settings).__name__} are not the settings of {node}")
    model = build_model(settings)
    controller = kind.make(settings, model, build_gains(settings, model.k))
    if settings.posture.target:
        group = settings.posture
        delay = settings.force.delay if isinstance(settings, ForceControllerSettings) else 1
        damping = settings.gains.null_damping + group.damping
        if damping == 0.0:
            raise InvalidValue(
                "posture.target is given, and nothing damps the motion towards it: set "
                "gains.null_damping or posture.damping"
            )
        MotionLoop(group.stiffness, damping, controller.period, delay).require_stable("posture")
        controller.set_posture(Posture(group.target, group.stiffness, group.damping))
    controller.set_compensation(build_compensation(settings, model.n), 0.0)
    controller.set_disturbance(build_disturbance(settings, model.k), 0.0)
    return controller


def motion_controller(
    settings: MotionControllerSettings, model: ConstrainedArm, gains: MotionGains
) -> Controller:
    """PIDC, or IDC by parameter."""
    return MotionController(model, gains, Law[settings.law.upper()], 1.0 / settings.rate)


def force_controller(
    settings: ForceControllerSettings, model: ConstrainedArm, gains: MotionGains
) -> Controller:
    """Hybrid control of motion and force."""
    return ForceController(model, gains, build_force_gains(settings), 1.0 / settings.rate)


def passive_joint_controller(
    settings: PassiveJointControllerSettings, model: ConstrainedArm, gains: MotionGains
) -> Controller:
    """(I + H) f∥, and the force where it is asked for."""
    force = build_force_gains(settings) if settings.force.enabled else None
    return PassiveJointController(model, gains, force, 1.0 / settings.rate)


def build_gains(settings: MovedArmSettings, k: int) -> MotionGains:
    """Gains on k coordinates."""
    for loop, name in _motion_loops(settings, k):
        loop.require_stable(name)
    group = settings.gains
    return MotionGains(
        spread("gains.stiffness", group.stiffness, k),
        spread("gains.damping", group.damping, k),
        group.null_damping,
    )


def build_compensation(settings: MovedArmSettings, n: int) -> FrictionCompensation:
    """Friction of n joints that is compensated."""
    group = settings.compensation

    def each(name: str, numbers: Sequence[float]) -> Array:
        return spread(f"compensation.{name}", numbers, n, "joint")

    return FrictionCompensation(
        each("coulomb", group.coulomb),
        each("viscous", group.viscous),
        each("static", group.static) if group.static else None,
        each("stribeck_velocity", group.stribeck_velocity),
        each("width", group.width),
        group.contact,
        group.contact_width,
    )


def build_disturbance(settings: MovedArmSettings, k: int) -> Disturbance:
    """What answers what no model knows, on k coordinates."""
    group = settings.disturbance
    return Disturbance(
        group.kind,
        group.integral,
        group.integral_limit,
        group.bandwidth,
        group.effort_limit,
        spread("disturbance.band", group.band, k),
    )


def gain_warnings(settings: MovedArmSettings) -> list[str]:
    """What is doubtful about the gains though nothing is wrong with them."""
    loops = _motion_loops(settings, len(settings.coordinates))
    return [text for loop, name in loops if (text := loop.warning(name))]


def _motion_loops(settings: MovedArmSettings, k: int) -> list[tuple[MotionLoop, str]]:
    """The sampled loops of k coordinates with their names, each pair of gains once."""
    group = settings.gains
    stiffness = spread("gains.stiffness", group.stiffness, k)
    damping = spread("gains.damping", group.damping, k)
    delay = settings.force.delay if isinstance(settings, ForceControllerSettings) else 1
    rate = settings.rate if isinstance(settings, TimedSettings) else 1000.0
    rejection = build_disturbance(settings, k)
    loops: dict[MotionLoop, str] = {}
    for i in range(k):
        name = settings.coordinates[i] if len(settings.coordinates) == k else ""
        loop = rejection.loop(MotionLoop(stiffness[i], damping[i], 1.0 / rate, delay))
        loops.setdefault(loop, name)
    return list(loops.items())


def build_force_gains(settings: ForceControllerSettings) -> ForceGains:
    """Gains on λ, refused where the sampled loop would diverge."""
    gains = ForceGains(
        settings.force.proportional,
        settings.force.integral,
        settings.force.cutoff or None,
        settings.force.delay,
        settings.force.integral_limit,
        AntiWindup(settings.force.anti_windup),
        settings.force.tracking_time,
    )
    gains.loop(1.0 / settings.rate).require_stable()
    return gains

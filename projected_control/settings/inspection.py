"""Whether settings make a controller that would start, and what there is to say of it.

`projected-control check` and the launch files ask here, and the node makes the same checks when it
is activated (see `control.activation`): what one accepts the other starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from projected_control import validate
from projected_control.control.activation import obstacles
from projected_control.control.loop import ControlLoop
from projected_control.errors import ProjectedControlError
from projected_control.model.arm import Arm
from projected_control.model.dynamics import condition_numbers
from projected_control.planning import assemble
from projected_control.settings import build
from projected_control.settings.carrying import uncarried
from projected_control.settings.nodes import ControllerSettings
from projected_control.settings.real_arms import unsaid


@dataclass(frozen=True)
class Inspection:
    """What was found.

    Attributes:
        numbers: What there is to say, by name.
        troubles: What would keep the controller from starting.
        warnings: What is doubtful, but would not.
    """

    numbers: dict[str, Any]
    troubles: list[str]
    warnings: list[str]


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
    left = [name for name in whole.joint_names if name not in settings.joints]
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
    return numbers

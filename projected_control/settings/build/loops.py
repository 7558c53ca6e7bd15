"""From settings to a control loop: its references, controlled rows of λ and force source."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from projected_control.arrays import Array
from projected_control.control.force_source import ForceSource
from projected_control.control.loop import ControlLoop
from projected_control.control.references import (
    SHORTEST_PIECE,
    Approach,
    Constant,
    MotionLimits,
    Reference,
    ReferencePoint,
    Shifted,
    Sines,
    Waypoints,
)
from projected_control.errors import InvalidValue, about
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.native.engine import accept_engine
from projected_control.planning import assemble
from projected_control.settings import groups, reference_kinds
from projected_control.settings.build.arms import build_limits, build_model
from projected_control.settings.build.contacts import require_pressing
from projected_control.settings.build.controllers import (
    build_controller,
    build_force_reference,
    unexpected_of,
)
from projected_control.settings.build.paths import check_path, plan_path
from projected_control.settings.build.plants import start_guess
from projected_control.settings.nodes import (
    ControllerSettings,
    ForceControllerSettings,
    MovedArmSettings,
)
from projected_control.settings.placing import says_where
from projected_control.settings.real_arms import is_real
from projected_control.settings.reference_kinds import REFERENCES

SLOW = 0.1
"""Share of ``reference.max_rate`` up to which a coordinate counts as at rest, and up to which its
rate may differ from that of a reference that is followed at once: what a sensor's noise makes."""


def check_observers(settings: ControllerSettings) -> None:
    """Raise where a momentum observer is asked for, and the arm does not tell its torques."""
    said = settings.effort_states
    if said == "torque" or not (said or is_real(settings)):
        return
    asked = {}
    if isinstance(settings, ForceControllerSettings) and settings.force.source == "momentum":
        asked["force.source momentum"] = "force.source sensor"
    if (felt := unexpected_of(settings)) is not None and felt.unexpected > 0.0:
        asked["contact.unexpected above 0"] = "contact.unexpected 0"
    if settings.disturbance.kind == "observer":
        asked["disturbance.kind observer"] = "disturbance.kind integral"
    reports = {"current": "reports motor currents", "none": "reports no efforts"}
    for what, instead in asked.items():
        why = "takes the effort that is sent for the torque at the joints"
        if not said:
            raise InvalidValue(
                f"{what} {why}, and nothing says whether this arm reports its torques: set "
                f"effort_states to torque if the effort of its joint states is one (a UR's is a "
                f"motor current), else take {instead}",
                key=what.split()[0],
            )
        raise InvalidValue(
            f"{what} {why}, and an arm that {reports[said]} (effort_states: {said}) does not show "
            f"whether that is so; what its firmware adds would count as a force. Take {instead}",
            key=what.split()[0],
        )


@says_where
def build_loop(node: str, settings: ControllerSettings) -> ControlLoop:
    """The control loop of a node, holding still until it is given a reference."""
    check_observers(settings)
    controller = build_controller(node, settings)
    model = controller.model
    source, force_reference = None, None
    if isinstance(settings, ForceControllerSettings):
        force = settings.force
        source = ForceSource(
            model, force.source, bandwidth=force.observer_bandwidth, period=controller.period
        )
        source.set_sign(float(force.sign))
        tare_source(source, force)
        if controller.force is not None:
            force_reference = build_force_reference(settings, controller.force)
            require_pressing(settings, controller.contacts, force_reference.at(0.0).value)
    loop = ControlLoop(
        controller,
        Constant(np.zeros(model.k)),
        limits=build_limits(settings, model.arm),
        force_reference=force_reference,
        force_source=source or "sensor",
    )
    loop.set_motion_limits(motion_limits(settings, model.k))
    if isinstance(settings, ForceControllerSettings):
        _estimate_surface(settings, loop)
    if settings.engine:
        accept_engine(settings.engine)
    return loop


def _estimate_surface(settings: ForceControllerSettings, loop: ControlLoop) -> None:
    """Have the plane followed that is marked estimated, if one is."""
    marked = [name for name, group in settings.constraints.items() if group.estimated]
    if settings.constraint.estimated:
        marked.append("")
    if len(marked) > 1:
        raise InvalidValue(
            f"one plane can be estimated, got {len(marked)}: {', '.join(marked)}", key="constraints"
        )
    if marked:
        with about(f"constraints.{marked[0]}.estimated" if marked[0] else "constraint.estimated"):
            loop.controller.estimate_surface(settings.surface, loop.force_source, marked[0])


def motion_limits(settings: MovedArmSettings, k: int) -> MotionLimits:
    """What a set-point may ask for on the way."""
    return reference_kinds.motion_limits(settings.reference, k)


def build_sines(settings: MovedArmSettings, k: int) -> Sines:
    """The sine of the settings, from time zero."""
    return reference_kinds.sines(settings.reference, k)


Plan = Callable[[ReferencePoint, float], Reference]
"""The reference from a point, where the old one is, and from a time on [s]; quickly made."""


@says_where
def plan_reference(
    settings: ControllerSettings,
    here: ReferencePoint,
    q: Array | None = None,
    running: ControlLoop | None = None,
    path: Reference | None = None,
) -> Plan:
    """Work out what a controller is to follow, as far as that takes long.

    Args:
        settings: Of the controller.
        here: Where its reference is now.
        q: Where the arm is, which a path is timed for, n [rad or m]; a configuration with the
            coordinates of `here` unless given.
        running: What is to follow it where it runs already: its posture and λ_d count.
        path: The path, where it is planned already (see `plan_task`).
    """
    group = settings.reference
    kind, limits = REFERENCES[group.kind], reference_kinds.motion_limits(group, here.value.size)
    if kind.build is not None:
        build = kind.build
        return lambda start, begin: build(group, start, begin)
    if path is None:
        path = plan_path(settings, here, _somewhere(settings, here) if q is None else q, running)
    if not group.approach:
        return lambda start, begin: Shifted(path, begin)
    return lambda start, begin: Approach(start, path, limits, begin)


@says_where
def build_reference(
    settings: ControllerSettings,
    start: ReferencePoint,
    begin: float,
    q: Array | None = None,
    path: Reference | None = None,
) -> Reference:
    """What a controller follows from a time on, starting from where its reference is."""
    return plan_reference(settings, start, q, path=path)(start, begin)


def plan_task(
    settings: ControllerSettings, here: ReferencePoint, q: Array | None = None
) -> Reference | None:
    """The path of a task, which takes longest of all that is built; None where it has none.

    It holds for every start from which an approach leads to it: see `first_reference`.
    """
    if REFERENCES[settings.reference.kind].build is not None:
        return None
    return plan_path(settings, here, _somewhere(settings, here) if q is None else q)


def _somewhere(settings: ControllerSettings, here: ReferencePoint) -> Array:
    model = build_model(settings)
    posture = settings.posture
    guess = posture.array(model.n) if posture.has_target else start_guess(model.arm, ())
    return assemble(model.arm, model.constraint, guess, model.coordinates, here.value)


def starting_point(settings: MovedArmSettings, model: ConstrainedArm) -> ReferencePoint:
    """Where an arm is, and how it moves, as what its reference begins with.

    An arm that was let go may be in another place than it was, and may still move. Its reference
    takes that motion up and leads it to where it is to begin, rather than have it stop at once.

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
    settings: ControllerSettings,
    loop: ControlLoop,
    here: ReferencePoint,
    q: Array,
    path: Reference | None = None,
) -> Reference:
    """What a controller follows from time zero on.

    Args:
        settings: Of the controller; without ``reference.approach`` an arm that is at the beginning
            of its motion, and moves along, follows it at once.
        loop: What is going to follow it.
        here: See `starting_point`.
        q: Where the arm is, n [rad or m].
        path: The path, where it is planned already (see `plan_task`).
    """
    reference = build_reference(settings, here, 0.0, q, path)
    if _begins_here(settings, loop, reference, here):
        return reference
    return build_reference(settings.changed({"reference.approach": True}), here, 0.0, q, path)


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


@says_where
def check_reference(settings: ControllerSettings, k: int) -> None:
    """Raise where the settings make no reference for k coordinates."""
    reference_kinds.motion_limits(settings.reference, k)
    if REFERENCES[settings.reference.kind].build is None:
        check_path(settings.reference, settings.coordinates)
    else:
        build_reference(settings, ReferencePoint(*np.zeros((3, k))), 0.0)


def check_force_step(
    settings: ForceControllerSettings, loop: ControlLoop, desired: Array, time: float
) -> None:
    """Raise where λ_d pulls at what can only be pressed, or is wanted further away than
    ``force.max_step`` from where it is at a time.
    """
    require_pressing(settings, loop.controller.contacts, desired)
    here = _force_at(loop, desired.size, time)
    step, most = float(np.abs(desired - here).max(initial=0.0)), settings.force.max_step
    if step > most:
        raise InvalidValue(
            f"the force reference would change by {step:.4g} N, from {here.tolist()} to "
            f"{desired.tolist()}; force.max_step allows {most:g} N: go there in smaller steps, or "
            "raise force.max_step",
            key="force.max_step",
        )


def lead_force(
    settings: ForceControllerSettings, loop: ControlLoop, desired: Array, time: float
) -> Reference:
    """λ_d from where it is at a time straight to where it is wanted, at ``force.max_rate``.

    What leads there already is left as it is. So a reference that is sent again and again is
    reached as soon as one that is sent once.
    """
    now = loop.force_reference
    if now is not None and np.isfinite(now.end):
        goal = now.at(max(now.end, time)).value
        if (goal == desired).all():
            return now
    here = _force_at(loop, desired.size, time)
    way = desired - here
    seconds = float(np.abs(way).max(initial=0.0)) / settings.force.max_rate
    if seconds <= SHORTEST_PIECE:
        return Constant(desired)
    slope = np.tile(way / seconds, (2, 1))
    return Waypoints([time, time + seconds], [here, desired], slope, order=3)


def _force_at(loop: ControlLoop, rows: int, time: float) -> Array:
    now = loop.force_reference
    return np.zeros(rows) if now is None else now.at(time).value


def tare_source(source: ForceSource, force: groups.Force) -> None:
    """Tell a source what its sensor shows of itself and of the tool."""
    check_tare(force, source.effort_tare.size)
    source.set_offset(np.array(force.tare or np.zeros(6)))
    source.set_effort_tare(force.effort_tare or np.zeros(source.effort_tare.size))
    source.set_tool(force.tool_mass, force.tool_centre or (0.0, 0.0, 0.0))


def check_tare(force: groups.Force, joints: int) -> None:
    """Raise where what is said of the sensor and the tool has the wrong size."""
    for name, numbers, size in (
        ("tare", force.tare, 6),
        ("effort_tare", force.effort_tare, joints),
        ("tool_centre", force.tool_centre, 3),
    ):
        if len(numbers) not in (0, size):
            raise InvalidValue(
                f"force.{name} must have {size} numbers or none, got {len(numbers)}",
                key=f"force.{name}",
            )

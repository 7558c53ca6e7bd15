"""From settings to an arm, what holds it, what is moved of it, and its limits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from projected_control.arrays import Array
from projected_control.control.limits import Limits
from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import CONSTRAINTS, Constraint, Moving, Stack, with_mimics
from projected_control.model.constraints.moving import Travel
from projected_control.model.coordinates import (
    Coordinate,
    Coordinates,
    coordinate_named,
    own_coordinate,
    own_group,
)
from projected_control.model.function_kinds import OF_MASSES, ScalarFunction
from projected_control.resources import ARMS, arm_description, share_file
from projected_control.settings import groups
from projected_control.settings.nodes import (
    ConstrainedArmSettings,
    ControllerSettings,
    MovedArmSettings,
    PassiveJointsSettings,
)
from projected_control.settings.placing import says_where
from projected_control.validate import spread


@says_where
def build_arm(settings: ConstrainedArmSettings) -> Arm:
    """The arm of a node's settings."""
    weightless = isinstance(settings, MovedArmSettings) and not settings.effort_includes_gravity
    arm = Arm.from_urdf(
        _description(settings),
        mappings=_arguments("robot_description_arguments", settings.robot_description_arguments),
        joints=settings.joints or None,
        frames=settings.frames,
        passive=settings.passive_joints if isinstance(settings, PassiveJointsSettings) else (),
        gravity=0.0 if weightless else settings.gravity,
        armature=settings.armature or 0.0,
        massless_links=settings.massless_links,
        base=settings.base,
    )
    set_payload(arm, settings.payload)
    return arm


def check_payload(arm: Arm, payload: groups.Payload) -> None:
    """Refuse a load that the arm cannot carry."""
    if payload.mass > 0.0 and not payload.link:
        raise InvalidValue(
            "payload.mass is given: payload.link must say which link carries it", key="payload.mass"
        )
    if len(payload.centre) not in (0, 3):
        raise InvalidValue(
            f"payload.centre must have 3 numbers, got {len(payload.centre)}", key="payload.centre"
        )
    if payload.link:
        arm.attachment(payload.link)


def refuse_moved_centre(model: ConstrainedArm) -> None:
    """Raise where a coordinate is made of masses, and another payload would move it at once."""
    members = model.coordinates.members if model.coordinates is not None else ()
    names = [each.name for each in members if isinstance(each.function, OF_MASSES)]
    if names:
        raise InvalidValue(
            f"the payload cannot change while coordinate {', '.join(names)} is controlled: the "
            "arm's centre of mass would jump; deactivate and configure the controller again with it"
        )


def set_payload(arm: Arm, payload: groups.Payload) -> None:
    """Let an arm carry what the settings say."""
    check_payload(arm, payload)
    if payload.link:
        arm.set_payload(payload.link, payload.mass, payload.centre or (0.0, 0.0, 0.0))


def _description(settings: ConstrainedArmSettings) -> str | Path:
    if settings.robot_description:
        return settings.robot_description
    if not settings.robot_description_file:
        raise InvalidValue(
            "no arm is described: give robot_description_file, a path or a name in the package's "
            "urdf folder, or robot_description, the URDF itself",
            key="robot_description_file",
        )
    return description_file(settings.robot_description_file)


def description_file(name: str) -> Path:
    """A path as it is, a bare name in the package's urdf folder, arms/… of example-robot-data."""
    path = Path(name)
    if name.startswith(ARMS) and not path.exists():
        return arm_description(name)
    return path if path.is_absolute() or path.exists() else share_file("urdf", name)


def _arguments(parameter: str, items: Sequence[str]) -> dict[str, str]:
    arguments = {}
    for item in items:
        name, separator, value = item.partition(":=")
        if not separator:
            raise InvalidValue(f"{parameter} must be name:=value, got {item!r}", key=parameter)
        arguments[name] = value
    return arguments


@says_where
def build_constraint(settings: ConstrainedArmSettings) -> Constraint | None:
    """What holds the arm of a node's settings: one constraint, or several under names."""
    group, several = settings.constraint, settings.constraints
    if several:
        if group.kind:
            raise InvalidValue(
                f"constraint.kind ({group.kind}) and constraints.names ({', '.join(several)}) are "
                "both given; move constraint into constraints, under a name, and list that",
                key="constraint.kind",
            )
        made = {name: _one_constraint(g, f"constraints.{name}") for name, g in several.items()}
        parts = {name: part for name, part in made.items() if part is not None}
        return Stack(list(parts.values()), list(parts)) if parts else None
    return _one_constraint(group, "constraint")


def _one_constraint(group: groups.Constraint, name: str) -> Constraint | None:
    """The constraint of one group, moving where that says so."""
    if not group.kind:
        raise InvalidValue(
            f"{name}.kind must be given, as nothing is assumed of what holds an arm: one of "
            f"{', '.join(CONSTRAINTS)}",
            key=f"{name}.kind",
        )
    try:
        constraint = CONSTRAINTS[group.kind].build(group, name)
    except InvalidValue as error:
        text = str(error) if name in str(error) else f"{name}: {error}"
        raise InvalidValue(text, key=error.key or name) from None
    motion = group.motion
    if constraint is None or not (motion.rate or motion.amplitude):
        return constraint
    rows = constraint.rows

    def per_row(field: str, numbers: Sequence[float]) -> Array:
        return spread(f"{name}.motion.{field}", numbers or (0.0,), rows, "row")

    return Moving(
        constraint,
        Travel(
            per_row("rate", motion.rate),
            per_row("amplitude", motion.amplitude),
            per_row("frequency", motion.frequency),
            per_row("phase", motion.phase),
        ),
    )


@says_where
def coordinate_units(settings: ControllerSettings) -> dict[str, str]:
    """The units of a controller's coordinates, by name: m or rad."""
    made = build_coordinates(settings.coordinates, build_arm(settings), settings)
    return {member.name: member.unit for member in made.members}


def build_coordinates(
    names: Sequence[str], arm: Arm, settings: ConstrainedArmSettings
) -> Coordinates:
    """Coordinates by name (see `model.coordinates.COORDINATES`)."""
    own = [(name, own_group(name, settings.coordinate)) for name in names]

    def way(coordinate: str, constraint: str) -> ScalarFunction:
        return way_along(coordinate, constraint, settings)

    return Coordinates(
        [
            own_coordinate(name, settings.coordinate[group], way)
            if group
            else _bare_coordinate(name, arm, settings)
            for name, group in own
        ]
    )


def _bare_coordinate(name: str, arm: Arm, settings: ConstrainedArmSettings) -> Coordinate:
    try:
        return coordinate_named(name, arm, settings.constraint)
    except InvalidValue as error:
        raise InvalidValue(f"coordinates: {error}", key=error.key or "coordinates") from None


def way_along(coordinate: str, constraint: str, settings: ConstrainedArmSettings) -> ScalarFunction:
    """How far along one of the constraints the arm has come; of the only one if none is named."""
    given: dict[str, groups.Constraint] = dict(settings.constraints)
    if not given and constraint:
        raise InvalidValue(
            f"coordinate.{coordinate}.constraint is {constraint!r}, but constraints.names names "
            "none; leave it empty for what stands under constraint",
            key=f"coordinate.{coordinate}.constraint",
        )
    if not given:
        return CONSTRAINTS[settings.constraint.kind].way_of(settings.constraint)
    if not constraint and len(given) > 1:
        raise InvalidValue(
            f"coordinate.{coordinate}.constraint must name one of {', '.join(given)}, along which "
            "it is the way",
            key=f"coordinate.{coordinate}.constraint",
        )
    name = constraint or next(iter(given))
    if name not in given:
        key = f"coordinate.{coordinate}.constraint"
        raise UnknownName(key, name, list(given), key)
    return CONSTRAINTS[given[name].kind].way_of(given[name], f"constraints.{name}")


@says_where
def build_model(settings: MovedArmSettings) -> ConstrainedArm:
    """Arm, constraint and coordinates of a controller."""
    arm = build_arm(settings)
    if not settings.coordinates:
        raise InvalidValue(
            "coordinates must be given: what the controller moves, each as link.x, link.y, "
            f"link.z, link.angle or a joint's name ({', '.join(arm.joint_names)})",
            key="coordinates",
        )
    return ConstrainedArm(
        arm,
        with_mimics(arm, build_constraint(settings)),
        build_coordinates(settings.coordinates, arm, settings),
        tolerance=settings.constraint.singular_value,
        metric=settings.metric.of_arm(arm, lambda: build_limits(settings, arm).effort),
        row_length=settings.constraint.row_length,
    )


@says_where
def build_limits(settings: MovedArmSettings, arm: Arm) -> Limits:
    """The limits of the settings, and the description's where these say nothing."""
    limits = settings.limits.of_arm(arm)
    if not settings.limits.above_description:
        _require_described(limits, arm)
    return limits


def _require_described(limits: Limits, arm: Arm) -> None:
    """Refuse limits that are wider than the description's: a slip of the pen must not count."""
    described, wide, keys = arm.limits, [], []
    motor = arm.actuated != 0.0
    for name, ours, theirs, wider in (
        ("effort", limits.effort, described.effort, (limits.effort > described.effort) & motor),
        ("velocity", limits.velocity, described.velocity, limits.velocity > described.velocity),
        ("lower", limits.lower, described.lower, limits.lower < described.lower),
        ("upper", limits.upper, described.upper, limits.upper > described.upper),
    ):
        wide += [
            f"limits.{name} of {arm.joint_names[i]} is {ours[i]:g}, the description's {theirs[i]:g}"
            for i in np.flatnonzero(wider)
        ]
        keys += [f"limits.{name}"] if wider.any() else []
    if wide:
        raise InvalidValue(
            f"wider than the description allows: {'; '.join(wide)}; if that is meant, say "
            "limits.above_description: true",
            key=keys[0],
        )

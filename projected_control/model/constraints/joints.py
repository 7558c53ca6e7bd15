"""Gears and locks: constraints on joints alone."""

from __future__ import annotations

from projected_control import validate
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constraints.base import Constraint
from projected_control.model.constraints.function_constraint import FunctionConstraint
from projected_control.model.constraints.kinds import (
    ConstraintKind,
    ConstraintSettings,
    Setting,
)
from projected_control.model.constraints.stack import Stack
from projected_control.model.function_kinds import JointPosition


class JointCoupling(FunctionConstraint):
    """A joint follows another: a gear, a belt, a mimic joint. One row, q − ratio q_other − offset.

    λ is the effort that the gear puts on the joint, with the opposite sign.

    Args:
        joint: Name of the joint that follows.
        other: Name of the joint it follows.
        ratio: How far it goes for each unit of the other.
        offset: Where it is when the other is at zero [rad or m].
    """

    def __init__(self, joint: str, other: str, ratio: float = 1.0, offset: float = 0.0) -> None:
        if joint == other:
            raise InvalidValue(f"joint {joint!r} cannot be coupled to itself")
        number = validate.finite("ratio", ratio)
        super().__init__([JointPosition(joint, validate.finite("offset", offset), other, number)])


class JointLocked(FunctionConstraint):
    """A joint stays where it is: a brake. One row, q − position.

    Args:
        joint: Name of the joint.
        position: Where it stays [rad or m].
    """

    def __init__(self, joint: str, position: float) -> None:
        super().__init__([JointPosition(joint, validate.finite("position", position))])


def with_mimics(arm: Arm, constraint: Constraint | None) -> Constraint | None:
    """What holds an arm: the constraint, and a coupling for each joint that mimics another."""
    couplings: dict[str, Constraint] = {
        name: JointCoupling(name, mimic.leader, mimic.ratio, mimic.offset)
        for name, mimic in arm.mimics.items()
    }
    if not couplings:
        return constraint
    if constraint is None:
        return Stack(list(couplings.values()), list(couplings))
    if isinstance(constraint, Stack):
        parts = dict(zip(constraint.names, constraint.constraints, strict=True))
    else:
        parts = {"constraint": constraint}
    return Stack([*parts.values(), *couplings.values()], [*parts, *couplings])


def _couple(settings: ConstraintSettings) -> JointCoupling:
    offset = 0.0 if settings.position is None else settings.position
    return JointCoupling(settings.joint, settings.other_joint, settings.ratio, offset)


def _lock(settings: ConstraintSettings) -> JointLocked:
    return JointLocked(settings.joint, settings.position)


COUPLING = ConstraintKind(
    "joint_coupling",
    "a joint that follows another",
    _couple,
    needs=(
        Setting("joint", "joint that follows"),
        Setting("other_joint", "joint that it follows"),
        Setting("ratio", "how far it goes for each unit of the other"),
    ),
    takes=(Setting("position", "where it is when the other is at zero", "rad or m"),),
)
LOCK = ConstraintKind(
    "joint_locked",
    "a joint that stays where it is",
    _lock,
    needs=(
        Setting("joint", "joint that is locked"),
        Setting("position", "where it stays", "rad or m"),
    ),
)

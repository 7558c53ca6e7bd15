"""What holds an arm in Gazebo: a constraint as two chains of joints that are welded together.

A loop cannot be written in SDF. So the tree gets two light ends more, the *carriage*, which may
move in the world as the constraint lets the tip move, and the *pin*, which may turn at the tip as
the constraint lets it turn; Gazebo's DetachableJoint welds one to the other when it starts. Each
kind of constraint that makes sense there is one function here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from projected_control import validate
from projected_control.arrays import Array
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constraints import Plane, PointOnPlane
from projected_control.model.constraints.axes import perpendiculars
from projected_control.model.constraints.poses import DIRECTIONS, directions_of

REDUNDANT = 1e-3
"""Smallest singular value of all motions together below which one of them counts as missing."""

TABLE = 1.0  # how far a table that does not end goes to each side of where the arm starts [m]
NO_CONSTRAINT = "none"  # kind of the constraint of an arm that moves freely


class ChainJoint(NamedTuple):
    """A passive joint of a chain, as it stands at the start."""

    kind: str  # prismatic or revolute
    axis: Array  # unit vector, in world axes
    point: Array  # A point of the axis [m], in the world


class TouchedFace(NamedTuple):
    """A face of a box that the held point may touch, and leave."""

    centre: Array  # of the face [m], in the world
    normal: Array  # into the box
    sides: tuple[Array, Array]  # from the centre to the middles of two edges [m]


@dataclass(frozen=True)
class HoldingChains:
    """What holds an arm."""

    frame: str  # frame of the arm that is held
    # Joints from what carries the carriage to the carriage; none for one that does not move.
    carriage: tuple[ChainJoint, ...]
    # Joints from the held frame to the pin; none for one that does not turn there.
    pin: tuple[ChainJoint, ...]
    carrier: str = ""  # link of the arm that carries the carriage; empty for the world
    # Whether the weld holds the arm in a direction in which it cannot move anyway, as a
    # planar arm across its plane.
    redundant: bool = False
    surface: TouchedFace | None = None  # what it touches, where nothing is welded

    @property
    def slides(self) -> bool:
        """Whether the held point moves along what holds it, so that friction acts there."""
        return bool(self.carriage) or self.surface is not None


class Held(NamedTuple):
    """What a chain is made from: a constraint's settings, and the arm where it starts."""

    settings: Any  # A group ``constraint``, which has been checked
    position: Array  # of the held frame's origin [m], in the world
    origin: Array  # of what the constraint is given in [m], in the world: the carrier, or zero
    axes: Array  # its axes as columns, in the world: 3 × 3

    def direction(self) -> Array:
        """The direction of the settings, in world axes."""
        given = validate.direction("constraint.direction", self.settings.direction)
        return np.asarray(self.axes @ given)

    def plane_normal(self) -> Array | None:
        """Normal of the plane that a planar arm moves in; None for an arm in space."""
        given = self.settings.plane_normal
        return validate.direction("constraint.plane_normal", given) if len(given) else None

    def point(self) -> Array:
        """The point of the settings, in the world [m]."""
        given = np.asarray(self.settings.point if len(self.settings.point) else np.zeros(3))
        return np.asarray(self.origin + self.axes @ given)

    def sliding(self, axis: Array) -> ChainJoint:
        """A joint that lets the held point move along an axis."""
        return ChainJoint("prismatic", axis, self.position)

    def turning(self, axis: Array) -> ChainJoint:
        """A joint at the held point that lets it turn about an axis."""
        return ChainJoint("revolute", axis, self.position)

    def free_turning(self, last: Array) -> tuple[ChainJoint, ...]:
        """As a ball joint, or for a planar arm a hinge across its plane.

        A ball is three hinges whose axes are at right angles at the start. It jams where the one in
        the middle has made a quarter of a turn; the last one, about the axis given, turns freely.
        """
        across = self.plane_normal()
        if across is not None:
            return (self.turning(across),)
        first, second = perpendiculars(last)
        return tuple(self.turning(axis) for axis in (first, second, last))


Chains = tuple[tuple[ChainJoint, ...], tuple[ChainJoint, ...]]  # of the carriage and of the pin


def _line(held: Held) -> Chains:
    along = held.direction()
    return (held.sliding(along),), held.free_turning(perpendiculars(along)[0])


def _plane(held: Held) -> Chains:
    normal = held.direction()
    across = held.plane_normal()
    if across is not None:  # a planar arm has one of the plane's two directions
        along = np.cross(across, normal)
        return (held.sliding(along / np.linalg.norm(along)),), held.free_turning(normal)
    return tuple(held.sliding(axis) for axis in perpendiculars(normal)), held.free_turning(normal)


def _point(held: Held) -> Chains:
    return (), held.free_turning(held.axes[:, 2])


def _circle(held: Held) -> Chains:
    axis = held.direction()
    return (ChainJoint("revolute", axis, held.point()),), held.free_turning(axis)


def _hinge(held: Held) -> Chains:
    return (), (held.turning(held.direction()),)


def _pose(held: Held) -> Chains:
    """A frame held in some of six directions of what carries it."""
    fixed = directions_of("constraint.directions", held.settings.directions or DIRECTIONS)
    along = [i for i, name in enumerate(DIRECTIONS[:3]) if name not in fixed]
    about = [i for i, name in enumerate(DIRECTIONS[3:]) if name not in fixed]
    carriage = tuple(held.sliding(held.axes[:, i]) for i in along)
    if len(about) == 2:
        names = " and ".join(DIRECTIONS[3 + i] for i in about)
        raise InvalidValue(
            f"in Gazebo a frame turns about none, one or all axes, and constraint.directions "
            f"leaves {names} free: hold one more of them, or none of rx, ry and rz"
        )
    if len(about) == 3:
        return carriage, held.free_turning(held.axes[:, 2])
    return carriage, tuple(held.turning(held.axes[:, i]) for i in about)


def _loop(held: Held) -> Chains:
    return _pose(held) if len(held.settings.directions) else _point(held)


CHAINS: Mapping[str, Callable[[Held], Chains]] = {
    "point_on_line": _line,
    "point_on_plane": _plane,
    "point_at_point": _point,
    "point_on_circle": _circle,
    "hinge": _hinge,
    "frame_fixed": _pose,
    "loop": _loop,
}
"""Kinds of constraint that Gazebo can hold an arm by."""

REASONS = {
    "point_on_surface": "its joints slide on planes, lines and circles, not on curved surfaces",
    "distance": "a rod with a ball joint at both ends is a link: put it into the description, and "
    "hold its end by point_at_point",
    "parallel": "no chain of its joints leaves all but two turns free: use point_on_plane, or "
    "frame_fixed with rx and ry",
    "angle": "no chain of its joints holds one angle alone",
    "joint_coupling": "its physics (DART, as gz-sim drives it) has no gear between two joints",
    "joint_locked": "lock the joint by leaving it out of joints",
}
"""Why the others do not make sense there."""


def holder_of(settings: Any, arm: Arm) -> HoldingChains | None:
    """What holds the arm of some settings, at the state that it is at; None where nothing does.

    Raises:
        InvalidValue: Where Gazebo cannot hold it so, with the kinds that it can.
    """
    group = _one_constraint(settings)
    if group.kind == NO_CONSTRAINT:
        return None
    if group.kind not in CHAINS:
        reason = REASONS.get(group.kind, "it is not known of which joints it is made")
        raise InvalidValue(
            f"Gazebo cannot hold an arm by a constraint of kind {group.kind}: {reason}; it can by "
            f"{', '.join(CHAINS)}"
        )
    if group.motion.rate or group.motion.amplitude:
        raise InvalidValue(
            "in Gazebo a constraint stands still, and constraint.motion moves this one: leave "
            "rate and amplitude empty there"
        )
    origin, axes = np.zeros(3), np.eye(3)
    if group.other_frame:
        carrier = arm.frame(group.other_frame)
        origin, axes = carrier.position, carrier.rotation
    held = Held(group, arm.frame(group.frame).position, origin, axes)
    if group.one_sided:
        return HoldingChains(group.frame, (), (), surface=_surface(group, held.position))
    carriage, pin = CHAINS[group.kind](held)
    return HoldingChains(
        group.frame,
        carriage,
        pin,
        group.other_frame,
        _is_redundant(arm, group, held.position, (*carriage, *pin)),
    )


def _surface(group: Any, position: Array) -> TouchedFace:
    """The table of a constraint that can be left."""
    if group.kind != "point_on_plane" or group.free_side == "positive":
        raise InvalidValue(
            "in Gazebo only a box can be left that the normal points into: a point_on_plane with "
            "constraint.free_side negative; leave constraint.one_sided out for all else",
            key="constraint.one_sided",
        )
    extent = group.extent if len(group.extent) else None
    (plane,) = PointOnPlane(group.frame, group.point, group.direction, extent).shapes()
    assert isinstance(plane, Plane)
    centre, *sides = plane.piece(position, (TABLE, TABLE))
    return TouchedFace(centre, plane.normal, (sides[0], sides[1]))


def _is_redundant(arm: Arm, group: Any, point: Array, joints: Sequence[ChainJoint]) -> bool:
    """Whether arm and chains together cannot give the held frame any small motion."""
    twists = [arm.frame(group.frame).jacobian]
    if group.other_frame:
        other = arm.frame(group.other_frame)
        lever, moved = point - other.position, other.jacobian.copy()
        moved[:3] += np.cross(other.jacobian[3:].T, lever).T
        twists[0] = twists[0] - moved
    for joint in joints:
        turns = joint.kind == "revolute"
        along = np.cross(joint.axis, point - joint.point) if turns else joint.axis
        twists.append(np.concatenate([along, turns * joint.axis])[:, None])
    smallest = np.linalg.svd(np.hstack(twists), compute_uv=False)[-1]
    return bool(smallest < REDUNDANT)


def _one_constraint(settings: Any) -> Any:
    """The settings of the one constraint there is."""
    several = settings.constraints
    if not several:
        return settings.constraint
    if len(several) > 1:
        raise InvalidValue(
            f"in Gazebo one constraint holds the arm, and there are {len(several)}: "
            f"{', '.join(several)}; its one sensor could not tell their forces apart"
        )
    return next(iter(several.values()))

"""Names of coordinates in parameter files: one record per kind says how they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.coordinates.coordinate import (
    ANGULAR_MOMENTUM,
    CENTRE_OF_MASS,
    Coordinate,
)
from projected_control.registry import Registry


class PlaneSettings(Protocol):
    """What the settings of the group ``constraint`` say of a planar arm."""

    @property
    def plane_normal(self) -> Sequence[float]:
        """Normal of the plane it moves in; empty for an arm in space."""


@dataclass(frozen=True)
class CoordinateKind:
    """A kind of coordinate that a parameter file can name."""

    name: str  # name of the kind
    form: str  # how its names look, for messages and documentation
    title: str  # what it is, in a few words
    unit: str  # ``m``, ``rad``, or both where it depends on the arm
    # The coordinate that a name stands for on an arm, or None where the name is of another
    # kind. The third argument are the settings of the group ``constraint``, which say in
    # which plane a planar arm moves.
    read: Callable[[str, Arm, PlaneSettings], Coordinate | None]


COORDINATES: Registry[CoordinateKind] = Registry("coordinate", "projected_control.coordinates")
"""Every kind that can be named, ours and other packages'."""


def coordinate_named(name: str, arm: Arm, settings: PlaneSettings) -> Coordinate:
    """The coordinate that a name in a parameter file stands for.

    Raises:
        UnknownName: If there is no such link or joint.
        InvalidValue: If no kind of coordinate has names of this form.
    """
    for kind in COORDINATES.values():
        coordinate = kind.read(name, arm, settings)
        if coordinate is not None:
            return coordinate
    if "." not in name:
        arm.joint_index(name)
    forms = [kind.form for kind in COORDINATES.values()]
    raise InvalidValue(f"coordinate {name!r} must be {', '.join(forms[:-1])} or {forms[-1]}")


def _read_centre(name: str, arm: Arm, settings: PlaneSettings) -> Coordinate | None:
    what, dot, axis = name.rpartition(".")
    if not dot or what != CENTRE_OF_MASS or axis not in ("x", "y", "z"):
        return None
    return Coordinate.centre_of_mass(axis)


def _read_momentum(name: str, arm: Arm, settings: PlaneSettings) -> Coordinate | None:
    what, dot, axis = name.rpartition(".")
    if not dot or what != ANGULAR_MOMENTUM or axis not in ("x", "y", "z"):
        return None
    return Coordinate.angular_momentum(axis)


def _read_position(name: str, arm: Arm, settings: PlaneSettings) -> Coordinate | None:
    frame, dot, axis = name.rpartition(".")
    if not dot or axis not in ("x", "y", "z"):
        return None
    arm.attachment(frame)
    return Coordinate.position(frame, axis)


def _read_orientation(name: str, arm: Arm, settings: PlaneSettings) -> Coordinate | None:
    frame, dot, axis = name.rpartition(".")
    if not dot or axis not in ("rx", "ry", "rz"):
        return None
    arm.attachment(frame)
    return Coordinate.orientation(frame)[("rx", "ry", "rz").index(axis)]


def _read_angle(name: str, arm: Arm, settings: PlaneSettings) -> Coordinate | None:
    frame, dot, what = name.rpartition(".")
    if not dot or what != "angle":
        return None
    if not len(settings.plane_normal):
        raise InvalidValue(
            f"{name} needs the plane it is measured in: constraint.plane_normal",
            key="constraint",
        )
    arm.attachment(frame)
    return Coordinate.heading(frame, settings.plane_normal)


def _read_joint(name: str, arm: Arm, settings: PlaneSettings) -> Coordinate | None:
    if name not in arm.joint_names:
        return None
    return Coordinate.joint(name, unit="m" if arm.prismatic[arm.joint_index(name)] else "rad")


COORDINATES.add(
    CoordinateKind(
        CENTRE_OF_MASS,
        f"{CENTRE_OF_MASS}.x, .y, .z",
        "a component of the position of the arm's centre of mass, in the world",
        "m",
        _read_centre,
    )
)
COORDINATES.add(
    CoordinateKind(
        ANGULAR_MOMENTUM,
        f"{ANGULAR_MOMENTUM}.x, .y, .z",
        "the arm's angular momentum about its centre of mass over its inertia at zero: its rate is "
        "followed, its value is always zero",
        "rad",
        _read_momentum,
    )
)
COORDINATES.add(
    CoordinateKind(
        "orientation",
        "link.rx, link.ry, link.rz",
        "a link's orientation: the three numbers of its rotation vector, in the world",
        "rad",
        _read_orientation,
    )
)
COORDINATES.add(
    CoordinateKind(
        "position",
        "link.x, link.y, link.z",
        "a component of the position of a link's origin, in the world",
        "m",
        _read_position,
    )
)
COORDINATES.add(
    CoordinateKind(
        "angle",
        "link.angle",
        "the angle of a link's x axis in the plane of motion",
        "rad",
        _read_angle,
    )
)
COORDINATES.add(
    CoordinateKind("joint", "a joint's name", "a joint's own position", "rad or m", _read_joint)
)

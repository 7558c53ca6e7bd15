"""Independent coordinates θ(q): what one wants to move, in the directions the constraint leaves.

Each coordinate has a name, by which references refer to it: ``tip.x``, ``tip.angle``, ``joint_1``.
How the names in a parameter file are read is said by one record per kind, at the end; kinds of
other packages come in through the entry points ``projected_control.coordinates``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pinocchio
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constraints import plane_axes
from projected_control.model.function_kinds import (
    AngleAbout,
    AxisCosine,
    CentreOfMassAlong,
    HeadingInPlane,
    JointPosition,
    OrientationAbout,
    PositionAlong,
    ScalarFunction,
)
from projected_control.model.rotations import Topology, angular_motion, subtract
from projected_control.model.scalar_functions import FunctionTable
from projected_control.registry import Registry

Array = NDArray[np.float64]


class PlaneSettings(Protocol):
    """What the settings of the group ``constraint`` say of a planar arm."""

    @property
    def plane_normal(self) -> Sequence[float]:
        """Normal of the plane it moves in; empty for an arm in space."""


CENTRE_OF_MASS = "centre_of_mass"
ORIENTATION = "orientation"
OWN_COORDINATES = ("position", "angle", "tilt", "round", CENTRE_OF_MASS, ORIENTATION)
"""Kinds of coordinate that ``coordinate.<name>.kind`` can name."""


@dataclass(frozen=True)
class Coordinate:
    """One coordinate: its name, its unit, the scalar function that computes it.

    Attributes:
        name: By which references call it.
        unit: ``m`` or ``rad``.
        function: See `scalar_functions`.
        periodic: Whether values that differ by 2π are the same.
    """

    name: str
    unit: str
    function: ScalarFunction
    periodic: bool = False

    @classmethod
    def position(cls, frame: str, axis: str | ArrayLike, name: str | None = None) -> Coordinate:
        """A component of a frame's position: along ``"x"``, ``"y"``, ``"z"`` or any direction."""
        if isinstance(axis, str):
            letter = validate.one_of("axis", axis, ("x", "y", "z"))
            direction = np.eye(3)["xyz".index(letter)]
            name = name or f"{frame}.{letter}"
        else:
            direction = validate.direction("direction of the coordinate", axis)
            name = name or f"{frame}.along"
        return cls(name, "m", PositionAlong(frame, direction))

    @classmethod
    def heading(cls, frame: str, plane_normal: ArrayLike, name: str | None = None) -> Coordinate:
        """The angle of a frame's x axis in a plane, from the world's x axis about the normal."""
        e1, e2 = plane_axes(plane_normal)
        function = HeadingInPlane(frame, np.array([1.0, 0.0, 0.0]), e1, e2)
        return cls(name or f"{frame}.angle", "rad", function, periodic=True)

    @classmethod
    def along(
        cls, frame: str, direction: ArrayLike, other: str | None = None, name: str | None = None
    ) -> Coordinate:
        """A frame's position along a direction, from another frame's origin and in its axes."""
        along = validate.direction("direction of the coordinate", direction)
        return cls(name or f"{frame}.along", "m", PositionAlong(frame, along, 0.0, other, other))

    @classmethod
    def about(
        cls,
        frame: str,
        direction: ArrayLike,
        axis: ArrayLike = (1.0, 0.0, 0.0),
        name: str | None = None,
    ) -> Coordinate:
        """The angle of an axis of a frame about a direction, from the world's x axis on."""
        e1, e2 = plane_axes(direction)
        function = HeadingInPlane(frame, validate.direction("axis", axis), e1, e2)
        return cls(name or f"{frame}.about", "rad", function, periodic=True)

    @classmethod
    def tilt(
        cls, frame: str, axis: ArrayLike, direction: ArrayLike, name: str | None = None
    ) -> Coordinate:
        """How far an axis of a frame leans towards a direction: the sine of the angle [rad].

        Two of these, towards two directions at right angles to a normal, keep a tool square to it.
        """
        function = AxisCosine(
            frame,
            validate.direction("axis", axis),
            validate.direction("direction of the tilt", direction),
        )
        return cls(name or f"{frame}.tilt", "rad", function)

    @classmethod
    def round(
        cls, frame: str, point: ArrayLike, direction: ArrayLike, name: str | None = None
    ) -> Coordinate:
        """How far a frame's origin has gone round an axis; turns are counted."""
        e1, e2 = plane_axes(direction)
        place = validate.finite_array("point of the axis", point, (3,))
        return cls(name or f"{frame}.round", "rad", AngleAbout(frame, place, e1, e2))

    @classmethod
    def centre_of_mass(cls, axis: str | ArrayLike, name: str | None = None) -> Coordinate:
        """The arm's centre of mass along ``"x"``, ``"y"``, ``"z"`` or any direction."""
        if isinstance(axis, str):
            letter = validate.one_of("axis", axis, ("x", "y", "z"))
            direction = np.eye(3)["xyz".index(letter)]
            name = name or f"{CENTRE_OF_MASS}.{letter}"
        else:
            direction = validate.direction("direction of the coordinate", axis)
        return cls(name or f"{CENTRE_OF_MASS}.along", "m", CentreOfMassAlong(direction))

    @classmethod
    def orientation(
        cls, frame: str, zero: ArrayLike | None = None, name: str | None = None
    ) -> tuple[Coordinate, Coordinate, Coordinate]:
        """A frame's orientation on SO(3): three coordinates, which belong together in this order.

        Their values are a rotation vector [rad], and so is their reference: the turn from the
        orientation `zero` on, a rotation matrix, say where the arm starts; unless given, the
        world's axes. Errors are log(R_d Rᵀ), rates angular velocities in the world.
        """
        first, second, third = (
            cls(f"{name or frame}.r{axis}", "rad", OrientationAbout(frame, i, _rotation(zero)))
            for i, axis in enumerate("xyz")
        )
        return first, second, third

    @classmethod
    def joint(cls, joint: str, name: str | None = None, unit: str = "rad") -> Coordinate:
        """A joint's own position; the unit is ``m`` for one that slides."""
        return cls(name or joint, unit, JointPosition(joint))


def _rotation(matrix: ArrayLike | None) -> tuple[float, ...] | None:
    if matrix is None:
        return None
    R = validate.finite_array("zero of the orientation", matrix, (3, 3))
    if np.abs(R @ R.T - np.eye(3)).max() > 1e-6 or np.linalg.det(R) < 0.0:
        raise InvalidValue(f"zero of the orientation must be a rotation matrix, got {R.tolist()}")
    return tuple(R.reshape(-1).tolist())


class Coordinates:
    """A set of coordinates θ ∈ ℝᵏ, in order.

    Attributes:
        members, names, size: The coordinates, their names, k.
        periodic: Whether each is an angle, k.
        topology: What its values are numbers of (see `Topology`), k.
    """

    def __init__(self, members: Sequence[Coordinate]) -> None:
        if not members:
            raise InvalidValue("at least one coordinate is needed")
        self.members = tuple(members)
        self.names = tuple(c.name for c in self.members)
        if len(set(self.names)) != len(self.names):
            raise InvalidValue(f"coordinates are named twice in {list(self.names)}")
        self.size = len(self.members)
        self.periodic = np.array([c.periodic for c in self.members])
        self.topology: Array = np.where(self.periodic, float(Topology.CIRCLE), float(Topology.LINE))
        self._find_orientations()
        self._table: tuple[Arm, FunctionTable] | None = None

    @classmethod
    def of_joints(cls, names: Sequence[str]) -> Coordinates:
        """Joints as their own coordinates."""
        return cls([Coordinate.joint(name) for name in names])

    def _find_orientations(self) -> None:
        """Mark the numbers of orientations; raise where one is not whole."""
        k = 0
        while k < self.size:
            first = self.members[k].function
            if not isinstance(first, OrientationAbout):
                k += 1
                continue
            wanted = [OrientationAbout(first.frame, i, first.zero) for i in range(3)]
            if self.functions[k : k + 3] != wanted:
                raise InvalidValue(
                    f"{self.names[k]} is one of three numbers of an orientation, which make sense "
                    f"together only: name {first.frame}.rx, .ry and .rz, in this order, got "
                    f"{list(self.names)}"
                )
            self.topology[k : k + 3] = Topology.ROTATION_GOES_ON
            self.topology[k] = Topology.ROTATION
            k += 3

    @property
    def functions(self) -> list[ScalarFunction]:
        """What computes them."""
        return [c.function for c in self.members]

    def _evaluate(self, arm: Arm) -> FunctionTable:
        if self._table is None or self._table[0] is not arm:
            self._table = arm, FunctionTable(arm, self.functions)
        return self._table[1].evaluate()

    def value(self, arm: Arm) -> Array:
        """θ(q) at the arm's present state [m or rad]."""
        return self._evaluate(arm).value.copy()

    def jacobian(self, arm: Arm) -> Array:
        """J_θ = ∂θ/∂q, k × n."""
        return self._evaluate(arm).jacobian.copy()

    def bias(self, arm: Arm) -> Array:
        """J̇_θ q̇."""
        return self._evaluate(arm).bias.copy()

    def difference(self, a: ArrayLike, b: ArrayLike) -> Array:
        """a − b, angles by the short way round; of orientations log(R_a R_bᵀ)."""
        first, second = np.broadcast_arrays(
            np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        )
        delta = np.empty(first.shape)
        for at in np.ndindex(first.shape[:-1]):
            subtract(first[at].copy(), second[at].copy(), self.topology, delta[at])
        return delta

    def velocity(self, value: ArrayLike, rate: ArrayLike) -> Array:
        """J_θ q̇ of an arm that goes along a reference: its rate, of orientations ω_d."""
        place = np.asarray(value, dtype=np.float64)
        found: Array = np.array(rate, dtype=np.float64)
        for i in np.flatnonzero(self.topology == Topology.ROTATION):
            phi, phi_rate = (tuple(x[i : i + 3].tolist()) for x in (place, found))
            found[i : i + 3] = angular_motion(phi, phi_rate, (0.0, 0.0, 0.0))[0]
        return found


# Names in parameter files


@dataclass(frozen=True)
class CoordinateKind:
    """A kind of coordinate that a parameter file can name.

    Attributes:
        name: Name of the kind.
        form: How its names look, for messages and documentation.
        title: What it is, in a few words.
        unit: ``m``, ``rad``, or both where it depends on the arm.
        read: The coordinate that a name stands for on an arm, or None where the name is of another
            kind. The third argument are the settings of the group ``constraint``, which say in
            which plane a planar arm moves.
    """

    name: str
    form: str
    title: str
    unit: str
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


class CoordinateSettings(Protocol):
    """The settings of a coordinate that a bare name does not say; empty where not given."""

    @property
    def kind(self) -> str:
        """One of `OWN_COORDINATES`."""

    @property
    def frame(self) -> str:
        """Link whose origin or axis is followed."""

    @property
    def other_frame(self) -> str:
        """Link from which a position counts."""

    @property
    def direction(self) -> Sequence[float]:
        """Along or about which."""

    @property
    def point(self) -> Sequence[float]:
        """A point of an axis [m]."""

    @property
    def axis(self) -> Sequence[float]:
        """An axis of the link."""

    @property
    def zero(self) -> Sequence[float]:
        """Roll, pitch and yaw of the orientation from which an orientation counts [rad]."""


_NEEDED = {
    "position": ("frame", "direction"),
    "angle": ("frame", "direction"),
    "tilt": ("frame", "axis", "direction"),
    "round": ("frame", "point", "direction"),
    CENTRE_OF_MASS: ("direction",),
    ORIENTATION: ("frame",),
}
_TURNS = ("rx", "ry", "rz")


def own_group(name: str, groups: Iterable[str]) -> str:
    """Whose settings say what a coordinate is: its own, of ``turn.rx`` those of ``turn``; or none.

    Args:
        name: Of the coordinate.
        groups: Names of groups of settings.
    """
    group, _, axis = name.rpartition(".")
    known = set(groups)
    return name if name in known else group if group in known and axis in _TURNS else ""


def own_coordinate(name: str, settings: CoordinateSettings) -> Coordinate:
    """The coordinate of a group of settings, under its own name.

    An orientation is three: ``name.rx``, ``name.ry`` and ``name.rz``.
    """
    group, _, turn = name.rpartition(".")
    if settings.kind == ORIENTATION or turn in _TURNS:
        if settings.kind != ORIENTATION or turn not in _TURNS:
            raise InvalidValue(
                f"coordinate {name!r}: of kind {ORIENTATION!r}, and of no other, there are three: "
                f"{', '.join(f'{group or name}.{each}' for each in _TURNS)}"
            )
        return _own_orientation(group, settings)[_TURNS.index(turn)]
    kind = validate.one_of(f"coordinate.{name}.kind", settings.kind, OWN_COORDINATES)
    missing = [n for n in _NEEDED[kind] if not len(getattr(settings, n))]
    if missing:
        needs = " and ".join(f"coordinate.{name}.{n}" for n in missing)
        raise InvalidValue(f"coordinate.{name}.kind {kind!r} needs {needs}")
    frame, direction = settings.frame, settings.direction
    if kind == "position":
        return Coordinate.along(frame, direction, settings.other_frame or None, name)
    if kind == "angle":
        axis = settings.axis if len(settings.axis) else (1.0, 0.0, 0.0)
        return Coordinate.about(frame, direction, axis, name)
    if kind == "tilt":
        return Coordinate.tilt(frame, settings.axis, direction, name)
    if kind == "round":
        return Coordinate.round(frame, settings.point, direction, name)
    return Coordinate.centre_of_mass(direction, name)


def _own_orientation(
    name: str, settings: CoordinateSettings
) -> tuple[Coordinate, Coordinate, Coordinate]:
    if not settings.frame:
        raise InvalidValue(f"coordinate.{name}.kind {ORIENTATION!r} needs coordinate.{name}.frame")
    zero = None
    if len(settings.zero):
        angles = validate.finite_array(f"coordinate.{name}.zero", settings.zero, (3,))
        zero = pinocchio.rpy.rpyToMatrix(*angles)
    return Coordinate.orientation(settings.frame, zero, name)


def _read_centre(name: str, arm: Arm, settings: PlaneSettings) -> Coordinate | None:
    what, dot, axis = name.rpartition(".")
    if not dot or what != CENTRE_OF_MASS or axis not in ("x", "y", "z"):
        return None
    return Coordinate.centre_of_mass(axis)


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
        raise InvalidValue(f"{name} needs the plane it is measured in: constraint.plane_normal")
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

"""Coordinates of an arm: one, and a set of them θ(q), in order.

One has its name, its unit and the scalar function that computes it; a set has values, Jacobian, and
differences by the short way round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constraints import plane_axes
from projected_control.model.function_kinds import (
    AngleAbout,
    AngularMomentumAbout,
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

CENTRE_OF_MASS = "centre_of_mass"
ANGULAR_MOMENTUM = "angular_momentum"


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
    def angular_momentum(cls, axis: str) -> Coordinate:
        """The arm's angular momentum about its centre of mass along ``"x"``, ``"y"`` or ``"z"``.

        A task at velocity level: its value is always zero and its stiffness is not used; the
        reference's rate is the momentum over a fixed inertia (see `AngularMomentumAbout`).
        """
        letter = validate.one_of("axis", axis, ("x", "y", "z"))
        about = AngularMomentumAbout(np.eye(3)["xyz".index(letter)])
        return cls(f"{ANGULAR_MOMENTUM}.{letter}", "rad", about)

    @property
    def at_velocity(self) -> bool:
        """Whether only its rate means anything."""
        return isinstance(self.function, AngularMomentumAbout)

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


Array = NDArray[np.float64]


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

    def rate(self, value: ArrayLike, velocity: ArrayLike) -> Array:
        """The rate of a reference that goes along with an arm: the inverse of `velocity`."""
        found: Array = np.array(velocity, dtype=np.float64)
        units = np.eye(3)
        for i in np.flatnonzero(self.topology == Topology.ROTATION):
            phi = tuple(np.asarray(value, dtype=np.float64)[i : i + 3].tolist())
            columns = [angular_motion(phi, tuple(e.tolist()), (0.0, 0.0, 0.0))[0] for e in units]
            found[i : i + 3] = np.linalg.solve(np.array(columns).T, found[i : i + 3])
        return found

"""Independent coordinates θ(q): what one wants to move, in the directions the constraint leaves.

Each coordinate has a name, by which references refer to it: ``tip.x``, ``tip.angle``, ``joint_1``.
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
from projected_control.model.scalar_functions import (
    FunctionTable,
    HeadingInPlane,
    JointPosition,
    PositionAlong,
    ScalarFunction,
)

Array = NDArray[np.float64]


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
    def joint(cls, joint: str, name: str | None = None, unit: str = "rad") -> Coordinate:
        """A joint's own position; the unit is ``m`` for one that slides."""
        return cls(name or joint, unit, JointPosition(joint))


class Coordinates:
    """A set of coordinates θ ∈ ℝᵏ, in order."""

    def __init__(self, members: Sequence[Coordinate]) -> None:
        if not members:
            raise InvalidValue("at least one coordinate is needed")
        self.members = tuple(members)
        self.names = tuple(c.name for c in self.members)
        if len(set(self.names)) != len(self.names):
            raise InvalidValue(f"coordinates are named twice in {list(self.names)}")
        self.size = len(self.members)
        self.periodic = np.array([c.periodic for c in self.members])
        self._table: tuple[Arm, FunctionTable] | None = None

    @classmethod
    def of_joints(cls, names: Sequence[str]) -> Coordinates:
        """Joints as their own coordinates."""
        return cls([Coordinate.joint(name) for name in names])

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
        """a − b, angles by the short way round."""
        delta = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
        turns = np.where(self.periodic, np.round(delta / (2.0 * np.pi)), 0.0)
        return delta - 2.0 * np.pi * turns

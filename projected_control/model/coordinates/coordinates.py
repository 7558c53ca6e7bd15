"""A set of coordinates θ(q), in order: values, Jacobian, differences by the short way round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.coordinates.coordinate import Coordinate
from projected_control.model.function_kinds import OrientationAbout, ScalarFunction
from projected_control.model.rotations import Topology, angular_motion, subtract
from projected_control.model.scalar_functions import FunctionTable

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

"""What inverse kinematics is asked for: tasks, and the equations they make with the constraint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import Constraint
from projected_control.model.coordinates import Coordinate, Coordinates

Array = NDArray[np.float64]

TOLERANCE = 1e-9
"""Error up to which a task counts as met unless it says otherwise [m or rad]."""


@dataclass(frozen=True)
class Task:
    """Coordinates and the values they are to have, θ(q) = θ_d, all of one priority.

    Attributes:
        coordinates: k of them.
        values: θ_d, k [m or rad]; of an orientation its rotation vector.
        name: What messages call it; the coordinates' names unless given.
        tolerance: ‖θ − θ_d‖ up to which it counts as met [m and rad].
    """

    coordinates: Coordinates
    values: ArrayLike
    name: str = ""
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        size, names = self.coordinates.size, ", ".join(self.coordinates.names)
        object.__setattr__(self, "name", self.name or names)
        values = validate.finite_array(f"values of the task {self.name!r}", self.values, (size,))
        object.__setattr__(self, "values", values)
        validate.positive(f"tolerance of the task {self.name!r}", self.tolerance)

    @classmethod
    def position(cls, frame: str, point: ArrayLike, name: str = "") -> Task:
        """A frame's origin at a point of the world [m]."""
        place = validate.finite_array(f"point of {frame}", point, (3,))
        members = [Coordinate.position(frame, axis) for axis in "xyz"]
        return cls(Coordinates(members), place, name or f"position of {frame}")

    @classmethod
    def pose(cls, frame: str, point: ArrayLike, rotation: ArrayLike, name: str = "") -> Task:
        """A frame's origin at a point [m], its axes those of a rotation matrix, world from frame.

        The orientation counts from there, so that its error is log(R R_dᵀ) wherever the arm is.
        """
        place = validate.finite_array(f"point of {frame}", point, (3,))
        members = [Coordinate.position(frame, axis) for axis in "xyz"]
        members += Coordinate.orientation(frame, rotation)
        values = np.concatenate([place, np.zeros(3)])
        return cls(Coordinates(members), values, name or f"pose of {frame}")


class Level(NamedTuple):
    """One priority at one configuration: its error and how that changes with q.

    Attributes:
        error: g, rows; zero where it is met.
        jacobian: ∂g/∂q, rows × n.
    """

    error: Array
    jacobian: Array


class Equations:
    """Constraint and tasks of an arm, evaluated together: one Pinocchio pass for all levels.

    Attributes:
        model: The arm with a state of its own, its constraint and the coordinates of all tasks.
        names: Of the levels, in order of priority.
        rows: What the rows of each level are called.
        units: And their units.
        tolerances: Errors up to which levels count as met.
        values: θ_d of all tasks, one after the other; may be changed.
    """

    def __init__(
        self, arm: Arm, constraint: Constraint | None, tasks: Sequence[Task], tolerance: float
    ) -> None:
        names = [task.name for task in tasks]
        if len(set(names)) != len(names):
            raise InvalidValue(f"tasks are named twice in {names}: give each a name")
        members = [
            replace(member, name=f"{task.name}: {member.name}")
            for task in tasks
            for member in task.coordinates.members
        ]
        coordinates = Coordinates(members) if members else None
        self.model = ConstrainedArm(arm.twin(), constraint, coordinates)
        self.held = self.model.m > 0
        self.names, self.tolerances = tuple(names), [task.tolerance for task in tasks]
        self.rows = [task.coordinates.names for task in tasks]
        self.units = [tuple(m.unit for m in task.coordinates.members) for task in tasks]
        self.values: Array = np.concatenate(
            [np.asarray(task.values, dtype=np.float64) for task in tasks] or [np.empty(0)]
        )
        sizes = [task.coordinates.size for task in tasks]
        if constraint is not None and self.held:
            self.names = ("constraint", *self.names)
            self.tolerances.insert(0, tolerance)
            self.rows.insert(0, tuple(f"row {name}" for name in constraint.row_names))
            self.units.insert(0, constraint.row_units)
            sizes.insert(0, self.model.m)
        ends = np.cumsum(sizes).tolist()
        self._parts = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
        self._rest = np.zeros(arm.n)

    def at(self, q: Array, time: float) -> list[Level]:
        """The levels at a configuration, as new arrays."""
        model = self.model
        model.evaluate(q, self._rest, time)
        error = model.residual.copy()
        if model.coordinates is not None:
            away = model.coordinates.difference(model.theta, self.values)
            error = np.concatenate([error, away])
        J = model.terms.jacobian
        return [Level(error[part], J[part].copy()) for part in self._parts]

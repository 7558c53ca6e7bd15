"""What inverse kinematics is asked for: tasks, and the equations they make with the constraint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from projected_control import validate
from projected_control.arrays import Array
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import Constraint
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.model.function_kinds import AxisCosine

TOLERANCE = 1e-9  # error up to which a task counts as met unless it says otherwise [m or rad]
SINGULAR = 1e-9  # size up to which a force in the direction of a surface's normal is none


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


@dataclass(frozen=True)
class SquareAxis:
    """Coordinates that keep an axis square to the surface on which its frame is held."""

    columns: tuple[int, ...]  # which coordinates, each the tilt of the axis towards one direction
    directions: Array  # these directions, one line each
    sign: float  # one where the axis points along the surface's normal, minus one where against it

    @classmethod
    def of(cls, model: ConstrainedArm, q: Array) -> SquareAxis | None:
        """The tilts of the held frame that can follow the normal; None where there are none.

        Args:
            model: With the constraint and the coordinates; evaluated here.
            q: Where the arm is, which decides to which side of the surface the axis points.
        """
        constraint, coordinates = model.constraint, model.coordinates
        if constraint is None or coordinates is None or constraint.frame is None:
            return None
        columns, directions, axis = [], [], None
        for i, function in enumerate(coordinates.functions):
            if isinstance(function, AxisCosine) and function.frame == constraint.frame:
                columns.append(i)
                directions.append(np.asarray(function.direction, dtype=np.float64))
                axis = np.asarray(function.axis, dtype=np.float64)
        if axis is None:
            return None
        model.evaluate(q, np.zeros(model.n))
        points = model.arm.frame(constraint.frame).rotation @ axis
        sign = 1.0 if float(points @ _normal(model)) >= 0.0 else -1.0
        return cls(tuple(columns), np.array(directions), sign)

    def values(self, model: ConstrainedArm, values: Array) -> Array:
        """θ_d with what the surface asks for where the model was evaluated, k."""
        wanted = values.copy()
        wanted[list(self.columns)] = self.directions @ (self.sign * _normal(model))
        return wanted


def _normal(model: ConstrainedArm) -> Array:
    """The direction in which the constraint's first row pushes, at the state last evaluated."""
    constraint = model.constraint
    if constraint is None or constraint.frame is None:
        raise InvalidValue("there is no surface to be square to: the constraint has no frame")
    force = constraint.wrench_basis(model.arm, constraint.frame)[:3, 0]
    size = float(np.linalg.norm(force))
    if not size > SINGULAR:
        raise InvalidValue("there is no surface to be square to: the constraint gives no force")
    return np.asarray(force / size)


class TaskLevel(NamedTuple):
    """One priority at one configuration: its error and how that changes with q."""

    error: Array  # g, rows; zero where it is met
    jacobian: Array  # ∂g/∂q, rows × n


class Equations:
    """Constraint and tasks of an arm, evaluated together: one Pinocchio pass for all levels.

    Attributes:
        model: The arm with a state of its own, its constraint and the coordinates of all tasks.
        names: Of the levels, in order of priority.
        rows: What the rows of each level are called.
        units: And their units.
        tolerances: Errors up to which levels count as met.
        values: θ_d of all tasks, one after the other; may be changed.
        square: Which of them follow the surface instead; None for none. May be changed.
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
        self.square: SquareAxis | None = None
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

    def at(self, q: Array, time: float) -> list[TaskLevel]:
        """The levels at a configuration, as new arrays."""
        error, J = self.together(q, time)
        return [TaskLevel(error[part], J[part].copy()) for part in self._parts]

    def together(self, q: Array, time: float) -> TaskLevel:
        """The same as one level; its Jacobian is the model's own."""
        model = self.model
        model.evaluate(q, self._rest, time)
        error = model.residual.copy()
        if model.coordinates is not None:
            square = self.square
            wanted = self.values if square is None else square.values(model, self.values)
            away = model.coordinates.difference(model.theta, wanted)
            error = np.concatenate([error, away])
        return TaskLevel(error, model.terms.jacobian)

"""From settings to what is worked out before an arm moves.

Inverse kinematics (a pose, a whole reference, a map of the reach), the flight check, and what looks
at a reference that comes while a controller runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from projected_control.arrays import Array
from projected_control.control.loop import ControlLoop
from projected_control.control.references import ReferencePoint
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import Constraint, with_mimics
from projected_control.model.coordinates import Coordinates
from projected_control.planning import flight_check
from projected_control.planning.course import Course, course_along
from projected_control.planning.flight_check import instants
from projected_control.planning.inverse_kinematics import InverseKinematics
from projected_control.planning.outcome import KinematicSolution
from projected_control.planning.reach import Manipulability, Reach, manipulability, map_reach
from projected_control.planning.tasks import SquareAxis, Task
from projected_control.planning.way_check import WayBounds, WayCheck
from projected_control.settings.build.arms import (
    build_arm,
    build_constraint,
    build_coordinates,
    build_limits,
    build_model,
)
from projected_control.settings.build.controllers import delay_of
from projected_control.settings.build.loops import build_loop, build_reference, motion_limits
from projected_control.settings.build.paths import moved_columns, posture_of
from projected_control.settings.build.plants import start_guess, start_values
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import ControllerSettings
from projected_control.settings.real_arms import is_real
from projected_control.settings.reference_kinds import REFERENCES
from projected_control.validate import spread

INSTANTS = 200  # at how many places a reference is looked at that is no path
Wanted = Mapping[str, float]  # values of coordinates by their names, all of one priority


@dataclass(frozen=True)
class ArmKinematics:
    """An arm of parameter files, as inverse kinematics needs it."""

    # Of the controller, which has limits, coordinates and the reference.
    settings: ControllerSettings
    arm: Arm  # the arm
    constraint: Constraint | None  # what holds it; None for nothing
    # lower, upper: limits of the joints that count, n.
    lower: Array
    upper: Array
    guess: Array  # where to look first, n
    # Where the files have the simulated arm start; empty where they do not say.
    wanted: dict[str, float]

    @classmethod
    def of(cls, layers: Layers, node: str, q: Sequence[float] | None = None) -> ArmKinematics:
        """The arm of some files; without a constraint where these name none.

        Args:
            layers: The files.
            node: Controller whose settings count.
            q: Guess; where the simulated arm of the files starts unless given.
        """
        settings, simulated = layers.controller(node), layers.arm().simulation
        arm = build_arm(settings)
        limits = build_limits(settings, arm)
        held = settings.constraint.kind or settings.constraints
        return cls(
            settings,
            arm,
            with_mimics(arm, build_constraint(settings) if held else None),
            limits.lower,
            limits.upper,
            start_guess(arm, q if q is not None else simulated.start),
            start_values(simulated),
        )

    def task(self, wanted: Wanted) -> Task:
        """Coordinates by name, and the values they are to have."""
        names = list(wanted)
        coordinates = build_coordinates(names, self.arm, self.settings)
        return Task(coordinates, list(wanted.values()))

    def solver(self, tasks: Sequence[Task], posture: Array | None = None) -> InverseKinematics:
        """Inverse kinematics of this arm."""
        return InverseKinematics(
            self.arm,
            self.constraint,
            tasks,
            posture=posture,
            lower=self.lower,
            upper=self.upper,
        )

    def pose(
        self, tasks: Sequence[Wanted], posture: Sequence[float] | None = None
    ) -> KinematicSolution:
        """Joint positions for tasks in order of priority, as well as they can be met."""
        goal = None if posture is None else np.array(posture, dtype=np.float64)
        return self.solver([self.task(w) for w in tasks], goal).solve(self.guess, strict=False)

    def start(self) -> Array:
        """Joint positions at which the files have the arm start.

        Raises:
            Unreachable: Where there are none within the joint limits.
        """
        tasks = [self.task(self.wanted)] if self.wanted else []
        return self.solver(tasks).solve(self.guess).q

    def model(self) -> ConstrainedArm:
        """The arm with its constraint and the controller's coordinates."""
        names = self.settings.coordinates
        if not names:
            raise InvalidValue(
                "coordinates must be given: what is moved of the arm", key="coordinates"
            )
        coordinates = build_coordinates(names, self.arm, self.settings)
        return ConstrainedArm(self.arm.twin(), self.constraint, coordinates)

    def ellipsoid(self, q: Array) -> Manipulability | None:
        """How well the controller's coordinates move at q; None where there are none."""
        return manipulability(self.model(), q) if self.settings.coordinates else None

    def reach(
        self,
        names: Sequence[str],
        free: Sequence[str] = (),
        spacing: float | None = None,
        progress: Callable[[int], None] = lambda cells: None,
    ) -> Reach:
        """What is reached of two coordinates, the controller's others held where the arm starts.

        Args:
            names: The two.
            free: Those of the others that are not held.
            spacing: Size of a cell [m or rad].
            progress: Told how many cells were found.
        """
        plane = build_coordinates(names, self.arm, self.settings)
        q, held = self.start(), None
        others = [n for n in self.settings.coordinates if n not in (*names, *free)]
        if others:
            coordinates = build_coordinates(others, self.arm, self.settings)
            still = np.zeros(self.arm.n)
            held = Task(coordinates, coordinates.value(self.arm.twin().update(q, still)))
        return map_reach(
            self.arm,
            self.constraint,
            plane,
            q,
            held=held,
            spacing=spacing,
            lower=self.lower,
            upper=self.upper,
            progress=progress,
        )

    def course(self) -> Course:
        """The arm along its whole reference, each place reached from the one before."""
        model, q = self.model(), self.start()
        assert model.coordinates is not None
        model.evaluate(q, np.zeros(model.n))
        places, wanted = self._reference(model, q)
        solver = self.solver([Task(model.coordinates, wanted[0], "reference")])
        if self.settings.reference.square:
            solver.equations.square = SquareAxis.of(model, q)
        unit = self._unit(model.coordinates)
        return course_along(solver, model, places, wanted, q, unit=unit)

    def _unit(self, coordinates: Coordinates) -> str:
        """Of the places along the reference."""
        group = self.settings.reference
        if REFERENCES[group.kind].strokes is None:
            return "s"
        columns = moved_columns(group, coordinates.names)
        units = {coordinates.members[i].unit for i in columns}
        return units.pop() if len(units) == 1 else "m or rad"

    def _reference(self, model: ConstrainedArm, q: Array) -> tuple[Array, Array]:
        """Places along the reference and the coordinates there: ways of a path, else times."""
        group, coordinates = self.settings.reference, model.coordinates
        assert coordinates is not None
        here = model.theta.copy()
        make = REFERENCES[group.kind].strokes
        if make is None:
            start = ReferencePoint(here, *np.zeros((2, model.k)))
            reference = build_reference(self.settings, start, 0.0, q)
            times = instants(reference, 0.0, INSTANTS, INSTANTS)
            return times, np.array([reference.at(t).value for t in times])
        columns = moved_columns(group, coordinates.names)
        ways, rows, begin = [], [], 0.0
        for stroke in make(group, here[columns]):
            s = np.linspace(0.0, stroke.length, max(INSTANTS // 3, 2))
            values = np.tile(here, (s.size, 1))
            values[:, columns] = stroke.at(s)
            ways.append(begin + s)
            rows.append(values)
            begin += stroke.length
        return np.concatenate(ways), np.concatenate(rows)


REAL_DISTANCE = 0.05
"""How far a reference leads on a real arm unless ``reference.max_distance`` says it [m or rad]."""


def fly(loop: ControlLoop, settings: ControllerSettings, q: Array) -> flight_check.FlightCheck:
    """Look at a controller along its whole reference, from where an arm stands.

    Args:
        loop: Of these settings.
        settings: Its settings.
        q: Where the arm stands, n [rad or m]; on its constraint.
    """
    model = build_model(settings)
    model.evaluate(q, np.zeros(model.n))
    here = ReferencePoint(model.theta.copy(), *np.zeros((2, model.k)))
    again = settings.reference.repeats > 1
    once = {"reference.approach": True, "reference.repeats": 1}
    once |= {"reference.back": settings.reference.back or again}  # what repeats is gone once
    reference = build_reference(settings.changed(once), here, 0.0, q)
    posture = posture_of(settings, model, q)
    return flight_check.fly(loop, model, reference, q, posture=posture, delay=delay_of(settings))


def build_way_check(node: str, settings: ControllerSettings) -> WayCheck:
    """What looks at references for a controller with these settings."""
    loop, model, group = build_loop(node, settings), build_model(settings), settings.reference
    real = is_real(settings)
    distance = np.full(model.k, REAL_DISTANCE if real else np.inf)
    if group.max_distance:
        distance = spread("reference.max_distance", group.max_distance, model.k)
    return WayCheck(
        loop,
        model,
        WayBounds(distance, motion_limits(settings, model.k), slow=real, looks=group.check),
        lambda q: posture_of(settings, model, q),
        delay_of(settings),
    )

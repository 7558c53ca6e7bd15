"""From trajectory messages to references.

Positions count from the coordinates' own zeros, or, where the message's ``header.frame_id`` is
``relative``, from where the reference is when the message is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from projected_control.control.events import Action
from projected_control.control.loop import ControlLoop
from projected_control.control.references import (
    MotionLimits,
    Reference,
    ReferencePoint,
    SetPoint,
    Waypoints,
)
from projected_control.errors import InvalidValue, UnknownName
from projected_control.planning.way_check import WayCheck
from projected_control.runs.runner import Runner

ABSOLUTE, RELATIVE = "absolute", "relative"
"""What ``header.frame_id`` says of the positions; empty, or the name of a link, is absolute."""

LARGEST = 1e6  # largest number in a trajectory [SI]: beyond, curves through the points overflow

Plan = Callable[[ReferencePoint, MotionLimits, float], Reference]
"""A reference, given where the present one is, the limits on the way, and the time [s]."""


def reference_from_trajectory(
    message: JointTrajectory, coordinates: Sequence[str], links: Sequence[str] = ()
) -> Plan:
    """Check a trajectory of named coordinates and say how to follow it from wherever one is.

    A single point without time is a set-point, reached smoothly. Points with times make a curve
    that starts from where the reference is: quintic if they have accelerations, else cubic.
    Coordinates that are not named stay where they are.

    Args:
        message: With ``header.frame_id`` empty or ``absolute``, or ``relative`` for positions that
            count from where the reference is.
        coordinates: Names that it may use.
        links: Names of links, which planners put into ``header.frame_id``: absolute.
    """
    relative = message.header.frame_id == RELATIVE
    if not relative and message.header.frame_id not in ("", ABSOLUTE, "world", *links):
        raise InvalidValue(
            f"header.frame_id says how positions count: {ABSOLUTE} (or nothing, or a link's name) "
            f"or {RELATIVE}, got {message.header.frame_id!r}"
        )
    names, points = list(message.joint_names), list(message.points)
    for name in names:
        if name not in coordinates:
            raise UnknownName("coordinate", name, coordinates)
    if not names or len(set(names)) != len(names):
        raise InvalidValue(f"a trajectory must name each coordinate once, got {names}")
    if not points:
        raise InvalidValue("a trajectory needs at least one point")
    columns = [list(coordinates).index(name) for name in names]
    positions = _numbers([p.positions for p in points], len(names), "positions")
    rates = _numbers([p.velocities for p in points], len(names), "velocities")
    accelerations = _numbers([p.accelerations for p in points], len(names), "accelerations")
    if positions is None:
        raise InvalidValue("every point of a trajectory needs positions")
    where = positions
    times = np.array([_seconds(p) for p in points])
    if len(points) == 1 and times[0] == 0.0:

        def set_point(here: ReferencePoint, limits: MotionLimits, now: float) -> Reference:
            goal = here.value.copy()
            goal[columns] = where[0] + (goal[columns] if relative else 0.0)
            return SetPoint(here, goal, limits, now)

        return set_point
    if times[0] <= 0.0 or not (np.diff(times) > 0.0).all():
        raise InvalidValue(
            f"the times of a trajectory must be positive and grow, got {times.tolist()}"
        )

    def curve(here: ReferencePoint, limits: MotionLimits, now: float) -> Reference:
        clock = now + np.concatenate([[0.0], times])
        values = np.tile(here.value, (clock.size, 1))
        values[1:, columns] = where + (here.value[columns] if relative else 0.0)
        slopes = np.zeros_like(values)
        if rates is not None:
            slopes[1:, columns] = rates
        else:
            slopes[1:-1] = (values[2:] - values[:-2]) / (clock[2:] - clock[:-2])[:, None]
        slopes[0] = here.rate
        bends = np.zeros_like(values)
        bends[0] = here.acceleration
        if accelerations is not None:
            bends[1:, columns] = accelerations
            return Waypoints(clock, values, slopes, bends, order=5)
        return Waypoints(clock, values, slopes, order=3)

    return curve


class Led:
    """A message that was taken, and what became of it.

    Attributes:
        reference: What is followed for it, from the tick that took it up on.
    """

    def __init__(self, message: JointTrajectory) -> None:
        self._message = message
        self.reference: Reference | None = None

    def repeated(self, message: JointTrajectory, loop: ControlLoop) -> bool:
        """Whether another message asks for what is being done already, so that nothing changes.

        A set-point that counts from the coordinates' own zeros does, sent again while it is
        followed. A relative one is another step, and points with times begin anew.
        """
        points = message.points
        timeless = len(points) == 1 and _seconds(points[0]) == 0.0
        return (
            timeless
            and message.header.frame_id != RELATIVE
            and message.header.frame_id == self._message.header.frame_id
            and list(message.joint_names) == list(self._message.joint_names)
            and list(points) == list(self._message.points)
            and self.reference is not None
            and self.reference is loop.reference
            and loop.guard.latched is Action.FOLLOW
        )


def reviewed(
    message: JointTrajectory, runner: Runner, check: WayCheck
) -> Callable[[ControlLoop, float], Reference]:
    """How a running loop follows a trajectory, after a look at where it leads.

    Raises:
        ProjectedControlError: Where the message is wrong, or its way must not be gone.
    """
    loop, model = runner.loop, runner.loop.controller.model
    names = model.coordinates.names if model.coordinates is not None else ()
    plan = reference_from_trajectory(message, names, model.arm.frame_names)
    limits, now = check.bounds.motion, runner.time
    wanted = plan(loop.beginning(now), limits, now)
    check.require(wanted, model.arm.q.copy(), now, bounded=True, running=loop)
    loop.get_ready_for(wanted)
    return lambda running, time: plan(running.beginning(time), limits, time)


def _seconds(point: JointTrajectoryPoint) -> float:
    return float(point.time_from_start.sec) + 1e-9 * float(point.time_from_start.nanosec)


def _numbers(rows: Sequence[Sequence[float]], width: int, what: str) -> np.ndarray | None:
    """One row per point, or None where no point has any."""
    if not any(len(row) for row in rows):
        return None
    if any(len(row) != width for row in rows):
        raise InvalidValue(f"each point needs {width} {what}, got {[len(row) for row in rows]}")
    numbers = np.array([list(row) for row in rows], dtype=np.float64)
    if not (np.abs(numbers) <= LARGEST).all():
        raise InvalidValue(f"the {what} of a trajectory must be finite and at most {LARGEST:g}")
    return numbers

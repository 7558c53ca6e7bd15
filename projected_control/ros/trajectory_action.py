"""The action ~/follow_joint_trajectory, where control_msgs is installed.

Joint names are names of coordinates, as on ~/reference. A goal is looked at twenty times a second
by a timer of the node; nothing waits for it, and the loop knows nothing of it. A client sees it as
accepted until its result comes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rclpy.duration import Duration
from trajectory_msgs.msg import JointTrajectoryPoint

from projected_control.arrays import Array
from projected_control.control.events import Action
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Reference
from projected_control.errors import ProjectedControlError, UnknownName
from projected_control.ros.trajectories import reviewed
from projected_control.runs.runner import Runner
from projected_control.settings import build

if TYPE_CHECKING:
    from projected_control.ros.controller_node import ControllerNode

NAME = "~/follow_joint_trajectory"

PERIOD = 0.05  # period of feedback, and of looking whether a goal is reached [s]

GOAL_TOLERANCE = 0.01
"""Error at the end up to which a goal counts as reached unless it says otherwise [m or rad]."""

PATIENCE = 1.0  # time after the end in which the goal must be reached unless it says otherwise [s]


def follow_trajectories(node: ControllerNode) -> TrajectoryAction | None:
    """Offer the action on a controller node; None where control_msgs is not installed."""
    try:
        from control_msgs.action import FollowJointTrajectory
        from rclpy.action.server import ActionServer
    except ImportError:
        return None
    return TrajectoryAction(node, FollowJointTrajectory, ActionServer)


@dataclass
class _Goal:
    """A goal on its way."""

    request: Any  # as it came
    runner: Runner  # that follows it
    # How it is followed, as it was when it was looked at.
    plan: Callable[[ControlLoop, float], Reference]
    # path, end: tolerances of the coordinates, k; infinite for none [m or rad].
    path: Array
    end: Array
    patience: float  # time after the end in which it must be reached [s]
    # Whether the goal itself says so, by the time it asks for: a path that waits for longer
    # fails it.
    punctual: bool
    handle: Any = None  # rclpy's, from its acceptance on
    reference: Reference | None = None  # what is followed, from the tick that took it up on
    begun: float = 0.0  # time of that tick [s]


class TrajectoryAction:
    """Follows trajectories of coordinates, one at a time; a new goal takes the place of the old."""

    def __init__(self, node: ControllerNode, kind: Any, server: Any) -> None:
        self._node, self._kind = node, kind
        self._goal: _Goal | None = None
        self._judged: _Goal | None = None
        self._server = server(
            node,
            kind,
            NAME,
            self._empty_result,
            goal_callback=self._judge,
            handle_accepted_callback=self._accept,
            cancel_callback=self._cancel,
        )
        node.create_timer(PERIOD, self._look)

    def destroy(self) -> None:
        """No more goals."""
        self._server.destroy()

    # A goal comes

    def _judge(self, request: Any) -> Any:
        from rclpy.action.server import GoalResponse

        try:
            self._judged = self._goal_of(request)
        except ProjectedControlError as error:
            self._node.refuse(f"trajectory refused: {error}")
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _goal_of(self, request: Any) -> _Goal:
        """How to follow it, checked against where arm and reference are now.

        Once: the arm moves, and what is accepted here must not be refused a moment later.
        """
        runner = self._require_runner()
        names = _names(runner.loop)
        for each in (*request.path_tolerance, *request.goal_tolerance):
            if each.name not in names:
                raise UnknownName("coordinate of a tolerance", each.name, names)
        with self._node.deciding():
            plan = reviewed(request.trajectory, runner, self._node.way_check)
        seconds = request.goal_time_tolerance.sec + 1e-9 * request.goal_time_tolerance.nanosec
        return _Goal(
            request,
            runner,
            plan,
            _tolerances(request.path_tolerance, names, np.inf),
            _tolerances(request.goal_tolerance, names, GOAL_TOLERANCE),
            seconds or PATIENCE,
            seconds > 0.0,
        )

    def _accept(self, handle: Any) -> None:
        goal, self._judged = self._judged, None
        if goal is None or goal.request is not handle.request:
            handle.execute(self._empty_result)
            return
        goal.handle, plan = handle, goal.plan

        def follow(loop: ControlLoop, time: float) -> None:
            reference = plan(loop, time)
            loop.set_reference(reference)
            goal.begun, goal.reference = time, reference

        if self._goal is not None:
            self._end("abort", self._kind.Result.INVALID_GOAL, "another goal took its place")
        self._goal = goal
        goal.runner.hand_over(follow)

    def _require_runner(self) -> Runner:
        runner = self._node.runner
        if runner is None:
            raise ProjectedControlError("the controller is not active")
        return runner

    # A goal is on its way

    def _look(self) -> None:
        goal = self._goal
        if goal is None:
            return
        loop, codes = goal.runner.loop, self._kind.Result
        if self._node.runner is not goal.runner:
            self._end("abort", codes.INVALID_GOAL, "the controller went inactive")
        elif goal.reference is None:
            if goal.runner.refused:
                self._end("abort", codes.INVALID_GOAL, goal.runner.refused)
        elif loop.reference is not goal.reference:
            self._end("abort", codes.INVALID_GOAL, "another reference took its place")
        elif goal.handle.is_cancel_requested:
            self._stop(goal)
            self._end("canceled", codes.SUCCESSFUL, "cancelled; the arm stops")
        else:
            self._follow(goal, goal.reference)

    def _follow(self, goal: _Goal, reference: Reference) -> None:
        controller, codes = goal.runner.loop.controller, self._kind.Result
        now, path = goal.runner.time, goal.runner.loop.path
        lag, there = path.lag, path.time(goal.runner.time)
        desired, actual = controller.motion.copy(), controller.model.theta.copy()
        error, names = controller.error.copy(), _names(goal.runner.loop)
        feedback = self._kind.Feedback()
        feedback.header.stamp = self._node.get_clock().now().to_msg()
        feedback.joint_names = list(names)
        feedback.desired = _point(desired[0], desired[1], there - goal.begun)
        feedback.actual = _point(actual, controller.model.theta_rate.copy(), now - goal.begun)
        feedback.error = _point(error[0], error[1], lag)
        goal.handle.publish_feedback(feedback)
        off = np.abs(error[0])
        if (off > goal.path).any():
            self._stop(goal)
            words = _worst(names, off, goal.path)
            self._end("abort", codes.PATH_TOLERANCE_VIOLATED, f"off its path: {words}")
        elif goal.punctual and lag > goal.patience and there < reference.end:
            self._stop(goal)
            words = f"not reached in time: its path has waited {lag:.3g} s for limits of the arm"
            words += f", goal_time_tolerance is {goal.patience:.3g} s"
            self._end("abort", codes.GOAL_TOLERANCE_VIOLATED, words)
        elif there >= reference.end:
            late = f", {lag:.3g} s later than asked: limits of the arm" if lag > 0.0 else ""
            if (off <= goal.end).all():
                self._end("succeed", codes.SUCCESSFUL, f"reached{late}")
            elif there >= reference.end + goal.patience - (lag if goal.punctual else 0.0):
                words = _worst(names, off, goal.end)
                self._end("abort", codes.GOAL_TOLERANCE_VIOLATED, f"not reached: {words}{late}")

    def _cancel(self, _: Any) -> Any:
        from rclpy.action.server import CancelResponse

        return CancelResponse.ACCEPT

    def _stop(self, goal: _Goal) -> None:
        """Stay where the arm is, as soon as its rate allows."""
        settings = self._node.settings.changed({"reference.kind": "hold"})

        def stay(loop: ControlLoop, time: float) -> None:
            if loop.guard.latched is Action.FOLLOW:  # a stop that lasts is not ended by this
                loop.set_reference(build.build_reference(settings, loop.beginning(time), time))

        goal.runner.hand_over(stay)

    def _end(self, how: str, code: int, words: str) -> None:
        """Give the present goal its result."""
        goal, self._goal = self._goal, None
        assert goal is not None

        def give(handle: Any) -> Any:
            if how != "canceled" and handle.is_cancel_requested:
                handle.canceled()
            else:
                getattr(handle, how)()
            return self._kind.Result(error_code=code, error_string=words)

        goal.handle.execute(give)

    def _empty_result(self, handle: Any) -> Any:
        """rclpy wants one; every goal brings its own (see `_end`)."""
        handle.abort()
        return self._kind.Result()


def _names(loop: ControlLoop) -> tuple[str, ...]:
    coordinates = loop.controller.model.coordinates
    return coordinates.names if coordinates is not None else ()


def _tolerances(given: Any, names: tuple[str, ...], default: float) -> Array:
    """Per coordinate; zero in a message leaves the default, a negative number stands for none."""
    found = np.full(len(names), default)
    for each in given:
        if each.position != 0.0:
            found[names.index(each.name)] = np.inf if each.position < 0.0 else each.position
    return found


def _point(positions: Array, velocities: Array, seconds: float) -> JointTrajectoryPoint:
    """With the time since the goal was taken up: the path's for what is desired, else the arm's."""
    return JointTrajectoryPoint(
        positions=[float(x) for x in positions],
        velocities=[float(x) for x in velocities],
        time_from_start=Duration(seconds=max(seconds, 0.0)).to_msg(),
    )


def _worst(names: tuple[str, ...], off: Array, allowed: Array) -> str:
    i = int(np.argmax(off - allowed))
    return f"{names[i]} by {off[i]:.4g}, allowed are {allowed[i]:.4g}"

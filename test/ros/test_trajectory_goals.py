"""Goals of ~/follow_joint_trajectory as they are judged and accepted, without control_msgs."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from builtin_interfaces.msg import Duration
from plane_arms import controller, made, on_plane
from rclpy.action.server import GoalResponse
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from projected_control.ros.trajectory_action import TrajectoryAction
from projected_control.settings.nodes import MOTION
from projected_control.settings.way_check import WayCheck


class Scene:
    """A controller node on a real arm of six joints, as far as the action looks at it."""

    def __init__(self) -> None:
        values = on_plane(6, hardware="plugin")
        self.loop, _ = made(MOTION, values)
        self.way_check = WayCheck(MOTION, controller(MOTION, values))
        self.settings = self.way_check.settings
        self.runner: Any = SimpleNamespace(
            loop=self.loop, time=0.0, refused="", hand_over=lambda change: change(self.loop, 0.0)
        )
        self.callbacks: dict[str, Any] = {}
        self.refusals: list[str] = []
        self.refuse = self.refusals.append
        kind = SimpleNamespace(Result=SimpleNamespace(INVALID_GOAL=-1))
        self.action = TrajectoryAction(self, kind, self._server)  # type: ignore[arg-type]

    def _server(self, node: Any, kind: Any, name: str, execute: Any, **callbacks: Any) -> Any:
        self.callbacks = callbacks
        return SimpleNamespace()

    def create_timer(self, *_: Any) -> None: ...

    def deciding(self) -> Any:
        return nullcontext()


def goal(x: float) -> Any:
    point = JointTrajectoryPoint(positions=[x], time_from_start=Duration(sec=2))
    trajectory = JointTrajectory(joint_names=["flange.x"], points=[point])
    trajectory.header.frame_id = "relative"
    return SimpleNamespace(
        trajectory=trajectory,
        path_tolerance=[],
        goal_tolerance=[],
        goal_time_tolerance=Duration(),
    )


def test_a_goal_that_was_accepted_is_followed_though_the_arm_moved_meanwhile() -> None:
    """An exception in the acceptance would end the process with the arm in its hands."""
    scene = Scene()
    judge, model, request = (
        scene.callbacks["goal_callback"],
        scene.loop.controller.model,
        goal(0.04),
    )
    x, q = model.theta[0], model.arm.q.copy()
    assert judge(request) == GoalResponse.ACCEPT
    q[3] -= 0.1  # from here it leads further than reference.max_distance
    model.evaluate(q, 0.0 * q)
    assert judge(goal(0.04)) == GoalResponse.REJECT
    assert "reference.max_distance" in scene.refusals[0]
    scene.callbacks["handle_accepted_callback"](SimpleNamespace(request=request))
    assert scene.loop.reference.at(2.0).value[0] == pytest.approx(x + 0.04)

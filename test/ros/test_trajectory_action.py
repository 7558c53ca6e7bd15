"""The action ~/follow_joint_trajectory: progress, results, tolerances, cancelling, refusals."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("control_msgs.action", reason="control_msgs of ros2_control is not installed")

from typing import Any

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from fleet import THREE_LINK, Fleet
from rclpy.action import ActionClient
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from projected_control.settings.nodes import ARM, FORCE

SETTINGS = {**THREE_LINK, "lockstep": True, "reference.kind": "hold"}


@pytest.fixture(scope="module")
def started(shared_fleet: Fleet) -> Any:
    """A controller that holds its arm, and a client of its action."""
    shared_fleet.start(ARM, SETTINGS)
    shared_fleet.start(FORCE, SETTINGS)
    shared_fleet.until_said(FORCE, "following", level=0)
    client = ActionClient(
        shared_fleet.node, FollowJointTrajectory, f"/{FORCE}/follow_joint_trajectory"
    )
    shared_fleet.until(client.server_is_ready, "the action's server")
    yield shared_fleet, client
    client.destroy()


def goal(*places: float, seconds: float = 1.0, name: str = "tip.x", **more: Any) -> Any:
    points = [
        JointTrajectoryPoint(
            positions=[place], time_from_start=Duration(sec=round(seconds * (i + 1)))
        )
        for i, place in enumerate(places)
    ]
    trajectory = JointTrajectory(joint_names=[name], points=points)
    return FollowJointTrajectory.Goal(trajectory=trajectory, **more)


def sent(scene: Any, request: Any) -> tuple[Any, list[Any]]:
    """The goal's handle, and the feedback as it comes."""
    fleet, client = scene
    heard: list[Any] = []
    future = client.send_goal_async(request, feedback_callback=lambda m: heard.append(m.feedback))
    fleet.until(future.done, "an answer to the goal")
    return future.result(), heard


def result(scene: Any, handle: Any) -> Any:
    future = handle.get_result_async()
    scene[0].until(future.done, "the goal's result")
    return future.result()


def desired(feedback: Any) -> float:
    """Where the tip should be."""
    return feedback.desired.positions[list(feedback.joint_names).index("tip.x")]


def test_a_trajectory_is_followed_with_progress_to_success(started: Any) -> None:
    handle, heard = sent(started, goal(-0.05, 0.02, seconds=1.0))
    assert handle.accepted
    answer = result(started, handle)
    assert answer.status == GoalStatus.STATUS_SUCCEEDED
    assert answer.result.error_code == FollowJointTrajectory.Result.SUCCESSFUL

    def arrived() -> bool:  # feedback comes by another way than the result, and may be later
        return bool(heard) and abs(desired(heard[-1]) - 0.02) < 1e-6

    started[0].until(arrived, "the last of the progress")
    last = heard[-1]
    where = list(last.joint_names).index("tip.x")
    assert last.actual.positions[where] == pytest.approx(0.02, abs=1e-3)
    error = last.desired.positions[where] - last.actual.positions[where]
    assert last.error.positions[where] == pytest.approx(error, abs=1e-3)


def test_an_unknown_coordinate_is_rejected(started: Any) -> None:
    handle, _ = sent(started, goal(0.0, name="tip.w"))
    assert not handle.accepted


def test_a_path_tolerance_that_is_missed_aborts_the_goal(started: Any) -> None:
    tight = [JointTolerance(name="tip.x", position=1e-12)]
    handle, _ = sent(started, goal(-0.2, 0.1, seconds=1.0, path_tolerance=tight))
    answer = result(started, handle)
    assert answer.status == GoalStatus.STATUS_ABORTED
    assert answer.result.error_code == FollowJointTrajectory.Result.PATH_TOLERANCE_VIOLATED
    assert "tip.x" in answer.result.error_string


def test_a_goal_is_cancelled(started: Any) -> None:
    handle, heard = sent(started, goal(*[0.05 * (-1) ** i for i in range(200)], seconds=5.0))
    started[0].until(lambda: heard, "progress")
    future = handle.cancel_goal_async()
    started[0].until(future.done, "an answer to the cancelling")
    assert result(started, handle).status == GoalStatus.STATUS_CANCELED


def test_a_new_goal_takes_the_place_of_the_old(started: Any) -> None:
    old, heard = sent(started, goal(*[0.05 * (-1) ** i for i in range(200)], seconds=5.0))
    started[0].until(lambda: heard, "progress")
    new, _ = sent(started, goal(0.0, seconds=1.0))
    answer = result(started, old)
    assert answer.status == GoalStatus.STATUS_ABORTED
    assert "another goal" in answer.result.error_string
    assert result(started, new).status == GoalStatus.STATUS_SUCCEEDED

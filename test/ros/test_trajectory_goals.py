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

from projected_control.control.path_clock import LAG, SINCE, SLOW
from projected_control.ros.controller_node import ControllerNode
from projected_control.ros.trajectory_action import TrajectoryAction
from projected_control.settings import build
from projected_control.settings.nodes import MOTION


class Result(SimpleNamespace):
    """Stands in for that of the action."""

    SUCCESSFUL, INVALID_GOAL, PATH_TOLERANCE_VIOLATED, GOAL_TOLERANCE_VIOLATED = 0, -1, -4, -5


class Feedback:
    """Stands in for that of the action."""

    def __init__(self) -> None:
        self.header = SimpleNamespace()


class GoalScene:
    """A controller node on a real arm of six joints, as far as the action looks at it."""

    def __init__(self) -> None:
        values = on_plane(6, hardware="plugin")
        self.loop, _ = made(MOTION, values)
        self.settings = controller(MOTION, values)
        self.way_check = build.build_way_check(MOTION, self.settings)
        self.runner: Any = SimpleNamespace(
            loop=self.loop, time=0.0, refused="", hand_over=lambda change: change(self.loop, 0.0)
        )
        self.callbacks: dict[str, Any] = {}
        self.refusals: list[str] = []
        self.refuse = self.refusals.append
        kind = SimpleNamespace(Result=Result, Feedback=Feedback)
        self.action = TrajectoryAction(self, kind, self._server)  # type: ignore[arg-type]

    def _server(self, node: Any, kind: Any, name: str, execute: Any, **callbacks: Any) -> Any:
        self.callbacks = callbacks
        return SimpleNamespace()

    def get_clock(self) -> Any:
        return SimpleNamespace(now=lambda: SimpleNamespace(to_msg=lambda: None))

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


def set_point(x: float, frame: str = "") -> JointTrajectory:
    message = goal(x).trajectory
    message.header.frame_id = frame
    message.points[0].time_from_start = Duration()
    return message


def test_a_set_point_that_repeats_is_looked_at_once() -> None:
    """To look takes longer than a streamed set-point leaves; a relative one is another step."""
    scene = GoalScene()
    looks: list[Any] = []
    require = scene.way_check.require
    scene.way_check.require = lambda *a, **k: (looks.append(a), require(*a, **k))
    node: Any = SimpleNamespace(
        _loop=scene.loop,
        _runner=scene.runner,
        _led=None,
        _refused="",
        refuse=scene.refuse,
        deciding=scene.deciding,
        way_check=scene.way_check,
    )
    x = float(scene.loop.controller.model.theta[0])
    seen = []
    for message in (
        *(set_point(x + 0.01),) * 3,
        set_point(x + 0.02),
        set_point(x + 0.01),
        *(set_point(0.001, "relative"),) * 2,
        set_point(x + 0.01),
    ):
        ControllerNode._on_reference(node, message)
        seen.append((len(looks), scene.loop.reference))
    assert [count for count, _ in seen] == [1, 1, 1, 2, 3, 4, 5, 6]
    assert seen[0][1] is seen[2][1]
    scene.loop.set_reference(seen[0][1])  # another took its place, as parameters do
    ControllerNode._on_reference(node, set_point(x + 0.01))
    assert (len(looks), scene.refusals) == (7, [])


def test_of_messages_that_wait_only_the_newest_counts() -> None:
    depths: list[Any] = []
    node: Any = SimpleNamespace(create_subscription=lambda *a: depths.append(a[-1]))
    ControllerNode._hear(node, JointTrajectory, "reference", lambda _: None)
    assert depths == [1]


def test_a_goal_that_was_accepted_is_followed_though_the_arm_moved_meanwhile() -> None:
    """An exception in the acceptance would end the process with the arm in its hands."""
    scene = GoalScene()
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


class Handle:
    """A client's goal: what it is told."""

    def __init__(self, request: Any) -> None:
        self.request, self.is_cancel_requested = request, False
        self.feedback: list[Any] = []
        self.how, self.result = "", Result()
        self.publish_feedback = self.feedback.append

    def execute(self, give: Any) -> None:
        self.result = give(self)

    def __getattr__(self, how: str) -> Any:
        return lambda: setattr(self, "how", how)


def seconds(duration: Duration) -> float:
    return duration.sec + 1e-9 * duration.nanosec


@pytest.mark.parametrize(("tolerance", "how"), [(0, "succeed"), (1, "abort"), (3, "succeed")])
def test_a_goal_whose_path_waits_is_reached_later_or_fails_where_it_asks_for_a_time(
    tolerance: int, how: str
) -> None:
    """2 s at half the rate: feedback has both times, and the result says how late it is."""
    scene, request = GoalScene(), goal(0.02)
    request.goal_time_tolerance = Duration(sec=tolerance)
    handle = Handle(request)
    assert scene.callbacks["goal_callback"](request) == GoalResponse.ACCEPT
    scene.callbacks["handle_accepted_callback"](handle)
    terms, reference = scene.loop.controller.terms, scene.loop.reference
    terms.path_clock[SLOW] = 0.5
    for i in range(1, 200):
        scene.runner.time = i / 16.0
        terms.path_clock[[LAG, SINCE]] = 0.5 * scene.runner.time, scene.runner.time
        terms.motion[:] = reference.at(0.5 * scene.runner.time)
        scene.action._look()
        if handle.how:
            break
    assert handle.how == how
    last = handle.feedback[-1]
    assert seconds(last.desired.time_from_start) == pytest.approx(0.5 * scene.runner.time)
    assert seconds(last.actual.time_from_start) == pytest.approx(scene.runner.time)
    if how == "succeed":
        assert scene.runner.time == 4.0
        assert handle.result.error_string == "reached, 2 s later than asked: limits of the arm"
    else:
        assert scene.runner.time == 2.0625
        assert handle.result.error_code == Result.GOAL_TOLERANCE_VIOLATED
        assert "waited 1.03 s for limits of the arm" in handle.result.error_string

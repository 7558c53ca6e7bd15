"""Messages from other nodes, wrong in every way, and references that ask for too much."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from fleet import THREE_LINK, Fleet, Process, stamp_ns
from garbage import random_message
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from projected_control.apps.demo.demo_settings import run_in_process, settings_for
from projected_control.ros.messages import tag_of
from projected_control.settings.nodes import ARM, FORCE

COMMANDS = "effort_controller/commands"
REFERENCE, FORCE_REFERENCE = f"{FORCE}/reference", f"{FORCE}/force_reference"
NAN, INF = float("nan"), float("inf")


def trajectory(
    names: Sequence[str], *points: tuple[float, Sequence[float]], **more: Any
) -> JointTrajectory:
    """Points of a time [s] and positions."""
    message = JointTrajectory(joint_names=list(names))
    for seconds, positions in points:
        whole = int(seconds // 1.0)
        time = Duration(sec=whole, nanosec=round(1e9 * (seconds - whole)))
        point = JointTrajectoryPoint(positions=list(positions), time_from_start=time, **more)
        message.points.append(point)
    return message


X = ["tip.x"]
WRONG_TRAJECTORIES = [
    JointTrajectory(),
    trajectory(X),
    trajectory([], (1.0, [])),
    trajectory(["elbow"], (1.0, [0.0])),
    trajectory(["tip.x", "tip.x"], (1.0, [0.0, 0.0])),
    trajectory(X, (1.0, [0.0, 0.0])),
    trajectory(X, (1.0, [])),
    trajectory(X, (1.0, [NAN])),
    trajectory(X, (0.0, [INF])),
    trajectory(X, (0.0, [1e300])),
    trajectory(X, (2.0, [0.0]), (1.0, [0.0])),
    trajectory(X, (1.0, [0.0]), (1.0, [0.1])),
    trajectory(X, (0.0, [0.0]), (1.0, [0.1])),
    trajectory(X, (-1.0, [0.0])),
    trajectory(X, (1.0, [0.0]), velocities=[0.0, 0.0]),
    trajectory(X, (1.0, [0.0]), velocities=[NAN]),
    trajectory(X, (1.0, [0.0]), accelerations=[INF]),
]
WRONG_FORCES = [[], [0.0, 0.0, 0.0, 0.0], [NAN], [-INF], [1e300]]
JOINTS = ["joint_1", "joint_2", "joint_3"]
WRONG_STATES = [
    JointState(),
    JointState(name=["gripper"], position=[0.1], velocity=[0.0]),
    JointState(name=JOINTS, position=[0.1] * 3),
    JointState(name=JOINTS, position=[0.1] * 4, velocity=[0.0] * 4),
    JointState(name=["joint_1"] * 3, position=[0.1] * 3, velocity=[0.0] * 3),
]


def until_logged(fleet: Fleet, process: Process, words: str, count: int) -> None:
    """Wait until a process has said something this many times."""
    fleet.until(lambda: process.log.count(words) >= count, f"{count} times {words!r}")


def test_nothing_changes(fleet: Fleet) -> None:
    """With all that in the middle of a run, its numbers are those of a run without."""
    settings = settings_for("force", 1.0, "paper", True, {"diagnostics_rate": 20.0})
    controller = fleet.start(FORCE, settings.controller.values())
    fleet.start(ARM, settings.arm.values())
    fleet.until_counted(FORCE, "ticks", 100)
    fleet.pause(ARM, True)
    references = fleet.publisher(JointTrajectory, REFERENCE)
    forces = fleet.publisher(Float64MultiArray, FORCE_REFERENCE)
    states = fleet.publisher(JointState, "joint_states")
    wrenches = fleet.publisher(WrenchStamped, "wrench")
    for count, wrong in enumerate(WRONG_TRAJECTORIES, 1):
        references.publish(wrong)
        until_logged(fleet, controller, "]: reference refused", count)
    for count, numbers in enumerate(WRONG_FORCES, 1):
        forces.publish(Float64MultiArray(data=numbers))
        until_logged(fleet, controller, "]: force reference refused", count)
    for state in WRONG_STATES:
        states.publish(state)
    wrench = WrenchStamped()
    wrench.wrench.force.y = NAN
    wrenches.publish(wrench)
    fleet.until_counted(FORCE, "messages malformed", len(WRONG_STATES))
    fleet.pause(ARM, False)
    fleet.until_said(ARM, "finished")
    numbers, expected = fleet.summary(FORCE), run_in_process(settings)
    assert numbers["ticks"] == 1000
    for key in ("tracking_rms", "lambda_rms", "torque_rms", "torque_peak"):
        assert numbers[key] == pytest.approx(expected[key], rel=0.0, abs=1e-9), key


@pytest.fixture(scope="module")
def started(shared_fleet: Fleet) -> Fleet:
    """An arm and a controller, in lockstep."""
    settings = {
        **THREE_LINK,
        "lockstep": True,
        "reference.kind": "hold",
        "limits.effort": [20.0],
        "limits.above_description": True,
        "limits.effort_rate": [500.0],
        "friction.viscous": [0.2],
    }
    shared_fleet.commands = shared_fleet.record(Float64MultiArray, COMMANDS)
    shared_fleet.start(ARM, settings)
    shared_fleet.start(FORCE, settings)
    shared_fleet.until_said(FORCE, "following", level=0)
    return shared_fleet


@pytest.fixture
def running(started: Fleet) -> Fleet:
    """A controller that has just begun to hold its arm where it is, at the arm's start."""
    assert started.change(FORCE, "deactivate")
    assert started.trigger(f"/{ARM}/reset").success
    started.activate(FORCE)
    started.until_said(FORCE, "following", level=0)
    started.commands.clear()
    return started


def check_wire(messages: Sequence[Float64MultiArray]) -> None:
    """Finite, within the limits, and never faster than the rate, in every tick."""
    efforts = np.array([list(message.data) for message in messages])
    tags = np.array([message.layout.data_offset for message in messages])
    assert np.isfinite(efforts).all()
    assert np.abs(efforts).max() <= 20.0
    ticks = np.diff(tags) / (tag_of(1_000_000) - tag_of(0))
    steps = np.abs(np.diff(efforts, axis=0)).max(axis=1)
    assert (steps <= 0.5 * ticks + 1e-9).all()


def test_a_jump_is_refused(running: Fleet) -> None:
    """Thirty centimetres in a millisecond: refused, as the joints are not as fast."""
    state = running.record(JointState, f"{FORCE}/state")
    here = running.more(state, 1)[-1]
    x = here.position[list(here.name).index("tip.x/desired")]
    publisher = running.publisher(JointTrajectory, REFERENCE)
    controller = running.processes[-1]
    count = controller.log.count("]: reference refused")
    publisher.publish(trajectory(X, (0.001, [x + 0.3])))
    until_logged(running, controller, "]: reference refused", count + 1)
    assert "velocity of joint_" in controller.log.rpartition("]: reference refused")[2]
    newest = running.more(state, 3)[-1]
    assert newest.position[list(newest.name).index("tip.x")] == pytest.approx(x, abs=0.02)
    check_wire(running.commands.drain())
    running.forget(state)


def test_a_set_point_may_be_relative_and_leads_no_further_than_it_may(running: Fleet) -> None:
    """A word that is neither is refused, and so is what was meant to be relative and is not."""
    state = running.record(JointState, f"{FORCE}/state")
    controller = running.processes[-1]
    publisher = running.publisher(JointTrajectory, REFERENCE)
    running.put(FORCE, {"reference.max_distance": [0.05]})
    column = list(running.more(state, 2)[-1].name).index("tip.x/desired")

    def desired(back: int = 1) -> float:
        return float(state.messages[-back].position[column])

    running.until(lambda: desired(1) == desired(2), "a reference that rests")
    begin = desired()
    for word, reason in (
        ("relativ", "absolute (or nothing, or a link's name) or relative, got 'relativ'"),
        ("", "it leads tip.x 0.4"),
    ):
        message = trajectory(X, (0.0, [0.4]))
        message.header.frame_id = word
        publisher.publish(message)
        running.until(lambda said=reason: said in controller.log, reason)
    running.more(state, 1)
    assert desired() == begin, "a refused one changes nothing"
    message = trajectory(X, (0.0, [0.01]))
    message.header.frame_id = "relative"
    for times in (1, 2):
        publisher.publish(message)
        goal = begin + 0.01 * times
        running.until(lambda goal=goal: abs(desired() - goal) < 1e-9, "the centimetre")
    running.put(FORCE, {"reference.max_distance": []})
    running.forget(state)


def test_a_set_point_is_reached_smoothly(running: Fleet) -> None:
    state = running.record(JointState, f"{FORCE}/state")
    here = running.more(state, 1)[-1]
    column = list(here.name).index("tip.x")
    goal = here.position[column] + 0.1
    publisher = running.publisher(JointTrajectory, REFERENCE)
    publisher.publish(trajectory(X, (0.0, [goal])))
    running.until(lambda: abs(state.messages[-1].position[column] - goal) < 2e-3, "the goal")
    x = np.array([message.position[column] for message in state.messages])
    seconds = 1e-9 * np.array([stamp_ns(message) for message in state.messages])
    steps = np.diff(seconds) > 0.0
    assert (np.abs(np.diff(x)) <= 0.55 * np.diff(seconds))[steps].all()  # max_rate is 0.5 m/s
    running.until_said(FORCE, "following", level=0)
    running.forget(state)


def test_a_force_reference_is_followed(running: Fleet) -> None:
    state = running.record(JointState, f"{FORCE}/state")
    publisher = running.publisher(Float64MultiArray, FORCE_REFERENCE)
    publisher.publish(Float64MultiArray(data=[3.0]))
    column = list(running.more(state, 1)[-1].name).index("lambda_0")

    def reached(value: float) -> bool:  # λ_d gets there gradually, λ follows it at once
        measured, desired = state.messages[-1].position[column : column + 2]
        return abs(measured - value) < 0.2 and abs(desired - value) < 1e-9

    running.until(lambda: reached(3.0), "the force")
    publisher.publish(Float64MultiArray(data=[0.0]))
    running.until(lambda: reached(0.0), "no force")
    desired = np.array([message.position[column + 1] for message in state.messages])
    seconds = 1e-9 * np.array([stamp_ns(message) for message in state.messages])
    assert desired.max() == pytest.approx(3.0, abs=1e-9)
    assert (np.abs(np.diff(desired)) <= 200.0 * np.diff(seconds) + 1e-9).all()  # force.max_rate
    publisher.publish(Float64MultiArray(data=[101.0]))  # force.max_step is 100 N
    running.more(state, 30)
    assert state.messages[-1].position[column + 1] == pytest.approx(0.0, abs=1e-9)
    running.forget(state)


def test_hundreds_of_random_messages(running: Fleet) -> None:
    """Whatever comes, right or wrong: the controller lives, and the wire stays within limits."""
    random = np.random.default_rng(11)
    topics = {
        JointTrajectory: running.publisher(JointTrajectory, REFERENCE),
        Float64MultiArray: running.publisher(Float64MultiArray, FORCE_REFERENCE),
        JointState: running.publisher(JointState, "joint_states"),
        WrenchStamped: running.publisher(WrenchStamped, "wrench"),
    }
    for _ in range(100):
        for kind, publisher in topics.items():
            publisher.publish(random_message(kind, random))
        running.more(running.commands, 2)
    check_wire(running.commands.drain())
    assert running.state(FORCE) == "active"
    ticks = running.summary(FORCE)["ticks"]
    running.until_counted(FORCE, "ticks", ticks + 200)
    check_wire(running.commands.drain())

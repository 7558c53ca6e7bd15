"""Lockstep at a pace: real time where the computer keeps up, else slower; nothing is lost.

The test plays the controller, or the arm: how slow the computer is, is up to it.
"""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from time import monotonic, sleep
from typing import Any

from fleet import THREE_LINK, Fleet, stamp_ns
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header

from projected_control.ros.messages import tag_of
from projected_control.ros.pace import Pace
from projected_control.settings.nodes import ARM, WATCHDOG

JOINTS = ["joint_1", "joint_2", "joint_3"]


def test_time_is_held_back_to_the_pace_and_never_ahead_of_it() -> None:
    pace, began = Pace(0.001), monotonic()
    for _ in range(60):
        pace.stepped()
        pace.wait(2.0, lambda: False)
    assert monotonic() - began >= 60 * 0.001 / 2.0
    assert 0.0 < pace.overall <= 2.0 * 60 / 58


def test_a_slow_computer_has_a_factor_below_one_and_a_rest_does_not_count() -> None:
    pace = Pace(0.001)
    for _ in range(30):
        sleep(0.004)
        pace.stepped()
        pace.wait(1.0, lambda: False)
    slow = pace.overall
    assert 0.0 < slow <= 0.25
    pace.rest()
    sleep(0.1)
    pace.stepped()
    assert pace.overall == slow


def test_a_sleep_ends_where_it_is_told_to() -> None:
    pace = Pace(1000.0)
    pace.wait(1.0, lambda: True)  # or it would last a quarter of an hour


class Controller:
    """Answers states when a test says so."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.states = fleet.record(JointState, "joint_states")
        values = {**THREE_LINK, "lockstep": True, "diagnostics_rate": 20.0}
        fleet.start(ARM, {**values, "simulation.factor": 1.0, "simulation.duration": 0.2})
        self.commands = fleet.publisher(Float64MultiArray, "effort_controller/commands")

    @property
    def now(self) -> int:
        self.states.drain()
        return stamp_ns(self.states.messages[-1])

    def send(self, tag: int) -> None:
        message = Float64MultiArray(data=[0.1, -0.1, 0.0])
        message.layout.data_offset = tag
        self.commands.publish(message)

    def answer(self, count: int) -> None:
        for _ in range(count):
            now = self.now
            self.send(tag_of(now))
            self.fleet.until(lambda: self.now > now, "the next state")  # noqa: B023


@pytest.fixture
def controller(fleet: Fleet) -> Controller:
    """It has been told the first state."""
    controller = Controller(fleet)
    fleet.until(lambda: controller.states.drain(), "a state")
    return controller


def stands_still(controller: Controller) -> bool:
    """Whether states that are said again and again have the same time."""
    messages = controller.fleet.more(controller.states, 3)
    return len({stamp_ns(m) for m in messages}) == 1


def test_every_state_waits_for_its_answer_however_long_that_takes(controller: Controller) -> None:
    """Time stands still until then, and the factor says how slow it was; then it ends in time."""
    fleet = controller.fleet
    assert stands_still(controller)
    assert controller.now == 0
    for _ in range(5):
        sleep(0.02)  # the computer is busy
        controller.answer(4)
    assert controller.now == 20_000_000
    factor = fleet.summary(ARM)["real_time_factor"]
    assert 0.0 < factor < 0.3
    assert fleet.until_said(ARM, "running").number("real-time factor") == round(factor, 3)
    fleet.until_said(ARM, "time stands still at 0.020 s until a state is answered")
    controller.answer(179)
    controller.send(tag_of(controller.now))
    fleet.until_said(ARM, "finished")
    assert controller.now == 199_000_000
    fleet.put(ARM, {"simulation.duration": 0.0})  # it goes on
    fleet.until(lambda: controller.now == 200_000_000, "the next state")
    controller.answer(3)
    assert controller.now == 203_000_000


def test_who_commands_without_answering_lets_time_go_on_by_the_clock(
    controller: Controller,
) -> None:
    """As a controller does in the end, and a watchdog: the arm must not hang in the air for ever.

    Where answers come again, each state waits again.
    """
    fleet = controller.fleet
    fleet.put(ARM, {"simulation.duration": 0.0})
    controller.answer(3)
    controller.send(0)
    fleet.until(lambda: controller.now > 100_000_000, "a tenth of a second without an answer")
    controller.send(tag_of(controller.now))
    fleet.until(lambda: stands_still(controller), "states that wait")
    controller.answer(3)
    fleet.put(ARM, {"simulation.factor": 0.0})  # not at a pace: nothing lets time go on
    controller.send(0)
    assert stands_still(controller)
    now = controller.now
    controller.answer(2)
    assert controller.now == now + 2_000_000


def test_a_watchdog_counts_the_time_of_the_arm(fleet: Fleet) -> None:
    """In lockstep it is silent as long as the arm is; it acts where the arm goes on without."""
    zeros = fleet.record(Float64MultiArray, "effort_controller/commands")
    watching = fleet.record(Header, f"{WATCHDOG}/heartbeat")
    values = {"joints": JOINTS, "controller": "slow", "diagnostics_rate": 20.0}
    fleet.start(WATCHDOG, values)
    beats = fleet.publisher(Header, "slow/heartbeat")
    states = fleet.publisher(JointState, "joint_states")

    def say(milliseconds: int, beat: bool) -> None:
        state = JointState(name=JOINTS, position=[0.0] * 3, velocity=[0.0] * 3)
        state.header.stamp.nanosec = 1_000_000 * milliseconds
        states.publish(state)
        if beat:
            header: Any = Header(frame_id="active")
            header.stamp.nanosec = 1_000_000 * milliseconds
            beats.publish(header)

    say(4, beat=True)
    fleet.until_said(WATCHDOG, "watching")
    fleet.more(watching, 6)  # a quarter of a second by the clock
    say(10, beat=False)  # 6 ms by the arm's
    fleet.more(watching, 6)
    assert not zeros.messages
    assert fleet.diagnosis(WATCHDOG).values["trips"] == "0"
    say(30, beat=False)
    fleet.until(lambda: zeros.drain(), "zeros")
    assert fleet.until_said(WATCHDOG, "no heartbeat for 0.026 s").number("trips") == 1
    say(30, beat=True)
    fleet.until_said(WATCHDOG, "watching")

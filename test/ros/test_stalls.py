"""Processes that are killed or stopped (SIGSTOP) beside others: no other waits for them.

At 1 kHz, as on an arm. What is counted here is order and outcome; the times are in `bench faults`,
and in the tests marked quiet.
"""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep, time
from typing import Any

import numpy as np
import rclpy
from fleet import DEEP, THREE_LINK, Fleet, Process
from quiet import within
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from projected_control.apps.bench.faults import RESTFUL
from projected_control.settings.nodes import ARM, FORCE, WATCHDOG

COMMANDS = "effort_controller/commands"
LOST_TIME, WATCHDOG_TIME, TIMEOUT = 0.5, 0.5, 0.012
PROMPT = 0.3
"""What may pass between the end of a patience and the answer of a node [s]."""

ZERO_WITHIN = 0.020
"""From the last word of a killed or stopped controller to zeros, on a quiet computer [s]."""

SETTINGS = {
    **THREE_LINK,
    **RESTFUL,
    "watchdog": WATCHDOG,
    "limits.lost_time": LOST_TIME,
    "limits.watchdog_time": WATCHDOG_TIME,
}
DOG = {"joints": SETTINGS["joints"], "controller": FORCE, "timeout": TIMEOUT}
LISTENER = """
import sys, rclpy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
rclpy.init()
node = rclpy.create_node("listener")
heard = []
node.create_subscription(JointState, "joint_states", heard.append, 10)
node.create_subscription(Float64MultiArray, "effort_controller/commands", heard.append, 10)
while len(heard) < 100:
    rclpy.spin_once(node, timeout_sec=0.1)
print("listening", flush=True)
rclpy.spin(node)
"""


class Sent:
    """Messages of a topic with the time at which they were sent, however late they are read."""

    def __init__(self, fleet: Fleet, kind: Any, topic: str, field: str) -> None:
        self._node = rclpy.create_node(f"reader_of_{field}", context=fleet.node.context)
        self._subscription = self._node.create_subscription(kind, topic, lambda _: None, DEEP)
        self._field = field
        self._messages: list[tuple[float, tuple[float, ...]]] = []

    def all(self) -> list[tuple[float, tuple[float, ...]]]:
        """When, by the clock of the day [s], and the numbers."""
        handle, kind = self._subscription.handle, self._subscription.msg_type
        while (taken := handle.take_message(kind, False)) is not None:
            message, info = taken
            when = 1e-9 * info["source_timestamp"]
            self._messages.append((when, tuple(getattr(message, self._field))))
        return self._messages

    def close(self) -> None:
        self._node.destroy_node()


class Trio:
    """An arm, its controller and its watchdog, and all that passes between them."""

    def __init__(self, fleet: Fleet, **more: Any) -> None:
        self.fleet = fleet
        self.commands = Sent(fleet, Float64MultiArray, COMMANDS, "data")
        self.efforts = Sent(fleet, JointState, "joint_states", "effort")
        settings = {**SETTINGS, "diagnostics_rate": 20.0}
        self.arm = fleet.start(ARM, settings, **more)
        self.controller = fleet.start(FORCE, settings)
        self.watchdog = fleet.start(WATCHDOG, {**DOG, "diagnostics_rate": 20.0})
        fleet.until_said(FORCE, "following", level=0)
        self.run(200)

    def run(self, count: int) -> None:
        """Wait until so many torques more were sent."""
        seen = len(self.commands.all())
        self.fleet.until(
            lambda: sum(any(numbers) for _, numbers in self.commands.all()[seen:]) >= count,
            "torques",
        )

    def until_limp(self) -> None:
        """Wait until the arm has no torque."""

        def limp() -> bool:
            last = [numbers for _, numbers in self.efforts.all()[-20:]]
            return len(last) == 20 and not np.any(last)

        self.fleet.until(limp, "an arm without torque")

    def until_zero(self) -> float:
        """Wait for that; from the last commanded torque to the zeros [s]."""
        self.until_limp()
        commands = self.commands.all()
        last = max(i for i, (_, numbers) in enumerate(commands) if any(numbers))
        self.fleet.until(lambda: len(self.commands.all()) > last + 1, "zeros")
        return commands[last + 1][0] - commands[last][0]

    def until_watchdog_heard(self) -> None:
        """Stop the controller for moments until the watchdog's zeros of such a moment reach us.

        It may know of a listener of ours only with the next announcement, seconds after the arm.
        """
        heard = False
        while not heard:
            with stopped(self.controller):
                began = time()
                sleep(4 * TIMEOUT)
                ended = time()
            self.run(50)
            heard = any(
                began < when < ended and not any(numbers) for when, numbers in self.commands.all()
            )

    def close(self) -> None:
        for sent in (self.commands, self.efforts):
            sent.close()


@contextmanager
def stopped(*processes: Any) -> Iterator[None]:
    """Let processes hang."""
    for process in processes:
        os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process.pid, signal.SIGCONT)


@pytest.fixture
def trio(fleet: Fleet) -> Iterator[Trio]:
    trio = Trio(fleet)
    yield trio
    trio.close()


def kill(process: Process) -> None:
    process.kill()


def hang(process: Process) -> None:
    os.kill(process.pid, signal.SIGSTOP)
    process.may_end = True


@pytest.mark.quiet
@pytest.mark.parametrize("fault", [kill, hang])
def test_a_lost_arm_is_noticed_in_time(trio: Trio, fault: Callable[[Process], None]) -> None:
    """Inactive within the time that is set, and a little; not after seconds."""
    began = monotonic()
    fault(trio.arm)
    said = trio.fleet.until_said(FORCE, "no joint state for", level=2)
    trio.fleet.until(
        lambda: trio.fleet.diagnosis(FORCE).values.get("state") == "inactive", "the end"
    )
    took = monotonic() - began
    if fault is hang:
        trio.arm.kill()
    told = float(said.message.split("for ")[1].split(" s")[0])
    within(LOST_TIME + 0.1, told, "noticing it, as the controller says,")
    within(LOST_TIME + PROMPT, took, "the end of the run")


@pytest.mark.quiet
@pytest.mark.parametrize("fault", [kill, hang])
def test_zeros_follow_in_time(trio: Trio, fault: Callable[[Process], None]) -> None:
    """The last command is zero, and the arm goes on saying its states.

    A hung controller is as good as a killed one.
    """
    trio.until_watchdog_heard()
    fault(trio.controller)
    trio.fleet.until_said(WATCHDOG, "no heartbeat for", "sending zeros", level=2)
    silence = trio.until_zero()
    seen = len(trio.efforts.all())
    trio.fleet.until(lambda: len(trio.efforts.all()) > seen + 500, "states of the arm")
    if fault is hang:
        trio.controller.kill()
    assert not any(trio.commands.all()[-1][1])
    assert "zeros are sent" in trio.watchdog.log
    within(ZERO_WITHIN, silence, "zeros")


def test_a_moment_costs_a_moment(trio: Trio) -> None:
    """A controller that hangs for a moment gets zeros for that moment, and goes on."""
    trio.until_watchdog_heard()
    trio.fleet.until_said(FORCE, "following", level=0)
    trio.run(200)
    assert trio.fleet.state(FORCE) == "active"
    trio.fleet.until_said(WATCHDOG, "watching", level=0)
    assert "the controller goes on" in trio.watchdog.log


@pytest.mark.parametrize("fault", [kill, hang])
def test_a_watchdog_that_is_gone(trio: Trio, fault: Callable[[Process], None]) -> None:
    """The controller says so, sends zero and goes inactive."""
    fault(trio.watchdog)
    trio.fleet.until_said(FORCE, f"the watchdog {WATCHDOG} has been silent for", level=2)
    trio.fleet.until_state(FORCE, "inactive")
    trio.until_limp()
    if fault is hang:
        trio.watchdog.kill()


@pytest.mark.quiet
def test_a_hung_listener_holds_up_nobody(trio: Trio) -> None:
    """A node that listens to states and commands, and hangs: everything goes on."""
    listener = subprocess.Popen(
        [sys.executable, "-c", LISTENER], env=trio.fleet.environment, stdout=subprocess.PIPE
    )
    try:
        assert listener.stdout is not None
        assert listener.stdout.readline() == b"listening\n"
        # Nodes start sooner than a listener of ours is known to them: count from what is heard on.
        trio.fleet.until(lambda: trio.efforts.all() and trio.commands.all(), "both are heard")
        with stopped(listener):
            states, sent = len(trio.efforts.all()), len(trio.commands.all())
            trio.run(2000)
            gaps = np.diff([t for t, _ in trio.commands.all()[sent:]])
        assert len(trio.efforts.all()) - states > 1000
        within(0.5, gaps.max(), "a pause of the commands")
        assert trio.fleet.state(FORCE) == "active"
    finally:
        listener.kill()
        listener.communicate()


def test_both_killed_together(fleet: Fleet) -> None:
    """Nobody is left to send zeros: an arm whose drive has a timeout of its own gives none."""
    trio = Trio(fleet, simulation__command_timeout=0.04)
    trio.watchdog.kill()
    trio.controller.kill()
    trio.until_limp()
    assert any(trio.commands.all()[-1][1])
    trio.close()

"""After a foreign command the last word is zero, however the messages of others are spaced.

Runs are ended by commands of another node with random gaps between them, from a tenth of a
millisecond to beyond the time after which the zeros pause. Judged by what the arm got in the end.
"""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from collections.abc import Iterator
from contextlib import contextmanager
from time import sleep
from typing import Any

import numpy as np
import rclpy
from fleet import STEADY, THREE_LINK, Fleet
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from projected_control.ros import ros2_control_port
from projected_control.ros.controller_manager import Plan
from projected_control.ros.last_word import QUIET_SECONDS
from projected_control.ros.wait_set import drain, unused
from projected_control.settings import build
from projected_control.settings.nodes import ARM, FORCE, checked, own_values

COMMANDS = "effort_controller/commands"
SETTINGS = {
    **THREE_LINK,
    **STEADY,
    "rate": 500.0,
    "simulation.step": 0.002,
    "friction.viscous": [1.0],
    "limits.effort": [30.0],
    "limits.above_description": True,
    "diagnostics_rate": 5.0,
}
QUIET_STATES = 100  # states without a command after which the topic counts as quiet


class Rig:
    """An arm, its controller, and all that is said to the arm and by it."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.commands = fleet.record(Float64MultiArray, COMMANDS)
        self.states = fleet.record(JointState, "joint_states")
        fleet.start(ARM, SETTINGS)
        fleet.start(FORCE, SETTINGS, autostart=False)
        fleet.until_state(ARM, "active")
        assert fleet.change(FORCE, "configure")

    def follow(self) -> None:
        """From the arm's start."""
        assert self.fleet.trigger(f"/{ARM}/reset").success
        self.fleet.activate(FORCE)
        self.forget()
        self.fleet.until(lambda: any(any(m.data) for m in self.commands.messages), "torque")

    def forget(self) -> None:
        self.commands.clear()
        self.states.clear()

    @contextmanager
    def other(self, listeners: int = 3) -> Iterator[Any]:
        """Another node's publisher, which the arm, the controller and we have found."""
        node = rclpy.create_node("another_node", context=self.fleet.node.context)
        publisher = node.create_publisher(Float64MultiArray, COMMANDS, 10)
        try:
            self.fleet.until(lambda: publisher.get_subscription_count() >= listeners, "listeners")
            yield publisher
        finally:
            node.destroy_node()

    def until_quiet(self) -> None:
        """Until nothing was sent to the arm for a while, which is counted in its states."""
        last = {"commands": -1, "states": 0}

        def quiet() -> bool:
            commands, states = len(self.commands.messages), len(self.states.messages)
            if commands != last["commands"]:
                last.update(commands=commands, states=states)
            return states - last["states"] >= QUIET_STATES

        self.fleet.until(quiet, "a quiet topic")


@pytest.fixture(scope="module")
def rig(shared_fleet: Fleet) -> Rig:
    return Rig(shared_fleet)


def gaps(random: np.random.Generator) -> list[float]:
    """Between the messages of one run, up to three times as long as the zeros go on [s]."""
    largest = np.log10(3.0 * QUIET_SECONDS)
    return (10.0 ** random.uniform(-4.0, largest, random.integers(1, 6))).tolist()


def one_run(rig: Rig, random: np.random.Generator) -> int:
    """A run that another node ends; how many states in a row had its torque, at most."""
    rig.follow()
    sent = []
    with rig.other() as publisher:
        for gap in [*gaps(random), 0.0]:
            sent.append(random.uniform(0.5, 2.0, 3).tolist())
            publisher.publish(Float64MultiArray(data=sent[-1]))
            sleep(gap)
        rig.until_quiet()
        commands = [list(message.data) for message in rig.commands.messages]
        heard = [data for data in commands if data in sent]
        assert len(heard) == len(sent), (heard, sent)
        assert not any(commands[-1]), f"{commands[-1]} is the last word"
        efforts = [list(state.effort) for state in rig.states.messages]
        assert not any(efforts[-1]), f"the arm keeps {efforts[-1]} at last"
    rig.fleet.until_state(FORCE, "inactive")
    longest = run = 0
    for effort in efforts:
        run = run + 1 if effort in sent else 0
        longest = max(longest, run)
    return longest


@pytest.mark.parametrize(
    ("seed", "runs"),
    [
        (0, 3),
        *(
            pytest.param(seed, 100, marks=[pytest.mark.long, pytest.mark.timeout(1800)])
            for seed in range(1, 11)
        ),
    ],
)
def test_zero_is_the_last_word(rig: Rig, seed: int, runs: int) -> None:
    random = np.random.default_rng(seed)
    kept = [one_run(rig, random) for _ in range(runs)]
    counts = {number: kept.count(number) for number in sorted(set(kept))}
    print(f"seed {seed}, {runs} runs: states with another's torque in a row, at most: {counts}")


def test_it_is_said_and_ends_when_told(rig: Rig) -> None:
    """On /diagnostics; and cleaned up, the node leaves the topic to others."""
    rig.follow()
    torque = Float64MultiArray(data=[1.0, 1.0, 1.0])
    with rig.other() as publisher:
        publisher.publish(torque)
        rig.until_quiet()
        said = rig.fleet.until_said(FORCE, "another_node also commands", "until this node", level=2)
        assert said.number("commands answered with zeros") == 0.0  # the first one ended the run
        publisher.publish(torque)
        rig.until_quiet()
        assert not any(rig.commands.messages[-1].data)
        rig.fleet.until_counted(FORCE, "commands answered with zeros", 1)
        # a refused activation changes nothing
        assert not rig.fleet.change(FORCE, "activate")
        publisher.publish(torque)
        rig.until_quiet()
        assert not any(rig.commands.messages[-1].data)
        assert rig.fleet.change(FORCE, "cleanup")
        rig.fleet.until(lambda: publisher.get_subscription_count() == 2, "the arm and us alone")
        rig.forget()
        publisher.publish(torque)
        rig.until_quiet()
        assert [list(message.data) for message in rig.commands.messages] == [[1.0, 1.0, 1.0]]
    assert rig.fleet.change(FORCE, "configure")


def test_by_presence_alone(rig: Rig) -> None:
    """Another publisher ends the run before it sends: what it sends then is answered as well."""
    rig.follow()
    with rig.other() as publisher:
        rig.fleet.until_said(FORCE, "another_node also commands this arm", level=2)
        rig.fleet.until_state(FORCE, "inactive")
        rig.until_quiet()
        rig.forget()
        publisher.publish(Float64MultiArray(data=[1.0, 1.0, 1.0]))
        rig.until_quiet()
        assert len(rig.commands.messages) > 2
        assert not any(rig.commands.messages[-1].data)


def test_not_after_another_end(rig: Rig) -> None:
    """A controller that was deactivated in order has no say in what others send."""
    rig.follow()
    assert rig.fleet.change(FORCE, "deactivate")
    with rig.other(listeners=2) as publisher:
        rig.until_quiet()
        rig.forget()
        publisher.publish(Float64MultiArray(data=[1.0, 1.0, 1.0]))
        rig.until_quiet()
        assert [list(message.data) for message in rig.commands.messages] == [[1.0, 1.0, 1.0]]


class FakeEngagement:
    """A controller manager whose effort controller can be switched off, or cannot."""

    plan = Plan("effort_controller", tuple(SETTINGS["joints"]), True, (), (), "")

    def __init__(self, works: bool) -> None:
        self.done: list[str] = []
        self.works = works

    def switch_off(self) -> bool:
        self.done.append("switch off")
        return self.works

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self.done.append(name.replace("_", " "))


@pytest.mark.parametrize("works", [True, False])
def test_behind_ros2_control(rig: Rig, monkeypatch: pytest.MonkeyPatch, works: bool) -> None:
    """The effort controller is switched off first; where that fails, the zeros go on."""
    engagement = FakeEngagement(works)
    monkeypatch.setattr(ros2_control_port, "Engagement", lambda *_: engagement)
    settings = checked(FORCE, own_values(FORCE, SETTINGS))
    loop = build.build_loop(FORCE, settings)
    node = rclpy.create_node("ours", context=rig.fleet.node.context)
    other = node.create_publisher(Float64MultiArray, COMMANDS, 10)
    heard = node.create_subscription(Float64MultiArray, COMMANDS, unused, 1000)
    zeros: list[bool] = []

    def zeros_come() -> bool:
        zeros.extend(not any(message.data) for message in drain(heard))
        return len(zeros) > 20 and all(zeros)

    try:
        port = ros2_control_port.Ros2ControlPort(node, loop, settings, node)
        port.engage()
        rig.fleet.until(lambda: other.get_subscription_count() >= 3, "its monitor")
        port.outlast()
        rig.fleet.until(zeros_come, "zeros")
        port.close()
        off = ["engage", "begin to switch off", "switch off", "give back", "leave"]
        assert engagement.done == off
        assert (port.last_word is None) == works
        if port.last_word is not None:
            other.publish(Float64MultiArray(data=[1.0, 1.0, 1.0]))
            rig.fleet.until(lambda: port.last_word.heard, "the answer")
            port.last_word.stop()
    finally:
        node.destroy_node()

"""The simulated arm as a node: its services, and what can be changed while it moves.

The test plays the controller, in lockstep: it answers each state by its tag.
"""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from collections.abc import Sequence
from typing import Any

import numpy as np
from fleet import THREE_LINK, Fleet, stamp_ns
from geometry_msgs.msg import WrenchStamped
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from projected_control.ros.messages import tag_of
from projected_control.settings import build
from projected_control.settings.nodes import ARM, checked, parameters_of

SETTINGS = {**THREE_LINK, "lockstep": True, "simulation.clock": True}
EFFORT = (0.5, -0.3, 0.2)


def plant(**changes: Any) -> Any:
    """The same arm in this process."""
    values = {**SETTINGS, **{k.replace("__", "."): v for k, v in changes.items()}}
    own = {k: v for k, v in values.items() if k in parameters_of(ARM)}
    return build.build_plant(checked(ARM, own))


class Puppeteer:
    """Plays the controller."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.states = fleet.record(JointState, "joint_states")
        self.wrenches = fleet.record(WrenchStamped, "wrench")
        self.clock = fleet.record(Clock, "/clock")
        fleet.start(ARM, SETTINGS)
        self.commands = fleet.publisher(Float64MultiArray, "effort_controller/commands")
        heard = (self.states, self.wrenches, self.clock)
        fleet.until(lambda: all(each.messages for each in heard), "a state")
        self._settings = fleet.all_parameters(ARM)

    def ready(self) -> None:
        """Where each test begins: at the start, at rest, with the settings it started with."""
        self.fleet.pause(ARM, False)
        if changed := self.fleet.changed_parameters(ARM, self._settings):
            self.fleet.put(ARM, changed)
        self.reset()

    @property
    def now(self) -> int:
        """Of the newest state [ns]."""
        return stamp_ns(self.states.messages[-1])

    def send(self, efforts: Sequence[float], tag: int) -> None:
        message = Float64MultiArray(data=list(efforts))
        message.layout.data_offset = tag
        self.commands.publish(message)

    def settle(self) -> None:
        """Wait until the arm has said its state again, and so made the changes it was given."""
        for _ in range(2):
            self.fleet.more(self.states, 1)

    def step(self, efforts: Sequence[float] = EFFORT, count: int = 1) -> JointState:
        """Answer this many states; the next one."""
        for _ in range(count):
            now = self.now
            self.send(efforts, tag_of(now))
            self.fleet.until(lambda: self.now > now, "the next state")  # noqa: B023
        return self.states.messages[-1]

    def force(self) -> float:
        """The force across the slider at the newest state."""
        now = self.now
        same = self.fleet.until(
            lambda: [m for m in self.wrenches.messages if stamp_ns(m) == now], "its wrench"
        )
        return float(same[-1].wrench.force.y)

    def reset(self) -> None:
        assert self.fleet.trigger(f"/{ARM}/reset").success
        self.settle()


@pytest.fixture(scope="module")
def shared_arm(shared_fleet: Fleet) -> Puppeteer:
    return Puppeteer(shared_fleet)


@pytest.fixture
def arm(shared_arm: Puppeteer) -> Puppeteer:
    shared_arm.ready()
    return shared_arm


def follow(hardware: Any, efforts: Sequence[float], count: int) -> Any:
    """The plant in this process after this many periods."""
    for _ in range(count):
        hardware.write(np.array(efforts))
    return hardware.read()


def same(state: JointState, expected: Any) -> None:
    np.testing.assert_allclose(state.position, expected.q, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(state.velocity, expected.v, rtol=0.0, atol=1e-12)


def test_moves_as_the_plant(arm: Puppeteer) -> None:
    hardware = plant()
    same(arm.states.messages[-1], hardware.read())
    state = arm.step(count=50)
    expected = follow(hardware, EFFORT, 50)
    same(state, expected)
    assert list(state.effort) == list(EFFORT)
    assert arm.force() == pytest.approx(expected.wrench[1], abs=1e-9)
    arm.fleet.until(lambda: arm.clock.messages[-1].clock == state.header.stamp, "its time")


def test_the_truth_is_told_whatever_the_encoders_say(arm: Puppeteer) -> None:
    """Every hundredth of a second: where the arm is and what its slider takes."""
    arm.fleet.put(ARM, {"encoder.resolution": [0.01], "sensor.noise": 5.0})
    arm.settle()
    hardware, first = plant(), arm.now // 1_000_000
    told = arm.fleet.record(JointState, f"{ARM}/truth")
    count = 9 - first % 10 or 10  # to the next state that is told
    measured = arm.step(count=count)
    follow(hardware, EFFORT, count)

    def same_state() -> list[JointState]:
        return [m for m in told.messages if m.header.stamp == measured.header.stamp]

    truth = arm.fleet.until(same_state, "its truth")[-1]
    assert list(truth.name) == ["joint_1", "joint_2", "joint_3", "lambda_0", "residual"]
    np.testing.assert_allclose(truth.position[:3], hardware.truth.q, rtol=0.0, atol=1e-12)
    assert truth.position[3] == pytest.approx(hardware.truth.multipliers[0], abs=1e-9)
    steps = np.array(measured.position) / 0.01
    np.testing.assert_allclose(steps, np.round(steps), rtol=0.0, atol=1e-6)


def test_reset(arm: Puppeteer) -> None:
    """Back at the start, which is told before anybody answers; time goes on."""
    arm.step(count=20)
    before = arm.now
    arm.reset()
    same(arm.states.messages[-1], plant().read())
    assert arm.now > before
    before = arm.now
    state = arm.step([0.0, 0.0, 0.0])
    same(state, follow(plant(), [0.0, 0.0, 0.0], 1))
    assert arm.now > before


@pytest.mark.parametrize(
    "efforts",
    [
        [],
        [1.0],
        [1.0] * 4,
        [float("nan"), 0.0, 0.0],
        [0.0, float("inf"), 0.0],
    ],
)
def test_wrong_commands(arm: Puppeteer, efforts: list[float]) -> None:
    """They move nothing, even if they name the state they answer."""
    refused = arm.fleet.until_said(ARM, "running").number("commands refused")
    now = arm.now
    arm.send(efforts, tag_of(now))
    arm.fleet.until_counted(ARM, "commands refused", refused + 1)
    arm.settle()
    assert arm.now == now


@pytest.mark.parametrize("tag", [0, 7])
def test_commands_that_answer_nothing(arm: Puppeteer, tag: int) -> None:
    """In lockstep only the answer to the state counts: not the watchdog's zeros, nor others'."""
    now = arm.now
    arm.send(EFFORT, tag)
    arm.settle()
    assert arm.now == now
    assert arm.step([0.0, 0.0, 0.0]).effort.tolist() == [0.0, 0.0, 0.0]


def test_pause_and_step(arm: Puppeteer) -> None:
    """Paused, it answers no command until it is told to step."""
    assert not arm.fleet.trigger(f"/{ARM}/step").success
    hardware = plant()
    arm.fleet.pause(ARM, True)
    now = arm.now
    arm.send(EFFORT, tag_of(now))
    arm.settle()
    assert arm.now == now
    for count in (1, 2):
        assert arm.fleet.trigger(f"/{ARM}/step").success
        arm.fleet.until(lambda: arm.now > now, "the next state")  # noqa: B023
        now += 1_000_000
        assert arm.now == now
        arm.settle()
        assert arm.now == now
        same(arm.states.messages[-1], follow(hardware, EFFORT, 1))
        if count == 1:
            arm.send(EFFORT, tag_of(now))
    arm.fleet.pause(ARM, False)
    arm.step()


@pytest.mark.parametrize(
    "changes",
    [
        {"friction__coulomb": [0.4], "friction__viscous": [0.1, 0.2, 0.3]},
        {"sensor__delay": 5},
        {"sensor__noise": 0.5},
    ],
)
def test_changes_live(arm: Puppeteer, changes: dict[str, Any]) -> None:
    """From one step to the next, and as in the plant of this process."""
    arm.fleet.put(ARM, {k.replace("__", "."): value for k, value in changes.items()})
    arm.settle()
    hardware = plant(**changes)
    hardware.read()
    for _ in range(8):
        state = arm.step()
        expected = follow(hardware, EFFORT, 1)
        same(state, expected)
        if "sensor__noise" in changes:
            assert 1e-6 < abs(arm.force() - hardware.truth.multipliers[0]) < 5.0
        elif "sensor__delay" not in changes or _ >= 5:
            assert arm.force() == pytest.approx(expected.wrench[1], abs=1e-9)


def test_the_engine_stays_while_the_arm_is_active(arm: Puppeteer) -> None:
    """Another one is refused, and the old one goes on."""
    reason = arm.fleet.refused(ARM, {"simulation.engine": "pinocchio"})
    assert "simulation.engine cannot change while the node is active" in reason
    same(arm.step(count=4), follow(plant(), EFFORT, 4))


def test_by_the_clock_in_mujoco(fleet: Fleet) -> None:
    """Half a second of states, one period apart."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")
    states = fleet.record(JointState, "joint_states")
    mujoco = {"simulation.engine": "mujoco", "simulation.stops": False}
    fleet.start(ARM, {**SETTINGS, **mujoco, "lockstep": False, "simulation.factor": 1.0})
    fleet.until(lambda: len(states.messages) > 50, "half a second")
    stamps = np.diff([stamp_ns(each) for each in states.messages])
    assert stamps.min() > 0
    assert np.median(stamps) == round(1e9 * plant().period)
    assert np.isfinite(states.messages[-1].position).all()


@pytest.mark.parametrize("name", ["disturbance.effort", "push.effort"])
def test_push(arm: Puppeteer, name: str) -> None:
    """Added to what is commanded, until it is taken away; its former name is taken, too."""
    arm.fleet.put(ARM, {name: list(EFFORT)})
    arm.settle()
    state = arm.step([0.0, 0.0, 0.0], 10)
    same(state, follow(plant(), EFFORT, 10))
    assert "3 numbers" in arm.fleet.refused(ARM, {"push.effort": [1.0]})
    if name == "push.effort":
        reason = arm.fleet.refused(ARM, {"disturbance.effort": list(EFFORT)})
        assert reason == "disturbance.effort is called push.effort now, which is set: set it"
    else:
        assert "disturbance.effort is called push.effort now" in arm.fleet.processes[-1].log
    assert "one per joint" in arm.fleet.refused(ARM, {"friction.coulomb": [1.0, 2.0]})
    arm.fleet.put(ARM, {name: [0.0, 0.0, 0.0]})


def test_speed_of_time(fleet: Fleet) -> None:
    """As fast as it goes, slow, and paused; a change of speed counts at once."""
    states = fleet.record(JointState, "joint_states")
    fleet.start(ARM, {**SETTINGS, "lockstep": False, "simulation.factor": 0.0})
    fleet.until(lambda: len(states.messages) > 3000, "three seconds of simulated time")
    fleet.put(ARM, {"simulation.factor": 1000.0})
    fleet.more(states, 1000)
    fleet.put(ARM, {"simulation.factor": 1e-6})

    def stands() -> bool:
        """Hardly a state while it speaks twice: what was on its way has come."""
        standing = len(states.drain())
        for _ in range(2):
            fleet.until_said(ARM, "running")
        return len(states.drain()) <= standing + 2

    fleet.until(stands, "time to stand still")
    fleet.put(ARM, {"simulation.factor": 1.0})
    fleet.more(states, 50)
    fleet.pause(ARM, True)
    fleet.until(lambda: len({stamp_ns(m) for m in fleet.more(states, 5)}) == 1, "a paused arm")
    now = stamp_ns(states.messages[-1])
    assert stamp_ns(fleet.more(states, 20)[-1]) == now
    fleet.pause(ARM, False)
    assert stamp_ns(fleet.more(states, 20)[-1]) > now
    fleet.put(ARM, {"simulation.factor": 1e-6})
    assert fleet.change(ARM, "deactivate")  # at once, though its next step is far away

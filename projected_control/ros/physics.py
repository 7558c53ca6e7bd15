"""The thread in which simulated time passes: by the clock, or in lockstep with a controller.

What moves is the one simulated arm (`runs.simulated`); here are topics and time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from projected_control.arrays import Array
from projected_control.control.state import RawState
from projected_control.errors import ProjectedControlError
from projected_control.ros.listening_port import QUEUE
from projected_control.ros.messages import (
    NANOSECONDS,
    EffortReader,
    JointCommandReader,
    StateWriter,
    clock_layout,
    tag_of,
    wrench_layout,
)
from projected_control.ros.pace import NAP_SECONDS, Pace
from projected_control.ros.realtime import quiet_interpreter
from projected_control.ros.state_topic import TruthTopic
from projected_control.ros.wait_set import Worker, unused
from projected_control.runs.simulated import SimulatedArm
from projected_control.settings.nodes import SimulatedArmSettings

REPEAT_SECONDS = 0.1
"""Time after which a state without an answer is published again, or one while paused [s]."""

HANDOVER = 10  # commands after which an arm that was held until its controller has it is let go


class Physics(Worker):
    """The thread in which simulated time passes.

    Args:
        node: In no executor; gets the topics.
        hardware: What is simulated.
        settings: Settings of the node.

    Attributes:
        settings: As given; those that may change live are looked up at every step.
        ticks: Periods that have passed.
        refused: Commands that were not taken.
        pace: How fast time passes.
        waits: Since when an answer is awaited in lockstep, by `time.monotonic` [s]; 0 for none.
        failure: Why there is no simulation any more; empty while there is one.
    """

    def __init__(
        self,
        node: Node,
        hardware: SimulatedArm,
        settings: SimulatedArmSettings,
    ) -> None:
        arm = hardware.plant.model.arm
        self._reader: EffortReader | JointCommandReader
        kind: type[Any]
        if settings.simulation.interface == "joint_commands":
            kind, topic = JointState, "joint_commands"
            self._reader = JointCommandReader(arm.joint_names, arm.actuated.tolist())
        else:
            kind, topic = Float64MultiArray, "effort_controller/commands"
            self._reader = EffortReader(arm.n)
        self._commands = node.create_subscription(kind, topic, unused, QUEUE, raw=True)
        super().__init__(node, "physics", [self._commands])
        self.hardware, self.settings = hardware, settings
        self._arm = arm
        self.period_ns = round(1e9 / settings.rate)
        self._states = node.create_publisher(JointState, "joint_states", QUEUE)
        self._wrenches = node.create_publisher(WrenchStamped, "wrench", QUEUE)
        self._clock = node.create_publisher(Clock, "/clock", QUEUE)
        self._truth = TruthTopic(node, hardware, settings)
        self._writer = StateWriter(arm.joint_names)
        self._backwards = StateWriter(arm.joint_names[::-1])
        self._wrench_layout, self._clock_layout = wrench_layout(arm.root_link), clock_layout()
        self._commanded = np.zeros(arm.n)
        self._numbers = np.zeros((3, arm.n))
        self._outgoing: list[tuple[Any, bytes]] = []
        self._reading = hardware.sense()
        self.ticks = self.refused = 0
        self.paused, self._steps = False, 0
        self.failure = ""
        self.pace = Pace(self.period_ns * 1e-9)
        self.waits = 0.0
        self._said_ns = 0
        self._let_go = False
        self._changes: deque[Callable[[], None]] = deque()

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.ticks * self.period_ns * 1e-9

    def destroy(self) -> None:
        """Give back what was made on the node."""
        self._node.destroy_subscription(self._commands)
        for publisher in (self._states, self._wrenches, self._clock, self._truth.publisher):
            self._node.destroy_publisher(publisher)

    def hand_over(self, change: Callable[[], None]) -> None:
        """Have a change made between two steps."""
        self._changes.append(change)

    def reset(self) -> None:
        """Back to the start; in the thread.

        In lockstep that is told at once, as a state of its own: time may stand still until it has
        its answer, and a controller that starts meanwhile would start from where the arm was.
        """
        self.hardware.reset()
        self._reading = self.hardware.sense()
        self.failure = ""
        if self.settings.lockstep:
            self.ticks += 1
            self._publish()

    def step_once(self) -> None:
        """One period while paused; in the thread."""
        self._steps += 1

    # In the thread

    def _run(self) -> None:
        try:
            with quiet_interpreter(), self._inbox:
                if self.settings.lockstep:
                    self._run_in_lockstep()
                else:
                    self._run_by_the_clock()
        except Exception as error:  # nothing may leave the thread but a reason
            self.failure = f"the simulation failed: {type(error).__name__}: {error}"

    @property
    def finished(self) -> bool:
        """Whether the duration asked for is over."""
        duration = self.settings.simulation.duration
        return bool(duration and self.time >= duration - 1e-9)

    def _make_changes(self) -> None:
        while self._changes:
            self._changes.popleft()()

    def _may_step(self) -> bool:
        if not self.paused:
            return True
        if self._steps:
            self._steps -= 1
            return True
        return False

    def _run_in_lockstep(self) -> None:
        while not self._inbox.closed:
            self._rest_while(lambda: self.finished)
            self._make_changes()
            self._publish()
            self._await_answer()
            self._rest_while(lambda: not self._may_step())
            if not self._inbox.closed:
                self._step()
                self._keep_pace()

    def _await_answer(self) -> None:
        """Until the state has its answer, or no answers come any more."""
        if self._answered():
            return
        self.waits = monotonic()
        self._repeat_until(self._answered)
        self.waits = 0.0

    def _rest_while(self, resting: Callable[[], bool]) -> None:
        if resting():
            self._repeat_until(lambda: not resting())
            self.pace.rest()

    def _repeat_until(self, done: Callable[[], bool]) -> None:
        """Publish the last state again and again, so that listeners know that the arm is there."""
        said = monotonic()
        while not self._inbox.closed and not done():
            self._inbox.wait(NAP_SECONDS)
            self._make_changes()
            if monotonic() - said > REPEAT_SECONDS:
                self._send()
                said = monotonic()

    def _answered(self) -> bool:
        """Whether the last state has its answer; or need not have one.

        Who commands without a tag answers no state: a controller's last zero, a watchdog, a hand.
        At a pace, time then goes on by the clock until answers come again.
        """
        tag = tag_of(self._said_ns)
        while (message := self._inbox.take(0)) is not None:
            answer = self._accept(message)
            if answer is not None:
                self._let_go = not answer
            if answer == tag:
                return True
        return self._let_go and self.settings.simulation.factor > 0.0

    def _run_by_the_clock(self) -> None:
        held = HANDOVER if self.settings.simulation.wait_for_command else 0
        arm = self.hardware
        arm.braked = self.settings.simulation.brake
        patience = self.settings.simulation.command_timeout or float("inf")
        heard = monotonic()
        while not self._inbox.closed:
            while self.finished and not self._inbox.closed:
                self._inbox.wait(NAP_SECONDS)
                self._make_changes()
            self._make_changes()
            self._publish()
            self._keep_pace()
            while (message := self._inbox.take(0)) is not None:
                if self._accept(message) is not None:
                    held, heard = max(held - 1, 0), monotonic()
                    arm.braked = arm.braked and not arm.effort.any()
            if monotonic() - heard > patience:
                arm.effort[:] = 0.0
            if held:
                self._hold()
            elif self._may_step():
                self._step()
            else:
                self.pace.rest()

    def _keep_pace(self) -> None:
        """Sleep until the next period begins by the clock, where time passes at a pace."""
        factor = self.settings.simulation.factor
        if factor > 0.0:
            self.pace.wait(factor, lambda: self._interrupted(factor))
        elif self.paused and not self.settings.lockstep:
            sleep(self.period_ns * 1e-9)

    def _interrupted(self, factor: float) -> bool:
        """Make changes; whether the arm is not to sleep on."""
        self._make_changes()
        return self._inbox.closed or self.settings.simulation.factor != factor

    def _accept(self, message: bytes) -> int | None:
        """Take an effort of the right size, finite, for joints that have a motor; its tag."""
        tag = self._reader.read(message, self._commanded)
        if tag is None:
            self.refused += 1
        else:
            np.multiply(self._commanded, self._arm.actuated, out=self.hardware.effort)
        return tag

    def _step(self) -> None:
        if not (self.failure or self.hardware.braked):
            try:
                self.hardware.move()
                self._reading = self.hardware.sense()
            except ProjectedControlError as error:
                self.failure = str(error)
        self.ticks += 1
        self.pace.stepped()

    def _hold(self) -> None:
        """The arm is held until its controller has it: forces answer, time stands still."""
        self.hardware.hold(self.hardware.effort)
        self._reading = self.hardware.sense()

    def _publish(self) -> None:
        read = self._reading
        told = self.hardware.tell(read) or read  # what is silent may be heard before the next state
        now = self.ticks * self.period_ns + round(1e9 * (told.stamp - read.stamp))
        self._said_ns = now
        self._outgoing.clear()
        if self.settings.simulation.clock:
            clock = self._clock_layout.write(*divmod(now, NANOSECONDS))
            self._outgoing.append((self._clock, clock))
        if read.wrench is not None:
            self._outgoing.append((self._wrenches, self._wrench(now, read.wrench)))
        self._outgoing.append((self._states, self._state(now, told)))
        self._truth.tell(self.ticks, self.ticks * self.period_ns)
        self._send()

    def _send(self) -> None:
        fault = self.hardware.fault
        if fault == "silent" or self.failure:
            return
        for publisher, message in self._outgoing:
            if publisher is not self._wrenches or fault != "no_wrench":
                publisher.publish(message)

    def _state(self, now: int, told: RawState) -> bytes:
        numbers, fault = self._numbers, self.hardware.fault
        numbers[0], numbers[1] = told.q, told.v
        if fault != "frozen":
            numbers[2] = self.hardware.effort
        if fault == "reordered":
            return self._backwards.fill(now, *numbers[:, ::-1])
        return self._writer.fill(now, *numbers)

    def _wrench(self, now: int, wrench: Array) -> bytes:
        """The wrench that the constraint takes, in world axes."""
        return self._wrench_layout.write(*divmod(now, NANOSECONDS), *wrench.tolist())

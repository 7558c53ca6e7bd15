"""The thread in which a controller lives: waits for states, answers each, counts everything."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, perf_counter_ns, sleep
from typing import Any, NamedTuple

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header

from projected_control.control.guard import Event
from projected_control.control.loop import ControlLoop
from projected_control.errors import ProjectedControlError
from projected_control.ports.port import ArmState
from projected_control.ros.answering import Answering
from projected_control.ros.command_monitor import CommandMonitor
from projected_control.ros.messages import (
    EffortWriter,
    StateReader,
    WrenchReader,
    tag_of,
)
from projected_control.ros.realtime import quiet_interpreter
from projected_control.ros.wait_set import Worker, unused

QUEUE = QoSProfile(depth=10)
"""Reliable, ten deep: lost nothing at 1 kHz."""

BACKLOG = 3
"""How many waiting states a loop that stays behind answers; older ones are skipped, to bound the
lag. What a single stall left in the queue is answered in full."""

LOCKSTEP_PATIENCE = 2.0
"""Without a state in lockstep, after which the controller gives up [s]."""

FAREWELL_SECONDS = 0.1
"""How long the last words of a loop may take to arrive [s]."""

_FORCE_STALE, _STALE = int(Event.FORCE_STALE), int(Event.STATE_STALE)


class Wiring(NamedTuple):
    """Where an arm is reached.

    Attributes:
        order: Of the joints in a command, by name; None for all joints of the arm in its order.
        states, wrench, commands: Topics.
    """

    order: tuple[str, ...] | None = None
    states: str = "joint_states"
    wrench: str = "wrench"
    commands: str = "effort_controller/commands"


class LoopThread(Worker, Answering):
    """Joint states in, efforts out.

    Everything here happens in one thread, but for `first_state` (before it starts), `hand_over`
    and `stop`.

    Args:
        node: In no executor; gets the loop's topics.
        voice, loop, settings: See `Answering`.
        wiring: Where the arm is reached.

    Attributes:
        ended: Called in the thread when it has ended by itself, before its farewell.
    """

    def __init__(
        self,
        node: Node,
        voice: tuple[Any, Any],
        loop: ControlLoop,
        settings: dict[str, Any],
        wiring: Wiring,
    ) -> None:
        Answering.__init__(self, voice, loop, settings)
        model = loop.controller.model
        self._model = model
        self.needs_wrench = loop.controller.force is not None and loop.observer is None
        self._states = node.create_subscription(JointState, wiring.states, unused, QUEUE, raw=True)
        subscriptions = [self._states]
        self._wrench_reader: WrenchReader | None = None
        if model.constraint is not None:
            subscriptions.append(
                node.create_subscription(WrenchStamped, wiring.wrench, unused, QUEUE, raw=True)
            )
            frame = settings["constraint.frame"]
            axes = settings["constraint.wrench_frame"]
            self._wrench_reader = WrenchReader(model.arm, model.constraint, frame, axes)
        Worker.__init__(self, node, "control loop", subscriptions)
        self._subscriptions, self._wrench_topic = subscriptions, wiring.wrench
        self._commands = node.create_publisher(Float64MultiArray, wiring.commands, QUEUE)
        self._monitor: CommandMonitor | None = None
        self.ended: Callable[[], None] = lambda: None
        names = model.arm.joint_names
        order = [names.index(name) for name in wiring.order or names]
        self._writer, self._first_motor = EffortWriter(order), order[0]
        self._reader = StateReader(names, names[order[0]], settings["joint_offsets"])
        self._v = np.zeros(model.n)
        self._lambda = np.full(model.m, np.nan)
        self._wrench_stamp: int | None = None
        self._wrench_heard = 0
        self._wrench_is_coming = self.needs_wrench
        self._behind = False

    def first_state(self, seconds: float) -> ArmState:
        """A state (and a wrench, if one is needed) to start from; raises where none comes."""
        deadline = monotonic() + seconds
        got_state = False
        problem = f"no joint state on {self._states.topic_name}"
        with self._inbox:
            while monotonic() < deadline:
                self._inbox.wait(0.05)
                for message in self._inbox.unread(0):
                    if wrong := self._reader.wrong_with(message):
                        problem = problem if got_state else wrong
                        continue
                    self._reader.read(message, self.q, self._v)
                    got_state = True
                    self._model.evaluate(self.q, self._v)
                    break
                self._take_wrenches()
                if self.needs_wrench and got_state and self._wrench_stamp is None:
                    problem = (
                        f"no finite wrench on the topic {self._wrench_topic}, and the force loop "
                        "needs one"
                    )
                elif got_state and not self._commands.get_subscription_count():
                    problem = f"nobody takes efforts on {self._commands.topic_name}"
                elif got_state:
                    return ArmState(self.q.copy(), self._v.copy(), None, 0.0)
        raise ProjectedControlError(problem)

    def ages(self, seconds: float) -> list[float]:
        """How old states are when they come, by their stamps, over a while [s]."""
        deadline, ages = monotonic() + seconds, []
        clock = self._node.get_clock()
        with self._inbox:
            while monotonic() < deadline:
                self._inbox.wait(0.05)
                now = clock.now().nanoseconds
                for message in self._inbox.unread(0)[:1]:
                    stamp = self._reader.read(message, self.q, self._v)
                    if stamp is not None:
                        ages.append((now - stamp) * 1e-9)
                self._take_wrenches()
        return ages

    def await_listener(self, seconds: float) -> bool:
        """Whether somebody listens to the commands; discovery takes a moment."""
        deadline = monotonic() + seconds
        while not self._commands.get_subscription_count():
            if monotonic() > deadline:
                return False
            sleep(0.01)
        return True

    def start(self) -> None:
        self._wrench_is_coming = self.needs_wrench or bool(
            self._node.count_publishers(self._wrench_topic)
        )
        self._monitor = CommandMonitor(self._node, self._commands.topic_name)
        super().start()

    def destroy(self) -> None:
        """Give back what was made on the node."""
        node = self._node
        for subscription in self._subscriptions:
            node.destroy_subscription(subscription)
        node.destroy_publisher(self._commands)
        if self._monitor is not None:
            self._monitor.destroy()

    # In the thread

    def _run(self) -> None:
        try:
            with quiet_interpreter(), self._inbox:
                self._answer_states()
        except Exception as error:  # nothing may leave the thread but a reason
            self.lost = f"the loop failed: {type(error).__name__}: {error}"
        finally:
            self.loop.guard.sent[:] = 0.0
            self._send(self._writer.fill(self.loop.guard.sent))
            self._beats.publish(Header(frame_id="inactive"))
            if self.lost:
                self.ended()
            # A dead arm acknowledges nothing; and to wait inside would keep the interpreter's lock.
            give_up = monotonic() + FAREWELL_SECONDS
            for publisher in (self._commands, self._beats):
                while not publisher.wait_for_all_acked(Duration()) and monotonic() < give_up:
                    sleep(0.005)

    def _send(self, message: bytes) -> None:
        if self._monitor is not None:
            self._monitor.sent(message)
        self._commands.publish(message)

    def _alone(self) -> bool:
        """Whether nobody else commands the arm; sets `lost` otherwise."""
        self.foreign = "" if self._monitor is None else self._monitor.foreign()
        if self.foreign:
            self.lost = f"somebody else also commands this arm, with {self.foreign}"
        return not self.foreign

    def _answer_states(self) -> None:
        inbox, lockstep = self._inbox, self.settings["lockstep"]
        heard = monotonic()
        while not inbox.closed:
            limits = self.loop.guard.limits
            inbox.wait(0.1 if lockstep else min(limits.stale_time, self._beat_period))
            received = perf_counter_ns()
            answered = self._answer_one(received) if lockstep else self._answer_all(received)
            if not self._alone():
                return
            if answered:
                heard = monotonic()
                continue
            if self._wrench_reader is not None:
                self._take_wrenches()  # else an unread wrench would wake us again and again
            silent = monotonic() - heard
            self.beat()
            if lockstep:
                if silent > LOCKSTEP_PATIENCE:
                    self.lost = f"no joint state for {silent:.1f} s in lockstep"
                    return
            elif silent > limits.stale_time:
                self._fall_silent(silent)
                if self.lost:
                    return

    def _fall_silent(self, silent: float) -> None:
        report = self.loop.guard.release(self.loop.guard.sent, _STALE)
        self.statistics.note(report)
        self._send(self._writer.fill(report.effort))
        if silent > self.settings["limits.lost_time"]:
            self.lost = f"no joint state for {silent:.2f} s: the arm or its driver has stopped"

    def _answer_all(self, received: int) -> bool:
        """Answer what has come, in order; of a backlog that persists only the newest few."""
        unread = self._inbox.unread(0)
        behind = len(unread) > BACKLOG
        if behind and self._behind:
            self.skipped += len(unread) - BACKLOG
            del unread[BACKLOG:]
        self._behind = behind
        answered = False
        for message in reversed(unread):
            now = self._reader.read(message, self.q, self._v)
            if now is None:
                self.malformed += 1
            else:
                self._answer(now, received)
                answered = True
        return answered

    def _answer_one(self, received: int) -> bool:
        """Answer the oldest state; one that is said again gets the same answer again."""
        message = self._inbox.take(0)
        if message is None:
            return False
        now = self._reader.read(message, self.q, self._v)
        if now is None:
            self.malformed += 1
            return False
        if now == self._last_ns:
            self._send(self._writer.fill(self.loop.guard.sent, tag_of(now)))
            self._beats.publish(Header(frame_id="active"))
            return True
        self._answer(now, received)
        return True

    def _answer(self, now: int, received: int) -> None:
        time = self.begin(now)
        noticed, multipliers = self._measure(now, received)
        self.echo.seen(self._reader.echo)
        report = self.loop.update(ArmState(self.q, self._v, multipliers, time), noticed)
        tag = tag_of(now) if self.settings["lockstep"] else 0
        self._send(self._writer.fill(report.effort, tag))
        self.echo.sent(float(report.effort[self._first_motor]))
        self.count(report, now, received)

    def _measure(self, now: int, received: int) -> tuple[int, Any]:
        if self._wrench_reader is None:
            return 0, None
        self._take_wrenches()
        if self.settings["lockstep"] and self._wrench_is_coming:
            give_up = monotonic() + LOCKSTEP_PATIENCE
            while self._wrench_stamp != now and monotonic() < give_up and not self._inbox.closed:
                self._inbox.wait(0.01)
                self._take_wrenches()
            self._wrench_is_coming = self.needs_wrench or self._wrench_stamp == now
        if not self.needs_wrench:
            return 0, self._lambda if self._wrench_stamp is not None else None
        patience = self.settings["limits.force_time"] * 1e9
        if self._wrench_stamp is None:
            return _FORCE_STALE, self._lambda
        # By the clock of this computer: a sensor's own may be another than that of the joints.
        lockstep = self.settings["lockstep"]
        age = now - self._wrench_stamp if lockstep else received - self._wrench_heard
        return (_FORCE_STALE if age > patience else 0), self._lambda

    def _take_wrenches(self) -> None:
        if self._wrench_reader is None:
            return
        for message in self._inbox.unread(1):
            stamp = self._wrench_reader.read(message, self._lambda)
            if stamp is not None:
                if stamp != self._wrench_stamp:
                    self._wrench_stamp, self._wrench_heard = stamp, perf_counter_ns()
                return
            self.malformed += 1

"""The watchdog: a process of its own that sends zeros when the controller falls silent.

An effort controller of ros2_control holds the last torque when its sender dies. The watchdog hears
the controller's heartbeat; when it stops without a word of farewell, the watchdog sends zeros and
goes on sending them until the controller is heard again. Behind ros2_control it also looks at the
joint states, and where the zeros have lasted it deactivates the effort controller.

The heartbeat of a controller in lockstep has the arm's time: silence then counts by that, since a
busy computer makes all of it slower, and by the clock only where it lasts.

Its own heartbeat says whether it watches and whom, or what it waits for: a controller that needs it
does not start before.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import monotonic
from typing import Any

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header

from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.ros.console import Notices
from projected_control.ros.controller_manager import ControllerManager, Plan, plan
from projected_control.ros.lifecycle import ERROR, OK, ManagedNode, Status, run
from projected_control.ros.listening_port import QUEUE, Wiring
from projected_control.ros.messages import NANOSECONDS, EffortWriter, StateReader
from projected_control.ros.neighbours import DEED, WATCHING
from projected_control.ros.wait_set import Worker, side_node, unused
from projected_control.runs.port import PORTS
from projected_control.settings.nodes import WATCHDOG, WatchdogSettings

BEAT_SECONDS = 0.05  # period of the watchdog's own heartbeat [s]
ZEROS_FIRST = 25  # zeros in a row that go before a deactivation of the effort controller, at least
LOOK_SECONDS = 0.02  # period of writing to the console and of checking whether to deactivate [s]
AT_REST = 1e-3  # joint velocity below which a state need not change [rad/s or m/s]
GONE_SECONDS = 10.0  # silence by the clock after which a controller in lockstep counts as gone [s]

NEWEST = QoSProfile(depth=1)


class Watch(Worker):
    """The thread that listens.

    Args:
        node: In no executor.
        controller: Name of the controller node.
        joints: Joints of the effort controller, in its order.
        commands: Topic of the effort controller.
        timeout: Timeout of the heartbeat [s].
        state_time: How long joint states may stay the same [s]; None to check none.
        zero_rate: Rate at which zeros are repeated [Hz].
        own_beats: Publisher of the watchdog's own heartbeat.

    Attributes:
        watching: Whether there is an active controller.
        trouble: Why zeros are sent; empty while none are.
        tripped: When that began, by `time.monotonic` [s].
        zeros: How many were sent since, each after another look.
        trips, beats: How often it tripped; heartbeats heard.
        deed: What was done to the arm of the controller that is watched, and why, in words that
            follow "the watchdog"; empty for nothing.
        longest: Longest silence of an active controller [s].
    """

    def __init__(
        self,
        node: Node,
        controller: str,
        joints: Sequence[str],
        commands: str,
        timeout: float,
        state_time: float | None,
        zero_rate: float,
        own_beats: Any,
    ) -> None:
        self._beats = node.create_subscription(Header, f"{controller}/heartbeat", unused, QUEUE)
        self._states = node.create_subscription(
            JointState, Wiring().states, unused, NEWEST, raw=True
        )
        super().__init__(node, "watchdog", [self._beats], besides=[self._states])
        self.timeout, self.state_time, self._zero_period = timeout, state_time, 1.0 / zero_rate
        self._commands = node.create_publisher(Float64MultiArray, commands, QUEUE)
        self._own_beats, self._whom = own_beats, f"{WATCHING} {controller}"
        self.deed = ""
        n = len(joints)
        self._zeros = EffortWriter(range(n)).fill(np.zeros(n))
        self._reader = StateReader(joints)
        self._q, self._v, self._before = np.zeros(n), np.zeros(n), np.full(n, np.nan)
        self._heard = self._said = self._moved = monotonic()
        self._seen = 0
        self._stamp: int | None = None
        self._beat_ns = 0
        self.watching = False
        self.trouble = ""
        self.trips = self.beats = self.zeros = 0
        self.longest = self.tripped = 0.0

    def stop(self) -> None:
        super().stop()
        for subscription in (self._beats, self._states):
            self._node.destroy_subscription(subscription)
        self._node.destroy_publisher(self._commands)

    def _run(self) -> None:
        with self._inbox:
            while not self._inbox.closed:
                self._inbox.wait(self._patience())
                now = monotonic()
                self._look(now)  # before the heartbeat: in lockstep no state comes before its beat
                self._hear(now)
                self._judge(now)
                if now - self._said > BEAT_SECONDS:
                    words = self._whom + (DEED + self.deed if self.deed else "")
                    self._own_beats.publish(Header(frame_id=words))
                    self._said = now

    def _hear(self, now: float) -> None:
        messages = self._inbox.unread(0)
        if not messages:
            return
        if self.watching:
            self.longest = max(self.longest, now - self._heard)
        self.beats += len(messages)
        self._heard = now
        stamp = messages[0].stamp
        self._beat_ns = stamp.sec * NANOSECONDS + stamp.nanosec
        active = messages[0].frame_id == "active"
        if active and not self.watching:
            self._seen, self._moved = 0, now
            self.deed = ""
        self.watching = active

    def _look(self, now: float) -> None:
        """Note when joint states last said anything new, and the arm's time."""
        if self.state_time is None and not self._beat_ns:
            return
        for message in self._inbox.unread(1)[:1]:
            stamp = self._reader.read(message, self._q, self._v)
            if stamp is None or stamp == self._stamp:
                continue
            self._seen += 1
            self._stamp = stamp
            if (self._q != self._before).any() or (np.abs(self._v) < AT_REST).all():
                self._moved = now
            self._before[:] = self._q

    def _judge(self, now: float) -> None:
        trouble = self._wrong(now) if self.watching else ""
        if trouble and not self.trouble:
            self.trips += 1
            self.zeros, self.tripped = 0, now
        self.trouble = trouble
        if trouble:
            self._commands.publish(self._zeros)
            self.zeros += 1

    def _wrong(self, now: float) -> str:
        silence = now - self._heard
        if self._beat_ns and silence < GONE_SECONDS:
            silence = min(silence, 1e-9 * ((self._stamp or 0) - self._beat_ns))
        if silence >= self.timeout:
            return f"no heartbeat for {silence:.3f} s"
        if self.state_time is None or not self._seen:
            return ""
        if (still := now - self._moved) >= self.state_time:
            return f"no joint state that changes for {still:.3f} s"
        return ""

    def _patience(self) -> float:
        if self.trouble:
            return self._zero_period
        if self.watching:
            shortest = self.timeout if self._beat_ns else 1e-4
            return max(self._heard + self.timeout - monotonic(), shortest)
        return BEAT_SECONDS


class EffortWatchdogNode(ManagedNode[WatchdogSettings]):
    """Parameters, lifecycle and the controller manager around `Watch`."""

    def __init__(self) -> None:
        self._watch: Watch | None = None
        self._manager: ControllerManager | None = None
        self._plan: Plan | None = None
        self._deactivated = ""
        self._trips = 0
        super().__init__(WATCHDOG)
        self._watch_node = side_node(self, "watch")
        self._manager_node = side_node(self, "manager")
        self._beats = self.create_publisher(Header, "~/heartbeat", QUEUE)
        self._notices = Notices()
        self.create_timer(LOOK_SECONDS, self._look)
        self.create_timer(BEAT_SECONDS, self._publish_reason_to_wait)

    def configure(self) -> None:
        if not PORTS[self.settings.hardware].needs_watchdog:
            raise InvalidValue(
                f"with hardware: {self.settings.hardware} no watchdog is needed: the plugin does "
                "by itself what plugin.on_silence says when its node falls silent"
            )
        if not self.settings.joints:
            raise InvalidValue("the watchdog must know how many zeros to send: set joints")

    def activate(self) -> None:
        s = self.settings
        joints, topic, state_time = s.joints, Wiring().commands, None
        if s.hardware == "ros2_control":
            self._manager = ControllerManager(
                self._manager_node, s.ros2_control.manager, s.ros2_control.timeout
            )
            try:
                self._plan = plan(
                    self._manager.controllers(), joints, s.ros2_control.effort_controller
                )
            except ProjectedControlError:
                self._close_manager()
                raise
            joints, topic = self._plan.joints, self._plan.commands_topic
            state_time = s.state_time
        self._deactivated = ""
        self._watch = Watch(
            self._watch_node,
            s.controller,
            joints,
            topic,
            s.timeout,
            state_time,
            s.zero_rate,
            self._beats,
        )
        self._trips = 0
        self._watch.start()

    def deactivate(self) -> None:
        if self._watch is not None:
            self._watch.stop()
            self._watch = None
        self._close_manager()

    def _close_manager(self) -> None:
        if self._manager is not None:
            self._manager.close()
            self._manager = None

    def destroy_node(self) -> None:
        self._watch_node.destroy_node()
        self._manager_node.destroy_node()
        super().destroy_node()

    def accept(self, settings: WatchdogSettings, changed: object) -> None:
        watch = self._watch
        if watch is not None:
            watch.timeout = settings.timeout
            if watch.state_time is not None:
                watch.state_time = settings.state_time

    def _publish_reason_to_wait(self) -> None:
        """While nothing is watched, the heartbeat says why; the watching thread has its own."""
        if self._watch is None:
            reason = self.trouble or "told to, or not told to start yet"
            self._beats.publish(Header(frame_id=f"waiting: {reason}"))

    def _look(self) -> None:
        """Log when zeros begin and end; where they last, deactivate the effort controller."""
        watch = self._watch
        if watch is None:
            return
        if watch.trips != self._trips:
            self._trips = watch.trips
            reason = watch.trouble or "the controller was silent for a moment"
            self._notices.begin("zeros", f"{reason}: zeros are sent")
            self._log()
        if watch.trouble:
            self._deactivate_after_zeros(watch)
        else:
            self._deactivated = ""
            self._notices.end(
                "zeros", f"all is well again after {watch.zeros} zeros: the controller goes on"
            )
        self._log()

    def _log(self) -> None:
        for line in self._notices.due(monotonic()):
            self.get_logger().warning(line)

    def _deactivate_after_zeros(self, watch: Watch) -> None:
        """Once zeros have been sent for long enough; once per trip."""
        manager, trouble = self._manager, watch.trouble
        if manager is None or self._plan is None or self._deactivated:
            return
        lasted = monotonic() - watch.tripped
        if watch.zeros < ZEROS_FIRST or lasted < self.settings.deactivate_time:
            return
        name = self._plan.effort_controller
        try:
            if any(c.name == name and c.active for c in manager.controllers()):
                watch.deed = f"deactivated it: {trouble}"  # before it can be noticed
                manager.switch((), (name,))
            self._deactivated = f"{name} deactivated"
        except ProjectedControlError as error:
            self._deactivated, watch.deed = str(error), ""
        self.get_logger().error(f"{trouble}: zeros sent; {self._deactivated}")
        self.publish_diagnostics()

    def status(self) -> Status:
        watch = self._watch
        if watch is None:
            return OK, "", {}
        values = {
            "controller": self.settings.controller,
            "watching": watch.watching,
            "heartbeats": watch.beats,
            "longest silence (ms)": 1e3 * watch.longest,
            "trips": watch.trips,
        }
        if watch.trouble:
            done = f"; {self._deactivated}" if self._deactivated else ""
            return ERROR, f"{watch.trouble}: sending zeros{done}", values
        return OK, "watching" if watch.watching else "waiting for a controller", values


def main() -> int:
    return run(EffortWatchdogNode, WATCHDOG)


if __name__ == "__main__":
    sys.exit(main())

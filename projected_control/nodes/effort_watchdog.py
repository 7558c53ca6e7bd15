"""The watchdog: a process of its own that sends zeros when the controller falls silent.

An effort controller of ros2_control holds the last torque when its sender dies. The watchdog hears
the controller's heartbeat; when it stops without a word of farewell, the watchdog sends zeros and
goes on sending them until the controller is activated anew.
"""

from __future__ import annotations

import sys
from time import monotonic

import numpy as np
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray, Header

from projected_control.errors import InvalidValue
from projected_control.nodes.loop_thread import QUEUE
from projected_control.nodes.managed import ERROR, OK, ManagedNode, Status, run
from projected_control.nodes.messages import EffortWriter
from projected_control.nodes.waiting import Worker, side_node, unused
from projected_control.parameters import WATCHDOG


class Watch(Worker):
    """The thread that listens.

    Args:
        node: In no executor.
        controller: Name of the controller node.
        n: Number of joints.
        timeout: Of the heartbeat [s].
        zero_rate: At which zeros are repeated [Hz].
    """

    def __init__(
        self, node: Node, controller: str, n: int, timeout: float, zero_rate: float
    ) -> None:
        self._beats = node.create_subscription(Header, f"{controller}/heartbeat", unused, QUEUE)
        super().__init__(node, "watchdog", [self._beats])
        self.timeout, self._zero_period = timeout, 1.0 / zero_rate
        self._commands = node.create_publisher(
            Float64MultiArray, "effort_controller/commands", QUEUE
        )
        self._zeros = EffortWriter(n).fill(np.zeros(n))
        self.watching = self.tripped = False
        self.trips = self.beats = 0
        self.silence = self.longest = 0.0

    def stop(self) -> None:
        super().stop()
        self._node.destroy_subscription(self._beats)
        self._node.destroy_publisher(self._commands)

    def _run(self) -> None:
        last = monotonic()
        with self._inbox:
            while not self._inbox.closed:
                self._inbox.wait(self._patience(last))
                messages = self._inbox.unread(0)
                now = monotonic()
                self.silence = now - last
                if messages:
                    self.beats += len(messages)
                    if self.watching:
                        self.longest = max(self.longest, self.silence)
                    last = now
                    self.watching = messages[0].frame_id == "active"
                    self.tripped = False
                elif self.watching and self.silence >= self.timeout:
                    if not self.tripped:
                        self.tripped = True
                        self.trips += 1
                    self._commands.publish(self._zeros)

    def _patience(self, last: float) -> float:
        if self.tripped:
            return self._zero_period
        if self.watching:
            return max(last + self.timeout - monotonic(), 1e-4)
        return 0.1


class EffortWatchdogNode(ManagedNode):
    """Parameters and lifecycle around `Watch`."""

    def __init__(self) -> None:
        self._watch: Watch | None = None
        super().__init__(WATCHDOG)
        self._watch_node = side_node(self, "watch")

    def configure(self) -> None:
        if not self.settings["joints"]:
            raise InvalidValue("the watchdog must know how many zeros to send: set joints")

    def activate(self) -> None:
        s = self.settings
        self._watch = Watch(
            self._watch_node, s["controller"], len(s["joints"]), s["timeout"], s["zero_rate"]
        )
        self._watch.start()

    def deactivate(self) -> None:
        if self._watch is not None:
            self._watch.stop()
            self._watch = None

    def destroy_node(self) -> None:
        self._watch_node.destroy_node()
        super().destroy_node()

    def accept(self, settings: dict[str, object], changed: object) -> None:
        if self._watch is not None:
            self._watch.timeout = float(settings["timeout"])  # type: ignore[arg-type]

    def status(self) -> Status:
        watch = self._watch
        if watch is None:
            return OK, "", {}
        values = {
            "controller": self.settings["controller"],
            "watching": watch.watching,
            "heartbeats": watch.beats,
            "longest silence (ms)": 1e3 * watch.longest,
            "trips": watch.trips,
        }
        if watch.tripped:
            return ERROR, f"no heartbeat for {watch.silence:.3f} s: sending zeros", values
        return OK, "watching" if watch.watching else "waiting for a controller", values


def main() -> int:
    """The executable."""
    return run(EffortWatchdogNode, WATCHDOG)


if __name__ == "__main__":
    sys.exit(main())

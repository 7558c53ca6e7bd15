"""Zero as the last word on a topic of commands that another node has used, too.

A topic has no owner, and messages of two senders reach an arm in any order: a single zero may be
followed by another's torque, which the arm then keeps. So a controller whose run was ended by
another node on its topic goes on listening there, also while it is inactive. It sends zeros until
nothing foreign has been heard for `QUIET_SECONDS`, and again from the next foreign command on.

It is entitled to that from the end of that run, and from no other, until

- it is activated again;
- it is told to leave the arm: cleaned up, shut down, or its process ended;
- behind ros2_control, the effort controller is inactive, switched off by us or by others: what
  is sent to it then has no effect, and the command interfaces may have another owner.

What is foreign it hears on its own topic: all that was not sent from here (`CommandMonitor`).
"""

from __future__ import annotations

from collections import deque
from time import monotonic, sleep
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray

from projected_control.ros.transport import let_arrive
from projected_control.ros.wait_set import Worker, unused

QUIET_SECONDS = 0.5  # for which nothing foreign has been heard when the zeros end [s]
ZERO_SECONDS = 0.001  # period of the zeros [s]
IDLE_SECONDS = 0.5  # for which a command is awaited at a time [s]

PATIENCE_SECONDS = 1.0
"""How long a node that is told to leave the topic waits for others to be quiet [s]."""

FAREWELL_SECONDS = 0.05  # how long the last zero may take to arrive [s]


class LastWord(Worker):
    """A thread that answers foreign commands with zeros; it does nothing before it is started.

    Args:
        node: In no executor.
        commands: Publisher of the commands.
        monitor: Hears foreign ones.

    Attributes:
        zero: The command without torque, as bytes; given before it is started.
        heard: How often something foreign was heard.
        sent: How many zeros were sent.
    """

    def __init__(self, node: Node, commands: Any, monitor: CommandMonitor) -> None:
        super().__init__(node, "last word", [monitor.subscription])
        self._commands, self._monitor = commands, monitor
        self._until = 0.0
        self.zero = b""
        self.heard = self.sent = 0

    @property
    def speaks(self) -> bool:
        """Whether zeros are being sent."""
        return monotonic() < self._until

    def start(self) -> None:
        """Send zeros, for `QUIET_SECONDS` at least."""
        self._until = monotonic() + QUIET_SECONDS
        super().start()

    def stop(self, at_once: bool = False) -> None:
        """Leave the topic to others; gives back publisher and monitor, too.

        Args:
            at_once: Whether a new run goes on there. Else the last zeros are sent first.
        """
        give_up = monotonic() + PATIENCE_SECONDS
        while self.speaks and not at_once and monotonic() < give_up:
            sleep(ZERO_SECONDS)
        super().stop()
        if not at_once:
            let_arrive(self._commands, FAREWELL_SECONDS)
        self._monitor.destroy()
        self._node.destroy_publisher(self._commands)

    def words(self) -> str:
        """What it does, for people."""
        if self.speaks:
            return f"zeros are sent until nothing else is heard for {QUIET_SECONDS:g} s"
        return (
            "every further command that is not zero is answered with zeros, until this node is "
            "activated, cleaned up or ended"
        )

    def _run(self) -> None:
        due = 0.0
        with self._inbox:
            while not self._inbox.closed:
                foreign, now = self._monitor.foreign(), monotonic()
                if foreign:
                    self.heard += 1
                    self._until = now + QUIET_SECONDS
                if foreign or due <= now < self._until:
                    self._commands.publish(self.zero)
                    self.sent += 1
                    due = now + ZERO_SECONDS
                self._inbox.wait(ZERO_SECONDS if now < self._until else IDLE_SECONDS)


REMEMBERED = 64
"""Own commands that are remembered; one is heard within a tick or two of its sending."""

QUEUE = QoSProfile(depth=REMEMBERED)


class CommandMonitor:
    """Notices the first command that another node sends to this controller's arm.

    The graph of ROS knows who *may* send, a second late and by a name that anybody can take. What
    reaches the arm is on the topic itself. Zeros are taken from anybody: the watchdog sends them.

    All of it belongs in the thread that sends.

    Args:
        node: In no executor.
        topic: Topic of the commands.
    """

    def __init__(self, node: Node, topic: str) -> None:
        self._node = node
        self._subscription = node.create_subscription(
            Float64MultiArray, topic, unused, QUEUE, raw=True
        )
        self._sent: deque[bytes] = deque(maxlen=REMEMBERED)

    @property
    def subscription(self) -> Any:
        """Of the topic; read without an executor."""
        return self._subscription

    @property
    def topic(self) -> str:
        """Its full name."""
        return str(self._subscription.topic_name)

    def sent(self, message: bytes) -> None:
        """A command of our own, as bytes."""
        self._sent.appendleft(message)

    def foreign(self) -> str:
        """What other nodes have sent since the last call, in words; empty for nothing."""
        handle, kind = self._subscription.handle, self._subscription.msg_type
        found = ""
        with handle:
            while (taken := handle.take_message(kind, True)) is not None:
                if taken[0] not in self._sent and not found:
                    found = _foreign(taken[0])
        return found

    def destroy(self) -> None:
        """Give back what was made on the node."""
        self._node.destroy_subscription(self._subscription)


def _foreign(message: bytes) -> str:
    try:
        command: Any = deserialize_message(message, Float64MultiArray)
    except Exception:  # rclpy's own error, which has no type
        return "bytes that are no command"
    if not any(command.data):  # NaN counts as something
        return ""
    return "[" + ", ".join(f"{number:.4g}" for number in list(command.data)[:12]) + "]"

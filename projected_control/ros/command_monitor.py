"""Hearing one's own command topic: whatever was not sent from here was sent by another node."""

from __future__ import annotations

from collections import deque
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray

from projected_control.ros.wait_set import unused

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

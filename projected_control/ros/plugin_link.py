"""Messages to and from the plugin in the controller manager, one session after another."""

from __future__ import annotations

import secrets
import struct
from threading import Lock
from time import monotonic
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from std_msgs.msg import UInt8MultiArray

from projected_control.native.updates import Message, Sections, Update, decode, encode
from projected_control.ros.wait_set import Inbox, unused

UPDATES, ACKNOWLEDGEMENTS, STATES = "updates", "acknowledgements", "states"
"""Topics of the plugin's node."""

RELIABLE = QoSProfile(depth=32)
NEWEST = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
"""States are sent best effort: a listener that hangs must not keep a controller manager waiting."""

_STATES, _ACKNOWLEDGEMENTS = 0, 1

_CDR = struct.Struct("<4sIII")
"""UInt8MultiArray as bytes: encapsulation, no dimensions, data_offset, how many bytes follow."""
_LITTLE_ENDIAN = b"\0\1\0\0"


def to_cdr(data: bytes) -> bytes:
    """A serialized UInt8MultiArray."""
    return _CDR.pack(_LITTLE_ENDIAN, 0, 0, len(data)) + data


def from_cdr(message: bytes) -> bytes:
    """The bytes of a serialized UInt8MultiArray."""
    if len(message) >= _CDR.size:
        encapsulation, dimensions, _, count = _CDR.unpack_from(message)
        rest = len(message) - _CDR.size
        if encapsulation[:2] == _LITTLE_ENDIAN[:2] and not dimensions and count <= rest < count + 4:
            return message[_CDR.size : _CDR.size + count]
    other: Any = deserialize_message(message, UInt8MultiArray)
    return bytes(other.data)


class PluginLink:
    """The topics of one plugin, and the session that is open there.

    `send` may be called from any thread, all else from one.

    Args:
        node: In no executor; gets the topics.
        controller: Name of the plugin's node.

    Attributes:
        controller: As given.
        session: Number of the session; zero before the first.
        sent: When something was last sent, by `time.monotonic` [s].
        malformed: Messages that could not be read.
    """

    def __init__(self, node: Node, controller: str) -> None:
        self._node, self.controller = node, controller
        self._updates = node.create_publisher(UInt8MultiArray, f"{controller}/{UPDATES}", RELIABLE)
        self._subscriptions = [
            node.create_subscription(
                UInt8MultiArray, f"{controller}/{STATES}", unused, NEWEST, raw=True
            ),
            node.create_subscription(
                UInt8MultiArray, f"{controller}/{ACKNOWLEDGEMENTS}", unused, RELIABLE, raw=True
            ),
        ]
        self._inbox = Inbox(node, self._subscriptions)
        self._inbox.__enter__()
        self._lock = Lock()
        self.session = self._sequence = 0
        self._beginning = b""
        self.sent = 0.0
        self.malformed = 0

    @property
    def connected(self) -> bool:
        """Whether the plugin hears us, and we it."""
        answers = self._node.count_publishers(self._subscriptions[_ACKNOWLEDGEMENTS].topic_name)
        return bool(self._updates.get_subscription_count() and answers)

    @property
    def publisher(self) -> Any:
        """Of updates."""
        return self._updates

    def begin(self, sections: Sections) -> int:
        """Open a session; the sequence number of the update."""
        self.session = secrets.randbits(63) | 1
        self._sequence = 1
        self._beginning = to_cdr(encode(Update.BEGIN, self.session, 1, sections))
        self.begin_again()
        return self._sequence

    def begin_again(self) -> None:
        """Send the session's beginning once more, to a plugin that has not answered.

        What is sent before both sides know of each other is lost. To a plugin that has it already
        it means nothing, but it is acknowledged again.
        """
        with self._lock:
            self._updates.publish(self._beginning)
            self.sent = monotonic()

    def send(self, kind: Update, sections: Sections | None = None) -> int:
        """Send an update of this session; its sequence number."""
        with self._lock:
            self._sequence += 1
            data = encode(kind, self.session, self._sequence, sections)
            self._updates.publish(to_cdr(data))
            self.sent = monotonic()
            return self._sequence

    def wait(self, seconds: float) -> None:
        """Until something has come, `wake` was called, or the time has passed [s]."""
        self._inbox.wait(seconds)

    def wake(self) -> None:
        """End a `wait`; from any thread."""
        self._inbox.wake()

    def states(self) -> list[Message]:
        """States that have come, of whatever session, the oldest first."""
        return self._read(_STATES, Update.STATE)

    def acknowledgements(self) -> list[Message]:
        """Acknowledgements of this session's updates, the oldest first."""
        found = self._read(_ACKNOWLEDGEMENTS, Update.ACK)
        return [message for message in found if message.session == self.session]

    def _read(self, which: int, kind: Update) -> list[Message]:
        found = []
        for raw in reversed(self._inbox.unread(which)):
            try:
                message = decode(from_cdr(raw))
            except Exception:  # rclpy's own errors have no type
                self.malformed += 1
                continue
            if message.kind is kind:
                found.append(message)
        return found

    def close(self) -> None:
        """Give back what was made on the node."""
        self._inbox.__exit__(None, None, None)
        self._inbox.destroy()
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        self._node.destroy_publisher(self._updates)

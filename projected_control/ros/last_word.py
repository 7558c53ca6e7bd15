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
"""

from __future__ import annotations

from time import monotonic, sleep
from typing import Any

from rclpy.node import Node

from projected_control.ros.command_monitor import CommandMonitor
from projected_control.ros.transport import let_arrive
from projected_control.ros.wait_set import Worker

QUIET_SECONDS = 0.5
"""For which nothing foreign has been heard when the zeros end [s]."""

ZERO_SECONDS = 0.001
"""Period of the zeros [s]."""

IDLE_SECONDS = 0.5
"""For which a command is awaited at a time [s]."""

PATIENCE_SECONDS = 1.0
"""How long a node that is told to leave the topic waits for others to be quiet [s]."""

FAREWELL_SECONDS = 0.05
"""How long the last zero may take to arrive [s]."""


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

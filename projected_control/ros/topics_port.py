"""An arm on topics: joint states and wrenches come as messages, efforts go as messages."""

from __future__ import annotations

import numpy as np
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from projected_control.arrays import Array
from projected_control.control.loop import ControlLoop
from projected_control.errors import ProjectedControlError
from projected_control.ros.last_word import CommandMonitor, LastWord
from projected_control.ros.lifecycle import ManagedNode
from projected_control.ros.listening_port import QUEUE, ListeningPort, Wiring
from projected_control.ros.messages import EffortWriter, tag_of
from projected_control.ros.transport import let_arrive
from projected_control.runs.delay import EchoDelay
from projected_control.runs.port import Port
from projected_control.settings.nodes import ControllerSettings

FAREWELL_SECONDS = 0.05  # how long the last words of a loop may take to arrive [s]
ECHOES = 300  # echoes of efforts in the arm's states from which the delay counts as measured


class TopicsPort(ListeningPort):
    """Efforts go to a topic, and every node that listens there gets them.

    Args:
        node: In no executor; gets the topics.
        loop: What will answer: its arm names the joints, and it says whether it needs a wrench.
        settings: Settings of the controller node.
        wiring: Where the arm is reached.

    Attributes:
        echo: Measures the delay from the efforts that the arm reports.
        has_echo: Whether that delay counts.
    """

    has_echo = False

    def __init__(
        self,
        node: Node,
        loop: ControlLoop,
        settings: ControllerSettings,
        wiring: Wiring = Wiring(),  # noqa: B008
    ) -> None:
        super().__init__(node, loop, settings, wiring)
        names = loop.controller.model.arm.joint_names
        order = [names.index(name) for name in wiring.order or names]
        self._writer, self._first_motor = EffortWriter(order), order[0]
        self._commands = node.create_publisher(Float64MultiArray, wiring.commands, QUEUE)
        self.commands = wiring.commands
        self._sent = np.zeros(len(names))
        self._monitor: CommandMonitor | None = None
        self._answer: LastWord | None = None
        self.last_word: LastWord | None = None
        self.echo = EchoDelay()
        self._over = False

    def let_go(self) -> None:
        self._over = True

    def _no_taker_of_efforts(self) -> str:
        if self._commands.get_subscription_count():
            return ""
        return f"no node takes efforts on {self._commands.topic_name}"

    def engage(self) -> None:
        """From now on all commands but ours are foreign."""
        self._monitor = CommandMonitor(self._node, self.wiring.commands)
        self._answer = LastWord(self._node, self._commands, self._monitor)

    def outlast(self) -> None:
        answer = self._answer
        if answer is not None and self.last_word is None:
            answer.zero = self._writer.fill(np.zeros_like(self._sent), self._tag)
            self.last_word = answer
            answer.start()

    def close(self) -> None:
        """Give back what was made on the node, when the last effort has arrived.

        But for `last_word`, which goes on, and is stopped by the caller of this.
        """
        self.stop_listening()
        if self.last_word is not None:
            return
        if self._answer is not None:
            self._answer.stop()
            return
        let_arrive(self._commands, FAREWELL_SECONDS)
        self._node.destroy_publisher(self._commands)

    def measured_delay(self) -> int | None:
        return self.echo.quantile(0.9)

    @property
    def delay_counts(self) -> bool:
        return self.has_echo and self.echo.count >= ECHOES

    def _repeat(self) -> None:
        self.write(self._sent)

    def _heard_something(self) -> None:
        """Raise where another node has commanded the arm."""
        if self._monitor is not None and not self.disturbed:
            self.disturbed = self._monitor.foreign()
            if self.disturbed:
                raise ProjectedControlError(
                    f"another node also commands this arm, with {self.disturbed}"
                )

    def _heard_echo(self, effort: float) -> None:
        self.echo.seen(effort)

    @property
    def _tag(self) -> int:
        """What tells a simulated arm in lockstep to which state this is the answer."""
        answers = self.settings.lockstep and self.stamp_ns >= 0 and not self._over
        return tag_of(self.stamp_ns) if answers else 0

    def write(self, effort: Array) -> None:
        message = self._writer.fill(effort, self._tag)
        if self._monitor is not None:
            self._monitor.sent(message)
        self._commands.publish(message)
        if effort is not self._sent:
            self._sent[:] = effort
            self.echo.sent(float(effort[self._first_motor]))


def make_port(node: ManagedNode[ControllerSettings], side: Node, loop: ControlLoop) -> Port:
    """For `projected_control.runs.port`."""
    return TopicsPort(side, loop, node.settings)

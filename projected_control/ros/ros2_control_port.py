"""An arm behind ros2_control: its controllers are found, checked, switched, and switched back."""

from __future__ import annotations

from rclpy.node import Node

from projected_control.control.loop import ControlLoop
from projected_control.control.state import RawState
from projected_control.ros.controller_manager import Plan
from projected_control.ros.engagement import Engagement
from projected_control.ros.lifecycle import ManagedNode
from projected_control.ros.listening_port import Wiring
from projected_control.ros.topics_port import TopicsPort
from projected_control.runs.delay import delay_from_ages
from projected_control.runs.port import Port
from projected_control.settings.nodes import ControllerSettings


class Ros2ControlPort(TopicsPort):
    """Topics of an effort controller that is activated for as long as the port is open.

    Args:
        node: In no executor; gets the topics.
        loop: What will answer.
        settings: Settings of the controller node.
        parent: The controller node itself, which the controller manager is asked for and logs.
    """

    has_echo = True

    def __init__(
        self, node: Node, loop: ControlLoop, settings: ControllerSettings, parent: Node
    ) -> None:
        self._engagement = Engagement(parent, loop, settings)
        self.plan: Plan = self._engagement.plan
        wiring = Wiring(
            order=self.plan.joints,
            wrench=settings.ros2_control.wrench or self.plan.wrench_topic or "wrench",
            commands=self.plan.commands_topic,
        )
        super().__init__(node, loop, settings, wiring)

    def open(self) -> RawState:
        state = super().open()
        self.delay = delay_from_ages(self.ages, self.settings.rate) or 0
        return state

    def engage(self) -> None:
        super().engage()
        self._engagement.engage()

    def check(self) -> None:
        self._engagement.check()

    def outlast(self) -> None:
        """Where our effort controller is off, what others send to it has no effect."""
        super().outlast()
        self._engagement.begin_to_switch_off()

    def close(self) -> None:
        """Leave the arm; beside another commander its efforts shall not be taken."""
        if self.last_word is not None and self._engagement.switch_off():
            self.last_word = None
        super().close()
        self._engagement.give_back(self.plan.activate)
        self._engagement.leave()


def make_port(node: ManagedNode[ControllerSettings], side: Node, loop: ControlLoop) -> Port:
    """For `projected_control.runs.port`."""
    return Ros2ControlPort(side, loop, node.settings, node)

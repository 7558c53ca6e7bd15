"""An arm behind ros2_control: its controllers are found, checked, switched, and switched back."""

from __future__ import annotations

from rclpy.node import Node

from projected_control.control.loop import ControlLoop
from projected_control.control.state import RawState
from projected_control.errors import ProjectedControlError
from projected_control.ports.delay import delay_from_ages
from projected_control.ports.port import Port
from projected_control.ros.controller_manager import CannotEngage, ControllerManager, Plan, plan
from projected_control.ros.lifecycle import ManagedNode
from projected_control.ros.topics_port import TopicsPort, Wiring
from projected_control.ros.wait_set import side_node
from projected_control.settings.nodes import ControllerSettings

RELEASE_SECONDS = 1.5
"""For which a controller that goes waits for the controller manager, which may be going too [s]."""


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
        self._parent = parent
        self._side: Node = side_node(parent, "manager")
        arm = loop.controller.model.arm
        motors = [name for name, motor in zip(arm.joint_names, arm.actuated, strict=True) if motor]
        reached = settings.ros2_control
        try:
            self._manager = ControllerManager(self._side, reached.manager, reached.timeout)
        except ProjectedControlError:
            self._side.destroy_node()
            raise
        try:
            self.plan: Plan = plan(self._manager.controllers(), motors, reached.effort_controller)
        except ProjectedControlError:
            self._leave()
            raise
        wiring = Wiring(
            order=self.plan.joints,
            wrench=reached.wrench or self.plan.wrench_topic or "wrench",
            commands=self.plan.commands_topic,
        )
        super().__init__(node, loop, settings, wiring)
        self._engaged = False

    def open(self) -> RawState:
        state = super().open()
        self.delay = delay_from_ages(self.ages, self.settings.rate) or 0
        return state

    def engage(self) -> None:
        super().engage()
        before, needed = self.plan.deactivate, self.plan.activate
        self._manager.switch(needed, before)
        self._engaged = True
        if needed or before:
            self._parent.get_logger().info(
                f"{self.plan.effort_controller} took over"
                + (f" from {', '.join(before)}" if before else "")
            )

    def check(self) -> None:
        answer = self._manager.poll()
        if isinstance(answer, str):
            raise CannotEngage(answer)
        if answer is None:
            return
        name = self.plan.effort_controller
        state = next((c.state for c in answer if c.name == name), "gone")
        if state != "active":
            raise CannotEngage(f"{name} is {state}: somebody switched it, or it failed")

    def close(self) -> None:
        super().close()
        if self._engaged:
            self._give_back()
        self._leave()

    def _give_back(self) -> None:
        """Switch back to what was active before; beside a stranger nobody shall take efforts."""
        self._manager.timeout = min(self._manager.timeout, RELEASE_SECONDS)
        try:
            there = {c.name: c for c in self._manager.controllers()}
            ours = (self.plan.effort_controller,) if self.disturbed else self.plan.activate
            mine = [n for n in ours if n in there and there[n].active]
            former = [n for n in self.plan.deactivate if n in there and not there[n].active]
            self._manager.switch(former, mine)
            if former:
                self._parent.get_logger().info(f"gave the arm back to {', '.join(former)}")
        except ProjectedControlError as error:
            self._parent.get_logger().warning(f"the arm was not given back: {error}")

    def _leave(self) -> None:
        self._manager.close()
        self._side.destroy_node()


def make_port(node: ManagedNode[ControllerSettings], side: Node, loop: ControlLoop) -> Port:
    """For `projected_control.ports.kinds`."""
    return Ros2ControlPort(side, loop, node.settings, node)

"""An arm behind ros2_control: its controllers are found, checked, switched, and switched back.

`Engagement` takes an arm over from other controllers of the controller manager, and gives it back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rclpy.node import Node

from projected_control.control.loop import ControlLoop
from projected_control.control.state import RawState
from projected_control.errors import ProjectedControlError
from projected_control.ros.controller_manager import (
    EFFORT_CONTROLLERS,
    CannotEngage,
    ControllerManager,
    Plan,
    plan,
)
from projected_control.ros.lifecycle import ManagedNode
from projected_control.ros.listening_port import Wiring
from projected_control.ros.start_and_end import to_the_end
from projected_control.ros.topics_port import TopicsPort
from projected_control.ros.wait_set import side_node
from projected_control.runs.delay import delay_from_ages
from projected_control.runs.port import Port
from projected_control.settings.nodes import ControllerSettings

RELEASE_SECONDS = 1.5
"""For which a controller that goes waits for the controller manager, which may be going too [s]."""


class Engagement:
    """The controller of ros2_control through which an arm is reached: found, switched, watched.

    Args:
        parent: The controller node, which the controller manager is asked for and logs.
        loop: Whose arm it is.
        settings: Settings of the controller node.
        types: Of controllers that will do, the best first.

    Attributes:
        plan: Which controller it is, and what has to be switched for it.
    """

    def __init__(
        self,
        parent: Node,
        loop: ControlLoop,
        settings: ControllerSettings,
        types: Sequence[str] = EFFORT_CONTROLLERS,
    ) -> None:
        self._parent = parent
        self._side: Node = side_node(parent, "manager")
        arm, reached = loop.controller.model.arm, settings.ros2_control
        motors = [name for name, motor in zip(arm.joint_names, arm.actuated, strict=True) if motor]
        try:
            self._manager = ControllerManager(self._side, reached.manager, reached.timeout)
        except ProjectedControlError:
            self._side.destroy_node()
            raise
        try:
            self.plan: Plan = plan(
                self._manager.controllers(), motors, reached.effort_controller, types
            )
        except ProjectedControlError:
            self.leave()
            raise
        self._engaged = False
        self._asked: Any = None

    def engage(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Switch to our controller.

        Args:
            meanwhile: Called every few milliseconds while the switch is made.
        """
        before, needed = self.plan.deactivate, self.plan.activate
        self._manager.meanwhile = meanwhile
        self._engaged = True  # what is asked for may be done though no answer comes
        try:
            self._manager.switch(needed, before)
        finally:
            self._manager.meanwhile = lambda: None
        if needed or before:
            self._parent.get_logger().info(
                f"{self.plan.effort_controller} took over"
                + (f" from {', '.join(before)}" if before else "")
            )

    def check(self) -> None:
        """Raise where our controller is no longer active."""
        answer = self._manager.poll()
        if isinstance(answer, str):
            raise CannotEngage(answer)
        if answer is None:
            return
        name = self.plan.effort_controller
        state = next((c.state for c in answer if c.name == name), "gone")
        if state != "active":
            raise CannotEngage(f"{name} is {state}: it was switched from outside, or failed")

    def begin_to_switch_off(self) -> None:
        """Ask for our controller to be switched off, and wait for nothing; from any thread."""
        self._asked = self._manager.begin_to_deactivate(self.plan.effort_controller)

    @to_the_end()
    def switch_off(self) -> bool:
        """Switch our controller off, if it is on still; whether it is off."""
        name = self.plan.effort_controller
        self._manager.timeout = min(self._manager.timeout, RELEASE_SECONDS)
        asked, self._asked = self._asked, None
        try:
            if asked is not None:
                self._manager.await_answer(asked)
            if any(c.name == name and c.active for c in self._manager.controllers()):
                self._manager.switch((), (name,))
        except ProjectedControlError as error:
            self._parent.get_logger().error(f"{name} could not be switched off: {error}")
            return False
        return True

    @to_the_end()
    def give_back(self, ours: Sequence[str]) -> None:
        """Switch back to what was active before, if we switched at all.

        Args:
            ours: What is deactivated in any case.
        """
        if not self._engaged:
            return
        self._engaged = False
        self._manager.timeout = min(self._manager.timeout, RELEASE_SECONDS)
        try:
            there = {c.name: c for c in self._manager.controllers()}
            mine = [n for n in ours if n in there and there[n].active]
            former = [n for n in self.plan.deactivate if n in there and not there[n].active]
            self._manager.switch(former, mine)
            if former:
                self._parent.get_logger().info(f"gave the arm back to {', '.join(former)}")
        except ProjectedControlError as error:
            self._parent.get_logger().warning(f"the arm was not given back: {error}")

    def leave(self) -> None:
        """Give back what was made."""
        self._manager.close()
        self._side.destroy_node()


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

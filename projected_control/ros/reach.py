"""How a controller node reaches its arm: on plain topics, or through ros2_control."""

from __future__ import annotations

from rclpy.node import Node

from projected_control.errors import ProjectedControlError
from projected_control.model.arm import Arm
from projected_control.ports.delay import delay_from_ages
from projected_control.ros.controller_manager import CannotEngage, ControllerManager, Plan, plan
from projected_control.ros.lifecycle import ManagedNode
from projected_control.ros.topics_port import LoopThread, Wiring
from projected_control.ros.wait_set import side_node

AGE_SECONDS = 0.2
"""For how long the age of states is looked at before an activation [s]."""


RELEASE_SECONDS = 1.5
"""For which a controller that goes waits for the controller manager, which may be going too [s]."""


class Reach:
    """Plain topics: whoever listens gets the efforts.

    Attributes:
        wiring: Topics, and the order of joints.
        has_delay: Whether the delay counts that the echo of efforts shows.
    """

    wiring = Wiring()
    has_delay = False

    def delay(self, thread: LoopThread) -> int:
        """Samples from an effort to its effect, at least; zero where nothing is known."""
        return 0

    def engage(self) -> None:
        """Make the arm take efforts."""

    def check(self) -> None:
        """Raise where the arm takes efforts no longer."""

    def release(self, disturbed: bool = False) -> None:
        """Give the arm back as it was, and close.

        Args:
            disturbed: Somebody else commands the arm: nobody shall, from now on.
        """
        self.close()

    def close(self) -> None:
        """Give back what was made."""


class Ros2ControlReach(Reach):
    """Controllers of ros2_control: found, checked, switched on activation and switched back.

    Args:
        node: The controller node.
        arm: Its arm.
    """

    has_delay = True

    def __init__(self, node: ManagedNode, arm: Arm) -> None:
        settings = node.settings
        self._node, self._rate = node, settings["rate"]
        self._side: Node = side_node(node, "manager")
        self._manager = manager_of(node, self._side)
        motors = [n for n, motor in zip(arm.joint_names, arm.actuated, strict=True) if motor]
        try:
            self.plan: Plan = plan(
                self._manager.controllers(), motors, settings["ros2_control.effort_controller"]
            )
        except ProjectedControlError:
            self.close()
            raise
        self.wiring = Wiring(
            order=self.plan.joints,
            wrench=settings["ros2_control.wrench"] or self.plan.wrench_topic or "wrench",
            commands=self.plan.commands_topic,
        )

    def delay(self, thread: LoopThread) -> int:
        return delay_from_ages(thread.ages(AGE_SECONDS), self._rate) or 0

    def engage(self) -> None:
        before, wanted = self.plan.deactivate, self.plan.activate
        self._manager.switch(wanted, before)
        if wanted or before:
            self._node.get_logger().info(
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

    def release(self, disturbed: bool = False) -> None:
        self._manager.timeout = min(self._manager.timeout, RELEASE_SECONDS)
        try:
            there = {c.name: c for c in self._manager.controllers()}
            ours = (self.plan.effort_controller,) if disturbed else self.plan.activate
            mine = [n for n in ours if n in there and there[n].active]
            former = [n for n in self.plan.deactivate if n in there and not there[n].active]
            self._manager.switch(former, mine)
            if former:
                self._node.get_logger().info(f"gave the arm back to {', '.join(former)}")
        except ProjectedControlError as error:
            self._node.get_logger().warning(f"the arm was not given back: {error}")
        finally:
            self.close()

    def close(self) -> None:
        self._manager.close()
        self._side.destroy_node()


def manager_of(node: ManagedNode, side: Node) -> ControllerManager:
    """The controller manager of a node's settings."""
    settings = node.settings
    return ControllerManager(
        side, settings["ros2_control.manager"], settings["ros2_control.timeout"]
    )


def reach_for(node: ManagedNode, arm: Arm) -> Reach:
    """What the settings ask for."""
    return Ros2ControlReach(node, arm) if node.settings["hardware"] == "ros2_control" else Reach()

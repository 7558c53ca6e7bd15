"""The kinds of port that a controller node can be told to use, by the parameter ``hardware``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from projected_control.ports.port import Port
from projected_control.registry import Registry


@dataclass(frozen=True)
class PortKind:
    """One kind.

    Attributes:
        name: What ``hardware`` is set to.
        title: What it is, in words.
        factory: ``module:function``, loaded when it is needed, so that naming a kind needs no ROS.
            It is called with the controller node, its node for topics, and the control loop.
        needs_watchdog: Whether a watchdog makes sense, to end a torque when the node dies; else the
            arm's side does something about it by itself.
        needs_limits: Whether the arm is a real one, that does not move without limits.
    """

    name: str
    title: str
    factory: str
    needs_watchdog: bool = True
    needs_limits: bool = False

    @property
    def lets_fall(self) -> bool:
        """Whether a real arm has no torque any more where the node is late."""
        return self.needs_limits and self.needs_watchdog

    def make(self, node: Any, side: Any, loop: Any) -> Port:
        """A port for a controller node, not open yet."""
        module, _, function = self.factory.partition(":")
        make: Callable[..., Port] = getattr(import_module(module), function)
        return make(node, side, loop)


PORTS: Registry[PortKind] = Registry("port", "projected_control.ports")

PORTS.add(
    PortKind(
        "topics",
        "whoever listens on effort_controller/commands",
        "projected_control.ros.topics_port:make_port",
    )
)
PORTS.add(
    PortKind(
        "ros2_control",
        "controllers of ros2_control, which are found, checked and switched",
        "projected_control.ros.ros2_control_port:make_port",
        needs_limits=True,
    )
)
PORTS.add(
    PortKind(
        "plugin",
        "our plugin in the controller manager, which makes the ticks there",
        "projected_control.ros.plugin_port:make_port",
        needs_watchdog=False,
        needs_limits=True,
    )
)

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
    """

    name: str
    title: str
    factory: str

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
    )
)

"""Who else is there when a controller starts, and while it runs."""

from __future__ import annotations

from time import monotonic, sleep
from typing import Any

from rclpy.node import Node
from std_msgs.msg import Header

from projected_control.errors import ProjectedControlError
from projected_control.ros.topics_port import QUEUE
from projected_control.ros.wait_set import drain, unused
from projected_control.settings.nodes import ControllerSettings

NAMESAKE_SECONDS = 0.5
"""How long a controller listens for one of the same name where there may be one [s]."""

NAMELESS_CHECKS = 8
"""In how many checks of an active controller another publisher may have no name.

ROS learns of nodes after their topics: it may be the watchdog. Nobody starts beside it, though.
"""

_NAMELESS = "_NODE_NAME_UNKNOWN_"


class Neighbours:
    """Who else is there: others who command the arm, a controller of the same name, the watchdog.

    Args:
        node: The controller.
        side: Its node for topics, in no executor.
        watchdog: Name of the watchdog it does not run without; empty for none.
    """

    def __init__(self, node: Node, side: Node, watchdog: str) -> None:
        self._node, self._side = node, side
        self._nameless = 0
        self._beat = 0.0
        self._beats: Any = None
        if watchdog:
            self._beats = side.create_subscription(Header, f"{watchdog}/heartbeat", unused, QUEUE)

    def refuse_others(self, commands: str, active: bool) -> None:
        """Raise where somebody but the watchdog publishes on the topic of the commands."""
        topic = self._side.resolve_topic_name(commands)
        others = {
            info.node_name
            for info in self._side.get_publishers_info_by_topic(topic)
            if info.node_name != self._side.get_name() and "watchdog" not in info.node_name
        }
        self._nameless = self._nameless + 1 if active and _NAMELESS in others else 0
        if 0 < self._nameless < NAMELESS_CHECKS:
            others.discard(_NAMELESS)
        if others:
            named = sorted(others - {_NAMELESS}) or ["somebody whose name is not known yet"]
            raise ProjectedControlError(
                f"{', '.join(named)} also commands this arm on {topic}; stop it first"
            )

    def refuse_namesake(self) -> None:
        """Raise beside an active controller of the same name; a dead one keeps silent."""
        topic = f"{self._node.get_name()}/heartbeat"
        if self._side.count_publishers(topic) < 2:
            return
        beats = self._side.create_subscription(Header, topic, unused, QUEUE)
        try:
            give_up = monotonic() + NAMESAKE_SECONDS
            while monotonic() < give_up:
                sleep(0.02)
                if any(beat.frame_id == "active" for beat in drain(beats)):
                    raise ProjectedControlError(
                        f"another {self._node.get_fully_qualified_name()} is active; stop it first"
                    )
        finally:
            self._side.destroy_subscription(beats)

    def require_watchdog(self, settings: ControllerSettings) -> None:
        """Raise where the watchdog, if one is needed, has fallen silent."""
        name, patience = settings.watchdog, settings.limits.watchdog_time
        if not name:
            return
        if self._beats is not None and drain(self._beats):
            self._beat = monotonic()
        if not self._beat:
            raise ProjectedControlError(
                f"there is no watchdog {name}: start effort_watchdog, or set watchdog to nothing"
            )
        if (silent := monotonic() - self._beat) > patience:
            raise ProjectedControlError(f"the watchdog {name} has been silent for {silent:.2f} s")

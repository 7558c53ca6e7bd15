"""Who else is there when a controller starts, and while it runs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from time import monotonic, sleep
from typing import Any

from rclpy.node import Node
from std_msgs.msg import Header

from projected_control.errors import ProjectedControlError
from projected_control.ros.listening_port import QUEUE
from projected_control.ros.wait_set import drain, unused
from projected_control.settings.nodes import ARM, CONTROLLERS, WATCHDOG

DOMAINS = 100  # ROS domains from 1 on, of which one is chosen; higher numbers are short of ports

NAMESAKE_SECONDS = 0.5
"""How long a controller listens for another of the same name, or for a watchdog that was named a
moment ago [s]."""

NAME_SECONDS = 2.0  # how long after its command a node's name may become known [s]

NAMELESS_CHECKS = 8
"""In how many checks of an active controller another publisher may have no name.

ROS learns of nodes after their topics: it may be the watchdog. No controller
starts beside it, though.
"""

NAMELESS = "_NODE_NAME_UNKNOWN_"
"""What the graph of ROS says where it knows a topic's end but not yet its node."""

WATCHING = "watching"
"""The first word of a heartbeat of a watchdog that watches; the second is whom.

What it did to the controller's arm since that was activated follows, after `DEED`."""

DEED = "; "

DEED_SECONDS = 0.15
"""How long a watchdog is listened to that may have done what a controller notices first [s]."""


class AnotherCommander(ProjectedControlError):
    """Another node publishes on the topic of the commands."""


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
        self._watchdog = ""
        self._beats: Any = None
        self._listen_to(watchdog)

    def _listen_to(self, watchdog: str) -> None:
        """Hear this watchdog's heartbeat and no other; from it alone zeros are welcome."""
        if self._beats is not None:
            self._side.destroy_subscription(self._beats)
            self._beats = None
        self._watchdog, self._beat, self._said = watchdog, 0.0, ""
        self._beat_time: float | None = None
        self._welcome = {self._side.get_fully_qualified_name()}
        if watchdog:
            topic = f"{watchdog}/heartbeat"
            self._beats = self._side.create_subscription(Header, topic, unused, QUEUE)
            # The watchdog sends its zeros from a node of its own beside it.
            self._welcome.add(f"{self._beats.topic_name.removesuffix('/heartbeat')}_watch")

    def others(self, commands: str) -> set[str]:
        """Names of the nodes that publish on the topic of the commands, but us and the watchdog."""
        found = set()
        for info in self._side.get_publishers_info_by_topic(self._topic(commands)):
            if info.node_name == NAMELESS:
                found.add(NAMELESS)
            elif (name := f"{info.node_namespace.rstrip('/')}/{info.node_name}") not in (
                self._welcome
            ):
                found.add(name)
        return found

    def refuse_others(self, commands: str, active: bool) -> None:
        """Raise where a node other than the named watchdog publishes on the topic of commands."""
        others = self.others(commands)
        self._nameless = self._nameless + 1 if active and NAMELESS in others else 0
        if 0 < self._nameless < NAMELESS_CHECKS:
            others.discard(NAMELESS)
        if others:
            advice = "stop it first"
            if any("watchdog" in name for name in others):
                advice += ", or name it in the parameter watchdog if it is this controller's"
            raise AnotherCommander(
                f"{_listed(others)} also commands this arm on {self._topic(commands)}; {advice}"
            )

    def foreign_command(self, commands: str, numbers: str) -> ForeignCommand:
        """What these numbers were, which another node commanded, and who it was."""
        return ForeignCommand(self, commands, numbers)

    def blame(self, others: set[str], commands: str, numbers: str) -> str:
        """In words, that these have commanded these numbers beside us."""
        who = _listed(others)
        if not others:
            who = "a node that has gone" + (
                f", or that has the name of {self._watchdog}," if self._watchdog else ""
            )
        return (
            f"{who} also commands this arm on {self._topic(commands)}: "
            f"{numbers} was not sent from here; stop it first"
        )

    def _topic(self, commands: str) -> str:
        return str(self._side.resolve_topic_name(commands))

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

    def require_watchdog(self, name: str, patience: float, time: float | None = None) -> None:
        """Raise where the watchdog, if one is named, is silent [s] or does not watch us.

        Args:
            name: Of the watchdog; empty for none.
            patience: How long it may be silent [s].
            time: Of the arm, by which silence counts in lockstep [s]; None for the clock.
        """
        if name != self._watchdog:
            self._listen_to(name)
            self._await_beat()
        if not name:
            return
        if beats := drain(self._beats):
            self._beat, self._said = monotonic(), beats[-1].frame_id
            self._beat_time = time
        if not self._beat:
            raise ProjectedControlError(
                f"there is no watchdog {name}; start it, with ros2 run projected_control "
                "effort_watchdog or a launch file, or set watchdog to the name of the one that runs"
            )
        state, _, details = self._said.partition(DEED)[0].partition(" ")
        silent = monotonic() - self._beat
        if time is not None and self._beat_time is not None:
            silent = min(silent, time - self._beat_time)
        if silent > patience:
            last = f"; it said last that it is {self._said}" if state != WATCHING else ""
            raise ProjectedControlError(
                f"the watchdog {name} has been silent for {silent:.2f} s{last}"
            )
        if state != WATCHING:
            raise ProjectedControlError(
                f"the watchdog {name} is there but does not watch: {self._said}"
            )
        if details.rpartition("/")[2] != self._node.get_name():
            raise ProjectedControlError(
                f"the watchdog {name} watches {details}, not {self._node.get_name()}; set its "
                "parameter controller"
            )

    def explained(self, noticed: str) -> str:
        """What was noticed of the arm, and that the watchdog did it, if it says so."""
        give_up = monotonic() + DEED_SECONDS
        while self._beats is not None and monotonic() < give_up:
            for beat in drain(self._beats):
                self._beat, self._said = monotonic(), beat.frame_id
            if deed := self._said.partition(DEED)[2]:
                return f"{noticed.partition(':')[0]}: the watchdog {self._watchdog} {deed}"
            sleep(0.02)
        return noticed

    def _await_beat(self) -> None:
        """Give a watchdog that was named a moment ago the time to be heard."""
        give_up = monotonic() + NAMESAKE_SECONDS
        while self._beats is not None and monotonic() < give_up:
            if beats := drain(self._beats):
                self._beat, self._said = monotonic(), beats[-1].frame_id
                return
            sleep(0.02)


class ForeignCommand:
    """A command that was not sent from here, in words that name the sender as soon as ROS knows it.

    ROS may learn of a node after its first message. The run ends without waiting for that.
    """

    def __init__(self, neighbours: Neighbours, commands: str, numbers: str) -> None:
        self._neighbours, self._commands, self._numbers = neighbours, commands, numbers
        self._words, self._until = "", monotonic() + NAME_SECONDS

    def words(self) -> str:
        """With a name, or with none that came in time."""
        if monotonic() < self._until or not self._words:
            others = self._neighbours.others(self._commands)
            self._words = self._neighbours.blame(others, self._commands, self._numbers)
            if others - {NAMELESS}:
                self._until = 0.0  # it stays the one who did it when it leaves
        return self._words


def _listed(names: set[str]) -> str:
    known = sorted(name.lstrip("/") for name in names - {NAMELESS})
    return ", ".join(known) or "a node whose name is not known yet"


def of_ours(names: Iterable[str]) -> list[str]:
    """Those of the nodes that run or watch an arm of this package, each as often as it is there."""
    kinds = {*CONTROLLERS, ARM, WATCHDOG}
    return sorted(name for name in names if name in kinds)


def already_there(others: Iterable[str]) -> str:
    """In words, that these nodes are in this ROS domain, and what to do."""
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    free = 1 + int(domain) % DOMAINS if domain.isdigit() else 1
    return (
        f"{' and '.join(others)} run in ROS domain {domain} already: another demonstration, Gazebo "
        f"or a launch file. End it, or choose another domain (ROS_DOMAIN_ID={free})"
    )

"""Topics and services of every node are those of test/snapshots."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import subprocess
from time import monotonic

from fleet import Fleet
from interface_snapshot import GRAPH, changes, graph, kept, seen, settled
from test_interface import WHAT_TO_DO


def test_no_topic_or_service_changed_without_a_word(fleet: Fleet) -> None:
    found = changes(GRAPH, graph(fleet, kept(GRAPH)))
    nodes = str(sorted(fleet.node.get_node_names_and_namespaces()))
    assert not found, "\n".join([*found, WHAT_TO_DO, nodes, *after(fleet)])


def after(fleet: Fleet) -> list[str]:
    """What is missing a while later, whose participants there are, and which processes."""
    give_up = monotonic() + 20.0
    fleet.until(lambda: monotonic() > give_up, "what comes late")
    late = [f"later: {line}" for line in changes(GRAPH, seen(fleet.node))]
    ends = fleet.node.get_publishers_info_by_topic("/parameter_events")
    nodes = [f"{end.node_name} {bytes(end.endpoint_gid[:12]).hex()}" for end in ends]
    ps = ["ps", "-eo", "pid,ppid,stat,etimes,args"]
    processes = subprocess.run(ps, capture_output=True, text=True, check=True).stdout
    ours = [line for line in processes.splitlines() if "node_template" in line or "--ros" in line]
    return [*late, "participants by their events:", *sorted(nodes), "processes:", *ours]


class Fickle:
    """A graph in which a topic is seen one time and not the next, and who waits for it."""

    looks = 0

    @property
    def node(self):
        return self

    def get_node_names_and_namespaces(self):
        self.looks += 1
        return [("arm", "/")] if self.looks % 2 == 0 else []

    def get_publisher_names_and_types_by_node(self, name, space):
        return [("/states", ["a/msg/State"])]

    def get_subscriber_names_and_types_by_node(self, name, space):
        return []

    get_service_names_and_types_by_node = get_subscriber_names_and_types_by_node

    def until(self, done, what):
        while not done():
            pass


def test_what_was_compared_is_what_is_given() -> None:
    expected = {"arm publishes /states": "a/msg/State"}
    assert settled(Fickle(), expected) == expected

"""Topics and services of every node are those of test/snapshots."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from fleet import Fleet
from interface_snapshot import GRAPH, changes, graph, kept
from test_interface import WHAT_TO_DO


@pytest.mark.long
def test_no_topic_or_service_changed_without_a_word(fleet: Fleet) -> None:
    found = changes(GRAPH, graph(fleet, kept(GRAPH)))
    assert not found, "\n".join([*found, WHAT_TO_DO])

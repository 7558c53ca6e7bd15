"""Who is there is known as soon as all of this computer are heard; else after 3.5 s."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from time import monotonic
from types import SimpleNamespace

from projected_control.ros import transport
from projected_control.ros.transport import avoid_shared_memory

FAST = "rmw_fastrtps_cpp"


@pytest.mark.parametrize(
    ("given", "middleware", "known"),
    [
        ({}, FAST, True),
        ({"ROS_LOCALHOST_ONLY": "1"}, FAST, True),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}, FAST, True),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}, FAST, False),
        ({"ROS_STATIC_PEERS": "10.0.0.2"}, FAST, False),
        ({"ROS_DISCOVERY_SERVER": "127.0.0.1:11811"}, FAST, False),
        ({"FASTRTPS_DEFAULT_PROFILES_FILE": "own.xml"}, FAST, False),
        ({"FASTDDS_DEFAULT_PROFILES_FILE": "own.xml"}, FAST, False),
        ({}, "rmw_zenoh_cpp", False),
        ({}, "rmw_cyclonedds_cpp", False),
    ],
)
def test_where_others_may_be(given, middleware, known):
    """Nodes of other computers cannot be counted; those of other middleware are not known."""
    environment = {"RMW_IMPLEMENTATION": middleware, **given}
    avoid_shared_memory(environment)
    assert transport.only_this_computer(environment, middleware) is known


def test_participants_are_counted_by_their_ports(monkeypatch, tmp_path):
    """Two of domain 3 (each with a port for announcements and one for data), one of domain 4."""
    ports = [8160, 8161, 8162, 8163, 8410, 8411, 8150, 53]
    lines = [f"  1: 0100007F:{port:04X} 00000000:0000 07 rest" for port in ports]
    (tmp_path / "udp").write_text("\n".join(["  sl  local_address rem_address", *lines]))
    monkeypatch.setattr(transport, "SOCKETS", tmp_path / "udp")
    monkeypatch.setenv("ROS_DOMAIN_ID", "3")
    assert transport.listening() == 2


def waited(monkeypatch, listening, heard, also=lambda: True):
    """How long, with what is counted at each look; the longest wait is a second."""
    monkeypatch.setattr(transport, "DISCOVERY_SECONDS", 1.0)
    monkeypatch.setattr(transport, "only_this_computer", lambda *_: True)
    monkeypatch.setattr(transport, "listening", listening)
    ends = lambda topic, no_mangle: [  # noqa: E731
        SimpleNamespace(endpoint_gid=[number] * 12 + [0, 0, 1, each])
        for number in range(heard())
        for each in range(2)
    ]
    began = monotonic()
    node = SimpleNamespace(get_publishers_info_by_topic=ends)
    transport.wait_for_others(node, began, also)
    return monotonic() - began


def test_all_are_heard(monkeypatch):
    assert transport.SETTLED_SECONDS <= waited(monkeypatch, lambda: 3, lambda: 3) < 0.9


@pytest.mark.parametrize("also", [True, False])
def test_one_is_not_heard(monkeypatch, also):
    """Or the watchdog is not."""
    heard = 2 if also else 3
    assert waited(monkeypatch, lambda: 3, lambda: heard, lambda: also) >= 1.0


def test_one_more_comes_meanwhile(monkeypatch):
    """Then all have to be heard for a while again."""
    looks = iter([3] * 5 + [4] * 1000)
    assert waited(monkeypatch, lambda: next(looks), lambda: 3) >= 1.0

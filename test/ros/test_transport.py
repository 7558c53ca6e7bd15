"""How the nodes reach each other: on this computer, and not through shared memory.

A process that is killed or stopped in the midst of a message keeps a lock of Fast DDS's shared
memory, and others wait for it, for seconds. Whether that happens is chance; whether a process has
that memory mapped is not.
"""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import rclpy
from fleet import THREE_LINK, Fleet
from rclpy.context import Context
from rclpy.signals import SignalHandlerOptions

from projected_control.ros.start_and_end import leave
from projected_control.ros.transport import BUILTIN, PROFILES, RANGE, avoid_shared_memory, unheard
from projected_control.settings.nodes import ARM, FORCE, MOTION, WATCHDOG

pytestmark = pytest.mark.whole_starts

SETTINGS = {**THREE_LINK, "lockstep": True, "watchdog": WATCHDOG, "limits.watchdog_time": 10.0}
DOG = {"joints": SETTINGS["joints"], "controller": FORCE, "timeout": 10.0, "diagnostics_rate": 20.0}
LOOPBACK = "0100007F"  # 127.0.0.1 as Linux lists it

NODE = """
import os, sys
from time import monotonic
from projected_control.ros.transport import avoid_shared_memory

avoid_shared_memory()
import rclpy
from std_msgs.msg import Header

rclpy.init()
me, count = sys.argv[1], int(sys.argv[2])
node = rclpy.create_node("node_" + me)
heard = set()
node.create_subscription(Header, "names", lambda m: heard.add(m.frame_id), 100)
publisher = node.create_publisher(Header, "names", 100)
node.create_timer(0.1, lambda: publisher.publish(Header(frame_id=me)))
give_up = monotonic() + 200.0
while len(heard) < count and monotonic() < give_up:
    rclpy.spin_once(node, timeout_sec=0.1)
missing = sorted(set(map(str, range(count))) - heard)
names, listeners = node.get_node_names(), publisher.get_subscription_count()
said = f"not heard: {missing}; known: {sorted(names)}; {listeners} listen"
print(said if missing else "heard all", flush=True)
sys.stdin.read()
"""


def mapped(pid: int) -> set[str]:
    """Files of Fast DDS in shared memory that a process uses."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    return {line.split()[-1] for line in lines if "/dev/shm/fast" in line}


def addresses(pid: int) -> set[str]:
    """Of a process's UDP sockets that others may send to."""
    held = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            held.add(str(link.readlink()))
        except OSError:
            continue
    rows = [line.split() for line in Path(f"/proc/{pid}/net/udp").read_text().splitlines()[1:]]
    return {row[1].split(":")[0] for row in rows if f"socket:[{row[9]}]" in held}


@pytest.mark.parametrize("asked", ["LOCALHOST", "SUBNET"])
def test_no_shared_memory(fleet: Fleet, asked: str) -> None:
    """None of the nodes; and they stay on the loopback interface unless asked otherwise."""
    fleet.environment[RANGE] = asked
    processes = [
        fleet.start(ARM, SETTINGS),
        fleet.start(FORCE, SETTINGS),
        fleet.start(WATCHDOG, DOG),
    ]
    fleet.until_said(FORCE, "following", level=0)
    for process in processes:
        assert mapped(process.pid) == set(), process.kind
        if asked == "LOCALHOST":
            assert addresses(process.pid) == {LOOPBACK}, process.kind


def test_the_users_own_profile_counts(fleet: Fleet) -> None:
    """What the user has told Fast DDS stays as it is: here a profile that says nothing."""
    profile = Path(fleet.environment["ROS_LOG_DIR"], "mine.xml")
    profile.write_text(
        '<profiles xmlns="http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles">'
        '<participant profile_name="mine" is_default_profile="true"/></profiles>'
    )
    fleet.environment[PROFILES[0]] = str(profile)
    arm = fleet.start(ARM, SETTINGS)
    fleet.until_state(ARM, "active")
    assert mapped(arm.pid)


@pytest.mark.parametrize(
    "mine",
    [
        {"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp"},
        {PROFILES[0]: "/mine.xml"},
        {PROFILES[1]: "/mine.xml"},
        {BUILTIN: "DEFAULT"},
        {"ROS_STATIC_PEERS": "192.168.1.7"},
    ],
)
def test_the_users_own_settings_stay(mine: dict[str, str]) -> None:
    environment = dict(mine)
    assert not avoid_shared_memory(environment)
    assert environment == {**mine, RANGE: "LOCALHOST"}


def test_what_is_set_otherwise() -> None:
    here, wide, old = {}, {RANGE: "SUBNET"}, {"ROS_LOCALHOST_ONLY": "1", RANGE: "SUBNET"}
    assert all(map(avoid_shared_memory, (here, wide, old)))
    assert here == old
    assert here[RANGE] == "SYSTEM_DEFAULT"
    assert Path(here[PROFILES[0]]).is_file()
    assert wide == {RANGE: "SUBNET", BUILTIN: "UDPv4"}


def test_a_dozen_processes_find_each_other(fleet: Fleet) -> None:
    """Fast DDS looks for no more than four unless it is told how many there may be."""
    count = 12
    nodes = [
        subprocess.Popen(
            [sys.executable, "-c", NODE, str(i), str(count)],
            env=fleet.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for i in range(count)
    ]
    try:
        said = [node.stdout.readline() for node in nodes if node.stdout is not None]
        assert said == ["heard all\n"] * count, "".join(said)
    finally:
        for node in nodes:
            node.kill()
            node.communicate()


def test_who_was_refused_ends_with_a_status(fleet: Fleet) -> None:
    """A node that did its work ends with 0, one that could not start or had to stop with 1."""
    waiting = fleet.start(MOTION, {**SETTINGS, "lockstep": False, "watchdog": ""})
    fleet.until_said(MOTION, "waiting: no joint state", level=1)
    assert "[INFO]" in next(x for x in waiting.log.splitlines() if "waiting to activate" in x)
    assert "[ERROR]" not in waiting.log  # to wait is none
    assert waiting.end() == 1
    assert "ends without having done its work: no joint state" in waiting.log
    wrong = fleet.start(FORCE, {**SETTINGS, "constraint.frame": "nowhere"})
    fleet.until_said(FORCE, "waiting:", "nowhere", level=1)
    assert wrong.end() == 1
    arm = fleet.start(ARM, SETTINGS)
    fleet.until_state(ARM, "active")
    assert fleet.change(ARM, "deactivate")
    assert arm.end() == 0


def test_a_node_that_nobody_hears_of(fleet: Fleet) -> None:
    """As the one that a starting node asks for its parameters; another, made later, is found."""
    contexts, nodes = [Context(), Context()], []
    try:
        for context, name, guard in zip(
            contexts, ("unheard_node", "heard_node"), (unheard(), nullcontext()), strict=True
        ):
            with guard:
                rclpy.init(
                    context=context,
                    domain_id=fleet.domain,
                    signal_handler_options=SignalHandlerOptions.NO,
                )
            nodes.append(rclpy.create_node(name, context=context))
        fleet.until(lambda: "heard_node" in fleet.node.get_node_names(), "the other one")
        assert "unheard_node" not in fleet.node.get_node_names()
    finally:
        for context, node in zip(contexts, nodes, strict=False):
            leave(context, node)

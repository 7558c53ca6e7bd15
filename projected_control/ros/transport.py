"""The transport of our nodes, and when a node knows who else is there.

Fast DDS sends to processes of the same computer through shared memory unless it is told otherwise.
A process that is killed in the midst of a message leaves a lock of that memory behind, and one that
is stopped (SIGSTOP, a debugger, a swapped-out listener) keeps it: every sender to the same
listener then waits, for seconds. A controller, its watchdog and its arm must not wait for others,
so they stay out of it. Over the loopback interface a message to a process that does not listen is
dropped by the kernel, and no sender waits. docs/safety.md has what it costs.

Nodes hear of each other at once or, often, with the next announcement of DDS, every 3 s. A node
that is to be alone on a topic waits for that, `DISCOVERY_SECONDS` from its beginning. Where all who
can reach it are on this computer, it need not: each of them (a DDS participant) listens at a port
of the domain, which the kernel lists. Once as many are heard as listen, none is missing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.utilities import get_rmw_implementation_identifier

from projected_control.resources import share_file
from projected_control.ros.start_and_end import NAP_SECONDS, pause

RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
LOCALHOST_ONLY = "ROS_LOCALHOST_ONLY"
BUILTIN = "FASTDDS_BUILTIN_TRANSPORTS"
PROFILES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
"""In the environment, by which Fast DDS is told of a profile."""


def avoid_shared_memory(environment: MutableMapping[str, str] | None = None) -> bool:
    """Have this process (and its children) reach others through network interfaces alone.

    Call it before ``rclpy.init``. Topics stay on this computer unless the user has chosen a wider
    `ROS_AUTOMATIC_DISCOVERY_RANGE`. A user's own profile or choice of transports for Fast DDS, his
    list of peers, and every other middleware are left as they are.

    Args:
        environment: To change; that of this process where none is given.

    Returns:
        Whether shared memory is out of the way by our doing.
    """
    env = os.environ if environment is None else environment
    reach = env.setdefault(RANGE, "LOCALHOST")
    if "fastrtps" not in env.get("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp"):
        return False
    if env.get("ROS_STATIC_PEERS") or any(env.get(name) for name in (BUILTIN, *PROFILES)):
        return False
    if reach == "LOCALHOST" or env.get(LOCALHOST_ONLY) == "1":
        # LOCALHOST itself insists on shared memory; the profile stays on this computer as well.
        env[PROFILES[0]] = str(share_file("config", "fastdds_udp.xml"))
        env[RANGE] = "SYSTEM_DEFAULT"  # that is: as the profile says
        env.pop(LOCALHOST_ONLY, None)
    else:
        env[BUILTIN] = "UDPv4"
    return True


@contextmanager
def unheard() -> Iterator[None]:
    """A context that is initialised meanwhile finds no other node, and is found by none."""
    before = os.environ.get(RANGE)
    os.environ[RANGE] = "OFF"
    try:
        yield
    finally:
        if before is None:
            del os.environ[RANGE]
        else:
            os.environ[RANGE] = before


def let_arrive(publisher: Any, seconds: float) -> bool:
    """Wait until all listeners have what was published, but no longer than this [s]; whether so.

    A dead or hung listener acknowledges nothing. To wait inside rclpy would keep the interpreter's
    lock, and with it every other thread of the process.
    """
    give_up = monotonic() + seconds
    while not publisher.wait_for_all_acked(Duration()):
        if monotonic() > give_up:
            return False
        sleep(0.005)
    return True


DISCOVERY_SECONDS = 3.5
"""How old a node must be to know who else is there, where it cannot tell by counting [s].

Also how long a node that is told to activate, and will not try again by itself, waits for its arm.
"""

SETTLED_SECONDS = 0.3
"""How long all must have been heard: what they publish and their names come after them [s].

Measured: 0.07 to 0.09 s.
"""

FIRST_PORT, PORTS, FIRST_METATRAFFIC = 7400, 250, 10
"""Of the DDS wire protocol: ports of domain 0 begin here, each domain has so many, and participants
listen to announcements at every second one from here on."""

SOCKETS = Path("/proc/net/udp")
"""Where the kernel lists all UDP sockets of this computer (of this network namespace)."""

PARTICIPANTS = "ros_discovery_info"
"""Topic of the middleware on which every participant of ROS publishes."""

GUID_PREFIX = 12  # bytes of an end's identifier that say of which participant it is


def wait_for_others(node: Node, born: float, also: Callable[[], bool]) -> None:
    """Wait until a node knows who else is there: all are heard, or it is old enough.

    Args:
        node: Any of the process.
        born: When its first one was made, on the monotonic clock [s].
        also: What must be true besides, before it is old enough.

    Raises:
        StartInterrupted: Where the process is told to end meanwhile.
    """
    local = only_this_computer(os.environ, get_rmw_implementation_identifier())
    since: float | None = None
    while (now := monotonic()) < born + DISCOVERY_SECONDS:
        heard = local and listening() <= heard_participants(node) and also()
        since = (now if since is None else since) if heard else None
        if since is not None and now >= since + SETTLED_SECONDS:
            return
        pause(min(NAP_SECONDS, born + DISCOVERY_SECONDS - now))


def only_this_computer(environment: Mapping[str, str], middleware: str) -> bool:
    """Whether nodes of other computers can neither hear nor reach those of this one.

    This is known of Fast DDS with our profile (`avoid_shared_memory`); of any other it is not.
    """
    ours = {RANGE: "SYSTEM_DEFAULT", PROFILES[0]: str(share_file("config", "fastdds_udp.xml"))}
    others = (PROFILES[1], "ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER")
    return (
        "fastrtps" in middleware
        and all(environment.get(name) == value for name, value in ours.items())
        and not any(environment.get(name) for name in others)
    )


def listening() -> int:
    """How many participants of this domain listen on this computer, this process's included."""
    domain = os.environ.get("ROS_DOMAIN_ID", "") or "0"
    begin = FIRST_PORT + PORTS * int(domain) + FIRST_METATRAFFIC
    ports = range(begin, begin - FIRST_METATRAFFIC + PORTS, 2)
    lines = SOCKETS.read_text(encoding="ascii").splitlines()[1:]
    return len({int(line.split()[1].rpartition(":")[2], 16) for line in lines} & {*ports})


def heard_participants(node: Node) -> int:
    """How many participants a node knows, its own included."""
    ends = node.get_publishers_info_by_topic(PARTICIPANTS, no_mangle=True)
    return len({bytes(end.endpoint_gid[:GUID_PREFIX]) for end in ends})

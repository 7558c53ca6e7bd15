"""The transport of our nodes: the loopback interface, and no shared memory.

Fast DDS sends to processes of the same computer through shared memory unless it is told otherwise.
A process that is killed in the midst of a message leaves a lock of that memory behind, and one that
is stopped (SIGSTOP, a debugger, a swapped-out listener) keeps it: every sender to the same
listener then waits, for seconds. A controller, its watchdog and its arm must not wait for others,
so they stay out of it. Over the loopback interface a message to a process that does not listen is
dropped by the kernel, and no sender waits. docs/safety.md has what it costs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any

from rclpy.duration import Duration

from projected_control.resources import share_file

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

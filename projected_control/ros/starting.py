"""A node that is told to end while it starts: it waits for nothing any longer.

To start may take long: kernels are compiled, a description, a state or a controller manager is
waited for. Nothing has been sent to the arm by then, so that there is nothing to see to. What
takes an arm over or leaves it, on the other hand, takes the time it needs, also while the node
starts (`to_the_end`: `interrupted` is then never true).

The description is awaited here, on the latched topic on which robot_state_publisher offers it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from time import monotonic, sleep

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from projected_control.errors import ProjectedControlError
from projected_control.ros.wait_set import drain, side_node, unused

NAP_SECONDS = 0.02
"""How often a pause looks whether to end [s]."""


class StartInterrupted(BaseException):
    """The node was told to end before it had started. No `Exception`, so that nothing keeps it."""


class _Process:
    """Of this process, in its main thread: whether it is to end, starts, or computes to start."""

    told = starts = computes = False


def tell_to_end() -> None:
    """The process is to end; a start that computes ends here. For a handler of signals."""
    _Process.told = True
    if _Process.computes:
        _Process.computes = False
        raise StartInterrupted("told to end")


@contextlib.contextmanager
def starting(computes: bool = False) -> Iterator[None]:
    """What is done meanwhile is given up when the process is told to end.

    Args:
        computes: Whether wherever it is. Else it looks itself, by `interrupted` or `pause`.
    """
    before = _Process.starts, _Process.computes
    _Process.starts, _Process.computes = True, computes
    try:
        if computes and _Process.told:
            raise StartInterrupted("told to end")
        yield
    finally:
        _Process.starts, _Process.computes = before


@contextlib.contextmanager
def to_the_end() -> Iterator[None]:
    """What is done meanwhile is not given up, also where this is a start: others hold the arm."""
    before = _Process.starts, _Process.computes
    _Process.starts = _Process.computes = False
    try:
        yield
    finally:
        _Process.starts, _Process.computes = before


def interrupted() -> bool:
    """Whether to give up: this is a start, and the process was told to end."""
    return _Process.starts and _Process.told


def pause(seconds: float) -> None:
    """Sleep.

    Raises:
        StartInterrupted: Where the process is told to end meanwhile.
    """
    give_up = monotonic() + seconds
    while True:
        if interrupted():
            raise StartInterrupted("told to end")
        left = give_up - monotonic()
        if left <= 0.0:
            return
        sleep(min(left, NAP_SECONDS))


TOPIC = "robot_description"
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

DESCRIPTION_SECONDS = 2.0
"""How long a configuration waits for the description [s]."""


def description_from_topic(node: Node, seconds: float = DESCRIPTION_SECONDS) -> str:
    """The URDF that is published; raises where none is for so long."""
    side = side_node(node, "description")
    topic = side.resolve_topic_name(TOPIC)
    try:
        subscription = side.create_subscription(String, TOPIC, unused, LATCHED)
        give_up = monotonic() + seconds
        while monotonic() < give_up and not interrupted():
            if messages := [m.data for m in drain(subscription) if m.data.strip()]:
                return str(messages[-1])
            sleep(0.02)
    finally:
        side.destroy_node()
    raise ProjectedControlError(
        f"no arm is described: neither robot_description nor robot_description_file is given, and "
        f"nobody has published on {topic} within {seconds:g} s"
    )

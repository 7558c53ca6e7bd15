"""How a node starts, and how it leaves ROS: without waiting for what it needs no more, or hanging.

Told to end while it starts, it waits for nothing any longer. To start may take long: a description,
a state or a controller manager is waited for. Nothing has been sent to the arm by then, so that
there is nothing to see to. What takes an arm over or leaves it, on the other hand, takes the time
it needs, also while the node starts (`to_the_end`: `interrupted` is then never true). The
description is awaited here, on the latched topic on which robot_state_publisher offers it.

Fast DDS 2.14, built as the ROS wheels have it, hangs for good when a participant is destroyed just
while one of its threads tells of another node's coming or going: the thread that destroys waits for
that news to be over, with the lock that the news needs to get there (its condition variable is to
wait until the end of time, which overflows, so that it does not wait but spins). Python's own lock
is kept meanwhile, so that no signal and no other thread of Python gets anywhere. It was seen in
two of nine thousand ends that met with another node's. So an application leaves when nothing has
come or gone for a moment (`leave`). A node that ends may not wait for others, who may end because
of the same Ctrl+C: where it hangs, its process is ended from outside of Python (`ending`). By then
it has left its arm.
"""

from __future__ import annotations

import contextlib
import faulthandler
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any

from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from projected_control.errors import ProjectedControlError
from projected_control.ros.wait_set import drain, side_node, unused

NAP_SECONDS = 0.02  # how often a pause looks whether to end [s]


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

DESCRIPTION_SECONDS = 2.0  # how long a configuration waits for the description [s]


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
        f"no node has published on {topic} within {seconds:g} s"
    )


QUIET_SECONDS = 0.1  # for which nothing has come or gone before one leaves [s]
PATIENCE_SECONDS = 2.0  # how long that is waited for [s]

END_SECONDS = 3.0
"""How long the end of a node may take, which takes some hundredths of a second [s]."""


def leave(context: Context, *nodes: Node) -> None:
    """Destroy the nodes of a context, and shut it down, in a quiet moment."""
    _await_quiet(nodes[0])
    for node in nodes:
        node.destroy_node()
    context.try_shutdown()


@contextmanager
def ending() -> Iterator[None]:
    """End the process where this takes too long, with status 1 and what its threads were at."""
    faulthandler.dump_traceback_later(END_SECONDS, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def _await_quiet(node: Node) -> None:
    give_up = monotonic() + PATIENCE_SECONDS
    seen, since = _there(node), monotonic()
    while monotonic() - since < QUIET_SECONDS and monotonic() < give_up:
        sleep(0.01)
        if (now := _there(node)) != seen:
            seen, since = now, monotonic()


def _there(node: Node) -> Any:
    """Who and what is in the graph."""
    return sorted(node.get_node_names()), sorted(name for name, _ in _topics(node))


def _topics(node: Node) -> Any:
    return node.get_topic_names_and_types(no_demangle=True)

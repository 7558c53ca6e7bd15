"""Leaving ROS, without hanging there.

Fast DDS 2.14, built as the ROS wheels have it, hangs for good when a participant is destroyed just
while one of its threads tells of another node's coming or going: the thread that destroys waits for
that news to be over, with the lock that the news needs to get there (its condition variable is to
wait until the end of time, which overflows, so that it does not wait but spins). Python's own lock
is kept meanwhile, so that no signal and no other thread of Python gets anywhere. It was seen in
two of nine thousand ends that met with another node's.

An application leaves when nothing has come or gone for a moment (`leave`). A node that ends may
not wait for others, who may end because of the same Ctrl+C: where it hangs, its process is ended
from outside of Python (`ending`). By then it has left its arm.
"""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any

from rclpy.context import Context
from rclpy.node import Node

QUIET_SECONDS = 0.1
"""For which nothing has come or gone before one leaves [s]."""

PATIENCE_SECONDS = 2.0
"""How long that is waited for [s]."""

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

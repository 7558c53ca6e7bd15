"""Waiting for messages in a thread of one's own.

An executor spends more time on finding out what to call than a control tick takes. A loop that
waits for one or two topics is better off with its own wait set, which is built once, on a node
that no executor spins.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import rclpy
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node


class Inbox:
    """Subscriptions that are waited for and read without an executor.

    Args:
        node: In no executor.
        subscriptions: Made on that node, with callbacks that are never called.
        besides: More of them, which are read but not waited for; numbered after the others.
    """

    def __init__(
        self, node: Node, subscriptions: Sequence[Any], besides: Sequence[Any] = ()
    ) -> None:
        self._node = node
        self._waited = list(subscriptions)
        self._subscriptions = [*subscriptions, *besides]
        self._wake = node.create_guard_condition(lambda: None)
        self._context = node.context
        self._entered: list[Any] = []
        self._wait_set: Any = None
        self.closed = False

    def __enter__(self) -> Inbox:
        handles = [
            *(s.handle for s in self._subscriptions),
            self._wake.handle,
            self._context.handle,
        ]
        for handle in handles:
            handle.__enter__()
            self._entered.append(handle)
        count = len(self._subscriptions)
        self._wait_set = _rclpy.WaitSet(count, 1, 0, 0, 0, 0, self._context.handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._wait_set = None
        for handle in reversed(self._entered):
            handle.__exit__(None, None, None)
        self._entered.clear()

    def wait(self, seconds: float, besides: bool = False) -> bool:
        """Sleep until a message is there, `close` is called, or the time has passed.

        Args:
            seconds: How long at most [s].
            besides: Wake up for the subscriptions that are not waited for otherwise, too.
        """
        wait_set = self._wait_set
        wait_set.clear_entities()
        for subscription in self._subscriptions if besides else self._waited:
            wait_set.add_subscription(subscription.handle)
        wait_set.add_guard_condition(self._wake.handle)
        wait_set.wait(int(seconds * 1e9))
        return bool(wait_set.get_ready_entities("subscription"))

    def take(self, which: int) -> Any | None:
        """The oldest message of a subscription that has not been read, or None.

        As bytes if the subscription is a raw one.
        """
        subscription = self._subscriptions[which]
        taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
        return None if taken is None else taken[0]

    def unread(self, which: int) -> list[Any]:
        """All messages of a subscription that have not been read, the newest first."""
        messages: list[Any] = []
        while (taken := self.take(which)) is not None:
            messages.append(taken)
        messages.reverse()
        return messages

    def wake(self) -> None:
        """Wake a waiting thread; from any thread."""
        self._wake.trigger()

    def close(self) -> None:
        """Wake a waiting thread for the last time; from any thread."""
        self.closed = True
        self._wake.trigger()

    def destroy(self) -> None:
        """Give back what was made on the node, when no thread waits any more."""
        self._node.destroy_guard_condition(self._wake)


class Worker(ABC):
    """A thread that lives on messages.

    Args:
        node: In no executor.
        name: Name of the thread.
        subscriptions: What it waits for, made on that node.
        besides: What it reads without waiting for it.
    """

    def __init__(
        self, node: Node, name: str, subscriptions: Sequence[Any], besides: Sequence[Any] = ()
    ) -> None:
        self._node = node
        self._inbox = Inbox(node, subscriptions, besides)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Work from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Stop working; returns when the thread has ended."""
        self._inbox.close()
        if self._thread.is_alive():
            self._thread.join()
        self._inbox.destroy()

    @abstractmethod
    def _run(self) -> None:
        """In the thread, until `self._inbox.closed`."""


def side_node(node: Node, suffix: str) -> Node:
    """A node beside a node, for the topics of a thread: no executor, no parameters, no log."""
    name = f"{node.get_name()}_{suffix}"
    return rclpy.create_node(
        name,
        namespace=node.get_namespace(),
        cli_args=["--ros-args", "-r", f"__node:={name}"],
        start_parameter_services=False,
        enable_rosout=False,
    )


def drain(subscription: Any) -> list[Any]:
    """All messages that have come to a subscription, the oldest first."""
    messages: list[Any] = []
    handle = subscription.handle
    with handle:
        while (taken := handle.take_message(subscription.msg_type, subscription.raw)) is not None:
            messages.append(taken[0])
    return messages


def unused(_: Any) -> None:
    """The callback of a subscription that is read without an executor; never called."""

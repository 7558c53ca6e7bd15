"""What the live page shows of a demonstration, and what it may ask for: another task.

Demonstration and page are two processes. They talk over a pair of sockets, one line of JSON per
message: the demonstration says which task runs and what is going on, the page asks for another one.
"""

from __future__ import annotations

import json
import select
import socket
from collections.abc import Mapping
from typing import Any

LINE_BYTES = 4096
"""A line is never longer [bytes]."""


class Board:
    """The demonstration's end.

    Args:
        tasks: What can be shown, by name, each with what it is called.
        task: The one that is shown first.

    Attributes:
        far: The page's end, for its process.
    """

    def __init__(self, tasks: Mapping[str, str], task: str) -> None:
        self._near, self.far = socket.socketpair()
        self._near.setblocking(False)
        self._rest, self._open = b"", True
        self._state: dict[str, Any] = {"tasks": dict(tasks), "task": task}
        self.shown(task)

    def shown(self, task: str, trouble: str = "") -> None:
        """A task runs from now on; `trouble` says why it is not the one that was asked for."""
        self._state |= {"task": task, "switching": "", "trouble": trouble}
        self._tell()

    def switching(self, task: str) -> None:
        """Another one is being started."""
        self._state |= {"switching": task, "trouble": ""}
        self._tell()

    def _tell(self) -> None:
        try:
            self._near.sendall(json.dumps(self._state).encode() + b"\n")
        except OSError:  # the page has ended, or does not read: it is told of by its process
            return

    def wanted(self, seconds: float = 0.0) -> str:
        """The task that the page asks for; empty where it asks for none within these seconds."""
        if not self._open or not select.select([self._near], [], [], seconds)[0]:
            return ""
        try:
            heard = self._near.recv(LINE_BYTES)
        except OSError:
            heard = b""
        self._open = bool(heard)  # or the page has ended
        self._rest += heard
        *lines, self._rest = self._rest.split(b"\n")
        asked = [json.loads(line)["task"] for line in lines]
        known = [task for task in asked if task in self._state["tasks"]]
        return known[-1] if known and known[-1] != self._state["task"] else ""

    def close(self) -> None:
        """Nothing is told or asked any more."""
        self._near.close()
        self.far.close()

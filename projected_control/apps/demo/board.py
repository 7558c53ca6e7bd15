"""What the live page shows of a demonstration, and what it may ask for: another task.

Demonstration and page are two processes. They talk over a pair of sockets, one line of JSON per
message: the demonstration says which task runs and what is going on, the page asks for another one.
"""

from __future__ import annotations

import asyncio
import json
import select
import socket
from collections.abc import Mapping
from typing import Any

from projected_control.errors import InvalidValue, UnknownName

LINE_BYTES = 4096  # a line is never longer [bytes]


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


class DemoLink:
    """The page's end, in its event loop.

    Args:
        descriptor: Of the socket that it was started with.

    Attributes:
        state: What the demonstration says: ``tasks`` by name, the ``task`` that runs, the one it is
            ``switching`` to, and ``trouble`` where that failed; None before it has said anything.
    """

    def __init__(self, descriptor: int) -> None:
        try:
            self._socket = socket.socket(fileno=descriptor)
        except (OSError, ValueError) as error:
            raise InvalidValue(
                f"--demo {descriptor} is no socket of a demonstration ({error}): it is for "
                "projected-control demo, leave it out"
            ) from None
        self._socket.setblocking(False)
        self._rest = b""
        self.state: dict[str, Any] | None = None
        asyncio.get_running_loop().add_reader(self._socket, self._read)

    def _read(self) -> None:
        heard = self._socket.recv(65536)
        if not heard:  # the demonstration has ended, and ends this process
            asyncio.get_running_loop().remove_reader(self._socket)
            self.state = None
            return
        *lines, self._rest = (self._rest + heard).split(b"\n")
        if lines:
            self.state = json.loads(lines[-1])

    def ask(self, task: str) -> str:
        """Ask for another task; what it is called.

        Raises:
            UnknownName: Where the demonstration has no such task.
            InvalidValue: Where it runs already, or another one is being started.
        """
        if self.state is None:
            raise InvalidValue("the demonstration does not say what it can show")
        tasks = self.state["tasks"]
        if task not in tasks:
            raise UnknownName("task of the demonstration", task, tasks)
        if switching := self.state["switching"]:
            raise InvalidValue(f"{switching} is being started: wait until it runs")
        if task == self.state["task"]:
            raise InvalidValue(f"{task} runs already")
        self._socket.sendall(json.dumps({"task": task}).encode() + b"\n")
        self.state = {**self.state, "switching": task}
        return str(tasks[task])

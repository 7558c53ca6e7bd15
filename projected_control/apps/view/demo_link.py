"""The page of a demonstration asks it for another task, and shows what it says of itself."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

from projected_control.errors import InvalidValue, UnknownName


class DemoLink:
    """The page's end of the demonstration's board (see `apps.demo.board`).

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

"""Processes that bear a mark in their environment: all that a command has started, orphans too."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from time import monotonic, sleep

PATIENCE = 60.0
"""How long processes may take to come or to go [s]. Only a failing test waits that long."""


class Mark:
    """A mark, to be put into the environment of a command.

    Attributes:
        environment: Of this process, and the mark.
    """

    def __init__(self) -> None:
        self._line = f"TEST_MARK={uuid.uuid4().hex}".encode()
        name, _, value = self._line.decode().partition("=")
        self.environment = {**os.environ, name: value}

    def processes(self) -> dict[int, str]:
        """Those that bear it and are alive, with their command lines."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if self._line not in (folder / "environ").read_bytes().split(b"\0"):
                    continue
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
            except OSError:  # it ended meanwhile
                continue
            if state != "Z":
                found[int(folder.name)] = words.decode(errors="replace").strip()
        return found

    def until(self, *words: str) -> None:
        """Wait until each of the words is in a command line; without any, until all have ended."""
        give_up = monotonic() + PATIENCE
        while True:
            lines = self.processes().values()
            if all(any(word in line for line in lines) for word in words) if words else not lines:
                return
            assert monotonic() < give_up, f"waited for {words or 'the end'}: {sorted(lines)}"
            sleep(0.02)

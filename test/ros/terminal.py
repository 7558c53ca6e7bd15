"""A process on a terminal of its own."""

from __future__ import annotations

import os
import pty
import subprocess
from contextlib import suppress
from threading import Thread
from time import monotonic, sleep

PATIENCE = 240.0
"""How long something may take to be said [s]. Only a failing test ever waits that long."""


class Terminal:
    """A process on a terminal of its own."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._end, other = pty.openpty()
        self.process = subprocess.Popen(
            command, stdin=other, stdout=other, stderr=other, env=environment
        )
        os.close(other)
        self.text = ""
        self._reading = Thread(target=self._read, daemon=True)  # or it waits for its reader
        self._reading.start()

    def _read(self) -> None:
        with suppress(OSError):  # its process has ended
            while piece := os.read(self._end, 65536):
                self.text += piece.decode(errors="replace")

    def until(self, words: str) -> None:
        """Read on until it says so."""
        give_up = monotonic() + PATIENCE
        while words not in self.text:
            assert monotonic() < give_up, self.text[-2000:]
            sleep(0.05)

    def enter(self) -> None:
        os.write(self._end, b"\n")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30.0)
        self._reading.join(5.0)
        os.close(self._end)

"""A node in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic, sleep

from node_template import Template

from projected_control.with_parent import tied

PATIENCE = 90.0
"""How long a condition may take [s]. Only a failing test ever waits that long."""


class _Forked:
    """The part of Popen's interface that a fork of the template offers."""

    def __init__(self, template: Template, pid: int) -> None:
        self._template, self.pid = template, pid
        self._status: int | None = None

    def poll(self) -> int | None:
        if self._status is None:
            self._status = self._template.status(self.pid)
        return self._status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float = PATIENCE) -> int:
        give_up = monotonic() + timeout
        while (status := self.poll()) is None:
            if monotonic() > give_up:
                raise subprocess.TimeoutExpired("a node", timeout)
            sleep(0.005)
        return status


class Process:
    """A node in a process of its own.

    Args:
        kind: Which.
        arguments: After ``--ros-args``.
        environment: Complete.
        log: Where its output goes.
        template: What it is forked from, where that fits; without one it starts as a command.

    Attributes:
        may_end: Whether its end is no surprise.
    """

    def __init__(
        self,
        kind: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        template: Template | None = None,
    ) -> None:
        self.kind, self._log = kind, log
        self.may_end = False
        self._process: _Forked | subprocess.Popen[bytes]
        if template is not None and template.fits(environment):
            self._process = _Forked(template, template.start(kind, arguments, environment, log))
            return
        command = [sys.executable, "-m", "projected_control.ros", kind, "--ros-args"]
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                tied([*command, *arguments]),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def log(self) -> str:
        """All it has printed."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def signal(self, number: int) -> None:
        """Send it a signal that ends it."""
        self.may_end = True
        self._process.send_signal(number)

    def wait(self, seconds: float = PATIENCE) -> int:
        """Its exit status."""
        return self._process.wait(seconds)

    def kill(self) -> None:
        """kill -9, and reap it."""
        self.may_end = True
        self._process.kill()
        self._process.wait()

    def end(self) -> int:
        """Ask it to end; its exit status. Killed if it does not listen."""
        if self.alive:
            self.signal(signal.SIGINT)
        try:
            return self.wait(20.0)
        except subprocess.TimeoutExpired:
            self.kill()
            return -signal.SIGKILL

"""Node processes that are started together and always end together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from projected_control.errors import ProjectedControlError
from projected_control.with_parent import end, started

GRACE_SECONDS = 5.0  # how long a node may take to end after SIGINT before it is killed [s]


class Fleet:
    """Processes of this package's nodes, each with a log file.

    Args:
        folder: For the logs.
        environment: On top of this process's own.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = {**os.environ, **environment}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._killed: list[subprocess.Popen[bytes]] = []

    def start(self, node: str, arguments: Sequence[str]) -> None:
        command = [sys.executable, "-m", "projected_control.ros", node, "--ros-args", *arguments]
        with (self._folder / f"{node}.log").open("wb") as log:
            self._running[node] = started(
                command, env=self._environment, stdout=log, stderr=subprocess.STDOUT
            )

    def ended(self) -> dict[str, str]:
        """The nodes that have died, each with the end of its log."""
        return {
            node: f"{node} ended with status {status}; its last words: {self.tail(node)}"
            for node, process in self._running.items()
            if (status := process.poll()) is not None
        }

    def check(self) -> None:
        """Raise if a node has died, with the end of its log."""
        for reason in self.ended().values():
            raise ProjectedControlError(reason)

    def tail(self, node: str, lines: int = 3) -> str:
        """The end of a node's log."""
        log = (self._folder / f"{node}.log").read_text(encoding="utf-8", errors="replace")
        return " / ".join(log.strip().splitlines()[-lines:]) or "none"

    def runs(self, node: str) -> bool:
        """Whether a node was started and has not been killed."""
        return node in self._running

    def pid(self, node: str) -> int:
        return self._running[node].pid

    def kill(self, node: str) -> None:
        """kill -9, for those who want to see the watchdog at work; nothing where it is dead."""
        process = self._running.pop(node, None)
        if process is not None:
            process.kill()  # the moment counts: it is reaped later
            self._killed.append(process)

    def hang(self, node: str) -> None:
        """SIGSTOP: it is there, and does nothing."""
        self._running[node].send_signal(signal.SIGSTOP)

    def stop(self) -> None:
        """End all nodes, the controllers first; kill those that do not listen."""
        end([*reversed(self._running.values())], {signal.SIGINT: GRACE_SECONDS})
        self._running.clear()
        for process in self._killed:
            process.wait()
        self._killed.clear()


def processor_time(pid: int) -> float:
    """Of a process, all its threads, user and system [s]."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

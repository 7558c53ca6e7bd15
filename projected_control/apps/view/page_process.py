"""The page as the process of another program: of the demonstration, of a measurement."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import urlsplit

from projected_control.apps.fleet.node_processes import processor_time
from projected_control.errors import ProjectedControlError
from projected_control.with_parent import end, started

START_SECONDS = 60.0  # how long the page may take to be served [s]
END_SECONDS = 5.0  # how long it may take to end [s]


def has_display() -> bool:
    """Whether a browser could show itself here."""
    if sys.platform == "darwin":
        return not os.environ.get("SSH_CONNECTION")
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def way_there(address: str) -> str:
    """How to reach a page of this computer from where the user sits; empty where that is here."""
    if not os.environ.get("SSH_CONNECTION"):
        return ""
    port = urlsplit(address).port
    return f"From where you sit: ssh -L {port}:localhost:{port} {socket.gethostname()}"


class PageProcess:
    """``projected-control view`` as a process, which ends with this object.

    Args:
        folder: For its address and its log.
        environment: Complete.
        control: Whether it may send.
        browser: Whether it opens itself in one.
        demo: Its socket to the demonstration whose page it is; None for no such.
    """

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        control: bool = False,
        browser: bool = False,
        demo: socket.socket | None = None,
    ) -> None:
        self._address, self._log = folder / "view.address", folder / "view.log"
        self._address.unlink(missing_ok=True)
        command = [sys.executable, "-m", "projected_control.apps.cli", "view"]
        command += ["--address-file", str(self._address.resolve())]
        command += ["--control"] if control else []
        command += [] if browser else ["--no-browser"]
        handed = () if demo is None else (demo.fileno(),)
        command += [f"--demo={number}" for number in handed]
        self._log.unlink(missing_ok=True)
        self._log.touch(mode=0o600)  # it holds the token
        with self._log.open("wb") as log:
            self._process = started(
                command,
                env=dict(environment),
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=handed,
            )

    def __enter__(self) -> PageProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def address(self, seconds: float = START_SECONDS) -> str:
        """Its address with its token; waits until it is served."""
        give_up = monotonic() + seconds
        while True:
            text = self._address.read_text(encoding="utf-8") if self._address.exists() else ""
            if text.endswith("\n"):
                return text.strip()
            status = self._process.poll()
            if status is not None or monotonic() > give_up:
                words = self._log.read_text(encoding="utf-8", errors="replace").strip()
                last = words.splitlines()[-1:] or ["none"]
                what = (
                    f"its process ended with status {status}"
                    if status is not None
                    else f"it did not come up within {seconds:g} s; is this computer busy?"
                )
                raise ProjectedControlError(
                    f"the page is not served: {what} (its last words: {last[0]})"
                )
            sleep(0.05)

    def memory(self) -> float:
        """What it holds in memory [MB]."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        (line,) = [line for line in status.splitlines() if line.startswith("VmRSS:")]
        return float(line.split()[1]) / 1024.0

    def cpu_seconds(self) -> float:
        """Processor time that it has used [s]."""
        return processor_time(self._process.pid)

    def close(self) -> None:
        end([self._process], {signal.SIGTERM: END_SECONDS})
        self._address.unlink(missing_ok=True)  # its token is worth nothing any more

"""The processes of ``bench view``: a controller on its arm, the live page, and clients."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any

from projected_control.apps.bench.view import by_minute
from projected_control.apps.demo.case import settings_for
from projected_control.apps.fleet.monitor import Monitor
from projected_control.apps.fleet.node_processes import Fleet
from projected_control.apps.view.page_process import PageProcess
from projected_control.errors import ProjectedControlError
from projected_control.ros.transport import avoid_shared_memory
from projected_control.settings.nodes import ARM, WATCHDOG
from projected_control.with_parent import tied

START_SECONDS = 600.0
"""How long the controller may take to move its arm [s]."""

SETTLE_SECONDS = 4.0
"""From the start of page and clients, or their end, to the beginning of a turn [s]."""

LOOK_BACK = 2.5
"""How far the latencies on /diagnostics look back, and a little more [s]."""


class ViewScene:
    """A loop that can be looked at.

    Args:
        folder: For parameters and logs.
    """

    def __init__(self, folder: Path) -> None:
        settings = settings_for("force", 1.0, "paper", False, {})
        self._controller, self._folder = settings.case.node, folder
        self._file = folder / "parameters.yaml"
        self._file.write_text(settings.parameter_file(), encoding="utf-8")
        domain = os.environ.get("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))
        os.environ["ROS_DOMAIN_ID"] = domain
        avoid_shared_memory()
        self._fleet = Fleet(folder, {"ROS_DOMAIN_ID": domain})
        self._monitor = Monitor(self._controller)

    def __enter__(self) -> ViewScene:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._fleet.stop()
        self._monitor.close()

    def start(self) -> None:
        """Until the arm moves."""
        for node in (self._controller, WATCHDOG):
            self._fleet.start(node, ["--params-file", str(self._file)])
        began = monotonic()
        while not self._monitor.connected() and monotonic() - began < START_SECONDS:
            self._listen(0.05)
        self._fleet.start(ARM, ["--params-file", str(self._file)])
        while not self._monitor.time:
            self._listen(0.1)
            if monotonic() - began > START_SECONDS:
                raise ProjectedControlError(
                    f"the controller did not start: {self._fleet.tail(self._controller)}"
                )
        self._listen(SETTLE_SECONDS)

    def _listen(self, seconds: float) -> None:
        self._monitor.spin(seconds)
        self._monitor.forget()
        self._fleet.check()

    def alone(self, seconds: float) -> dict[str, Any]:
        """A turn without the page."""
        measured = self._measure(seconds)
        return {**measured, "missed": by_minute(measured["missed"], seconds), "clients": 0}

    def with_clients(self, seconds: float) -> dict[str, Any]:
        """A turn with the page and two clients, one of which leaves in the middle."""
        with PageProcess(self._folder, dict(os.environ), control=True) as page:
            address = page.address()
            clients = [self._client(address, i) for i in range(2)]
            try:
                self._listen(SETTLE_SECONDS)
                first, busy = page.memory(), page.cpu_seconds()
                halves = [self._measure(0.5 * seconds)]
                clients[0].kill()  # without a word
                halves.append(self._measure(0.5 * seconds))
                last, busy = page.memory(), page.cpu_seconds() - busy
            finally:
                for client in clients:
                    client.terminate()
                pictures = sum(self._seen(client) for client in clients)
        self._listen(SETTLE_SECONDS)
        later = [(0.5 * seconds + when, count) for when, count in halves[1]["missed"]]
        return {
            "p50": [*halves[0]["p50"], *halves[1]["p50"]],
            "p99": [*halves[0]["p99"], *halves[1]["p99"]],
            "missed": by_minute([*halves[0]["missed"], *later], seconds),
            "seconds": seconds,
            "clients": 2,
            "memory": (first, last),
            "cpu": 100.0 * busy / seconds,
            "pictures": pictures,
        }

    def _client(self, address: str, number: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "projected_control.apps.bench.view_client", address]
        return subprocess.Popen(tied(command), stdout=subprocess.PIPE)

    def _seen(self, client: subprocess.Popen[bytes]) -> int:
        out, _ = client.communicate(timeout=20.0)
        return int(out or b"0")

    def _measure(self, seconds: float) -> dict[str, Any]:
        """Latencies and missed deadlines of a while, as the controller itself says."""
        p50: list[float] = []
        p99: list[float] = []
        missed: list[tuple[float, int]] = []
        began, before = monotonic(), -1
        while (passed := monotonic() - began) < seconds:
            self._monitor.diagnostics.clear()
            self._listen(0.25)
            said = self._monitor.diagnostics.get(self._controller)
            if said is None or "latency p50 (us)" not in said[2]:
                continue
            if said[0] == 2:
                raise ProjectedControlError(f"{self._controller}: {said[1]}")
            count = int(said[2]["deadlines missed"])
            missed.append((passed, count - before if before >= 0 else 0))
            before = count
            if passed > LOOK_BACK or seconds <= 2.0 * LOOK_BACK:
                p50.append(float(said[2]["latency p50 (us)"]))
                p99.append(float(said[2]["latency p99 (us)"]))
        return {"p50": p50, "p99": p99, "missed": missed, "seconds": seconds}

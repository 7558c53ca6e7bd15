"""The processes of measurements with nodes: an arm, its watchdog, and what is measured of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from projected_control.apps.bench.faults import DRIVE_TIMEOUT, RESTFUL
from projected_control.apps.bench.view import by_minute
from projected_control.apps.bench.wire import Wire
from projected_control.apps.demo.demo_settings import DemoSettings, settings_for
from projected_control.apps.fleet.monitor import join
from projected_control.apps.fleet.node_processes import Fleet, processor_time
from projected_control.apps.view.page_process import PageProcess
from projected_control.errors import ProjectedControlError
from projected_control.ros.transport import avoid_shared_memory
from projected_control.settings.nodes import ARM, WATCHDOG
from projected_control.with_parent import end, tied

if TYPE_CHECKING:
    from typing_extensions import Self

START_SECONDS = 600.0  # how long the nodes may take until the arm moves [s]

SETTLE_SECONDS = 4.0
"""From the start of page and clients, or their end, to the beginning of a turn [s]."""

LOOK_BACK = 2.5  # how far the latencies on /diagnostics look back, and a little more [s]
SETTLED = 1000  # states after which a turn begins
EFFORT = "0.1"  # what the echo sends to each joint [N·m]


class BenchScene:
    """Nodes in a ROS domain in which no others of ours are, and a monitor that listens to them."""

    def __init__(self, folder: Path, settings: DemoSettings) -> None:
        self.controller, self._folder = settings.case.node, folder
        self._file = folder / "parameters.yaml"
        self._file.write_text(settings.parameter_file(), encoding="utf-8")
        avoid_shared_memory()
        self._monitor = join(self.controller, lambda text: print(text, file=sys.stderr))
        self._fleet = Fleet(folder, {})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._fleet.stop()
        self._monitor.close()

    def _start(self, *nodes: str) -> None:
        for node in nodes:
            self._fleet.start(node, ["--params-file", str(self._file)])

    def _listen(self, seconds: float) -> None:
        self._monitor.spin(seconds)
        self._monitor.forget()
        self._fleet.check()


class FaultScene(BenchScene):
    """The simulated arm, its watchdog and the hybrid controller, with another node on the wire."""

    arm, watchdog = ARM, WATCHDOG

    def __init__(self, folder: Path) -> None:
        more = {**RESTFUL, "simulation.command_timeout": DRIVE_TIMEOUT}
        super().__init__(folder, settings_for("force", 1.0, "paper", False, more))
        self._wire = Wire()

    def close(self) -> None:
        self._fleet.stop()
        self._wire.close()
        self._monitor.close()

    def prepare(self) -> None:
        """All three there, the controller a new one, and the arm under torque for a while."""
        if self._fleet.runs(self.controller):
            self._fleet.kill(self.controller)
        names = (ARM, WATCHDOG, self.controller)
        self._start(*(node for node in names if not self._fleet.runs(node)))
        try:
            self._wire.wait_for_torque()
        except ProjectedControlError as error:
            raise ProjectedControlError(
                f"{error}; its last words: {self._fleet.tail(self.controller)}"
            ) from None
        self._monitor.spin(0.5)
        self._monitor.diagnostics.clear()

    # What is done, by node

    def kill(self, node: str) -> None:
        self._fleet.kill(node)

    def hang(self, node: str) -> None:
        """SIGSTOP: it is there, and does nothing."""
        self._fleet.hang(node)

    # What follows

    def silence(self, act: Callable[[str], None]) -> tuple[float, str]:
        """From the controller's last torque to the watchdog's zeros [s]."""
        act(self.controller)
        silence = self._wire.silence_before_zero()
        self._fleet.kill(self.controller)
        return silence, ""

    def inactive(self, act: Callable[[str], None], node: str) -> tuple[float, str]:
        """From something done to a node until the controller is inactive [s], and why."""
        began = monotonic()
        act(node)
        outcome = self._wire.until_inactive(self._monitor, self.controller, began)
        self._fleet.kill(node)
        return outcome

    def interfere(self, torque: float) -> tuple[float, str]:
        """From another node's command to the controller's zeros [s], and why it stopped."""
        seconds = self._wire.interfere(torque)
        _, reason = self._wire.until_inactive(self._monitor, self.controller, monotonic())
        return seconds, reason

    def without_anybody(self) -> tuple[float, str]:
        """Controller and watchdog killed: how long the arm holds the last command's torque [s]."""
        self._fleet.kill(WATCHDOG)
        self._fleet.kill(self.controller)
        return self._wire.torque_after_command(), ""


class ViewScene(BenchScene):
    """A loop that can be looked at."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, settings_for("force", 1.0, "paper", False, {}))

    def start(self) -> None:
        """Until the arm moves."""
        self._start(self.controller, WATCHDOG)
        began = monotonic()
        while not self._monitor.connected() and monotonic() - began < START_SECONDS:
            self._listen(0.05)
        self._start(ARM)
        while not self._monitor.time:
            self._listen(0.1)
            if monotonic() - began > START_SECONDS:
                raise ProjectedControlError(
                    f"the controller did not start: {self._fleet.tail(self.controller)}"
                )
        self._listen(SETTLE_SECONDS)

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
        return int(json.loads(out)["pictures"]) if out else 0

    def _measure(self, seconds: float) -> dict[str, Any]:
        """Latencies and missed deadlines of a while, as the controller itself says."""
        p50: list[float] = []
        p99: list[float] = []
        missed: list[tuple[float, int]] = []
        began, before = monotonic(), -1
        while (passed := monotonic() - began) < seconds:
            self._monitor.diagnostics.clear()
            self._listen(0.25)
            said = self._monitor.diagnostics.get(self.controller)
            if said is None or "latency p50 (us)" not in said[2]:
                continue
            if said[0] == 2:
                raise ProjectedControlError(f"{self.controller}: {said[1]}")
            count = int(said[2]["deadlines missed"])
            missed.append((passed, count - before if before >= 0 else 0))
            before = count
            if passed > LOOK_BACK or seconds <= 2.0 * LOOK_BACK:
                p50.append(float(said[2]["latency p50 (us)"]))
                p99.append(float(said[2]["latency p99 (us)"]))
        return {"p50": p50, "p99": p99, "missed": missed, "seconds": seconds}


class NodeScene(BenchScene):
    """An arm whose states a controller answers, or a node that only echoes.

    Args:
        folder: For parameters and logs.
        answering: ``controller`` or ``echo``.
    """

    def __init__(self, folder: Path, answering: str) -> None:
        settings = settings_for("force", 1.0, "paper", True, {}, paced=True)
        settings = replace(settings, arm=settings.arm.changed({"simulation.duration": 0.0}))
        super().__init__(folder, settings)
        self._answering, self._joints = answering, settings.arm.joints
        self._echo: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        if self._echo is not None:
            end([self._echo], {signal.SIGTERM: SETTLE_SECONDS})
        super().close()

    def measure(self, seconds: float) -> dict[str, float]:
        """Processor time per state of what answers, of the arm and of the watchdog [µs]."""
        if self._answering == "controller":
            self._start(self.controller)
            own = self._fleet.pid(self.controller)
        else:
            efforts = ",".join([EFFORT] * len(self._joints))
            words = ["projected_control.ros.echo", ",".join(self._joints), efforts]
            self._echo = subprocess.Popen(tied([sys.executable, "-m", *words]))
            own = self._echo.pid
        self._start(WATCHDOG, ARM)
        pids = {"self": own, "arm": self._fleet.pid(ARM), "watchdog": self._fleet.pid(WATCHDOG)}
        began = monotonic()
        while (before := self._states()) < SETTLED:
            if monotonic() - began > START_SECONDS:
                raise ProjectedControlError(
                    f"the {self._answering} did not answer the arm's states"
                )
        used = {name: processor_time(pid) for name, pid in pids.items()}
        self._monitor.spin(seconds)
        count = self._states() - before
        return {
            name: 1e6 * (processor_time(pid) - used[name]) / count for name, pid in pids.items()
        }

    def _states(self) -> int:
        """How many the arm has had answered, as it says next."""
        self._monitor.diagnostics.clear()
        while True:
            self._monitor.spin(0.1)
            self._fleet.check()
            _, _, values = self._monitor.diagnostics.get(ARM, (0, "", {}))
            if "ticks" in values:
                return int(values["ticks"])

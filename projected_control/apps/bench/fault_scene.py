"""The processes of ``bench faults``, and what is done to them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from types import TracebackType

from projected_control.apps.bench.faults import DRIVE_TIMEOUT, RESTFUL
from projected_control.apps.bench.wire import Wire
from projected_control.apps.demo.case import settings_for
from projected_control.apps.fleet.monitor import Monitor
from projected_control.apps.fleet.node_processes import Fleet
from projected_control.errors import ProjectedControlError
from projected_control.ros.transport import avoid_shared_memory
from projected_control.settings.nodes import ARM, WATCHDOG


class FaultScene:
    """The simulated arm, its watchdog and the hybrid controller, with another node on the wire.

    Args:
        folder: For parameters and logs.
    """

    arm, watchdog = ARM, WATCHDOG

    def __init__(self, folder: Path) -> None:
        more = {**RESTFUL, "simulation.command_timeout": DRIVE_TIMEOUT}
        settings = settings_for("force", 1.0, "paper", False, more)
        self.controller = settings.case.node
        self._file = folder / "parameters.yaml"
        self._file.write_text(settings.parameter_file(), encoding="utf-8")
        domain = os.environ.get("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))
        os.environ["ROS_DOMAIN_ID"] = domain
        avoid_shared_memory()
        self._fleet = Fleet(folder, {"ROS_DOMAIN_ID": domain})
        self._monitor, self._wire = Monitor(self.controller), Wire()

    def __enter__(self) -> FaultScene:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._fleet.stop()
        self._wire.close()
        self._monitor.close()

    def prepare(self) -> None:
        """All three there, the controller a new one, and the arm under torque for a while."""
        if self._fleet.runs(self.controller):
            self._fleet.kill(self.controller)
        for node in (ARM, WATCHDOG, self.controller):
            if not self._fleet.runs(node):
                self._fleet.start(node, ["--params-file", str(self._file)])
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
        """kill -9."""
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

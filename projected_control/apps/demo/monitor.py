"""Watching the nodes from outside: their state, their diagnostics, their summary."""

from __future__ import annotations

import json
from time import monotonic
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from numpy.typing import NDArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from projected_control.errors import ProjectedControlError
from projected_control.settings.nodes import ARM


class Monitor:
    """A node that listens to a controller.

    Args:
        controller: Its node name.
    """

    def __init__(self, controller: str) -> None:
        self._context = rclpy.context.Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node("projected_control_demo", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._node.create_subscription(JointState, f"{controller}/state", self._on_state, 100)
        self._node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)
        self._summaries = {
            node: self._node.create_client(Trigger, f"{node}/summary") for node in (controller, ARM)
        }
        self.controller = controller
        self.names: list[str] = []
        self._rows: list[list[float]] = []
        self.diagnostics: dict[str, tuple[int, str, dict[str, str]]] = {}

    def _on_state(self, message: JointState) -> None:
        stamp = message.header.stamp
        self.names = list(message.name)
        self._rows.append([stamp.sec + 1e-9 * stamp.nanosec, *message.position])

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            self.diagnostics[status.name] = (status.level[0], status.message, values)

    def forget(self) -> None:
        """Keep nothing but the newest state."""
        del self._rows[:-1]

    def connected(self) -> bool:
        """Whether the controller's state would reach us."""
        return self._node.count_publishers(f"{self.controller}/state") > 0

    @property
    def time(self) -> float:
        """Time of the newest state [s]; zero before the first."""
        return self._rows[-1][0] if self._rows else 0.0

    @property
    def latest(self) -> dict[str, float]:
        """The newest state by name."""
        return dict(zip(self.names, self._rows[-1][1:], strict=True)) if self._rows else {}

    def recording(self) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
        """Times, and every quantity over them."""
        rows = np.array([row for row in self._rows if len(row) == len(self.names) + 1])
        rows = rows.reshape(-1, len(self.names) + 1)
        return rows[:, 0], {name: rows[:, i + 1] for i, name in enumerate(self.names)}

    def spin(self, seconds: float) -> None:
        """Listen for a while."""
        end = monotonic() + seconds
        while (left := end - monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def summary(self, seconds: float = 5.0) -> dict[str, Any]:
        """The controller's own numbers of its run."""
        return self._ask(self.controller, seconds)

    def arm_summary(self, seconds: float = 5.0) -> dict[str, Any]:
        """What the simulated arm itself has seen (see `SimulatedArm.summary`)."""
        return self._ask(ARM, seconds)

    def _ask(self, node: str, seconds: float) -> dict[str, Any]:
        client = self._summaries[node]
        if not client.wait_for_service(timeout_sec=seconds):
            raise ProjectedControlError(f"{node} does not answer")
        future = client.call_async(Trigger.Request())
        self._executor.spin_until_future_complete(future, timeout_sec=seconds)
        response = future.result() if future.done() else None
        if response is None or not response.success:
            reason = "it does not answer" if response is None else response.message
            raise ProjectedControlError(f"no summary of {node}: {reason}")
        numbers: dict[str, Any] = json.loads(response.message)
        return numbers

    def close(self) -> None:
        """Leave."""
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

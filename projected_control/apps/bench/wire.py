"""Listening to the command topic, with the time of every word."""

from __future__ import annotations

import threading
from time import monotonic, sleep
from typing import TYPE_CHECKING

import numpy as np
import rclpy
from rclpy.context import Context
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import Float64MultiArray

from projected_control.errors import ProjectedControlError
from projected_control.ros.wait_set import Inbox

if TYPE_CHECKING:
    from projected_control.apps.demo.monitor import Monitor

PATIENCE = 60.0
"""How long to wait for a controller to move its arm [s]."""


class Wire:
    """Notes when the last torque and the first zeros were heard."""

    def __init__(self) -> None:
        self._context = Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node("projected_control_wire", context=self._context)
        subscription = self._node.create_subscription(
            Float64MultiArray, "effort_controller/commands", lambda _: None, QoSProfile(depth=100)
        )
        self._inbox = Inbox(self._node, [subscription])
        self._torques = 0
        self._last_torque = self._first_zero = np.nan
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        with self._inbox:
            while not self._inbox.closed:
                self._inbox.wait(0.1)
                while (message := self._inbox.take(0)) is not None:
                    now = monotonic()
                    if any(message.data):
                        self._torques += 1
                        self._last_torque, self._first_zero = now, np.nan
                    elif np.isnan(self._first_zero):
                        self._first_zero = now

    def wait_for_torque(self, count: int = 300) -> None:
        """Until a controller has moved the arm for some time."""
        self._torques, deadline = 0, monotonic() + PATIENCE
        while self._torques < count:
            if monotonic() > deadline:
                raise ProjectedControlError("no torque was commanded: the controller did not start")
            sleep(0.01)

    def silence_before_zero(self, seconds: float = 2.0) -> float:
        """From the last torque to the zeros after it [s]; NaN where none came."""
        deadline = monotonic() + seconds
        while np.isnan(self._first_zero) and monotonic() < deadline:
            sleep(0.001)
        return float(self._first_zero - self._last_torque)

    def until_inactive(self, monitor: Monitor, controller: str) -> tuple[float, str]:
        """From now until a controller says it is inactive [s], and why."""
        began = monotonic()
        while monotonic() - began < 10.0:
            monitor.spin(0.05)
            level, message, values = monitor.diagnostics.get(controller, (0, "", {}))
            if level == 2 and values.get("state") == "inactive":
                return monotonic() - began, message
        return float("nan"), "it never did"

    def close(self) -> None:
        """Leave."""
        self._inbox.close()
        self._thread.join()
        self._node.destroy_node()
        self._context.try_shutdown()

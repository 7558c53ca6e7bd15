"""Listening to commands and states, with the time of every word; and interfering."""

from __future__ import annotations

import threading
from time import monotonic, sleep
from typing import TYPE_CHECKING

import numpy as np
import rclpy
from rclpy.context import Context
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from projected_control.errors import ProjectedControlError
from projected_control.ros.realtime import real_time_priority
from projected_control.ros.start_and_end import leave
from projected_control.ros.wait_set import Inbox

if TYPE_CHECKING:
    from projected_control.apps.fleet.monitor import Monitor

PATIENCE = 600.0
"""How long to wait for a controller to move its arm; the first time it compiles its kernels [s]."""

PRIORITY = 45
"""Priority of the threads that listen, where permitted: they must not be late themselves."""

COMMANDS = "effort_controller/commands"

REST_SECONDS = 0.3  # without torque for so long, an arm has none [s]


class Wire:
    """Notes when the last torque and the first zeros were heard, and the arm's last torque."""

    def __init__(self) -> None:
        with real_time_priority(PRIORITY):
            self._begin()

    def _begin(self) -> None:
        self._context = Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node("projected_control_wire", context=self._context)
        depth = QoSProfile(depth=100)
        commands = self._node.create_subscription(
            Float64MultiArray, COMMANDS, lambda _: None, depth
        )
        states = self._node.create_subscription(JointState, "joint_states", lambda _: None, depth)
        self._inbox = Inbox(self._node, [commands, states])
        self._torques = self._joints = 0
        self._last_torque = self._first_zero = self._arm_torque = np.nan
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        with self._inbox:
            while not self._inbox.closed:
                self._inbox.wait(0.1)
                while (message := self._inbox.take(0)) is not None:
                    now = monotonic()
                    if any(message.data):
                        self._torques, self._joints = self._torques + 1, len(message.data)
                        self._last_torque, self._first_zero = now, np.nan
                    elif np.isnan(self._first_zero):
                        self._first_zero = now
                while (message := self._inbox.take(1)) is not None:
                    if any(message.effort):
                        self._arm_torque = monotonic()

    def wait_for_torque(self, count: int = 300) -> None:
        """Until a controller has moved the arm for some time."""
        self._torques, deadline = 0, monotonic() + PATIENCE
        while self._torques < count:
            if monotonic() > deadline:
                raise ProjectedControlError("no torque was commanded: the controller did not start")
            sleep(0.01)

    def silence_before_zero(self, seconds: float = 3.0) -> float:
        """From the last torque to the zeros after it [s]; NaN where none came."""
        self._await_zero(seconds)
        return float(self._first_zero - self._last_torque)

    def interfere(self, torque: float) -> float:
        """Command the arm beside its controller, once; until there are zeros [s], or NaN."""
        publisher = self._node.create_publisher(Float64MultiArray, COMMANDS, QoSProfile(depth=10))
        try:
            deadline = monotonic() + 5.0
            while publisher.get_subscription_count() < 3 and monotonic() < deadline:
                sleep(0.0005)  # the arm, the controller and ourselves
            message = Float64MultiArray(data=[torque] * self._joints)
            with real_time_priority(PRIORITY):
                began = monotonic()
                publisher.publish(message)
            sleep(0.002)
            self._await_zero(3.0)
            return float(self._first_zero - began)
        finally:
            self._node.destroy_publisher(publisher)

    def torque_after_command(self, seconds: float = 10.0) -> float:
        """From the last command to the arm's last torque [s]; NaN if it does not end."""
        deadline = monotonic() + seconds
        sleep(REST_SECONDS)
        while monotonic() - self._arm_torque < REST_SECONDS:
            if monotonic() > deadline:
                return float("nan")
            sleep(0.01)
        return float(self._arm_torque - self._last_torque)

    def until_inactive(self, monitor: Monitor, controller: str, began: float) -> tuple[float, str]:
        """From a moment until a controller says it is inactive [s], and why."""
        while monotonic() - began < 10.0:
            monitor.spin(0.01)
            level, message, values = monitor.diagnostics.get(controller, (0, "", {}))
            if level == 2 and values.get("state") == "inactive":
                return monotonic() - began, message
        return float("nan"), "it never did"

    def _await_zero(self, seconds: float) -> None:
        deadline = monotonic() + seconds
        while np.isnan(self._first_zero) and monotonic() < deadline:
            sleep(0.001)

    def close(self) -> None:
        self._inbox.close()
        self._thread.join()
        leave(self._context, self._node)

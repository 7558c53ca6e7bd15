"""Watching the nodes from outside: their state, their diagnostics, their summary, the truth.

It is done in a ROS domain of their own, or in the one that is asked for (`join`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import ParameterEvent
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from projected_control.apps.demo.task_run import Series
from projected_control.apps.fleet.remote_node import Observer
from projected_control.errors import ProjectedControlError
from projected_control.ros.neighbours import DOMAINS, already_there, of_ours
from projected_control.settings.nodes import ARM, WATCHDOG

DEPTH = 1000  # messages that may wait, ten seconds of them: in lockstep none may be lost

KEPT = QoSProfile(depth=DEPTH, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""The same, with those that were told before anybody listened."""


class Monitor(Observer):
    """A node that listens to a controller, and to what the simulated arm really does.

    Attributes:
        controller: As given.
        names: Quantities of its state.
        diagnostics: Level, message and values that each node told last.
        changed: Parameters and references that were changed since the first state, by name.
        units: Of the coordinates, by name, for those who show them; empty where they are unknown.
    """

    def __init__(self, controller: str) -> None:
        super().__init__("projected_control_demo")
        self.units: dict[str, str] = {}
        self._node.create_subscription(JointState, f"{controller}/state", self._on_state, DEPTH)
        self._node.create_subscription(JointState, f"{ARM}/truth", self._on_truth, KEPT)
        self._node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)
        self._node.create_subscription(ParameterEvent, "/parameter_events", self._on_event, 100)
        for kind, topic in (
            (JointTrajectory, "reference"),
            (Float64MultiArray, "force_reference"),
        ):
            note = partial(self._note, topic)
            self._node.create_subscription(kind, f"{controller}/{topic}", note, 10)
        self.changed: list[str] = []
        self.controller = controller
        self.names: list[str] = []
        self._rows: list[list[float]] = []
        self._true_names: list[str] = []
        self._true_rows: list[list[float]] = []
        self.diagnostics: dict[str, tuple[int, str, dict[str, str]]] = {}

    def _on_state(self, message: JointState) -> None:
        self.names = list(message.name)
        self._rows.append(_row(message))

    def _on_truth(self, message: JointState) -> None:
        self._true_names = list(message.name)
        self._true_rows.append(_row(message))

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            self.diagnostics[status.name] = (status.level[0], status.message, values)

    def _on_event(self, event: ParameterEvent) -> None:
        if event.node.rpartition("/")[2] in (self.controller, ARM, WATCHDOG):
            for parameter in event.changed_parameters:
                self._note(parameter.name)

    def _note(self, what: str, message: object = None) -> None:
        """Something was changed: of interest once the run has begun."""
        if self._rows and what not in self.changed:
            self.changed.append(what)

    def forget(self) -> None:
        """Keep nothing but the newest state."""
        del self._rows[:-1]

    def nodes(self) -> set[str]:
        """Names of the nodes that are there, but ourselves."""
        return set(self._node.get_node_names()) - {self._node.get_name()}

    def connected(self) -> bool:
        """Whether the controller's state would reach us."""
        return self._node.count_publishers(f"{self.controller}/state") > 0

    @property
    def time(self) -> float:
        """Time of the newest state [s]; zero before the first."""
        return self._rows[-1][0] if self._rows else 0.0

    @property
    def true_time(self) -> float:
        """Time of the newest that the simulated arm told [s]; zero before the first."""
        return self._true_rows[-1][0] if self._true_rows else 0.0

    @property
    def real_time_factor(self) -> float:
        """Of the last second, as the simulated arm says; zero before it does."""
        _, _, values = self.diagnostics.get(ARM, (0, "", {}))
        return float(values.get("real-time factor", 0.0))

    @property
    def latest(self) -> dict[str, float]:
        """The newest state by name."""
        return dict(zip(self.names, self._rows[-1][1:], strict=True)) if self._rows else {}

    def state(self) -> Series:
        """The controller's state over the time."""
        return _columns(self.names, self._rows)

    def truth(self) -> Series:
        """What the simulated arm really did."""
        return _columns(self._true_names, self._true_rows)

    def summary(self, seconds: float = 5.0) -> dict[str, Any]:
        """The controller's own numbers of its run."""
        return self._ask(self.controller, seconds)

    def arm_summary(self, seconds: float = 5.0) -> dict[str, Any]:
        """What the simulated arm itself has seen (see `SimulatedArm.summary`)."""
        return self._ask(ARM, seconds)

    def _ask(self, node: str, seconds: float) -> dict[str, Any]:
        response = self.call(Trigger, f"{node}/summary", Trigger.Request(), seconds)
        if not response.success:
            raise ProjectedControlError(f"no summary of {node}: {response.message}")
        numbers: dict[str, Any] = json.loads(response.message)
        return numbers

    def go_on(self, seconds: float = 5.0) -> None:
        """Let simulated time pass on after the duration that was asked for."""
        never = Parameter("simulation.duration", value=0.0).to_parameter_msg()
        request = SetParameters.Request(parameters=[never])
        self.call(SetParameters, f"{ARM}/set_parameters", request, seconds)


def _row(message: JointState) -> list[float]:
    stamp = message.header.stamp
    return [stamp.sec + 1e-9 * stamp.nanosec, *message.position]


def _columns(names: list[str], rows: list[list[float]]) -> Series:
    table = np.array([row for row in rows if len(row) == len(names) + 1])
    table = table.reshape(-1, len(names) + 1)
    return table[:, 0], {name: table[:, i + 1] for i, name in enumerate(names)}


LISTEN_SECONDS = 0.6  # how long it is listened who is there before a domain is taken [s]
TRIES = 10  # how many are tried


def join(controller: str, say: Callable[[str], None]) -> Monitor:
    """Listen in a domain in which no other demonstration is.

    Args:
        controller: Name of the controller to come.
        say: Told where another domain is taken.

    Raises:
        ProjectedControlError: Where ROS_DOMAIN_ID names one in which there is.
    """
    asked = os.environ.get("ROS_DOMAIN_ID")
    first = os.getpid() % DOMAINS
    for number in range(TRIES):
        domain = asked or str(1 + (first + number) % DOMAINS)
        os.environ["ROS_DOMAIN_ID"] = domain
        monitor = Monitor(controller)
        try:
            monitor.spin(LISTEN_SECONDS)
            refuse_others(monitor)
        except ProjectedControlError as error:
            monitor.close()
            if asked:
                raise
            del os.environ["ROS_DOMAIN_ID"]
            say(f"{error}: another domain is taken.")
        except BaseException:
            monitor.close()
            raise
        else:
            return monitor
    raise ProjectedControlError(
        f"in {TRIES} ROS domains there were such nodes; set ROS_DOMAIN_ID to one that is free"
    )


def refuse_others(monitor: Monitor, ours_now: Collection[str] = ()) -> None:
    """Raise where nodes are there that a demonstration starts itself.

    ROS may hear of nodes seconds after they are there: it is asked more than once.

    Args:
        monitor: In the domain.
        ours_now: Names that were started from here.
    """
    others = [name for name in of_ours(monitor.nodes()) if name not in ours_now]
    if others:
        raise ProjectedControlError(already_there(others))

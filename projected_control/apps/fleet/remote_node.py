"""Nodes seen from outside: what looks at them, and one whose parameters and summary it asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import Any

import rclpy
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import Trigger

from projected_control.errors import ProjectedControlError
from projected_control.ros.start_and_end import leave

ANSWER_SECONDS = 10.0  # how long a node may take to be found, and to answer [s]


class Observer:
    """A node that looks at others, with a context of its own."""

    def __init__(self, name: str) -> None:
        self._context = rclpy.context.Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node(name, context=self._context, start_parameter_services=False)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._clients: dict[str, Any] = {}

    def call(self, kind: Any, service: str, request: Any, seconds: float = ANSWER_SECONDS) -> Any:
        """The answer of a service; raises where none comes within so long, twice [s]."""
        client = self._clients.get(service)
        if client is None:
            client = self._clients[service] = self._node.create_client(kind, service)
        if not client.wait_for_service(timeout_sec=seconds):
            node, _, offered = service.rpartition("/")
            raise ProjectedControlError(
                f"there is no node {node} that offers {offered}: {self._others()}"
            )
        future = client.call_async(request)
        self._executor.spin_until_future_complete(future, timeout_sec=seconds)
        answer = future.result() if future.done() else None
        if answer is None:
            raise ProjectedControlError(f"{service.rpartition('/')[0]} does not answer")
        return answer

    def _others(self) -> str:
        names = sorted(
            name.removesuffix("/summary")
            for name, _ in self._node.get_service_names_and_types()
            if name.endswith("/summary")
        )
        return f"controllers that run: {', '.join(names)}" if names else "no controller runs"

    def spin(self, seconds: float) -> None:
        end = monotonic() + seconds
        while (left := end - monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def close(self) -> None:
        self._executor.shutdown()
        leave(self._context, self._node)


class RemoteNode(Observer):
    """A node of ours somewhere in the graph.

    Args:
        name: As in ``ros2 node list``.
    """

    def __init__(self, name: str) -> None:
        super().__init__("projected_control_remote")
        self.name = f"/{name.strip('/')}"

    def set(self, values: Mapping[str, Any]) -> None:
        """Set parameters, all of them or none.

        Raises:
            ProjectedControlError: Where the node refuses them, with its reason, or is not there.
        """
        request = SetParametersAtomically.Request(
            parameters=[Parameter(n, value=v).to_parameter_msg() for n, v in values.items()]
        )
        answer = self.call(
            SetParametersAtomically, f"{self.name}/set_parameters_atomically", request
        )
        if not answer.result.successful:
            raise ProjectedControlError(f"{self.name} refuses: {answer.result.reason}")

    def summary(self) -> dict[str, Any]:
        """The numbers of its present run, or of the last one; empty where it has not run."""
        answer = self.call(Trigger, f"{self.name}/summary", Trigger.Request())
        numbers: dict[str, Any] = json.loads(answer.message) if answer.success else {}
        return numbers


@contextmanager
def remote_node(name: str) -> Iterator[RemoteNode]:
    """A node in the graph, for a while."""
    node = RemoteNode(name)
    try:
        yield node
    finally:
        node.close()

"""The page's own node: it listens without being waited for, and asks without blocking.

Subscriptions are best effort and are read without an executor when the page wants a picture: no
thread wakes up for a message, no sender waits for an acknowledgement. Changes of parameters alone
are acknowledged: they are rare, and said once. An executor in its own thread serves the answers of
services, and nothing else.
"""

from __future__ import annotations

import asyncio
import threading
from time import monotonic
from typing import Any, NamedTuple

import rclpy
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParametersAtomically,
)
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions

from projected_control.errors import ProjectedControlError
from projected_control.ros.start_and_end import leave
from projected_control.ros.transport import avoid_shared_memory
from projected_control.ros.wait_set import drain, unused

ANSWER_SECONDS = 5.0
"""How long an answer is awaited [s]; busy nodes take longer, and are asked again."""

MATCH_SECONDS = 3.0  # how long a new publisher waits for its listener [s]


class NoAnswer(ProjectedControlError):
    """A node that does not answer, or is not there."""


class Endpoint(NamedTuple):
    """Who publishes a topic."""

    node: str  # full name
    gid: bytes  # of the publisher: another one after a restart


class Described(NamedTuple):
    """A parameter as its node describes it: value, text, constraints, range."""

    value: Any
    description: str
    constraints: str
    bounds: tuple[float, float] | None


class Ear:
    """A subscription that is read without an executor."""

    def __init__(self, node: Node, kind: Any, topic: str, depth: int, reliable: bool) -> None:
        policy = ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT
        quality = QoSProfile(depth=depth, reliability=policy)
        self._node = node
        self._subscription = node.create_subscription(kind, topic, unused, quality)

    def take(self) -> list[Any]:
        """All messages that have come, the oldest first."""
        return drain(self._subscription)

    def close(self) -> None:
        self._node.destroy_subscription(self._subscription)


class RosLink:
    """The node and its thread. To be made and used in one asyncio loop."""

    def __init__(self) -> None:
        avoid_shared_memory()
        self._context = Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node("projected_control_view", context=self._context)
        self._listener = rclpy.create_node(
            "projected_control_view_ear",
            context=self._context,
            start_parameter_services=False,
            enable_rosout=False,
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._clients: dict[str, Any] = {}
        self._publishers: dict[str, Any] = {}
        self._closed = False
        self._thread = threading.Thread(target=self._spin, name="page's node", daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        while not self._closed:
            try:
                self._executor.spin_once(timeout_sec=0.2)
            except ExternalShutdownException:
                return

    def close(self) -> None:
        self._closed = True
        self._thread.join(timeout=5.0)
        self._executor.shutdown()
        leave(self._context, self._node, self._listener)

    # Who is there

    def topics(self) -> dict[str, list[str]]:
        """All topics with their types."""
        return dict(self._node.get_topic_names_and_types())

    def publishers(self, topic: str) -> list[Endpoint]:
        """Who publishes a topic."""
        infos = self._node.get_publishers_info_by_topic(topic)
        return [
            Endpoint(
                f"{info.node_namespace.rstrip('/')}/{info.node_name}", bytes(info.endpoint_gid)
            )
            for info in infos
        ]

    def subscribed(self, node: str, kind: str) -> list[str]:
        """Topics of a type that a node listens to."""
        namespace, _, name = node.rpartition("/")
        try:
            found = self._node.get_subscriber_names_and_types_by_node(name, namespace or "/")
        except Exception:  # rclpy has one class for it per release; the node is not there
            return []
        return [topic for topic, types in found if kind in types]

    # Listening and telling

    def listen(self, kind: Any, topic: str, depth: int = 50, reliable: bool = False) -> Ear:
        """Hear a topic, best effort unless it has to be reliable."""
        return Ear(self._listener, kind, topic, depth, reliable)

    async def publish(self, kind: Any, topic: str, message: Any) -> None:
        """Publish a message once its listener has been found."""
        publisher = self._publishers.get(topic)
        if publisher is None:
            publisher = self._publishers[topic] = self._node.create_publisher(kind, topic, 10)
        give_up = monotonic() + MATCH_SECONDS
        while not publisher.get_subscription_count():
            if monotonic() > give_up:
                raise NoAnswer(f"no node listens on {topic}")
            await asyncio.sleep(0.02)
        publisher.publish(message)

    # Asking

    async def call(
        self, kind: Any, service: str, request: Any, seconds: float = ANSWER_SECONDS
    ) -> Any:
        """The answer of a service; raises `NoAnswer` where none comes."""
        client = self._clients.get(service)
        if client is None:
            client = self._clients[service] = self._node.create_client(kind, service)
        give_up = monotonic() + seconds
        while not client.service_is_ready():
            if monotonic() > give_up:
                raise NoAnswer(f"{service} is not there")
            await asyncio.sleep(0.02)
        loop, answered = asyncio.get_running_loop(), asyncio.Event()
        future = client.call_async(request)
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(answered.set))
        try:
            await asyncio.wait_for(answered.wait(), seconds)
        except asyncio.TimeoutError:
            client.remove_pending_request(future)
            raise NoAnswer(f"{service} does not answer") from None
        return future.result()

    async def parameters(self, node: str) -> dict[str, Described]:
        """All parameters of a node, as it describes them."""
        listed = await self.call(
            ListParameters, f"{node}/list_parameters", ListParameters.Request()
        )
        names = list(listed.result.names)
        described = await self.call(
            DescribeParameters,
            f"{node}/describe_parameters",
            DescribeParameters.Request(names=names),
        )
        values = await self.values(node, names)
        found = {}
        for descriptor in described.descriptors:
            bounds = [
                (float(r.from_value), float(r.to_value))
                for r in (*descriptor.floating_point_range, *descriptor.integer_range)
            ]
            found[descriptor.name] = Described(
                values[descriptor.name],
                descriptor.description,
                descriptor.additional_constraints,
                bounds[0] if bounds else None,
            )
        return found

    async def values(self, node: str, names: list[str]) -> dict[str, Any]:
        """Values of a node's parameters."""
        request = GetParameters.Request(names=names)
        answer = await self.call(GetParameters, f"{node}/get_parameters", request)
        return {n: plain(v) for n, v in zip(names, answer.values, strict=True)}

    async def set_parameters(self, node: str, values: dict[str, Any]) -> str:
        """Set parameters, all or none; why they were refused, empty where they were not."""
        request = SetParametersAtomically.Request(
            parameters=[message_of(name, value) for name, value in values.items()]
        )
        service = f"{node}/set_parameters_atomically"
        answer = await self.call(SetParametersAtomically, service, request)
        return "" if answer.result.successful else str(answer.result.reason) or "refused"


def plain(value: Any) -> Any:
    """A parameter's value as Python has it: lists are lists."""
    found = parameter_value_to_python(value)
    return list(found) if hasattr(found, "tolist") or isinstance(found, tuple) else found


def message_of(name: str, value: Any) -> ParameterMessage:
    """A parameter as a message; an empty list is one of numbers, as our nodes keep it."""
    if value == []:
        return Parameter(name, Parameter.Type.DOUBLE_ARRAY, []).to_parameter_msg()
    return Parameter(name, value=value).to_parameter_msg()

"""Nodes as processes, and a node that talks to them: what the tests of the nodes need.

Everything is real: processes, DDS, services. Nothing here sleeps and hopes: `Fleet.until` waits for
a condition, and fails with what there was to see when it does not come.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import rclpy
import yaml
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.srv import ChangeState, GetState
from node_process import PATIENCE, Process
from node_template import Template
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from ros_domain import free_domain
from std_srvs.srv import SetBool, Trigger

import projected_control
from projected_control.ros.start_and_end import leave
from projected_control.settings.files import read_parameter_file
from projected_control.settings.nodes import own_values, parameters_of

SOURCE = Path(__file__).resolve().parents[2]
LOST_SECONDS = 15.0  # after so long without an answer a transition is looked after [s]
DEEP = QoSProfile(depth=100_000)  # for listeners that read late but must not miss anything


def config(name: str) -> dict[str, Any]:
    """A file of config/, by parameter name."""
    return read_parameter_file(SOURCE / "config" / f"{name}.yaml")


THREE_LINK = {**config("three_link_slider"), "diagnostics_rate": 20.0}
CRANK = {**config("slider_crank"), "diagnostics_rate": 20.0}
STEADY = {
    "rate": 100.0,
    "simulation.step": 0.005,
    "force.proportional": 0.5,
    "force.cutoff": 5.0,
    "limits.stale_time": 0.2,
    "limits.lost_time": 60.0,
    "limits.latch_time": 60.0,
    "limits.force_time": 0.5,
    "limits.hold_time": 0.05,
    "limits.frozen_time": 0.2,
}
"""Real time that a busy computer keeps up with: a tenth of the usual rate, long timeouts."""


PRIORITY = {"realtime.priority": 40}
"""Of all nodes unless told otherwise, as on an arm: a busy computer ends no test."""


def stamp_ns(message: Any) -> int:
    """A message's time [ns]."""
    stamp = message.header.stamp
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


class Diagnosis(NamedTuple):
    """What a node last said of itself."""

    level: int = -1  # 0 for good, 1 for a warning, 2 for an error
    message: str = ""  # why
    values: Mapping[str, str] = {}  # by key

    def number(self, key: str) -> float:
        """A value as a number, zero where there is none."""
        return float(self.values.get(key, 0.0))


class TopicLog:
    """All messages of a topic since it was made, in order; filled by `Fleet.until`."""

    def __init__(self, node: Any, kind: Any, topic: str) -> None:
        self._subscription = node.create_subscription(kind, topic, lambda _: None, DEEP)
        self._node = node
        self.messages: list[Any] = []

    def drain(self) -> list[Any]:
        """Take what has come; all messages so far."""
        handle, kind = self._subscription.handle, self._subscription.msg_type
        while (taken := handle.take_message(kind, False)) is not None:
            self.messages.append(taken[0])
        return self.messages

    def clear(self) -> None:
        """Forget all that has come so far, read or not."""
        self.drain()
        self.messages.clear()

    @property
    def topic(self) -> str:
        """Its full name."""
        return str(self._subscription.topic_name)

    def close(self) -> None:
        self._node.destroy_subscription(self._subscription)


class Fleet:
    """Node processes on a ROS domain of their own, and a node that talks to them.

    Args:
        folder: For parameter files and logs.
        template: What nodes are forked from; None has each start as a command.
    """

    def __init__(self, folder: Path, template: Template | None = None) -> None:
        self._folder, self._template = folder, template
        self.domain, self._lock = free_domain()
        package = str(Path(projected_control.__file__).resolve().parents[1])
        path = os.environ.get("PYTHONPATH", "")
        self.environment = {
            **os.environ,
            "ROS_DOMAIN_ID": str(self.domain),
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
            "ROS_PYTHON_CHECK_FIELDS": "1",
            "ROS_LOG_DIR": str(folder),
            "PYTHONFAULTHANDLER": "1",  # see `_scene`
            "PYTHONPATH": f"{package}:{path}" if path else package,
        }
        if template is not None:
            template.serve(self.environment)
        os.environ.update(
            ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST",
            ROS_PYTHON_CHECK_FIELDS="1",
            ROS_LOG_DIR=str(folder),
        )
        self.processes: list[Process] = []
        self._context = Context()
        rclpy.init(
            context=self._context,
            domain_id=self.domain,
            signal_handler_options=SignalHandlerOptions.NO,
        )
        self.node = rclpy.create_node(f"tester_{self.domain}", context=self._context)
        self._ear = rclpy.create_node(f"listener_{self.domain}", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 100)
        self._diagnostics: dict[str, Diagnosis] = {}
        self._recordings: list[TopicLog] = []
        self._clients: dict[str, Any] = {}

    # Processes

    def start(
        self,
        kind: str,
        settings: Mapping[str, Any],
        name: str = "",
        topics: Mapping[str, str] | None = None,
        **more: Any,
    ) -> Process:
        """Start a node with those of the settings that it has; underscores in `more` are dots.

        `topics` gives topics other names. What is None has its default. In lockstep time passes as
        fast as it goes unless `simulation.factor` is given.
        """
        values = {**PRIORITY, **settings, **{k.replace("__", "."): v for k, v in more.items()}}
        if values.get("lockstep"):
            values.setdefault("simulation.factor", 0.0)
        own = {k: v for k, v in own_values(kind, values).items() if v is not None}
        number = len(self.processes)
        file = self._folder / f"{number}_{kind}.yaml"
        file.write_text(yaml.safe_dump({"/**": {"ros__parameters": own}}))
        arguments = ["--params-file", str(file)]
        if name:
            arguments += ["-r", f"__node:={name}"]
        for old, new in (topics or {}).items():
            arguments += ["-r", f"{old}:={new}"]
        log = self._folder / f"{number}_{kind}.log"
        self.processes.append(Process(kind, arguments, self.environment, log, self._template))
        return self.processes[-1]

    def close(self) -> None:
        """Leave, and end all processes.

        In this order: a participant that is destroyed while it hears others end has crashed in Fast
        DDS, once in some hundred times, or hung; see `ros.start_and_end`.
        """
        self._executor.shutdown()
        leave(self._context, self.node, self._ear)
        for process in self.processes:
            if process.alive:
                process.signal(signal.SIGINT)
        for process in self.processes:
            process.end()
        self._lock.close()

    # Waiting

    def until(self, condition: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
        """Wait until the condition is true; its value."""
        give_up = monotonic() + seconds
        while True:
            for recording in self._recordings:
                recording.drain()
            result = condition()
            if result:
                return result
            died = [p.kind for p in self.processes if not (p.alive or p.may_end)]
            if died or monotonic() > give_up:
                reason = f"{', '.join(died)} died" if died else "in vain"
                raise AssertionError(f"waited for {what}: {reason}; {self._scene()}")
            self._executor.spin_once(timeout_sec=0.02)

    def _scene(self) -> str:
        """What there is to see, for errors; the processes end with what each thread was at."""
        for process in self.processes:
            if process.alive:
                process.signal(signal.SIGABRT)
        for process in self.processes:
            process.end()
        said = {name: (d.level, d.message) for name, d in self._diagnostics.items()}
        logs = [f"{p.kind}: {p.log[-3000:]}" for p in self.processes]
        return "\n".join([f"diagnostics: {said}", *logs])

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {pair.key: pair.value for pair in status.values}
            self._diagnostics[status.name] = Diagnosis(status.level[0], status.message, values)

    def diagnosis(self, node: str) -> Diagnosis:
        """The last one of a node."""
        return self._diagnostics.get(node, Diagnosis())

    def until_said(self, node: str, *words: str, level: int | None = None) -> Diagnosis:
        """Wait for a diagnosis with all these words in its message; forgets older ones."""
        self._diagnostics.pop(node, None)

        def said() -> Diagnosis | None:
            last = self.diagnosis(node)
            fits = all(word in last.message for word in words)
            return last if last.message and fits and level in (None, last.level) else None

        return self.until(said, f"{node} to say {words} with level {level}")

    def until_counted(self, node: str, key: str, least: float) -> Diagnosis:
        """Wait until a number of a node's diagnosis is at least this; forgets older ones.

        What it said last may be of the run before, which counted further.
        """
        self._diagnostics.pop(node, None)
        self.until(lambda: self.diagnosis(node).number(key) >= least, f"{node}: {key} ≥ {least}")
        return self.diagnosis(node)

    def more(self, recording: TopicLog, count: int) -> list[Any]:
        """Wait for this many more messages; these."""
        seen = len(recording.drain())
        self.until(lambda: len(recording.messages) >= seen + count, f"{count} more messages")
        return recording.messages[seen:]

    # Topics

    def record(self, kind: Any, topic: str) -> TopicLog:
        """Listen to a topic from now on."""
        self._recordings.append(TopicLog(self._ear, kind, topic))
        return self._recordings[-1]

    def forget(self, recording: TopicLog) -> None:
        """Listen no more."""
        self._recordings.remove(recording)
        recording.close()

    def publisher(self, kind: Any, topic: str) -> Any:
        """A publisher that all listeners have found, at least one of them not our own."""
        publisher = self.node.create_publisher(kind, topic, 100)
        own = sum(recording.topic == publisher.topic_name for recording in self._recordings)

        def found() -> bool:
            listeners = self.node.count_subscribers(publisher.topic_name)
            return publisher.get_subscription_count() >= listeners > own

        self.until(found, f"a listener on {topic}")
        return publisher

    # Services

    def call(self, kind: Any, service: str, request: Any, again: float = PATIENCE) -> Any:
        """The answer of a service.

        A request may go to a server that was killed and is still believed to be there, while its
        successor has not been found: questions that do no harm are asked again after a while [s].
        """
        futures = [self._ask(kind, service, request)]
        asked = monotonic()

        def answer() -> Any:
            nonlocal asked
            if monotonic() - asked > again:
                futures.append(self._ask(kind, service, request))
                asked = monotonic()
            return next((future for future in futures if future.done()), None)

        return self.until(answer, f"an answer of {service}").result()

    def trigger(self, service: str) -> Any:
        """Call a service without arguments."""
        return self.call(Trigger, service, Trigger.Request())

    def pause(self, arm: str, paused: bool) -> None:
        """Pause a simulated arm, or let it go on."""
        assert self.call(SetBool, f"/{arm}/pause", SetBool.Request(data=paused)).success

    def summary(self, controller: str) -> dict[str, Any]:
        """A controller's numbers of its run."""
        response = self.trigger(f"/{controller}/summary")
        assert response.success, response.message
        return json.loads(response.message)

    def state(self, node: str) -> str:
        """Where a node is in its life."""
        answer = self.call(GetState, f"/{node}/get_state", GetState.Request(), again=1.0)
        return str(answer.current_state.label)

    def until_state(self, node: str, label: str) -> None:
        """Wait until a node is there."""
        self.until(lambda: self.state(node) == label, f"{node} to be {label}")

    def change(self, node: str, transition: str) -> bool:
        """Ask a node to configure, activate, deactivate or cleanup; whether it did."""
        request = ChangeState.Request()
        request.transition.label = transition
        before = self.state(node)
        service = f"/{node}/change_state"
        future = self._ask(ChangeState, service, request)
        give_up = monotonic() + PATIENCE
        while not self._done_within(future, LOST_SECONDS):
            assert monotonic() < give_up, f"{service} does not answer; {self._scene()}"
            # A node answers in order: if it tells its state now, the request or its answer is lost.
            if self.state(node) != before:
                return True
            if not future.done():
                print(f"{service} did not answer, and {node} is still {before}: asked again")
                future = self._ask(ChangeState, service, request)
        return bool(future.result().success)

    def activate(self, node: str) -> None:
        """Activate a node, again and again while it refuses, unless it does so by itself."""
        self.until(
            lambda: self.state(node) == "active" or self.change(node, "activate"), f"active {node}"
        )

    def _ask(self, kind: Any, service: str, request: Any) -> Any:
        """A future of a service's answer."""
        if service not in self._clients:
            self._clients[service] = self.node.create_client(kind, service)
        client = self._clients[service]
        self.until(client.service_is_ready, f"the service {service}")
        return client.call_async(request)

    def _done_within(self, future: Any, seconds: float) -> bool:
        give_up = monotonic() + seconds
        self.until(lambda: future.done() or monotonic() > give_up, "an answer")
        return bool(future.done())

    def set(self, node: str, values: Mapping[str, Any]) -> SetParametersResult:
        """Set parameters, all or none."""
        request = SetParametersAtomically.Request(
            parameters=[Parameter(k, value=v).to_parameter_msg() for k, v in values.items()]
        )
        service = f"/{node}/set_parameters_atomically"
        return self.call(SetParametersAtomically, service, request).result

    def put(self, node: str, values: Mapping[str, Any]) -> None:
        """Set parameters that are accepted."""
        result = self.set(node, values)
        assert result.successful, result.reason

    def refused(self, node: str, values: Mapping[str, Any]) -> str:
        """Set parameters that are refused; why. The old values must stay."""
        before = self.get(node, list(values))
        result = self.set(node, values)
        assert not result.successful, f"{values} was accepted"
        assert self.get(node, list(values)) == before
        return str(result.reason)

    def all_parameters(self, node: str) -> dict[str, Any]:
        """All of a node's own parameters, by name."""
        names = sorted(parameters_of(node))
        return dict(zip(names, self.get(node, names), strict=True))

    def changed_parameters(self, node: str, before: Mapping[str, Any]) -> dict[str, Any]:
        """What to put so that a node has its former parameters again."""
        now = self.all_parameters(node)
        return {name: value for name, value in before.items() if now[name] != value}

    def get(self, node: str, names: Sequence[str]) -> list[Any]:
        """Values of parameters."""
        request = GetParameters.Request(names=list(names))
        values = self.call(GetParameters, f"/{node}/get_parameters", request).values
        return [
            list(x) if hasattr(x, "tolist") else x for x in map(parameter_value_to_python, values)
        ]

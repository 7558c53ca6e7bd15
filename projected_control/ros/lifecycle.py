"""What all nodes share: parameters, a lifecycle that starts itself, diagnostics, a main."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Generic, TypeVar, cast

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.signals import SignalHandlerOptions

from projected_control.errors import NotYet, ProjectedControlError
from projected_control.ros.parameters import (
    DeclaredParameters,
    check_arguments,
    require_inactive,
)
from projected_control.ros.realtime import Preparation, ordinary_priority, prepare_process
from projected_control.ros.start_and_end import (
    StartInterrupted,
    description_from_topic,
    ending,
    starting,
    tell_to_end,
)
from projected_control.ros.transport import avoid_shared_memory, unheard
from projected_control.settings.nodes import (
    ConstrainedArmSettings,
    NodeSettings,
    settings_class,
)

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals by which a node ends in order: Ctrl+C, kill, a terminal that is closed."""

RETRY_SECONDS = 0.25  # how often a node that starts itself tries again [s]

_PACES = ("lockstep", "simulation.factor")
"""Parameters by which a node runs as fast as it can: with priority no other process would run."""

Status = tuple[int, str, dict[str, Any]]
OK, WARN, ERROR = 0, 1, 2

S = TypeVar("S", bound=NodeSettings)


class ManagedNode(LifecycleNode, Generic[S]):
    """A lifecycle node that declares its parameters from its settings and may start itself.

    Subclasses implement `configure`, `activate`, `deactivate`, `cleanup` and `status`; whatever
    these raise becomes a refused transition with the reason in the log and on /diagnostics.

    A node that starts itself does so once: deactivated by a user, or by itself for a reason, it
    stays inactive until it is told to start.

    Args:
        kind: Which node it is (see `settings.nodes`), and its own name unless remapped.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind
        self.active = False
        self.stopped_by_itself = ""
        self._reason = ""
        self._to_be_started = True
        self._class = cast(type[S], settings_class(kind))
        self._declared = DeclaredParameters(self, self._class, self._accept)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        period = 1.0 / self.settings.diagnostics_rate
        self._diagnostics_timer = self.create_timer(period, self.publish_diagnostics)
        self._supervision = self.create_timer(RETRY_SECONDS, self._supervise)
        self._wake = self.create_guard_condition(self._supervise)

    @property
    def settings(self) -> S:
        """All parameters, checked."""
        return self._declared.settings

    # What subclasses do

    def configure(self) -> None:
        """Build from the settings."""

    def activate(self) -> None:
        """Start."""

    def deactivate(self) -> None:
        """Stop, leaving nothing behind."""

    def cleanup(self) -> None:
        """Undo `configure`."""

    def accept(self, settings: S, changed: Sequence[str]) -> None:
        """Validate a change of settings, and put it into force if active; raise to refuse it."""

    def status(self) -> Status:
        """Level, message and values for /diagnostics."""
        return OK, "", {}

    def diagnosed(self, status: dict[str, Any]) -> None:
        """This was published on /diagnostics."""

    def failure(self) -> str:
        """Why an active node cannot go on, or nothing. Asked a few times a second."""
        return ""

    def look_now(self) -> None:
        """Have `failure` asked at once instead of at its next turn; from any thread."""
        self._wake.trigger()

    @property
    def trouble(self) -> str:
        """Why it does not do its work though it should: refused, or stopped by itself; or nothing.

        A node that a user deactivated, or that waits to be told to start, is not in trouble.
        """
        if self.stopped_by_itself or self.active:
            return self.stopped_by_itself
        return self._reason

    @property
    def _starts_itself(self) -> bool:
        """Whether it goes on trying to start; else it waits to be told to."""
        return bool(self.settings.autostart) and self._to_be_started

    # Lifecycle

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        with ordinary_priority(), starting():  # it may take long
            return self._attempt("configure", self._configure)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        with starting():
            result = self._attempt("activate", self.activate)
        self.active = result == TransitionCallbackReturn.SUCCESS
        if self.active:
            self.stopped_by_itself = ""
            self._to_be_started = False
            super().on_activate(state)
        return result

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._leave_active()
        super().on_deactivate(state)
        return TransitionCallbackReturn.SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._attempt("clean up", self.cleanup)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._leave_active()
        return self._attempt("shut down", self.cleanup)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._leave_active()
        self._attempt("clean up", self.cleanup)
        return TransitionCallbackReturn.SUCCESS

    def _configure(self) -> None:
        settings = self.settings
        if isinstance(settings, ConstrainedArmSettings) and not (
            settings.robot_description or settings.robot_description_file
        ):
            self._declared.put({"robot_description": description_from_topic(self)})
        with starting(computes=True):
            self.configure()

    def _leave_active(self) -> None:
        if self.active:
            self.active = False
            self._attempt("deactivate", self.deactivate)

    def _attempt(self, what: str, action: Callable[[], None]) -> TransitionCallbackReturn:
        try:
            action()
        except StartInterrupted:
            return TransitionCallbackReturn.FAILURE  # the reason of an earlier attempt stays
        except Exception as error:  # else the middleware would swallow it without a word
            known = isinstance(error, ProjectedControlError)
            reason = str(error) if known else f"{type(error).__name__}: {error}"
            if reason != self._reason:
                if isinstance(error, NotYet) and self._starts_itself:
                    self.get_logger().info(f"waiting to {what}: {reason}")
                else:
                    self.get_logger().error(f"cannot {what}: {reason}")
            self._reason = reason
            return TransitionCallbackReturn.FAILURE
        self._reason = ""
        return TransitionCallbackReturn.SUCCESS

    def _accept(self, settings: S, changed: list[str]) -> None:
        require_inactive(self._class, changed, self.active)
        with nullcontext() if self.active else ordinary_priority():  # inactive, it may take long
            self.accept(settings, changed)
        if "diagnostics_rate" in changed:
            self._diagnostics_timer.timer_period_ns = round(1e9 / settings.diagnostics_rate)

    def _supervise(self) -> None:
        """Stop an active node that cannot go on; start one that starts itself."""
        if self.active:
            gc.collect(1)  # the collector itself is off: sweep up what is young, which is little
            reason = self.failure()
            if reason:
                self.get_logger().error(f"going inactive: {reason}")
                self.stopped_by_itself = reason
                self.publish_diagnostics()  # to stop may take a while
                self.trigger_deactivate()
                self.publish_diagnostics()
            return
        if not self._starts_itself:
            return
        if self._state_machine.current_state[1] == "unconfigured":
            self.trigger_configure()
        if self._state_machine.current_state[1] == "inactive":
            self.trigger_activate()

    # Diagnostics

    def publish_diagnostics(self) -> None:
        level, message, values = self.status()
        label = self._state_machine.current_state[1]
        if self.stopped_by_itself:
            again = f"; and refused: {self._reason}" if self._reason else ""
            level, message = ERROR, self.stopped_by_itself + again
        elif self._reason:
            word = "waiting" if self._starts_itself else "refused"
            level, message = max(level, WARN), f"{word}: {self._reason}"
        status = DiagnosticStatus(
            level=bytes([level]),
            name=f"{self.get_fully_qualified_name().lstrip('/')}",
            message=message or label,
            hardware_id="projected_control",
            values=[
                KeyValue(key=str(k), value=_text(v)) for k, v in {"state": label, **values}.items()
            ],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)
        self.diagnosed(
            {
                "level": level,
                "name": status.name,
                "message": status.message,
                "hardware_id": status.hardware_id,
                "values": {pair.key: pair.value for pair in status.values},
            }
        )


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def run(
    factory: Callable[[], ManagedNode[Any]], kind: str, arguments: Sequence[str] | None = None
) -> int:
    """The main of a node: start, spin until told to stop, leave nothing behind.

    Returns:
        The exit status: 0, or 1 where the node had stopped by itself or was refused its start, with
        the reason on the console; 2 where its parameters were refused.
    """
    avoid_shared_memory()
    if "HOME" not in os.environ:
        os.environ.setdefault("ROS_LOG_DIR", tempfile.gettempdir())
    stop: list[int] = []

    def told(*_: object) -> None:
        stop.append(1)
        tell_to_end()

    for number in _ENDINGS:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup
            signal.signal(number, told)
    argv = list(sys.argv if arguments is None else arguments)
    try:
        check_arguments(kind, argv)
    except ProjectedControlError as error:
        print(f"{kind}: {error}", file=sys.stderr)
        return 2
    prepared = _prepare(kind, argv)
    rclpy.init(args=argv, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = factory()
    except ProjectedControlError as error:
        print(f"{kind}: {error}", file=sys.stderr)
        rclpy.shutdown()
        return 2
    say = node.get_logger().warning if prepared.refused else node.get_logger().info
    say(prepared.line)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        while not stop:
            try:
                executor.spin_once(timeout_sec=0.1)
            except _rclpy.RCLError as error:
                # Jazzy raises out of the executor for a transition the state does not have.
                node.get_logger().error(f"refused: {error}")
    finally:
        for number in _ENDINGS:
            signal.signal(number, signal.SIG_IGN)  # we are going already
        trouble = node.trouble
        if trouble:
            node.get_logger().error(f"ends without having done its work: {trouble}")
        node._leave_active()
        executor.shutdown()
        node.cleanup()
        with ending():
            node.destroy_node()
            rclpy.shutdown()
    return 1 if trouble else 0


def _prepare(kind: str, argv: Sequence[str]) -> Preparation:
    """Real-time settings count before the middleware starts its threads, so look at them first."""
    table = settings_class(kind).parameters()
    names = [name for name in table if name.startswith("realtime.") or name in _PACES]
    try:
        given = _given(kind, argv, names) if len(argv) > 1 else {}
    except ProjectedControlError as error:
        return Preparation([], [str(error)])
    values: dict[str, Any] = {name: given.get(name, table[name].default) for name in names}
    return prepare_process(
        values["realtime.priority"],
        values["realtime.lock_memory"],
        values["realtime.cpus"],
        at_a_pace=not values.get("lockstep") and bool(values.get("simulation.factor", 1.0)),
    )


def _given(kind: str, argv: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    """The values of parameters as the command line gives them, checked.

    The node that is asked for them has the name of the one to come, and is gone at once: others do
    not hear of it, as they may miss its end and then take it for that one for a while.
    """
    context = Context()
    with unheard():
        rclpy.init(args=list(argv), context=context, signal_handler_options=SignalHandlerOptions.NO)
    try:
        probe = rclpy.create_node(kind, context=context)
        table, any_type = (
            settings_class(kind).parameters(),
            ParameterDescriptor(dynamic_typing=True),
        )
        given = {
            name: probe.declare_parameter(name, descriptor=any_type).value for name in names
        }  # without a default: None for those that are not given
        probe.destroy_node()
        return {name: table[name].check(v) for name, v in given.items() if v is not None}
    finally:
        context.try_shutdown()

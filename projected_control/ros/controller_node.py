"""The controller nodes: one class, three names."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic, sleep
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant, ReferencePoint
from projected_control.errors import ProjectedControlError
from projected_control.model.dynamics import condition_numbers
from projected_control.ports.port import ArmState
from projected_control.ros.answering import Answering
from projected_control.ros.lifecycle import ERROR, OK, WARN, ManagedNode, Status
from projected_control.ros.markers import Markers
from projected_control.ros.neighbours import (
    Neighbours,
    require_constraint,
    require_near,
    require_start,
)
from projected_control.ros.reach import Reach, reach_for
from projected_control.ros.topics_port import QUEUE, LoopThread, Wiring
from projected_control.ros.trajectories import reference_from_trajectory
from projected_control.ros.wait_set import side_node
from projected_control.settings import build
from projected_control.settings.parameters import PASSIVE, parameters_of

FIRST_STATE_SECONDS = 1.0
"""How long an activation waits for the arm [s]."""

DISCOVERY_SECONDS = 3.5
"""How old a node must be to know who else is there; before, it does not activate [s].

Nodes hear of each other at once or, often, with the next announcement, which comes every 3 s.
"""

LISTEN_SECONDS = 0.05
"""Between two looks whether the watchdog is still there [s]."""

ECHOES = 300
"""Of efforts in the arm's states, from which the delay counts as measured."""

RECENT = 2000
"""Ticks that the diagnostics look back on; to sort more would keep the loop waiting."""

LARGEST_FORCE = 1e6
"""Of a force reference from the topic [N]: what the parameter force.reference takes too."""

Change = Callable[[ControlLoop, float], None]
"""Made between two ticks, with the loop and its time [s]."""


class ControllerNode(ManagedNode):
    """Joint states in, efforts out: parameters, lifecycle and topics around a `ControlLoop`."""

    def __init__(self, kind: str) -> None:
        self._loop: ControlLoop | None = None
        self._houses_kept = 0
        self._thread: Answering | None = None
        self._last_run: dict[str, Any] | None = None
        self._reach: Reach | None = None
        self._born = monotonic()
        super().__init__(kind)
        self._loop_node = side_node(self, "loop")
        self._neighbours = Neighbours(self, self._loop_node, self.settings["watchdog"])
        name = self.get_name()
        self._voice = (
            self._loop_node.create_publisher(Header, f"{name}/heartbeat", QUEUE),
            self._loop_node.create_publisher(JointState, f"{name}/state", QUEUE),
        )
        self.create_timer(LISTEN_SECONDS, self._hear_watchdog)
        self.create_subscription(JointTrajectory, "~/reference", self._on_reference, 10)
        self.create_service(Trigger, "~/summary", self._on_summary)
        self._markers: Markers | None = None
        if self.settings["markers_rate"]:
            self.create_timer(1.0 / self.settings["markers_rate"], self._draw)
        if "force.reference" in self.settings:
            self.create_subscription(
                Float64MultiArray, "~/force_reference", self._on_force_reference, 10
            )

    # Lifecycle

    def configure(self) -> None:
        self.get_logger().info(
            "preparing the control law; compiling it the first time takes half a minute"
        )
        self._loop = self._build(self.settings)

    def _build(self, settings: dict[str, Any]) -> ControlLoop:
        loop = build.build_loop(self.kind, settings)
        _check_reference(settings, loop.controller.model.k)
        loop.warm_up()
        return loop

    def activate(self) -> None:
        loop = self._require_loop()
        sleep(max(self._born + DISCOVERY_SECONDS - monotonic(), 0.0))
        self._neighbours.require_watchdog(self.settings)
        self._reach = reach = reach_for(self, loop.controller.model.arm)
        self._neighbours.refuse_others(reach.wiring.commands, self.active)
        self._neighbours.refuse_namesake()
        thread = LoopThread(self._loop_node, self._voice, loop, self.settings, reach.wiring)
        try:
            self._begin(loop, thread.first_state(FIRST_STATE_SECONDS))
            self._allow_for(loop, reach.delay(thread))
            if not thread.await_listener(FIRST_STATE_SECONDS):
                self.get_logger().warning(f"nobody listens to {reach.wiring.commands} yet")
            reach.engage()
        except Exception:
            thread.destroy()
            reach.close()
            raise
        self._thread = thread
        thread.ended = self.look_now
        thread.start()
        self._say_active(loop)

    def _begin(self, loop: ControlLoop, state: ArmState) -> None:
        """Prepare to start from a state; raise where that cannot be."""
        model = loop.controller.model
        require_start(loop, state.q, self.settings["constraint.residual_tolerance"])
        loop.reset()
        loop.controller.hold(state.q, state.v)
        here = ReferencePoint(model.theta.copy(), *np.zeros((2, model.k)))
        reference = build.build_reference(self.settings, here, 0.0)
        require_near(loop, reference)
        loop.set_reference(reference)

    def _say_active(self, loop: ControlLoop) -> None:
        names = loop.controller.model.coordinates
        self.get_logger().info(
            f"active: {loop.controller.law.name} on {', '.join(names.names if names else ())}, "
            f"{loop.controller.model.rank} of {loop.controller.model.n} directions constrained"
        )

    def deactivate(self) -> None:
        disturbed = False
        if self._thread is not None:
            self._thread.stop()
            disturbed = bool(self._thread.foreign)
            self._last_run = self._thread.summary()
            self._thread.destroy()
            self._thread = None
        if self._reach is not None:
            reach, self._reach = self._reach, None
            reach.release(disturbed)

    def cleanup(self) -> None:
        self._loop = None
        if self._markers is not None:
            self._markers.destroy()
            self._markers = None

    def destroy_node(self) -> None:
        self._loop_node.destroy_node()
        super().destroy_node()

    def failure(self) -> str:
        thread = self._thread
        if thread is not None and thread.lost:
            if thread.foreign and self._reach is not None:
                return self._neighbours.accuse(self._reach.wiring.commands, thread.foreign)
            return thread.lost
        self._houses_kept += 1
        try:
            if thread is not None:
                require_constraint(thread.loop, self.settings["limits.residual"])
            self._neighbours.require_watchdog(self.settings)
            if self._reach is not None:
                self._reach.check()
                if thread is not None and self._reach.has_delay:
                    self._allow_for_echo(thread)
            if self._houses_kept % 4 == 0:  # asking the graph takes its time
                wiring = Wiring() if self._reach is None else self._reach.wiring
                self._neighbours.refuse_others(wiring.commands, self.active)
        except ProjectedControlError as error:
            return str(error)
        return ""

    def _hear_watchdog(self) -> None:
        """More often than the other reasons to stop: its silence counts in tenths of a second."""
        try:
            self._neighbours.require_watchdog(self.settings)
        except ProjectedControlError:
            if self.active:
                self.look_now()

    def _allow_for(self, loop: ControlLoop, delay: int) -> None:
        """Take a longer delay of the force loop into account; refuse gains it makes unstable."""
        force = loop.controller.force
        if force is None or delay <= force.gains.delay:
            return
        gains = replace(force.gains, delay=delay)
        force.check_gains(gains, 0.0)
        force.set_gains(gains, 0.0)

    def _allow_for_echo(self, thread: Answering) -> None:
        """The delay as it shows in the arm's own reports, once there are enough of them."""
        if thread.echo.count < ECHOES or thread.loop.controller.force is None:
            return
        delay = thread.echo.quantile(0.9)
        if delay is None or delay <= thread.loop.controller.force.gains.delay:
            return
        gains = replace(thread.loop.controller.force.gains, delay=delay)
        thread.loop.controller.force.check_gains(gains, 0.0)
        thread.hand_over(lambda running, time: self._allow_for(running, delay))

    def _require_loop(self) -> ControlLoop:
        if self._loop is None:
            raise ProjectedControlError("the controller is not configured")
        return self._loop

    # Changes while running

    def accept(self, settings: dict[str, Any], changed: Sequence[str]) -> None:
        loop, thread = self._loop, self._thread
        if loop is None:
            return
        table = parameters_of(self.kind)
        if not all(table[name].live for name in changed):
            loop = self._build(settings)
            self.cleanup()
            self._loop = loop
            return
        change = self._prepare_change(loop, settings, changed)
        if thread is not None:
            thread.settings = settings
            thread.hand_over(change)
        else:
            change(loop, 0.0)

    def _prepare_change(
        self, loop: ControlLoop, settings: dict[str, Any], changed: Sequence[str]
    ) -> Change:
        """Validate a change of live settings; all of it comes into force between two ticks."""
        model, force = loop.controller.model, loop.controller.force
        groups = {name.split(".")[0] for name in changed}
        seconds = settings["gains.blend_time"] if self.active else 0.0
        changes: list[Change] = []
        if "gains" in groups:
            gains = build.build_gains(settings, model.k)
            changes.append(lambda running, time: running.controller.set_gains(gains, seconds))
        if "force" in groups and force is not None:
            force_gains = build.build_force_gains(settings)
            force.check_gains(force_gains, seconds)
            changes.append(lambda running, time: force.set_gains(force_gains, seconds))
        if "force.reference" in changed and force is not None:
            wanted = build.build_force_reference(settings, model.m)
            changes.append(lambda running, time: running.set_force_reference(wanted))
        if "limits" in groups:
            limits = build.build_limits(settings, model.arm)
            changes.append(lambda running, time: running.guard.set_limits(limits))
        if "reference" in groups:
            _check_reference(settings, model.k)
            if self.active:
                changes.append(lambda running, time: _replan(running, settings, time))

        def change(running: ControlLoop, time: float) -> None:
            for each in changes:
                each(running, time)

        return change

    def _on_reference(self, message: JointTrajectory) -> None:
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            self.get_logger().warning("a reference came while inactive; it is ignored")
            return
        settings, model = self.settings, loop.controller.model
        names = model.coordinates.names if model.coordinates is not None else ()
        try:
            plan = reference_from_trajectory(message, names)
            limits = build.motion_limits(settings, model.k)

            def follow(running: ControlLoop, time: float) -> None:
                here = running.reference.at(time)
                running.set_reference(plan(here, limits, time))

            plan(loop.reference.at(thread.elapsed), limits, thread.elapsed)
        except ProjectedControlError as error:
            self.get_logger().error(f"reference refused: {error}")
            return
        thread.hand_over(follow)

    def _on_force_reference(self, message: Float64MultiArray) -> None:
        loop, thread = self._loop, self._thread
        if loop is None:
            return
        if loop.controller.force is None or thread is None:
            self.get_logger().warning("a force reference came while no force loop is active")
            return
        values, m = np.asarray(message.data, dtype=np.float64), loop.controller.model.m
        if values.shape != (m,) or not (np.abs(values) <= LARGEST_FORCE).all():
            self.get_logger().error(
                f"force reference refused: {m} numbers up to {LARGEST_FORCE:g} N are expected, "
                f"got {values.tolist()}"
            )
            return
        reference = Constant(values)
        thread.hand_over(lambda running, time: running.set_force_reference(reference))

    def _draw(self) -> None:
        """What RViz shows."""
        thread = self._thread
        if thread is None:
            return
        if self._markers is None:
            self._markers = Markers(self, thread.loop, self.settings)
        self._markers.publish(thread.q.copy())

    def _on_summary(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """The numbers of the present run as JSON, or of the last one."""
        numbers = self._last_run if self._thread is None else self._thread.summary()
        response.success = numbers is not None
        response.message = "it has not run" if numbers is None else json.dumps(numbers)
        return response

    # Diagnostics

    def status(self) -> Status:
        loop, thread = self._loop, self._thread
        if loop is None:
            return OK, "", {}
        controller, model = loop.controller, loop.controller.model
        values: dict[str, Any] = {"law": controller.law.name}
        if controller.force is not None:
            gains = controller.force.gains
            values["force loop gain margin"] = gains.loop(controller.period).gain_margin
        if thread is None:
            return OK, "", values
        summary, statistics = thread.summary(RECENT), thread.statistics
        latency, delay = summary["latency_us"], thread.echo.quantile(0.9)
        values |= {
            "ticks": summary["ticks"],
            "rate (Hz)": summary["rate_hz"],
            "jitter (us)": summary["jitter_us"],
            "latency p50 (us)": latency["p50"],
            "latency p99 (us)": latency["p99"],
            "latency max (us)": latency["max"],
            "deadlines missed": thread.deadline_misses,
            "states skipped": thread.skipped,
            "messages malformed": thread.malformed,
            "residual (m)": float(np.linalg.norm(model.residual)),
            "rank": model.rank,
            "condition number of M_c": _condition_number(model.M.copy(), model.P.copy()),
            "coordinate independence": float(controller.margins[0]),
            "force from": "none"
            if controller.force is None
            else getattr(loop.observer, "method", "sensor"),
            "delay (samples)": delay,
            **summary["events"],
        }
        if self.kind == PASSIVE:
            values["controllability"] = float(controller.margins[1])
        troubled = {a.name.lower(): n for a, n in statistics.actions.copy().items() if a}
        values |= {f"answers: {name}": n for name, n in troubled.items()}
        if thread.lost:
            return ERROR, thread.lost, values
        if thread.refused:
            return WARN, f"a change could not be made: {thread.refused}", values
        if loop.report.events:
            return WARN, ", ".join(loop.report.reasons), values
        return OK, "following", values


def _check_reference(settings: dict[str, Any], k: int) -> None:
    """Raise where the settings make no reference for k coordinates."""
    build.build_reference(settings, ReferencePoint(*np.zeros((3, k))), 0.0)


def _replan(running: ControlLoop, settings: dict[str, Any], time: float) -> None:
    """Go over smoothly to the reference of new settings."""
    smooth = {**settings, "reference.approach": True}
    running.set_reference(build.build_reference(smooth, running.reference.at(time), time))


def _condition_number(M: Any, P: Any) -> float:
    """κ(M_c); NaN for a state that was not finite."""
    if not (np.isfinite(M).all() and np.isfinite(P).all()):
        return float("nan")
    return float(condition_numbers(M, P)["R2"])

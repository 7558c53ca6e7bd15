"""The controller nodes: parameters, lifecycle and topics around a control loop on a port."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from time import monotonic
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from projected_control.control.activation import require_held, require_limits, require_start
from projected_control.control.loop import ControlLoop
from projected_control.errors import ProjectedControlError
from projected_control.planning.way_check import WayCheck
from projected_control.ros.console import GuardConsole, Notices
from projected_control.ros.contact_topics import ContactServices
from projected_control.ros.controller_manager import CannotEngage
from projected_control.ros.last_word import LastWord
from projected_control.ros.lifecycle import ERROR, OK, WARN, ManagedNode, Status
from projected_control.ros.listening_port import LOCKSTEP_PATIENCE, QUEUE
from projected_control.ros.live_changes import (
    allow_for_delay,
    begin_with_delay,
    force_change,
    prepare_change,
)
from projected_control.ros.loop_thread import LoopThread, SignsOfLife
from projected_control.ros.markers import Markers
from projected_control.ros.neighbours import AnotherCommander, ForeignCommand, Neighbours
from projected_control.ros.node_recording import NodeRecording
from projected_control.ros.parameters import is_live
from projected_control.ros.state_topic import StateReporter, controller_status
from projected_control.ros.tare_service import TareService
from projected_control.ros.trajectories import Led, reviewed
from projected_control.ros.trajectory_action import follow_trajectories
from projected_control.ros.transport import DISCOVERY_SECONDS, wait_for_others
from projected_control.ros.wait_set import side_node
from projected_control.runs.port import PORTS, Port
from projected_control.runs.runner import Runner
from projected_control.settings import build
from projected_control.settings.nodes import ControllerSettings, ForceControllerSettings
from projected_control.settings.real_arms import NO_BASE_STATE, NO_WATCHDOG, is_real, require_said

LISTEN_SECONDS = 0.05
"""Period of checking the watchdog and of writing to the console [s]."""

LARGEST_FORCE = 1e6
"""Largest force reference from the topic [N]; the parameter force.reference has the same bound."""


class ControllerNode(ManagedNode[ControllerSettings]):
    """Joint states in, efforts out."""

    def __init__(self, kind: str) -> None:
        self._loop: ControlLoop | None = None
        self._way_check: tuple[ControllerSettings, WayCheck] | None = None
        self._led: Led | None = None
        self._runner: Runner | None = None
        self._thread: LoopThread | None = None
        self._last_run: dict[str, Any] | None = None
        self._refused, self._refusals = "", 0
        self._checks = 0
        self._born = monotonic()
        self._life: SignsOfLife | None = None
        self._foreign_command: ForeignCommand | None = None
        self._last_word: LastWord | None = None
        self._ended_by = ""
        self._notices = Notices()
        self._beside_another = False
        self._recording: NodeRecording | None = None
        super().__init__(kind)
        name = self.get_fully_qualified_name()
        self._recording = NodeRecording(name, kind, self.get_logger().info)
        self._loop_node = side_node(self, "loop")
        self._neighbours = Neighbours(self, self._loop_node, _watchdog(self.settings))
        self._console = self._new_console()
        self.create_timer(LISTEN_SECONDS, self._listen)
        name = self.get_name()
        self._beats = self._loop_node.create_publisher(Header, f"{name}/heartbeat", QUEUE)
        self._states = self._loop_node.create_publisher(JointState, f"{name}/state", QUEUE)
        self._hear(JointTrajectory, "reference", self._on_reference)
        self._trajectories = follow_trajectories(self)
        self.create_service(Trigger, "~/summary", self._on_summary)
        self._markers: Markers | None = None
        self._undrawable = False
        if self.settings.markers_rate:
            self.create_timer(1.0 / self.settings.markers_rate, self._draw)
        self._contacts: ContactServices | None = None
        if isinstance(self.settings, ForceControllerSettings):
            self._hear(Float64MultiArray, "force_reference", self._on_force_reference)
            self._contacts = ContactServices(self, self._loop_node)
        self._taring = TareService(self)

    def _new_console(self) -> GuardConsole:
        return GuardConsole(is_real(self.settings))

    @property
    def runner(self) -> Runner | None:
        """What takes the arm through its ticks; None while inactive."""
        return self._runner

    def _hear(self, kind: Any, topic: str, callback: Callable[[Any], None]) -> None:
        """Listen to one of the node's own topics; of what waits there only the newest counts."""
        self.create_subscription(kind, f"~/{topic}", callback, 1)

    # Lifecycle

    def configure(self) -> None:
        self.get_logger().info("preparing the control law")
        self._loop = self._build(self.settings)
        self._warn(self.settings)

    def _warn(self, settings: ControllerSettings) -> None:
        """What is doubtful about settings that are not wrong."""
        arm = self._loop.controller.model.arm if self._loop is not None else None
        delay = self._loop.controller.arm_delay if self._loop is not None else 1
        doubts = build.gain_warnings(settings, delay)
        for text in (*doubts, *(arm.warnings if arm is not None else ())):
            self.get_logger().warning(text)

    def _build(self, settings: ControllerSettings) -> ControlLoop:
        loop = build.build_loop(self.kind, settings)
        if not PORTS[settings.hardware].knows_base:
            loop.controller.model.arm.require_fixed("a node", NO_BASE_STATE)
        build.check_reference(settings, loop.controller.model.k)
        loop.warm_up()
        return loop

    @property
    def way_check(self) -> WayCheck:
        """What looks at references before they are taken, for the settings in force."""
        if self._way_check is None or self._way_check[0] is not self.settings:
            check = build.build_way_check(self.kind, self.settings)
            self._way_check = (self.settings, check)
        return self._way_check[1]

    def activate(self) -> None:
        loop = self.require_loop()
        self._foreign_command = None
        require_said(self.settings)
        if is_real(self.settings):
            require_limits(loop)
        if PORTS[self.settings.hardware].lets_fall and not self.settings.ros2_control.may_fall:
            require_held(loop.controller.model.arm, loop.guard.limits)
        port = self._make_port(loop)
        reporter = StateReporter(self._beats, self._states, loop, port, self.settings)
        reporter.warm_up()
        lockstep = self.settings.lockstep
        runner = Runner(
            loop,
            port,
            self._listeners(reporter),
            lost_time=LOCKSTEP_PATIENCE if lockstep else self.settings.limits.lost_time,
            stale=not lockstep,
        )
        if port.remote:  # before it is engaged: from then on the loop that acts expects them
            self._life = SignsOfLife(port.beat, self._reads, self.settings.plugin.request_time)
            self._life.start()
        try:
            with self.deciding():
                self._engage(runner, reporter)
        except BaseException:
            self._end_signs()
            raise
        self._say_active(loop)

    def _engage(self, runner: Runner, reporter: StateReporter) -> None:
        """Take the arm over, and let the loop begin."""
        runner.open(self._prepare)
        try:
            if self._recording is not None:
                self._recording.start(runner, self.settings)
            self._leave_topic(at_once=True)
            self._beside_another = False
            reporter.statistics = runner.statistics
            self._runner, self._console, self._refused = runner, self._new_console(), ""
            self._led = None
            if runner.port.waits:
                self._thread = LoopThread(runner, reporter, self._console, self.look_now)
                self._thread.start()
        except BaseException:
            self._runner = self._thread = None
            try:
                runner.port.close()
            finally:
                if self._recording is not None:
                    self._recording.stop()
            raise

    def _reads(self, seconds: float) -> bool:
        """Whether the reading thread has made a turn within this time [s], or is yet to begin."""
        thread = self._thread
        return thread is None or thread.alive(seconds)

    def _end_signs(self) -> None:
        life, self._life = self._life, None
        if life is not None:
            life.stop()

    def _listeners(self, reporter: StateReporter) -> list[Any]:
        """Who looks on at every tick."""
        topics = [] if self._contacts is None else [self._contacts.topic(self.require_loop())]
        return [reporter, self._taring, *topics]

    def listening_port(self, loop: ControlLoop) -> Port:
        """A way to the arm on which nothing is going to be sent."""
        return PORTS[self.settings.hardware].make(self, self._loop_node, loop)

    def _make_port(self, loop: ControlLoop) -> Port:
        """The way to the arm; refused beside others who command it."""
        wait_for_others(self, self._born, self._watched)
        self._require_watchdog()
        port = PORTS[self.settings.hardware].make(self, self._loop_node, loop)
        if not self._starts_itself:
            port.patience = DISCOVERY_SECONDS
        try:
            if port.commands:
                self._neighbours.refuse_others(port.commands, self.active)
            self._neighbours.refuse_namesake()
        except ProjectedControlError:
            port.close()
            raise
        return port

    def _prepare(self, loop: ControlLoop, port: Port) -> None:
        """Get ready to start from where the arm is; raise where that cannot be."""
        model, settings = loop.controller.model, self.settings
        q = model.arm.q.copy()
        here = build.starting_point(settings, model)
        real = is_real(settings)
        require_start(loop, q, settings.constraint.residual_tolerance, real=real)
        first = build.first_reference(settings, loop, here, q)
        if real:
            self.way_check.require(first, q, 0.0, bounded=False)
        loop.set_reference(first)
        begin_with_delay(loop, settings, port.delay)

    def _say_active(self, loop: ControlLoop) -> None:
        names = loop.controller.model.coordinates
        self.get_logger().info(
            f"active: {loop.controller.law.name} on {', '.join(names.names if names else ())}, "
            f"{loop.controller.model.rank} of {loop.controller.model.n} directions constrained"
        )

    def deciding(self) -> AbstractContextManager[None]:
        """Around what may take its time; see `SignsOfLife`."""
        return nullcontext() if self._life is None else self._life.deciding()

    def deactivate(self) -> None:
        self._end_signs()
        runner, self._runner = self._runner, None
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.stop()
        self._console = self._new_console()  # what was going on is over
        if runner is not None:
            self._last_run = self._summary(runner)
            if thread is None:
                self._beats.publish(Header(frame_id="inactive"))
            if self._beside_another:
                runner.port.outlast()
            try:
                runner.port.close()  # first of all the arm
            finally:
                self._last_word, self._ended_by = runner.port.last_word, self.stopped_by_itself
                if self._recording is not None:
                    self._recording.stop()

    def _leave_topic(self, at_once: bool = False) -> None:
        """No more zeros in answer to what others command."""
        last_word, self._last_word = self._last_word, None
        self._notices = Notices()
        if last_word is not None:
            last_word.stop(at_once)

    def cleanup(self) -> None:
        self._leave_topic()
        self._loop = None
        self._draw_no_more()

    def _draw_no_more(self) -> None:
        self._undrawable = False
        if self._markers is not None:
            self._markers.destroy()
            self._markers = None

    def destroy_node(self) -> None:
        if self._trajectories is not None:
            self._trajectories.destroy()
        self._loop_node.destroy_node()
        super().destroy_node()

    def failure(self) -> str:
        runner = self._runner
        if runner is None:
            return ""
        if runner.lost:
            return self._why_lost(runner)
        self._checks += 1
        try:
            runner.port.check()
            self._check_neighbours(runner.port)
            self._allow_for_measured(runner)
        except AnotherCommander as error:
            self._beside_another = True
            return str(error)
        except CannotEngage as error:
            return self._neighbours.explained(str(error))
        except ProjectedControlError as error:
            return str(error)
        return ""

    def _why_lost(self, runner: Runner) -> str:
        """Why the loop has ended by itself, with the name of who is to blame for it."""
        port = runner.port
        if not port.disturbed:
            return runner.lost
        if self._foreign_command is None:
            self._foreign_command = self._neighbours.foreign_command(port.commands, port.disturbed)
        return self._foreign_command.words()

    def _listen(self) -> None:
        """Log what the guard did; check the watchdog more often than the other reasons to stop."""
        if self._life is not None:
            self._life.turned()
        if self._last_word is not None and self._last_word.speaks:
            self._notices.begin("zeros", self._last_word.words())
        else:
            self._notices.end("zeros", "nothing else is heard on the topic of commands any more")
        now = monotonic()
        for line in (*self._console.lines(now), *self._notices.due(now)):
            self.get_logger().warning(line)
        self._taring.look()
        if self._runner is not None:
            try:
                self._require_watchdog()
            except ProjectedControlError:
                self.look_now()

    def _require_watchdog(self) -> None:
        """Raise where the watchdog is silent, unless the arm's side answers silence by itself."""
        if PORTS[self.settings.hardware].needs_watchdog:
            running = self._runner if self.settings.lockstep else None
            self._neighbours.require_watchdog(
                _watchdog(self.settings),
                self.settings.limits.watchdog_time,
                None if running is None else 1e-9 * running.port.stamp_ns,
            )

    def _watched(self) -> bool:
        """Whether the watchdog is heard, unless there is none to be heard."""
        try:
            self._require_watchdog()
        except ProjectedControlError:
            return False
        return True

    def _check_neighbours(self, port: Port) -> None:
        """Raise where the watchdog has fallen silent, or where others command the arm."""
        self._require_watchdog()
        if self._checks % 4 == 0 and port.commands:  # the graph takes its time
            self._neighbours.refuse_others(port.commands, self.active)

    def _allow_for_measured(self, runner: Runner) -> None:
        """The delay as it shows in the arm's own reports, once there are enough of them."""
        delay = runner.port.measured_delay()
        if delay is None or not runner.port.delay_counts:
            return
        if delay > runner.loop.controller.delay:
            allow_for_delay(runner.loop, delay, only_check=True)
            runner.hand_over(lambda loop, time: allow_for_delay(loop, delay, running=True))

    def require_loop(self) -> ControlLoop:
        """What answers; raises before the node is configured."""
        if self._loop is None:
            raise ProjectedControlError("the controller is not configured")
        return self._loop

    # Changes while running

    def accept(self, settings: ControllerSettings, changed: Sequence[str]) -> None:
        loop, runner = self._loop, self._runner
        if loop is None:
            return
        if not all(is_live(type(settings), name) for name in changed):
            built = self._build(settings)
            self._draw_no_more()
            self._loop = built
            return
        check = None
        with self.deciding():
            if any(name.startswith("reference.") for name in changed):
                check = build.build_way_check(self.kind, settings)
            change = prepare_change(
                loop, settings, changed, running=runner is not None, check=check
            )
        if self._life is not None:
            self._life.request_time = settings.plugin.request_time
        if runner is not None and self._recording is not None:
            if "recording.file" in changed:
                self._recording.start(runner, settings)
            values = settings.values()
            change = self._recording.noting(change, {name: values[name] for name in changed})
        if any(name.startswith("gains.") for name in changed):
            self._warn(settings)
        if runner is None:
            change(loop, 0.0)
            return
        if not settings.lockstep:
            runner.lost_time = settings.limits.lost_time
        runner.port.adopt(settings)
        runner.hand_over(change)

    def refuse(self, reason: str) -> None:
        """Say that a reference was refused; on /diagnostics until one is taken, or a run begins."""
        self.get_logger().error(reason)
        self._refused, self._refusals = reason, self._refusals + 1
        self.publish_diagnostics()

    def _on_reference(self, message: JointTrajectory) -> None:
        loop, runner = self._loop, self._runner
        if loop is None or runner is None:
            self.refuse("reference refused: it came while inactive")
            return
        if self._led is not None and self._led.repeated(message, loop):
            self._refused = ""
            return
        led = Led(message)
        try:
            with self.deciding():
                plan = reviewed(message, runner, self.way_check)
        except ProjectedControlError as error:
            self.refuse(f"reference refused: {error}")
            return
        self._refused, self._led = "", led

        def follow(running: ControlLoop, time: float) -> None:
            led.reference = plan(running, time)
            running.set_reference(led.reference)

        runner.hand_over(follow)

    def _on_force_reference(self, message: Float64MultiArray) -> None:
        loop, runner = self._loop, self._runner
        if loop is None:
            return
        settings = self.settings
        if (
            loop.controller.force is None
            or runner is None
            or not isinstance(settings, ForceControllerSettings)
        ):
            self.refuse("force reference refused: no force loop is active")
            return
        values = np.asarray(message.data, dtype=np.float64)
        rows = int(loop.controller.force.controlled.sum())
        sizes = (rows, loop.controller.model.m)
        if values.size not in sizes or not (np.abs(values) <= LARGEST_FORCE).all():
            self.refuse(
                f"force reference refused: {rows} numbers up to {LARGEST_FORCE:g} N are expected, "
                f"got {values.tolist()}"
            )
            return
        desired = loop.controller.force.expanded(values)
        try:
            runner.hand_over(force_change(loop, settings, desired, runner.time))
        except ProjectedControlError as error:
            self.refuse(f"force reference refused: {error}")
            return
        self._refused = ""

    # What others see

    def _draw(self) -> None:
        if self._runner is None or self._undrawable:
            return
        try:
            if self._markers is None:
                self._markers = Markers(self, self._runner.loop)
            self._markers.publish(self._runner.loop.controller.model.arm.q.copy())
        except Exception as error:  # a constraint of another package may raise anything
            self._draw_no_more()
            self._undrawable = True
            self.get_logger().warning(
                "no markers are drawn until the node is configured again; what is drawn of the "
                f"constraint (shapes_at, wrench) failed with {type(error).__name__}: {error}"
            )

    def _summary(self, runner: Runner) -> dict[str, Any]:
        engine = {"engine": runner.loop.engine}
        recording = {} if self._recording is None else self._recording.status()
        return {**runner.statistics.summary(), **runner.port.counters(), **engine, **recording}

    def _on_summary(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """The numbers of the present run as JSON, or of the last one."""
        runner = self._runner
        numbers = self._last_run if runner is None else self._summary(runner)
        response.success = numbers is not None
        response.message = "it has not run" if numbers is None else json.dumps(numbers)
        return response

    def status(self) -> Status:
        level, message, values = controller_status(self._loop, self._runner)
        if self._refusals:
            values |= {"references refused": self._refusals, "last refusal": self._refused}
        if self._refused and level == OK and self._runner is not None:
            level, message = WARN, self._refused
        if self._runner is not None and self._runner.lost:
            level, message = ERROR, self._why_lost(self._runner)
        if self.stopped_by_itself and self._foreign_command is not None:
            self._ended_by = self.stopped_by_itself = self._foreign_command.words()
        if self.stopped_by_itself and self._last_word is not None:
            self.stopped_by_itself = f"{self._ended_by}; {self._last_word.words()}"
            values["commands answered with zeros"] = self._last_word.heard
        trouble = "" if self._recording is None else self._recording.trouble
        if trouble and level == OK:
            level, message = WARN, trouble
        return level, message, values

    def diagnosed(self, status: dict[str, Any]) -> None:
        if self._recording is not None:
            self._recording.diagnosed(status)


def _watchdog(settings: ControllerSettings) -> str:
    """Name of the watchdog; empty where the controller goes without."""
    return "" if settings.watchdog == NO_WATCHDOG else settings.watchdog

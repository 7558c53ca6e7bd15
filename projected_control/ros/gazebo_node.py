"""A controller node inside Gazebo: its runner is stepped by the physics instead of by messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from projected_control.arrays import Array
from projected_control.control.force_source import WORLD, ForceSource
from projected_control.control.loop import ControlLoop, Tick
from projected_control.errors import ProjectedControlError
from projected_control.model.friction import FRICTIONLESS, JointFriction
from projected_control.ros.controller_node import ControllerNode
from projected_control.ros.gazebo_stopwatch import Spent
from projected_control.ros.listening_port import QUEUE
from projected_control.ros.messages import NANOSECONDS, StateWriter, clock_layout
from projected_control.ros.neighbours import already_there, of_ours
from projected_control.ros.state_topic import StateReporter
from projected_control.ros.transport import wait_for_others
from projected_control.runs.port import Port, SteppedArm
from projected_control.runs.rows import Rows, RowWriter
from projected_control.runs.runner import Runner

MOST_ROWS = 20_000  # most samples kept of the course of a run; a longer one is thinned out
TELL_EVERY = 10  # steps from one joint state and clock on the topics to the next
HEARD = 100  # messages of a topic that wait for their step; of more the oldest are forgotten

TURNING = 4.0
"""Velocities, in units of `JointFriction.blend`, below which dry friction is not known."""


def expected_force(loop: ControlLoop) -> ForceSource | None:
    """What says which λ follows from the effort; None without a constraint."""
    controller = loop.controller
    if controller.model.constraint is None:
        return None
    return ForceSource(controller.model, "model", period=controller.period)


class KeptCourse:
    """Keeps the course of a run, thinned out, and how well it went (a `Listener`).

    Where there is a constraint whose force the sensor measures, λ is compared with what the model
    says follows from the effort that was in force and from friction. Dry friction is known of
    joints that move only: about a turn of one of them nothing is compared.

    Args:
        loop: What runs.
        friction: Friction of the joints in Gazebo.
    """

    def __init__(self, loop: ControlLoop, friction: JointFriction) -> None:
        self._loop, self._model = loop, loop.controller.model
        self._friction = friction
        self._slowest = TURNING * friction.blend if np.any(friction.coulomb) else -1.0
        self._expected = expected_force(loop)
        self._before = np.zeros(self._model.n)
        self._ticks = self._compared = 0
        self._squares = np.zeros(2)  # of λ as the model has it, and of what the sensor differs by
        self._residual = 0.0  # the largest square
        self._spent, self._time = Spent(), 0.0
        self._rows, self._every = Rows.of(loop, MOST_ROWS), TELL_EVERY
        self._rows.numbers.fill(0.0)  # at once, so that memory does not grow with a run's course
        self._writer = RowWriter(loop, self._rows.counters, self._rows.numbers)

    def ticked(self, tick: Tick) -> None:
        residual = self._model.residual
        self._residual = max(self._residual, float(residual @ residual))
        self._time = tick.state.stamp
        if self._ticks % self._every == 0:
            self._compare(tick)
            self._writer.put(tick, 0, 0)
            if len(self._rows.kept) == MOST_ROWS:
                self._thin_out()
        self._before[:] = tick.report.effort
        self._ticks += 1

    def waited(self) -> None:
        """Gazebo does not let us wait."""

    def _thin_out(self) -> None:
        """Keep every second row, and so from now on."""
        half, numbers = MOST_ROWS // 2, self._rows.numbers
        numbers[:half] = numbers[::2].copy()
        self._rows.counters[:] = half
        self._every *= 2

    def _compare(self, tick: Tick) -> None:
        v = self._model.arm.v
        if self._expected is None or not self._before.any() or np.abs(v).min() < self._slowest:
            return
        expected = self._expected.at_present(self._before + self._friction.effort(v))
        if np.isfinite(tick.multipliers).all():
            self._compared += 1
            self._squares += expected @ expected, np.sum((tick.multipliers - expected) ** 2)

    def summary(self) -> dict[str, Any]:
        force, difference = np.sqrt(self._squares / max(self._compared, 1))
        compared = self._compared > 0
        return {
            "residual_max": float(np.sqrt(self._residual)),
            "lambda_model_rms": float(force) if compared else None,
            "lambda_difference_rms": float(difference) if compared else None,
            **self._spent.summary(self._time, self._ticks),
        }

    @property
    def course(self) -> dict[str, Any]:
        """Time, errors and λ, one row per sample."""
        parts = {"time": "stamp", "error": "error", "lambda": "lambda_measured"}
        return {name: self._rows.column(part).tolist() for name, part in parts.items()}


class GazeboController(ControllerNode):
    """The same parameters, topics and diagnostics; the arm is the one in Gazebo.

    Args:
        kind: Kind of the controller.
        wrench_frame: In whose axes the force is measured; empty for the world's.

    Attributes:
        friction: Friction of the joints in Gazebo, of which the control law knows nothing.
    """

    def __init__(self, kind: str, wrench_frame: str = "") -> None:
        self._wrench_frame = wrench_frame or WORLD
        self._port: SteppedArm | None = None
        self.friction = FRICTIONLESS
        self._course: KeptCourse | None = None
        self._idle: Array = np.zeros(0)
        self._heard: list[Any] = []
        self._awake: list[Any] = []
        self._asks_all = True
        self._beside = False
        super().__init__(kind)
        self._to_be_started = False  # the first step of the physics starts it
        node = self._loop_node
        self._joint_states = node.create_publisher(JointState, "joint_states", QUEUE)
        self._clock_topic = node.create_publisher(Clock, "/clock", QUEUE)
        self._clock_layout = clock_layout()
        self._steps = 0
        self._writer: StateWriter | None = None

    def _hear(self, kind: Any, topic: str, callback: Callable[[Any], None]) -> None:
        """Beside the executor, which would take all that has come at once: see `hear`."""
        name = f"{self.get_name()}/{topic}"
        subscription = self._loop_node.create_subscription(kind, name, callback, HEARD)
        self._heard.append(subscription)

    def look(self) -> None:
        """Who publishes now? Asking a topic without a publisher costs a step as much as any."""
        self._awake = [s for s in self._heard if s.handle.get_publisher_count()]
        self._asks_all = True  # once: a publisher may have left something and be gone

    def hear(self) -> None:
        """The next message of each topic: one per step, so that every value takes effect."""
        asked = self._heard if self._asks_all else self._awake
        self._asks_all = False
        for subscription in asked:
            handle = subscription.handle
            with handle:
                taken = handle.take_message(subscription.msg_type, subscription.raw)
            if taken is not None:
                subscription.callback(taken[0])

    @property
    def loop(self) -> ControlLoop | None:
        """What answers; None while it is not configured."""
        return self._loop

    @property
    def lives_on_wrench(self) -> bool:
        """Whether the control law cannot do without the sensor."""
        loop = self._loop
        return (
            loop is not None
            and loop.controller.force is not None
            and loop.force_source.needs_wrench
        )

    @property
    def numbers(self) -> dict[str, Any]:
        """Numbers of this run with its course, or of the last one without; empty without any."""
        if self._runner is None or self._course is None:
            return self._last_run or {}
        return {**self._summary(self._runner), "course": self._course.course}

    def configure(self) -> None:
        super().configure()
        expected_force(self.require_loop())
        arm = self.require_loop().controller.model.arm
        self._writer = StateWriter(arm.joint_names)
        self._port = SteppedArm(arm.n, self._wrench_frame)
        self._idle = np.zeros(arm.n)

    def _make_port(self, loop: ControlLoop) -> Port:
        if self._port is None:
            raise RuntimeError("the controller is not configured")
        return self._port

    def _listeners(self, reporter: StateReporter) -> list[Any]:
        self._course = KeptCourse(self.require_loop(), self.friction)
        return [reporter, self._course]

    def require_alone(self) -> None:
        """Raise beside another controller, arm or watchdog of ours in this ROS domain.

        Nothing else can command the arm in Gazebo, but topics, parameters and /clock would be
        those of two.
        """
        wait_for_others(self, self._born, lambda: True)
        if others := self._others():
            raise ProjectedControlError(already_there(others))

    def _others(self) -> list[str]:
        """Nodes of ours in this domain, but for this one."""
        there = of_ours(self.get_node_names())
        if self.get_name() in there:
            there.remove(self.get_name())
        return there

    def _check_neighbours(self, port: Port) -> None:
        """Name those who come later, once: the run was there before them, and goes on."""
        if not (self._checks % 4 or self._beside) and (others := self._others()):
            self._beside = True
            self.get_logger().error(f"{already_there(others)}; this run goes on")

    def let_go(self) -> None:
        """Gazebo has detached the arm from what holds it."""
        runner = self._runner
        if runner is not None and not runner.lost:
            runner.lost = (
                "the arm has left its constraint: Gazebo has detached it from what held it; a "
                "reset of the world puts it back"
            )

    def _summary(self, runner: Runner) -> dict[str, Any]:
        more = {} if self._course is None else self._course.summary()
        return {**super()._summary(runner), **more}

    def step(self, time: float, q: Array, v: Array, wrench: Array | None) -> Array:
        """One step of the physics: the efforts to apply in it.

        Args:
            time: Simulated [s].
            q, v: Joint positions and velocities.
            wrench: As measured, if it was.
        """
        effort, runner, port = self._idle, self._runner, self._port
        if port is not None:
            port.put(q, v, time, wrench)
            if runner is not None and not runner.lost:
                runner.step()
                self._console.noticed(runner.report, runner.time)
                effort = self._idle if runner.lost else port.effort
        if self._steps % TELL_EVERY == 0:
            self._tell(time, q, v, effort)
        self._steps += 1
        return effort

    def _tell(self, time: float, q: Array, v: Array, effort: Array) -> None:
        """Time and joint states, where a node hears them."""
        now = round(1e9 * time)
        if self._clock_topic.get_subscription_count():
            self._clock_topic.publish(self._clock_layout.write(*divmod(now, NANOSECONDS)))
        if self._writer is not None and self._joint_states.get_subscription_count():
            self._joint_states.publish(self._writer.fill(now, q, v, effort))

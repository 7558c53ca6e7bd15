"""A controller node inside Gazebo: its runner is stepped by the physics instead of by messages."""

from __future__ import annotations

from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from projected_control.control.force_source import ForceSource
from projected_control.control.loop import ControlLoop, Tick
from projected_control.ports.port import Port
from projected_control.ports.runner import Runner
from projected_control.ports.stepped import SteppedArm
from projected_control.ros.controller_node import ControllerNode
from projected_control.ros.messages import NANOSECONDS, StateWriter, clock_layout
from projected_control.ros.state_topic import StateReporter
from projected_control.ros.topics_port import QUEUE

Array = NDArray[np.float64]

MOST_ROWS = 20_000
"""Most samples kept of the course of a run; a longer one is thinned out."""

TELL_EVERY = 10
"""Steps from one joint state and clock on the topics to the next."""


class Course:
    """Keeps the course of a run, thinned out, and how well it went (a `Listener`).

    Where there is a constraint whose force the sensor measures, λ is compared with what the model
    says follows from the effort that was in force.

    Args:
        loop: What runs.
        compares: Whether λ is compared with the model's, which knows of no friction.
    """

    def __init__(self, loop: ControlLoop, compares: bool) -> None:
        self._loop, self._model = loop, loop.controller.model
        self._expected: ForceSource | None = None
        if compares and self._model.constraint is not None:
            self._expected = ForceSource(self._model, "model", period=loop.controller.period)
        self._before = np.zeros(self._model.n)
        self._ticks = self._compared = 0
        self._squares = np.zeros(2)  # of λ as the model has it, and of what the sensor differs by
        self._residual = 0.0
        self._began, self._time = monotonic(), 0.0
        self._rows: list[tuple[float, list[float], list[float]]] = []
        self._every = TELL_EVERY

    def ticked(self, tick: Tick) -> None:
        self._residual = max(self._residual, float(np.linalg.norm(self._model.residual)))
        self._time = tick.state.stamp
        if self._ticks % self._every == 0:
            self._compare(tick)
            error = tick.controller.error[0].tolist()
            self._rows.append((tick.state.stamp, error, tick.multipliers.tolist()))
            if len(self._rows) >= MOST_ROWS:  # keep every second one, and so from now on
                self._rows, self._every = self._rows[::2], 2 * self._every
        self._before[:] = tick.report.effort
        self._ticks += 1

    def waited(self) -> None:
        """Gazebo does not let us wait."""

    def _compare(self, tick: Tick) -> None:
        if self._expected is None or not self._before.any():
            return
        expected = self._expected.at_present(self._before)
        if np.isfinite(tick.multipliers).all():
            self._compared += 1
            self._squares += expected @ expected, np.sum((tick.multipliers - expected) ** 2)

    def summary(self) -> dict[str, Any]:
        """The numbers of the run."""
        force, difference = np.sqrt(self._squares / max(self._compared, 1))
        compared = self._compared > 0
        return {
            "residual_max": self._residual,
            "lambda_model_rms": float(force) if compared else None,
            "lambda_difference_rms": float(difference) if compared else None,
            "real_time_factor": self._time / max(monotonic() - self._began, 1e-9),
        }

    @property
    def course(self) -> dict[str, Any]:
        """Time, errors and λ, one row per sample."""
        return dict(zip(("time", "error", "lambda"), zip(*self._rows, strict=True), strict=True))


class GazeboController(ControllerNode):
    """The same parameters, topics and diagnostics; the arm is the one in Gazebo.

    Args:
        kind: Kind of the controller.

    Attributes:
        has_friction: Whether the joints in Gazebo have friction, of which our model knows nothing.
    """

    def __init__(self, kind: str) -> None:
        self._port: SteppedArm | None = None
        self.has_friction = False
        self._course: Course | None = None
        super().__init__(kind)
        self._to_be_started = False  # the first step of the physics starts it
        node = self._loop_node
        self._joint_states = node.create_publisher(JointState, "joint_states", QUEUE)
        self._clock_topic = node.create_publisher(Clock, "/clock", QUEUE)
        self._clock_layout = clock_layout()
        self._steps = 0
        self._writer: StateWriter | None = None

    @property
    def needs_wrench(self) -> bool:
        """Whether there is a constraint whose force is worth measuring."""
        return self._loop is not None and self._loop.controller.model.constraint is not None

    @property
    def numbers(self) -> dict[str, Any]:
        """Numbers of this run with its course, or of the last one without; empty without any."""
        if self._runner is None or self._course is None:
            return self._last_run or {}
        return {**self._summary(self._runner), "course": self._course.course}

    def configure(self) -> None:
        super().configure()
        arm = self._require_loop().controller.model.arm
        self._writer = StateWriter(arm.joint_names)
        self._port = SteppedArm(arm.n, self.settings.constraint.frame)

    def _make_port(self, loop: ControlLoop) -> Port:
        if self._port is None:
            raise RuntimeError("the controller is not configured")
        return self._port

    def _listeners(self, reporter: StateReporter) -> list[Any]:
        self._course = Course(self._require_loop(), not self.has_friction)
        return [reporter, self._course]

    def _check_neighbours(self, port: Port) -> None:
        """In Gazebo nobody else can command the arm, and Gazebo itself ends with us."""

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
        effort = np.zeros_like(q)
        if self._port is not None:
            self._port.put(q, v, time, wrench)
            if self._runner is not None and not self._runner.lost:
                self._runner.step()
                self._console.noticed(self._runner.report, self._runner.time)
                effort = np.zeros_like(q) if self._runner.lost else self._port.effort
        if self._writer is not None and self._steps % TELL_EVERY == 0:
            now = round(1e9 * time)
            self._clock_topic.publish(self._clock_layout.write(*divmod(now, NANOSECONDS)))
            self._joint_states.publish(self._writer.fill(now, q, v, effort))
        self._steps += 1
        return effort

"""A controller node inside Gazebo: its loop is stepped by the physics instead of by messages."""

from __future__ import annotations

from time import monotonic, perf_counter_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from projected_control.control.force_source import ModelObserver
from projected_control.control.guard import Event
from projected_control.control.loop import ControlLoop
from projected_control.errors import ProjectedControlError
from projected_control.ports.port import ArmState
from projected_control.ports.timing import SAMPLES
from projected_control.ros.answering import Answering
from projected_control.ros.controller_node import ControllerNode
from projected_control.ros.messages import (
    NANOSECONDS,
    StateWriter,
    WrenchReader,
    clock_layout,
)
from projected_control.ros.neighbours import left_constraint
from projected_control.ros.topics_port import QUEUE

Array = NDArray[np.float64]

TELL_EVERY = 10
"""Steps from one joint state and clock on the topics to the next."""


class SteppedLoop(Answering):
    """A loop that is called once a step."""

    def __init__(self, voice: tuple[Any, Any], loop: ControlLoop, settings: dict[str, Any]) -> None:
        super().__init__(voice, loop, settings)
        self.needs_wrench = loop.controller.force is not None and loop.observer is None
        self._model_force = ModelObserver(loop.controller.model)
        self._compared = 0
        self._squares = np.zeros(2)  # of λ as the model has it, and of what the sensor differs by
        self._residual = 0.0
        self._began = monotonic()
        self.recorded: list[tuple[float, list[float], list[float]]] = []

    def step(self, now: int, q: Array, v: Array, multipliers: Array | None) -> Array:
        """The effort for a state; zero from when the constraint is gone."""
        received = perf_counter_ns()
        self.q = q
        time = self.begin(now)
        unmeasured = self.needs_wrench and multipliers is None
        noticed = int(Event.FORCE_STALE) if unmeasured else 0
        if unmeasured:
            multipliers = np.full(self.loop.controller.model.m, np.nan)
        before = self.loop.guard.sent.copy()
        report = self.loop.update(ArmState(q, v, multipliers, time), noticed)
        residual = float(np.linalg.norm(self.loop.controller.model.residual))
        self._residual = max(self._residual, residual)
        compares = self.statistics.ticks % TELL_EVERY == 0 and before.any()
        if compares and multipliers is not None:
            self._compared += 1
            expected = self._model_force.update(before).multipliers
            self._squares += expected @ expected, np.sum((multipliers - expected) ** 2)
        self.lost = self.lost or left_constraint(residual, self.settings["limits.residual"])
        self.count(report, now, received)
        if self.statistics.ticks % TELL_EVERY == 0:
            error = self.loop.controller.error[0].tolist()
            self.recorded.append((time, error, self.loop.multipliers.tolist()))
        return np.zeros_like(report.effort) if self.lost else report.effort

    def summary(self, samples: int = SAMPLES) -> dict[str, Any]:
        force, difference = np.sqrt(self._squares / max(self._compared, 1))
        return {
            **super().summary(samples),
            "residual_max": self._residual,
            "lambda_model_rms": float(force),
            "lambda_difference_rms": float(difference),
            "real_time_factor": self.elapsed / max(monotonic() - self._began, 1e-9),
        }

    def stop(self) -> None:
        """Say farewell."""
        self._beats.publish(Header(frame_id="inactive"))

    def destroy(self) -> None:
        """There is nothing to give back."""


class GazeboController(ControllerNode):
    """The same parameters, topics and diagnostics; the arm is the one in Gazebo.

    Args:
        kind: Of the controller.
    """

    def __init__(self, kind: str) -> None:
        self._latest: ArmState | None = None
        super().__init__(kind)
        self._to_be_started = False  # the first step of the physics starts it
        node = self._loop_node
        self._states = node.create_publisher(JointState, "joint_states", QUEUE)
        self._clock_topic = node.create_publisher(Clock, "/clock", QUEUE)
        self._clock_layout = clock_layout()
        self._steps = 0
        self._writer: StateWriter | None = None
        self.wrench: WrenchReader | None = None

    @property
    def numbers(self) -> dict[str, Any]:
        """Of this run, with its course; of the last one, without; nothing if there was none."""
        thread = self._thread
        if not isinstance(thread, SteppedLoop):
            return self._last_run or {}
        names = ("time", "error", "lambda")
        course = dict(zip(names, zip(*thread.recorded, strict=True), strict=True))
        return {**thread.summary(), "course": course}

    @property
    def loop(self) -> ControlLoop | None:
        """As configured."""
        return self._loop

    def configure(self) -> None:
        super().configure()
        model = self._require_loop().controller.model
        self._writer = StateWriter(model.arm.joint_names)
        if model.constraint is not None:
            frame = self.settings["constraint.frame"]
            self.wrench = WrenchReader(model.arm, model.constraint, frame)

    def activate(self) -> None:
        loop = self._require_loop()
        if self._latest is None:
            raise ProjectedControlError("Gazebo has not made a step yet")
        self._begin(loop, self._latest)
        self._thread = SteppedLoop(self._voice, loop, self.settings)
        self._say_active(loop)

    def failure(self) -> str:
        return "" if self._thread is None else self._thread.lost

    def step(self, now: int, q: Array, v: Array, multipliers: Array | None) -> Array:
        """One step of the physics: the efforts to apply in it.

        Args:
            now: Simulated time [ns].
            q, v: Joint positions and velocities.
            multipliers: λ as measured, if it was.
        """
        self._latest = ArmState(q, v, multipliers, now * 1e-9)
        thread = self._thread
        effort = np.zeros_like(q)
        if isinstance(thread, SteppedLoop):
            effort = thread.step(now, q, v, multipliers)
        if self._writer is not None and self._steps % TELL_EVERY == 0:
            self._clock_topic.publish(self._clock_layout.write(*divmod(now, NANOSECONDS)))
            self._states.publish(self._writer.fill(now, q, v, effort))
        self._steps += 1
        return effort

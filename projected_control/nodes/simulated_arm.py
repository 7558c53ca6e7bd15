"""The simulated arm as a node, on the topics of ros2_control: states and wrench out, efforts in.

It runs in real time (or a multiple of it), holding the last effort as ros2_control does, or in
lockstep: then it waits for the answer to each state, recognised by its tag, before it goes on, and
says the state again if none comes. In lockstep nothing depends on how fast the computer is.
"""

from __future__ import annotations

import sys
import threading
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic, sleep
from typing import Any

import numpy as np
import rclpy
from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

from projected_control import configuration
from projected_control.constraints import Constraint, RowConstraint
from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.hardware import SimulatedArm
from projected_control.nodes.loop_thread import QUEUE
from projected_control.nodes.managed import OK, WARN, ManagedNode, Status, run
from projected_control.nodes.messages import tag_of
from projected_control.nodes.realtime import quiet_interpreter
from projected_control.nodes.waiting import Inbox
from projected_control.parameters import ARM, parameters_of
from projected_control.rows import PointRow
from projected_control.simulation import ForceSensor

REPEAT_SECONDS = 0.1
"""After which a state is said again in lockstep where no answer came, or while paused [s]."""

NAP_SECONDS = 0.05
"""How long the arm sleeps at most before it looks whether it is to stop or to change [s]."""


class Physics:
    """The thread in which simulated time passes.

    Args:
        node: In no executor; gets the topics.
        hardware: What is simulated.
        constraint: Whose force the wrench is.
        settings: Of the node.
    """

    def __init__(
        self,
        node: Node,
        hardware: SimulatedArm,
        constraint: Constraint | None,
        settings: dict[str, Any],
    ) -> None:
        self.hardware, self._settings, self._node = hardware, settings, node
        self._constraint = constraint
        arm = hardware.plant.model.arm
        self._arm = arm
        self.period_ns = round(1e9 / settings["rate"])
        self._commands = node.create_subscription(
            Float64MultiArray, "effort_controller/commands", lambda _: None, QUEUE
        )
        self._states = node.create_publisher(JointState, "joint_states", QUEUE)
        self._wrenches = node.create_publisher(WrenchStamped, "wrench", QUEUE)
        self._clock = node.create_publisher(Clock, "/clock", QUEUE)
        self._inbox = Inbox(node, [self._commands])
        self._effort = np.zeros(arm.n)
        self._disturbance = np.zeros(arm.n)
        self._state = JointState(name=list(arm.joint_names))
        self._numbers = np.zeros((3, arm.n))
        self._wrench = WrenchStamped()
        self._wrench.header.frame_id = arm.root_frame
        self._reading = hardware.read()
        self.ticks = self.refused = self.late = 0
        self.paused, self._steps = False, 0
        self.failure = ""
        self._origin: tuple[float, int] = (0.0, 0)
        self._factor = 0.0
        self._changes: deque[Callable[[], None]] = deque()
        self._thread = threading.Thread(target=self._run, name="physics", daemon=True)

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.ticks * self.period_ns * 1e-9

    def start(self) -> None:
        """Let time pass."""
        self._thread.start()

    def stop(self) -> None:
        """Stop time."""
        self._inbox.close()
        if self._thread.is_alive():
            self._thread.join()

    def destroy(self) -> None:
        """Give back what was made on the node."""
        self._node.destroy_subscription(self._commands)
        for publisher in (self._states, self._wrenches, self._clock):
            self._node.destroy_publisher(publisher)

    def hand_over(self, change: Callable[[], None]) -> None:
        """Have a change made between two steps."""
        self._changes.append(change)

    def reset(self) -> None:
        """Back to the start; in the thread."""
        self.hardware.activate()
        self._effort[:] = 0.0
        self._reading = self.hardware.read()
        self.failure = ""

    def step_once(self) -> None:
        """One period while paused; in the thread."""
        self._steps += 1

    # In the thread

    def _run(self) -> None:
        try:
            with quiet_interpreter(), self._inbox:
                if self._settings["lockstep"]:
                    self._run_in_lockstep()
                else:
                    self._run_by_the_clock()
        except Exception as error:  # nothing may leave the thread but a reason
            self.failure = f"the simulation failed: {type(error).__name__}: {error}"

    @property
    def finished(self) -> bool:
        """Whether the duration asked for is over."""
        duration = self._settings["simulation.duration"]
        return bool(duration and self.time >= duration - 1e-9)

    def _make_changes(self) -> None:
        while self._changes:
            self._changes.popleft()()

    def _may_step(self) -> bool:
        if not self.paused:
            return True
        if self._steps:
            self._steps -= 1
            return True
        return False

    def _run_in_lockstep(self) -> None:
        while not self._inbox.closed and not self.finished:
            self._make_changes()
            self._publish()
            self._repeat_until(self._answered)
            self._repeat_until(self._may_step)
            if not self._inbox.closed:
                self._step()
        self._repeat_until(lambda: False)

    def _repeat_until(self, done: Callable[[], bool]) -> None:
        """Say the last state again and again, so that its listener knows that the arm is there."""
        said = monotonic()
        while not self._inbox.closed and not done():
            self._inbox.wait(NAP_SECONDS)
            self._make_changes()
            if monotonic() - said > REPEAT_SECONDS:
                self._say()
                said = monotonic()

    def _answered(self) -> bool:
        tag = tag_of(self.ticks * self.period_ns)
        while (message := self._inbox.take(0)) is not None:
            if message.layout.data_offset == tag and self._accept(message):
                return True
        return False

    def _run_by_the_clock(self) -> None:
        waiting = bool(self._settings["simulation.wait_for_command"])
        while not self._inbox.closed and not self.finished:
            self._make_changes()
            self._publish()
            self._sleep_until_next()
            while (message := self._inbox.take(0)) is not None:
                waiting = not self._accept(message) and waiting
            if self._may_step() and not waiting:
                self._step()

    def _sleep_until_next(self) -> None:
        factor = self._settings["simulation.factor"]
        if factor != self._factor:
            self._factor, self._origin = factor, (monotonic(), 0)
        if factor <= 0.0:
            if self.paused:
                sleep(self.period_ns * 1e-9)
            return
        began, ticks = self._origin
        due = began + (ticks + 1) * self.period_ns * 1e-9 / factor
        self._origin = (began, ticks + 1)
        if due - monotonic() < -0.1:  # hopelessly late: do not try to catch up all at once
            self.late += 1
            self._origin = (monotonic(), 0)
        while (ahead := due - monotonic()) > 0.0 and not self._inbox.closed:
            sleep(min(ahead, NAP_SECONDS))
            self._make_changes()
            if self._settings["simulation.factor"] != factor:
                return

    def _accept(self, message: Float64MultiArray) -> bool:
        """Take an effort of the right size, finite, for joints that have a motor."""
        efforts = np.asarray(message.data, dtype=np.float64)
        if efforts.shape != self._effort.shape or not np.isfinite(efforts).all():
            self.refused += 1
            return False
        self._effort[:] = efforts * self._arm.actuated
        return True

    def _step(self) -> None:
        if not self.failure:
            try:
                self.hardware.write(self._effort + self._disturbance)
                self._reading = self.hardware.read()
            except ProjectedControlError as error:
                self.failure = str(error)
        self.ticks += 1

    def _publish(self) -> None:
        fault = self._settings["fault"]
        if fault == "silent" or self.failure:
            return
        now = self.ticks * self.period_ns
        if fault == "back":
            now = max(now - 5 * self.period_ns * (self.ticks % 2), 0)
        stamp = Time(sec=now // 1_000_000_000, nanosec=now % 1_000_000_000)
        self._fill_wrench(stamp)
        self._fill_state(stamp, fault)
        self._say()

    def _say(self) -> None:
        fault = self._settings["fault"]
        if fault == "silent" or self.failure:
            return
        if self._settings["simulation.clock"]:
            self._clock.publish(Clock(clock=self._state.header.stamp))
        if self._constraint is not None and fault != "no_wrench":
            self._wrenches.publish(self._wrench)
        self._states.publish(self._state)

    def _fill_state(self, stamp: Time, fault: str) -> None:
        state, numbers = self._state, self._numbers
        state.header.stamp = stamp
        if fault != "frozen":
            numbers[0], numbers[1], numbers[2] = self._reading.q, self._reading.v, self._effort
        if fault == "nan":
            numbers[0] = np.nan
        order = -1 if fault == "reordered" else 1
        state.name = list(self._arm.joint_names)[::order]
        state.position = array("d", numbers[0][::order].tobytes())
        state.velocity = array("d", numbers[1][::order].tobytes())
        state.effort = array("d", numbers[2][::order].tobytes())

    def _fill_wrench(self, stamp: Time) -> None:
        """The force the constraint takes, in world axes: Σ λ_i direction_i for rows on points."""
        wrench, multipliers = self._wrench, self._reading.multipliers
        wrench.header.stamp = stamp
        if multipliers is None or not isinstance(self._constraint, RowConstraint):
            return
        force = np.zeros(3)
        for row, value in zip(self._constraint.equations, multipliers, strict=True):
            if isinstance(row, PointRow):
                force += value * row.direction
        vector = wrench.wrench.force
        vector.x, vector.y, vector.z = (float(component) for component in force)


class SimulatedArmNode(ManagedNode):
    """Parameters, lifecycle and services around `Physics`."""

    def __init__(self) -> None:
        self._physics: Physics | None = None
        self._parts: tuple[SimulatedArm, Constraint | None] | None = None
        super().__init__(ARM)
        self._physics_node = rclpy.create_node(
            f"{self.get_name()}_physics",
            namespace=self.get_namespace(),
            cli_args=["--ros-args", "-r", f"__node:={self.get_name()}_physics"],
            start_parameter_services=False,
            enable_rosout=False,
        )
        self.create_service(Trigger, "~/reset", self._on_reset)
        self.create_service(SetBool, "~/pause", self._on_pause)
        self.create_service(Trigger, "~/step", self._on_step)

    def configure(self) -> None:
        self._parts = self._build(self.settings)

    def _build(self, settings: dict[str, Any]) -> tuple[SimulatedArm, Constraint | None]:
        hardware, constraint = configuration.build_plant(settings)
        hardware.plant.step(np.zeros(hardware.plant.model.n))  # compiles what a step needs
        hardware.activate()
        return hardware, constraint

    def activate(self) -> None:
        if self._parts is None:
            raise ProjectedControlError("the simulated arm is not configured")
        hardware, constraint = self._parts
        hardware.activate()
        self._physics = Physics(self._physics_node, hardware, constraint, self.settings)
        self.accept(self.settings, ["disturbance.effort", "sensor.noise", "sensor.delay"])
        self._physics.start()

    def deactivate(self) -> None:
        if self._physics is not None:
            self._physics.stop()
            self._physics.destroy()
            self._physics = None

    def cleanup(self) -> None:
        self._parts = None

    def destroy_node(self) -> None:
        self._physics_node.destroy_node()
        super().destroy_node()

    def accept(self, settings: dict[str, Any], changed: Sequence[str]) -> None:
        if self._parts is None:
            return
        table = parameters_of(self.kind)
        if not all(table[name].live for name in changed):
            self._parts = self._build(settings)
            return
        physics, n = self._physics, self._parts[0].plant.model.n
        friction = configuration.build_friction(settings, n)
        disturbance = np.asarray(settings["disturbance.effort"] or np.zeros(n), dtype=np.float64)
        if disturbance.shape != (n,):
            raise InvalidValue(f"disturbance.effort must have {n} numbers, got {disturbance.size}")
        sensor = ForceSensor(settings["sensor.noise"], settings["sensor.delay"])
        if physics is None:
            return
        running = physics

        def change() -> None:
            running._settings = settings
            running.hardware.plant.friction = friction
            running._disturbance = disturbance
            if {"sensor.noise", "sensor.delay"} & set(changed):
                running.hardware.sensor = sensor

        physics.hand_over(change)

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._do(response, lambda physics: physics.hand_over(physics.reset), "reset")

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        def pause(physics: Physics) -> None:
            physics.paused = bool(request.data)

        return self._do(response, pause, "paused" if request.data else "running")

    def _on_step(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        def step(physics: Physics) -> None:
            if not physics.paused:
                raise ProjectedControlError("pause the simulation before stepping it")
            physics.hand_over(physics.step_once)

        return self._do(response, step, "one step")

    def _do(self, response: Any, action: Callable[[Physics], None], done: str) -> Any:
        try:
            if self._physics is None:
                raise ProjectedControlError("the simulated arm is not active")
            action(self._physics)
            response.success, response.message = True, done
        except ProjectedControlError as error:
            response.success, response.message = False, str(error)
        return response

    def status(self) -> Status:
        physics = self._physics
        if physics is None:
            return OK, "", {}
        values = {
            "time (s)": physics.time,
            "ticks": physics.ticks,
            "commands refused": physics.refused,
            "times too late": physics.late,
            "paused": physics.paused,
            "fault": self.settings["fault"],
        }
        if physics.failure:
            return WARN, physics.failure, values
        if physics.finished:
            return OK, "finished", values
        return OK, "running", values


def main() -> int:
    """The executable."""
    return run(SimulatedArmNode, ARM)


if __name__ == "__main__":
    sys.exit(main())

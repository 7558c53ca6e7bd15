"""Our controller inside Gazebo's physics step: a Python system, in lockstep with the simulation.

Gazebo loads this module by name (see apps/gazebo/world_files.py) and calls `get_system`. Before
each step the joints are read, one tick of the controller is made, and its efforts are applied;
nothing depends on how fast the computer is. Parameters, services and diagnostics are served between
steps.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from time import monotonic
from typing import Any, TypeVar, cast

import numpy as np

from projected_control.arrays import Array
from projected_control.errors import ProjectedControlError
from projected_control.model.friction import JointFriction
from projected_control.ros.gazebo_contact import ContactFriction, Weld
from projected_control.ros.gazebo_joints import CompiledJoints, Joints, PythonJoints
from projected_control.ros.gazebo_modules import find_gazebo
from projected_control.ros.gazebo_stopwatch import RUNNING, write_outcome
from projected_control.ros.realtime import quiet_interpreter
from projected_control.simulation.sensors import ForceSensor

SPIN_SECONDS = 0.01  # between two looks at the node's parameters and services, by the clock [s]
FAILED = 3  # exit status of a Gazebo that was ended because our system failed
RATE_TOLERANCE = 0.01  # by which the rate of the physics' steps may differ from the controller's

WELDING_STEPS = 200
"""After a reset, within which an arm that had been detached is on its slider again."""

FORCE_STEPS = 5
"""Steps with positions within which the physics gives the first force: the first one has none."""

MOST_CALLBACKS = 50  # that are served between two steps


Method = TypeVar("Method", bound=Callable[..., None])


def never_raises(method: Method) -> Method:
    """A method of a system that ends the whole simulation, with the reason, where it fails.

    An exception that leaves a Python system switches it off for good, without a word: the arm would
    go on without its controller.
    """

    @functools.wraps(method)
    def guarded(system: ArmSystem, *arguments: Any) -> None:
        try:
            method(system, *arguments)
        except BaseException as error:
            known = isinstance(error, ProjectedControlError)
            reason = str(error) if known else traceback.format_exc()
            print(f"projected_control in Gazebo failed, and Gazebo ends: {reason}", file=sys.stderr)
            try:
                write_outcome(system.outcome, reason)
            except OSError as unwritten:
                print(f"projected_control: the reason is not kept: {unwritten}", file=sys.stderr)
            finally:  # whatever happens, no exception gets into Gazebo, which would abort
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(FAILED)

    return cast(Method, guarded)


class ArmSystem:
    """The system: Gazebo calls `configure` once, `pre_update` before every step.

    Attributes:
        outcome: Path of the file for `write_outcome`; empty for none.
    """

    outcome = ""

    @never_raises
    def configure(self, entity: int, sdf: Any, ecm: Any, event_manager: Any) -> None:
        """Find the joints; start the node."""
        with open(sdf.get_string("settings"), encoding="utf-8") as file:
            bridge = json.load(file)
        self.outcome = bridge.get("outcome", "")
        write_outcome(self.outcome, RUNNING)
        self._gazebo = find_gazebo()
        self._start = np.array(list(bridge["start"].values()))
        self._contact = bridge["contact"] if bridge["contact"]["coefficient"] else {"slides": {}}
        self._rubbing: ContactFriction | None = None
        self._open_joints(bridge, entity, ecm)
        self._imperfect = ForceSensor(bridge["sensor_noise"], bridge["sensor_delay"])
        self._weld = Weld(self._gazebo, bridge["weld"]) if bridge["weld"] else None
        self._spun = 0.0
        self._to_start, self._unwelded, self._unmeasured = True, 0, 0
        self._summary = bridge.get("summary", "")
        self._quiet = ExitStack()
        self._open_node(bridge)
        self._measures = self._is_measured(bridge)
        if self._measures:
            self._joints.measure()
        self._quiet.enter_context(quiet_interpreter())

    def _open_joints(self, bridge: dict[str, Any], entity: int, ecm: Any) -> None:
        """By the compiled library where there is one, else by Python."""
        names = [*bridge["start"], *self._contact["slides"]]
        self._joints: Joints
        if bridge["access"]:
            try:
                self._joints = CompiledJoints(
                    bridge["access"], entity, names, bridge["sensor_joint"]
                )
                return
            except (OSError, ProjectedControlError) as error:
                print(
                    f"projected_control: {bridge['access']} cannot be used ({error}); Python reads "
                    "the arm, which is slower",
                    file=sys.stderr,
                )
        self._joints = PythonJoints(
            self._gazebo, entity, ecm, names, bridge["sensor"], self._complain
        )

    def _is_measured(self, bridge: dict[str, Any]) -> bool:
        """Whether λ is measured: where a law needs it, where asked for, where it costs little."""
        if not bridge["sensor"]:
            return False
        if self._node.lives_on_wrench or self._contact["slides"]:
            return True
        return self._joints.measures if bridge["measure"] is None else bool(bridge["measure"])

    def _open_node(self, bridge: dict[str, Any]) -> None:
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.signals import SignalHandlerOptions

        from projected_control.ros.gazebo_node import GazeboController

        os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        arguments = ["--ros-args", "--params-file", bridge["parameters"]]
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
        self._node = GazeboController(bridge["node"], bridge["wrench_frame"])
        self._node.friction = JointFriction(**bridge["friction"])
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._node.trigger_configure()
        if self._node.trouble:
            raise ProjectedControlError(f"the controller was not configured: {self._node.trouble}")
        self._node.require_alone()

    @never_raises
    def pre_update(self, info: Any, ecm: Any) -> None:
        if monotonic() - self._spun >= SPIN_SECONDS:
            self._serve()
        self._node.hear()
        if info.paused:
            return
        joints, n = self._joints, self._start.size
        if not joints.read(ecm):  # in the first step joints have no positions yet
            return
        if self._weld is not None and self._weld.let_go:
            self._node.let_go()
        q, v = self._start + joints.q[:n], joints.v[:n].copy()
        time = info.sim_time.total_seconds()
        wrench = self._measure() if self._measures else None
        effort = self._node.step(time, q, v, wrench)
        if self._to_start and self._node.settings.autostart and self._is_ready(wrench):
            self._to_start = False
            self._require_fit(info.dt.total_seconds(), wrench)
            self._node.trigger_activate()
            effort = self._node.step(time, q, v, wrench)
        joints.force[:n] = effort
        if self._contact["slides"]:
            joints.force[n:] = self._rub(joints.v[n:])
        joints.write(ecm)

    @never_raises
    def reset(self, info: Any, ecm: Any) -> None:
        """The world begins anew, and so does the controller, on its slider."""
        if self._weld is not None:
            self._weld.begin()
        self._unwelded = self._unmeasured = 0
        if self._node.active:
            self._node.trigger_deactivate()
        self._joints.forget()
        self._imperfect.reset()
        self._to_start = True

    @never_raises
    def shutdown(self) -> None:
        """The world ends."""
        import rclpy

        self._quiet.close()
        if self._summary:
            with open(self._summary, "w", encoding="utf-8") as file:
                json.dump(self._node.numbers, file, indent=2)
        write_outcome(self.outcome, self._node.trouble or self._node.failure())
        self._node._leave_active()
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.shutdown()

    def _serve(self) -> None:
        """Parameters, services, topics, diagnostics: all that waits, now and then."""
        from rclpy.executors import TimeoutException
        from rclpy.impl.implementation_singleton import rclpy_implementation

        for _ in range(MOST_CALLBACKS):
            try:
                task, _, _ = self._executor.wait_for_ready_callbacks(timeout_sec=0.0)
                task()
                if task.exception() is not None:
                    raise task.exception()
            except TimeoutException:
                break
            except rclpy_implementation.RCLError as error:
                # Jazzy raises for a transition that the state does not have.
                self._node.get_logger().error(f"refused: {error}")
        self._node.look()
        self._spun = monotonic()

    def _rub(self, rates: Array) -> Array:
        """Friction at the tip, on the joints of the carriage."""
        loop = self._node.loop
        if loop is None:
            return np.zeros_like(rates)
        if self._rubbing is None or self._rubbing.model is not loop.controller.model:
            self._rubbing = ContactFriction(
                self._contact["coefficient"],
                self._contact["slides"],
                self._contact["frame"],
                loop.controller.model,
                loop.controller.period,
            )
        return self._rubbing.efforts(rates, loop.multipliers)

    def _measure(self) -> Array | None:
        """The wrench of the last step, as the arm's sensor gives it.

        In the first step with positions there is none: the physics has not filled it in yet, and
        Gazebo's own sensor says zero.
        """
        wrench = self._joints.wrench()
        if wrench is None or self._unmeasured == 0:
            self._unmeasured += 1
            return None
        return self._imperfect.read(wrench)

    def _is_ready(self, wrench: Array | None) -> bool:
        """Whether the arm is where it belongs, and its force known or not to be had."""
        if self._measures and wrench is None and self._unmeasured < FORCE_STEPS:
            return False
        return self._is_welded()

    def _is_welded(self) -> bool:
        """Whether the arm is on its slider, or will not be any more."""
        if self._weld is None or self._weld.holds():
            return True
        self._unwelded += 1
        if self._unwelded < WELDING_STEPS:
            return False
        self._complain("after the reset the arm is not on its slider: end Gazebo, and begin anew")
        return True

    def _require_fit(self, step: float, wrench: Array | None) -> None:
        """Refuse a world in which the controller could not do its work."""
        rate = self._node.settings.rate
        if abs(step * rate - 1.0) > RATE_TOLERANCE:
            raise ProjectedControlError(
                f"the world's physics makes steps of {1e3 * step:g} ms, {1.0 / step:g} per second, "
                f"and the controller's rate is {rate:g} Hz: set rate, or max_step_size"
            )
        if wrench is None and self._node.lives_on_wrench:
            raise ProjectedControlError(f"force control needs a sensor: {self._joints.complaint}")

    def _complain(self, text: str) -> None:
        self._node.get_logger().error(text)


def get_system() -> ArmSystem:
    """What Gazebo's loader of Python systems calls."""
    return ArmSystem()

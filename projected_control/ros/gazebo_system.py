"""Our controller inside Gazebo's physics step: a Python system, in lockstep with the simulation.

Gazebo loads this module by name (see urdf/gazebo.xacro) and calls `get_system`. Before each step
the joints are read, one tick of the controller is made, and its efforts are applied; nothing
depends on how fast the computer is. Parameters, services and diagnostics are served between steps.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from time import monotonic
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from projected_control.errors import ProjectedControlError
from projected_control.ros.realtime import quiet_interpreter

Array = NDArray[np.float64]

RELEASES = (
    ("gz.sim8", "gz.math7", "sdformat14", "gz.transport13", "gz.msgs10"),  # Harmonic
    ("gz.sim9", "gz.math8", "sdformat15", "gz.transport14", "gz.msgs11"),  # Ionic
    ("gz.sim", "gz.math", "sdformat", "gz.transport", "gz.msgs"),  # Jetty and later
)
"""Python modules of Gazebo's releases, the one we know best first."""

SPIN_SECONDS = 0.01
"""Between two looks at the node's parameters and services, by the clock [s]."""

SENSOR_SECONDS = 0.5
"""For which a step waits for the sensor's answer to the last one [s]."""

SILENT_SENSOR_SECONDS = 0.002
"""For which it waits for a sensor that did not answer the last time [s]."""

SAY_AGAIN_STEPS = 5000
"""Steps after which it is said again that the sensor does not answer."""

FAILED = 3
"""Exit status of a Gazebo that was ended because our system failed."""

MOST_CALLBACKS = 50
"""That are served between two steps."""


Method = TypeVar("Method", bound=Callable[..., None])


def never_raises(method: Method) -> Method:
    """A method of a system that ends the whole simulation, with the reason, where it fails.

    An exception that leaves a Python system switches it off for good, without a word: the arm would
    go on without its controller.
    """

    @functools.wraps(method)
    def guarded(*arguments: Any) -> None:
        try:
            method(*arguments)
        except BaseException as error:
            known = isinstance(error, ProjectedControlError)
            reason = str(error) if known else traceback.format_exc()
            print(f"projected_control in Gazebo failed, and Gazebo ends: {reason}", file=sys.stderr)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(FAILED)

    return cast(Method, guarded)


class Gazebo(NamedTuple):
    """The modules of the release at hand."""

    sim: Any
    transport: Any
    wrench: Any


def find_gazebo() -> Gazebo:
    """Import Gazebo's Python modules.

    Raises:
        ProjectedControlError: Where there are none, with what to install.
    """
    missing = {}
    for sim, math, sdf, transport, messages in RELEASES:
        try:
            for name in (math, sdf):  # the others, and Gazebo's own loader, need their types
                importlib.import_module(name)
            return Gazebo(
                importlib.import_module(sim),
                importlib.import_module(transport),
                importlib.import_module(f"{messages}.wrench_pb2").Wrench,
            )
        except ImportError as error:
            missing[sim] = str(error)
    names = "; ".join(f"{name}: {reason}" for name, reason in missing.items())
    raise ProjectedControlError(
        f"Gazebo's Python modules are not installed ({names}): apt install "
        "ros-$ROS_DISTRO-ros-gz, or python3-gz-sim8 and python3-gz-transport13 from "
        "packages.osrfoundation.org"
    )


class SensorTopic:
    """The newest wrench of a sensor in Gazebo, and waiting for it.

    Args:
        gazebo: Its modules.
        topic: Topic of the sensor.
    """

    def __init__(self, gazebo: Gazebo, topic: str) -> None:
        self._arrived = threading.Condition()
        self._count = 0
        self._wrench = np.zeros(6)
        self.topic = topic
        self._node = gazebo.transport.Node()
        if not self._node.subscribe(gazebo.wrench, topic, self._on_wrench):
            raise ProjectedControlError(f"cannot listen to {topic} of Gazebo")

    def _on_wrench(self, message: Any) -> None:
        force, torque = message.force, message.torque
        with self._arrived:
            self._wrench[:] = force.x, force.y, force.z, torque.x, torque.y, torque.z
            self._count += 1
            self._arrived.notify_all()

    def after(self, count: int, seconds: float) -> Array | None:
        """The wrench once this many have come; None where they do not come within this time [s]."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: self._count >= count, seconds):
                return None
            return self._wrench.copy()

    @property
    def count(self) -> int:
        """How many have come."""
        return self._count


class ArmSystem:
    """The system: Gazebo calls `configure` once, `pre_update` before every step."""

    @never_raises
    def configure(self, entity: int, sdf: Any, ecm: Any, event_manager: Any) -> None:
        """Find the joints; start the node."""
        self._gazebo = find_gazebo()
        with open(sdf.get_string("settings"), encoding="utf-8") as file:
            bridge = json.load(file)
        self._start = np.array(list(bridge["start"].values()))
        model = self._gazebo.sim.Model(entity)
        self._joints = [
            self._gazebo.sim.Joint(model.joint_by_name(ecm, name)) for name in bridge["start"]
        ]
        for joint in self._joints:
            joint.enable_position_check(ecm, True)
            joint.enable_velocity_check(ecm, True)
        self._sensor = SensorTopic(self._gazebo, bridge["sensor"])
        self._sensed = 0
        self._spun = 0.0
        self._to_start = True
        self._summary = bridge.get("summary", "")
        self._silent_steps = 0
        self._quiet = ExitStack()
        self._open_node(bridge)
        self._quiet.enter_context(quiet_interpreter())

    def _open_node(self, bridge: dict[str, Any]) -> None:
        import rclpy
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.signals import SignalHandlerOptions

        from projected_control.ros.gazebo_node import GazeboController

        os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        arguments = ["--ros-args", "--params-file", bridge["parameters"]]
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
        self._node = GazeboController(bridge["node"])
        self._node.has_friction = bool(bridge.get("friction"))
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._node.trigger_configure()
        if self._node.trouble:
            raise ProjectedControlError(f"the controller was not configured: {self._node.trouble}")

    @never_raises
    def pre_update(self, info: Any, ecm: Any) -> None:
        """Read, decide, apply."""
        self._serve()
        if info.paused:
            return
        state = self._read(ecm)
        if state is None:  # in the first step joints have no positions yet
            return
        q, v = state
        time = info.sim_time.total_seconds()
        wrench = self._measure()
        effort = self._node.step(time, q, v, wrench)
        if self._to_start and self._node.settings.autostart:
            self._to_start = False
            self._node.trigger_activate()
            effort = self._node.step(time, q, v, wrench)
        for joint, value in zip(self._joints, effort.tolist(), strict=True):
            joint.set_force(ecm, [value])

    @never_raises
    def reset(self, info: Any, ecm: Any) -> None:
        """The world begins anew, and so does the controller."""
        self._node.get_logger().info(
            "reset; if the slider was detached, it stays so: pause, reset, "
            "gz topic -t /slider/attach -m gz.msgs.Empty -p '', then run"
        )
        if self._node.active:
            self._node.trigger_deactivate()
        self._sensed = self._sensor.count
        self._to_start = True

    def shutdown(self) -> None:
        """The world ends."""
        import rclpy

        self._quiet.close()
        if self._summary:
            with open(self._summary, "w", encoding="utf-8") as file:
                json.dump(self._node.numbers, file, indent=2)
        self._node._leave_active()
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.shutdown()

    def _serve(self) -> None:
        """Parameters, services, topics, diagnostics: all that waits, now and then."""
        from rclpy.executors import TimeoutException
        from rclpy.impl.implementation_singleton import rclpy_implementation

        if monotonic() - self._spun < SPIN_SECONDS:
            return
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
        self._spun = monotonic()

    def _read(self, ecm: Any) -> tuple[Array, Array] | None:
        positions = [joint.position(ecm) for joint in self._joints]
        velocities = [joint.velocity(ecm) for joint in self._joints]
        if not all(positions) or not all(velocities):
            return None
        q = self._start + np.array([position[0] for position in positions])
        return q, np.array([velocity[0] for velocity in velocities])

    def _measure(self) -> Array | None:
        """The wrench from the sensor, which answers once per step; None where it does not."""
        if not self._node.needs_wrench:
            return None
        self._sensed += 1
        patience = SENSOR_SECONDS if self._silent_steps == 0 else SILENT_SENSOR_SECONDS
        wrench = self._sensor.after(self._sensed, patience)
        if wrench is not None:
            self._silent_steps = 0
            return wrench
        self._sensed = self._sensor.count
        self._silent_steps += 1
        if self._silent_steps == 1 or self._silent_steps % SAY_AGAIN_STEPS == 0:
            self._node.get_logger().error(
                f"the force-torque sensor in Gazebo does not answer on {self._sensor.topic}: has "
                "the world the system gz-sim-forcetorque-system, and is the sensor's update_rate "
                "that of the physics?"
            )
        return None


def get_system() -> ArmSystem:
    """What Gazebo's loader of Python systems calls."""
    return ArmSystem()

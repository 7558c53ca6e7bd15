"""A controller manager with our two plugins and nothing else: no nodes, no launch files."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import rclpy
from controller_manager_msgs.srv import ListControllers, SwitchController
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import String, UInt8MultiArray

from projected_control.control.loop import ControlLoop
from projected_control.control.silence import SilenceAnswer, silence_array
from projected_control.native.plant_file import write_plant
from projected_control.native.session import begin_sections
from projected_control.native.updates import Message, Section, Status, Update, decode, encode
from projected_control.runs.simulated import SimulatedArm

NAME = "projected_controller"

URDF = """<robot name="arm"><link name="world"/>{joints}
<ros2_control name="simulated" type="system">
<hardware><plugin>projected_control/SimulatedSystem</plugin>
<param name="plant_file">{plant}</param></hardware>
{interfaces}{sensor}</ros2_control></robot>"""

JOINT = """<link name="{name}_link"/><joint name="{name}" type="continuous">
<parent link="world"/><child link="{name}_link"/><axis xyz="0 0 1"/></joint>"""

STATES = (
    '<state_interface name="position"/><state_interface name="velocity"/>'
    '<state_interface name="effort"/>'
)

SENSOR = '<sensor name="force">{axes}</sensor>'
AXES = ("force.x", "force.y", "force.z", "torque.x", "torque.y", "torque.z")

PARAMETERS = """controller_manager:
  ros__parameters:
    update_rate: {rate}
    {name}:
      type: projected_control/ProjectedController
{name}:
  ros__parameters:
    joints: [{joints}]
    command_joints: [{motors}]
    sensor: {sensor}
    time_interface: {time}
    record_ticks: {record}
    record_file: {file}
"""


class Manager:
    """A running controller manager, and one session at a time with its plugin.

    Args:
        folder: For its files.
        loop: What will run there, ready for its first tick.
        hardware: The simulated arm that it has.
        record: How many ticks are recorded.
        time: State interface with the arm's own time; empty for the manager's.
    """

    def __init__(
        self,
        folder: Path,
        loop: ControlLoop,
        hardware: SimulatedArm,
        record: int = 0,
        time: str = "simulated/time",
    ) -> None:
        model = loop.controller.model
        names, self.folder = model.arm.joint_names, folder
        passive = set(loop.controller.passive.tolist())
        motors = [name for i, name in enumerate(names) if i not in passive]
        sensor = "force" if hardware.measures else ""
        self._record = folder / "record.bin"
        plant = write_plant(folder / "plant.bin", hardware)
        urdf = URDF.format(
            joints="".join(JOINT.format(name=name) for name in names),
            plant=plant,
            interfaces="".join(_interfaces(name, name in motors) for name in names),
            sensor=_sensor() if sensor else "",
        )
        parameters = folder / "parameters.yaml"
        parameters.write_text(
            PARAMETERS.format(
                rate=round(1.0 / loop.controller.period),
                name=NAME,
                joints=", ".join(names),
                motors=", ".join(motors),
                sensor=repr(sensor),
                time=repr(time),
                record=record,
                file=self._record,
            ),
            encoding="utf-8",
        )
        self.log = folder / "log.txt"
        self._context = Context()
        rclpy.init(context=self._context)
        self.node = rclpy.create_node("test_manager", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        latched = QoSProfile(depth=1, durability=rclpy.qos.DurabilityPolicy.TRANSIENT_LOCAL)
        self._description = self.node.create_publisher(String, "robot_description", latched)
        self._description.publish(String(data=urdf))
        self.states: list[Message] = []
        self.acknowledgements: dict[int, Message] = {}
        self.said: list[Any] = []
        self._listen()
        self.session, self.sequence = 0, 0
        self._started: list[subprocess.Popen[bytes]] = []
        self._start(
            ["ros2", "run", "controller_manager", "ros2_control_node"],
            "--ros-args",
            "--params-file",
            str(parameters),
        )
        spawner = ["ros2", "run", "controller_manager", "spawner", NAME, "--inactive"]
        self._start(spawner, "--param-file", str(parameters))
        self._lists = self.node.create_client(
            ListControllers, "controller_manager/list_controllers"
        )
        self._switches = self.node.create_client(
            SwitchController, "controller_manager/switch_controller"
        )

    def open(self) -> None:
        """Wait until the controller is there."""
        self.until(lambda: self.controller_state() == "inactive", "the controller", 240.0)
        self.until(lambda: self.updates.get_subscription_count() > 0, "the plugin to listen", 60.0)

    def _listen(self) -> None:
        self.updates = self.node.create_publisher(
            UInt8MultiArray, f"{NAME}/updates", QoSProfile(depth=32)
        )
        newest = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
        self.node.create_subscription(
            UInt8MultiArray, f"{NAME}/states", lambda m: self.states.append(_decoded(m)), newest
        )
        self.node.create_subscription(
            UInt8MultiArray, f"{NAME}/acknowledgements", self._on_acknowledgement, 32
        )
        self.node.create_subscription(
            DiagnosticArray, "/diagnostics", lambda m: self.said.extend(m.status), 100
        )

    def _on_acknowledgement(self, message: Any) -> None:
        answer = _decoded(message)
        self.acknowledgements[answer.sequence] = answer

    def _start(self, command: Sequence[str], *arguments: str) -> None:
        with self.log.open("ab") as log:
            self._started.append(
                subprocess.Popen(
                    [*command, *arguments],
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            )

    def close(self) -> None:
        """End everything that was started."""
        for number in (signal.SIGINT, signal.SIGKILL):
            for process in self._started:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, number)
            for process in self._started:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(10.0)
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()

    # Looking

    def spin(self, seconds: float = 0.0) -> None:
        """Let messages come; beats go on as long as there is a session."""
        deadline = monotonic() + seconds
        while True:
            self.beat()
            self._executor.spin_once(timeout_sec=0.01)
            if monotonic() >= deadline:
                return

    def until(self, done: Any, what: str, seconds: float = 20.0) -> None:
        deadline = monotonic() + seconds
        while not done():
            if monotonic() > deadline:
                log = self.log.read_text(errors="replace")[-3000:]
                raise AssertionError(f"waited {seconds:g} s for {what}\n{log}")
            self.spin()

    def controller_state(self) -> str:
        """As the manager has it."""
        answer = self._call(self._lists, ListControllers.Request())
        found = [c.state for c in answer.controller if c.name == NAME] if answer else []
        return found[0] if found else ""

    def _call(self, client: Any, request: Any, seconds: float = 5.0) -> Any:
        if not client.service_is_ready():
            sleep(0.05)
            return None
        future, deadline = client.call_async(request), monotonic() + seconds
        while not future.done() and monotonic() < deadline:
            self.spin()
        return future.result() if future.done() else None

    # Acting

    def send(self, kind: Update, sections: Any = None, *, wait: bool = True) -> Message | None:
        """An update of the session; what was acknowledged."""
        self.sequence += 1
        sequence = self.sequence
        self.publish(encode(kind, self.session, sequence, sections))
        if not wait:
            return None
        self.until(lambda: sequence in self.acknowledgements, "an acknowledgement")
        return self.acknowledgements[sequence]

    def publish(self, data: bytes) -> None:
        message = UInt8MultiArray()
        message.data = data
        self.updates.publish(message)

    def beat(self) -> None:
        if self.session:
            self.send(Update.BEAT, wait=False)

    def begin(self, loop: ControlLoop, patience: float = 1.0, seconds: float = 0.2) -> Message:
        """Another session."""
        model = loop.controller.model
        silence = silence_array(model.m, model.k, SilenceAnswer.STOP, patience, seconds)
        self.session, self.sequence = 0, 0  # no beats before it has begun
        session = secrets.randbits(62) + 1
        self.sequence += 1
        self.acknowledgements.clear()
        self.publish(encode(Update.BEGIN, session, 1, begin_sections(loop, silence, 0.02)))
        self.until(lambda: 1 in self.acknowledgements, "the beginning to be acknowledged")
        answer = self.acknowledgements[1]
        if answer.status is Status.ACCEPTED:
            self.session = session
        return answer

    def switch(self, on: bool) -> bool:
        """Activate or deactivate the controller; whether the manager did so."""
        request = SwitchController.Request()
        request.strictness = SwitchController.Request.STRICT
        (request.activate_controllers if on else request.deactivate_controllers).append(NAME)
        answer = self._call(self._switches, request, 10.0)
        return bool(answer and answer.ok)

    def record(self) -> np.ndarray:
        """What was recorded, once the controller is off: a row per tick."""
        self.until(self._record.exists, "the record")
        numbers = np.fromfile(self._record)
        return numbers.reshape(-1, int(numbers[0]))[1:]


def _interfaces(name: str, motor: bool) -> str:
    command = '<command_interface name="effort"/>' if motor else ""
    return f'<joint name="{name}">{command}{STATES}</joint>'


def _sensor() -> str:
    return SENSOR.format(axes="".join(f'<state_interface name="{axis}"/>' for axis in AXES))


def _decoded(message: Any) -> Message:
    return decode(bytes(message.data))


__all__ = ["NAME", "Manager", "Section"]

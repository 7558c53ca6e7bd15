"""hardware.launch.py as a user starts it, with the real ros2_control; and ways to break it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import monotonic, time
from typing import Any

import numpy as np
import rclpy
from controller_manager_msgs.srv import ListControllers, SwitchController
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from quiet import TooLate
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from projected_control.resources import share_file

START_SECONDS = 240.0  # for a launch to come up on a busy computer [s]


class Rig:
    """A launch, everything it says, and the torque on its arm.

    Attributes:
        torques: When the arm sent it (by `time.monotonic`), and the largest torque that it reports.
            By the sender's time: we may read later, and then saw what was over as if it went on.
        efforts: When, the state's own stamp [s], and the efforts of all joints.
        positions: When, and the positions of all joints by name.
        said: When, which node, and what it said on /diagnostics, each time it was something new.

    Args:
        log: For what the launch says.
        states: Topic of the arm's own states.
        folder: In which commands are typed.
    """

    def __init__(
        self, log: Path, states: str = "/arm/joint_states", folder: Path | None = None
    ) -> None:
        self._log, self._folder = log, folder
        self._launches: list[subprocess.Popen[bytes]] = []
        self._context = Context()
        rclpy.init(context=self._context)
        self.node = rclpy.create_node("rig", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.torques: list[tuple[float, float]] = []
        self.efforts: list[tuple[float, float, tuple[float, ...]]] = []
        self.speeds: list[tuple[float, float]] = []
        self.positions: list[tuple[float, dict[str, float]]] = []
        self.said: list[tuple[float, str, str]] = []
        self.values: dict[str, dict[str, str]] = {}
        self.node.create_subscription(JointState, states, self._on_arm, 100)
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 100)

    def launch(self, *arguments: str) -> None:
        """Start hardware.launch.py."""
        self.start(["ros2", "launch", "projected_control", "hardware.launch.py", *arguments])

    def start(self, command: Sequence[str]) -> None:
        """Start a command that goes on until this ends."""
        with self._log.open("ab") as log:
            self._launches.append(
                subprocess.Popen(
                    command,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    cwd=self._folder,
                )
            )

    def close(self) -> None:
        """End everything; kill what does not end."""
        for process in self._launches:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGINT)
        for process in self._launches:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20.0)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()

    # Looking

    def until(self, done: Callable[[], Any], what: str, seconds: float = 20.0) -> float:
        """Wait; when it was so, by `time.monotonic`."""
        deadline = monotonic() + seconds
        self._executor.spin_once(timeout_sec=0.0)
        while not done():
            if monotonic() > deadline:
                # In a test marked quiet it counts on an idle computer only: see quiet.py.
                late = any("heard nothing from here" in message for _, _, message in self.said)
                error = TooLate if late else AssertionError
                raise error(f"waited {seconds:g} s for {what}\n{self.story()}")
            self._executor.spin_once(timeout_sec=0.05)
        return monotonic()

    def story(self) -> str:
        """What was said last, without the manager's complaints about a busy computer."""
        said = [f"{node}: {message}" for _, node, message in self.said if "period" not in message]
        log = self._log.read_text(errors="replace").splitlines()
        told = [line for line in log if "Overrun detected" not in line]
        return "\n".join([*said[-12:], *told[-30:]])

    def until_active(self, node: str) -> None:
        """Wait for a node of ours; a launch that ends before has failed."""

        def active() -> bool:
            ended = [p.returncode for p in self._launches if p.poll()]
            assert not ended, f"the launch ended with status {ended[0]}\n{self.story()}"
            return self.values.get(node, {}).get("state") == "active"

        self.until(active, f"{node} to be active", START_SECONDS)

    def until_said(
        self, node: str, *phrases: str, since: float = 0.0, seconds: float = 20.0
    ) -> float:
        """Wait for words on /diagnostics; when they came."""

        def heard() -> list[float]:
            return [
                when
                for when, who, message in self.said
                if who == node and when >= since and all(phrase in message for phrase in phrases)
            ]

        self.until(heard, f"{node} to say {phrases}", seconds)
        return heard()[0]

    def moving(self, seconds: float = 1.0) -> None:
        """Let it run for a while under torque."""
        self.until(lambda: self.torques and self.torques[-1][1] > 0.01, "torque")
        deadline = monotonic() + seconds
        self.until(lambda: monotonic() > deadline, "time to pass", seconds + 5.0)

    def silence_after(self, when: float, seconds: float = 5.0) -> float:
        """How long after this moment the arm got its last torque, now that it has none [s]."""
        self.until(
            lambda: monotonic() > when + 0.3 and self.torques[-1][1] == 0.0,
            "the torque to be zero",
            seconds,
        )
        last = [t for t, torque in self.torques if torque > 0.0]
        return max(last[-1] - when, 0.0)

    def _on_arm(self, message: JointState, info: Any) -> None:
        when = _sent(info)
        self.torques.append((when, float(np.abs(message.effort).max())))
        stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        self.efforts.append((when, stamp, tuple(message.effort)))
        self.speeds.append((when, float(np.abs(message.velocity).max())))
        self.positions.append((when, dict(zip(message.name, message.position, strict=True))))

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.values[status.name] = {v.key: v.value for v in status.values}
            latest = [m for _, n, m in self.said if n == status.name][-1:]
            if latest != [status.message]:
                self.said.append((monotonic(), status.name, status.message))

    # Acting

    def kill(self, *executables: str) -> float:
        """kill -9; when."""
        return self._signal(signal.SIGKILL, *executables)

    def restart_manager(self, *inactive: str) -> float:
        """Kill the controller manager, start it as it was with its broadcaster; when it was killed.

        Args:
            inactive: Controllers that are loaded and not activated.
        """
        (pid,) = self._pids("ros2_control_node")
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[:-1]
        parameters = command[command.index("--params-file") + 1]
        when = self.kill("ros2_control_node")
        self.start(command)
        spawner = ["ros2", "run", "controller_manager", "spawner", "--param-file", parameters]
        subprocess.run([*spawner, "joint_state_broadcaster"], check=True, timeout=60)
        subprocess.run([*spawner, "--inactive", *inactive], check=True, timeout=60)
        return when

    @contextlib.contextmanager
    def hung(self, executable: str) -> Iterator[float]:
        """SIGSTOP; when. It goes on afterwards."""
        yield self._signal(signal.SIGSTOP, executable)
        self._signal(signal.SIGCONT, executable)

    def _signal(self, number: int, *executables: str) -> float:
        """To processes of the launches; when."""
        pids = [pid for executable in executables for pid in self._pids(executable)]
        when = monotonic()
        for pid in pids:
            os.kill(pid, number)
        return when

    def _pids(self, executable: str) -> list[int]:
        pids = subprocess.run(
            ["pgrep", "-s", ",".join(str(p.pid) for p in self._launches), "-f", f"/{executable} "],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        return [int(pid) for pid in pids]

    @contextlib.contextmanager
    def foreign_commander(self) -> Iterator[Callable[..., None]]:
        """Another node on the effort controller's topic: sends what it is called with."""
        publisher = self.node.create_publisher(Float64MultiArray, "/effort_controller/commands", 10)
        self.until(publisher.get_subscription_count, "the effort controller to listen")
        yield lambda *numbers: publisher.publish(Float64MultiArray(data=list(numbers)))
        self.node.destroy_publisher(publisher)

    def said_by(self, node: str) -> str:
        """A node's last new words."""
        return [message for _, who, message in self.said if who == node][-1]

    def listen_to_commands(self) -> list[tuple[float, tuple[float, ...]]]:
        """Commands on their way, from now on: when they were sent, and what."""
        heard: list[tuple[float, tuple[float, ...]]] = []

        def on_command(message: Float64MultiArray, info: Any) -> None:
            heard.append((_sent(info), tuple(message.data)))

        self.node.create_subscription(
            Float64MultiArray, "/effort_controller/commands", on_command, 100
        )
        self.until(lambda: heard, "commands")
        return heard

    def spawn(self, name: str) -> None:
        """Load, configure and activate one of the controllers in config/ros2_control.yaml."""
        subprocess.run(
            ["ros2", "run", "controller_manager", "spawner", name], check=True, timeout=60
        )

    def controllers(self) -> dict[str, str]:
        """The controller manager's controllers, and their states."""
        answer = self._call(
            ListControllers, "/controller_manager/list_controllers", ListControllers.Request()
        )
        return {controller.name: controller.state for controller in answer.controller}

    def switch(self, activate: list[str], deactivate: list[str]) -> float:
        """As another node does; when it was done."""
        request = SwitchController.Request(
            activate_controllers=activate,
            deactivate_controllers=deactivate,
            strictness=SwitchController.Request.STRICT,
        )
        answer = self._call(SwitchController, "/controller_manager/switch_controller", request)
        assert answer.ok
        return monotonic()

    def transition(self, node: str, what: str) -> bool:
        """activate or deactivate; whether it was done."""
        number = {
            "activate": Transition.TRANSITION_ACTIVATE,
            "deactivate": Transition.TRANSITION_DEACTIVATE,
        }[what]
        request = ChangeState.Request(transition=Transition(id=number))
        return bool(self._call(ChangeState, f"/{node}/change_state", request).success)

    def set_parameter(self, node: str, name: str, value: Any) -> tuple[bool, str, float, float]:
        """As ``ros2 param set``: whether it was accepted, why not, when asked and answered."""
        request = SetParametersAtomically.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg()]
        )
        client = self.node.create_client(
            SetParametersAtomically, f"/{node}/set_parameters_atomically"
        )
        try:
            self.until(client.service_is_ready, f"the parameters of {node}")
            asked = monotonic()
            future = client.call_async(request)
            while not future.done():
                self._executor.spin_once(timeout_sec=0.005)
            answered, result = monotonic(), future.result().result
            return result.successful, result.reason, asked, answered
        finally:
            self.node.destroy_client(client)

    def command(self, *words: str) -> str:
        """What a command line prints, which a user would type beside the launch."""
        process = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            cwd=self._folder,
        )
        self.until(lambda: process.poll() is not None, " ".join(words), 60.0)
        return process.communicate()[0]

    def _call(self, kind: Any, name: str, request: Any) -> Any:
        client = self.node.create_client(kind, name)
        try:
            self.until(client.service_is_ready, f"the service {name}")
            future = client.call_async(request)
            self.until(future.done, f"an answer of {name}")
            return future.result()
        finally:
            self.node.destroy_client(client)


def sent_at(info: Any) -> float:
    """When a message was sent, by `time.monotonic` [s]."""
    return _sent(info)


def _sent(info: Any) -> float:
    """When a message was sent, by `time.monotonic` [s]."""
    return float(1e-9 * info["source_timestamp"] - time() + monotonic())


def weight_said(arm: str, folder: Path) -> Path:
    """The file of an arm in config/, which says that the efforts carry it, as a real arm's must."""
    text = share_file("config", f"{arm}.yaml").read_text(encoding="utf-8")
    parameters = "  ros__parameters:\n"
    assert text.count(f"/**:\n{parameters}") == 1
    file = folder / f"{arm}.yaml"
    file.write_text(text.replace(parameters, f"{parameters}    effort_includes_gravity: true\n", 1))
    return file


@contextlib.contextmanager
def running(log: Path, *arguments: str, states: str = "/arm/joint_states") -> Iterator[Rig]:
    """A rig with one launch."""
    rig = Rig(log, states)
    try:
        rig.launch(*arguments)
        yield rig
    finally:
        rig.close()

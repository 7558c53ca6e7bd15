"""launch/hardware.launch.py with the loop in the controller manager, and the arm there too.

launch_test test/launch/plugin.test.py
"""

from __future__ import annotations

import subprocess
import unittest
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import launch_testing
import launch_testing.actions
import launch_testing.asserts
import pytest
import rclpy
from launch.actions import IncludeLaunchDescription, SetLaunchConfiguration
from launch.launch_description import LaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import UInt8MultiArray

from projected_control.control.events import Action
from projected_control.control.live import NUMBER
from projected_control.native.updates import (
    Message,
    Phase,
    Report,
    Section,
    Status,
    Update,
    decode,
    encode,
)

FILE = Path(__file__).parents[2] / "launch" / "hardware.launch.py"
PLUGIN = "projected_controller"
LAWS = {
    "motion_controller": {"controller": "motion", "preset": "gentle"},
    "force_controller": {"controller": "force", "preset": "paper"},
    "passive_joint_controller": {"controller": "passive", "preset": "gentle"},
}
"""Which arguments bring up which node."""

PATIENCE = 240.0  # for everything to come up on a busy computer [s]

PATIENT = [SetLaunchConfiguration(f"{sig}_timeout", "60") for sig in ("sigterm", "sigkill")]
"""A busy computer takes its time to end a node, which is not killed for that."""

CYCLES = 2000  # that are seen to be answered


@pytest.mark.launch_test
@launch_testing.parametrize("node", list(LAWS))
@launch_testing.ready_to_test_action_timeout(PATIENCE)
def generate_test_description(node: str) -> LaunchDescription:
    """One controller node, the controller manager, and nothing else of ours."""
    source = PythonLaunchDescriptionSource(str(FILE))
    arguments = {"hardware": "simulated", "loop": "plugin", **LAWS[node]}
    included = IncludeLaunchDescription(source, launch_arguments=arguments.items())
    return LaunchDescription([*PATIENT, included, launch_testing.actions.ReadyToTest()])


class TestRunning(unittest.TestCase):
    """While the launch is up."""

    def setUp(self) -> None:
        """Listen to the plugin."""
        self.context = Context()
        rclpy.init(context=self.context)
        self.listener = rclpy.create_node("plugin_test", context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.listener)
        self.states: list[Message] = []
        self.answers: list[Message] = []
        newest = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
        for topic, heard, quality in (
            ("states", self.states, newest),
            ("acknowledgements", self.answers, 100),
        ):
            self.listener.create_subscription(
                UInt8MultiArray,
                f"/{PLUGIN}/{topic}",
                lambda message, heard=heard: heard.append(decode(bytes(message.data))),
                quality,
            )

    def tearDown(self) -> None:
        """Listen no more."""
        self.executor.shutdown()
        self.listener.destroy_node()
        self.context.try_shutdown()

    def until(self, done: Callable[[], Any], what: str, seconds: float = 60.0) -> None:
        """Wait."""
        deadline = monotonic() + seconds
        while not done():
            assert monotonic() < deadline, f"waited {seconds:g} s for {what}"
            self.executor.spin_once(timeout_sec=0.05)

    def report(self, place: Report) -> int:
        """A number of the newest state; -1 before the first."""
        return int(self.states[-1].sections[Section.REPORT][place]) if self.states else -1

    def gains(self) -> float:
        """Version of the gains in force."""
        return float(self.states[-1].sections[Section.APPLIED][1 + NUMBER["gains"]])

    def until_running(self) -> None:
        """Wait until the plugin moves the arm."""
        self.until(lambda: self.report(Report.PHASE) == Phase.RUNNING, "the loop to run", PATIENCE)

    def set(self, node: str, name: str, value: str) -> str:
        """What ``ros2 param set`` prints."""
        command = ["ros2", "param", "set", f"/{node}", name, value]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.until(lambda: process.poll() is not None, " ".join(command))
        return process.communicate()[0].decode(errors="replace")

    def test_every_cycle_is_answered(self, node: str) -> None:
        """A tick per cycle, which follows the reference; the node shows it, as ever."""
        shown: list[JointState] = []
        self.listener.create_subscription(JointState, f"/{node}/state", shown.append, 10)
        self.until_running()
        self.until(lambda: self.report(Report.CYCLES) >= CYCLES, "cycles")
        self.until(lambda: shown, f"{node}/state")
        ticks = int(self.states[-1].sections[Section.COUNTERS][0])
        assert abs(ticks - self.report(Report.CYCLES)) <= 20  # one is counted a state later
        assert self.report(Report.ACTION) == Action.FOLLOW

    def test_gains_by_ros2_param_set(self, node: str) -> None:
        """One that may be is in force, one that may not be is refused, and the first one stays."""
        self.until_running()
        before = self.gains()
        said = self.set(node, "gains.damping", "[21.0]")
        assert "successful" in said, said
        self.until(lambda: self.gains() > before, "the gains to be in force")
        before = self.gains()
        said = self.set(node, "gains.damping", "[5000.0]")
        assert "would diverge" in said, said
        assert self.gains() == before
        assert self.report(Report.PHASE) == Phase.RUNNING

    def test_an_end_from_another_node_is_refused(self, node: str) -> None:
        """A node that has not begun the session cannot end it."""
        self.until_running()
        updates = self.listener.create_publisher(UInt8MultiArray, f"/{PLUGIN}/updates", 10)
        self.until(updates.get_subscription_count, "the plugin to listen")
        session = self.states[-1].session ^ 2
        updates.publish(UInt8MultiArray(data=encode(Update.END, session, 1)))
        self.until(lambda: any(a.session == session for a in self.answers), "an answer")
        answer = next(a for a in self.answers if a.session == session)
        assert answer.status is Status.SESSION, answer
        cycles = self.report(Report.CYCLES)
        self.until(lambda: self.report(Report.CYCLES) > cycles + 100, "cycles")
        assert self.report(Report.PHASE) == Phase.RUNNING


@launch_testing.post_shutdown_test()
class TestEnded(unittest.TestCase):
    """After the launch was told to end."""

    def test_exit_codes(self, proc_info: Any, node: str) -> None:
        """Ours end with 0; the spawners did their work."""
        for name in (node, "spawner"):
            launch_testing.asserts.assertExitCodes(
                proc_info, process=name, strict_proc_matching=False
            )

    def test_output(self, proc_output: Any, node: str) -> None:
        """No traceback of ours."""
        processes = [p for p in proc_output.process_names() if p.startswith(node)]
        text = "".join(io.text.decode(errors="replace") for p in processes for io in proc_output[p])
        assert "Traceback" not in text, text

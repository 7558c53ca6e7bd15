"""launch/hardware.launch.py as a dry run: the real ros2_control without an arm.

launch_test test/launch/hardware.test.py
"""

from __future__ import annotations

import unittest
from pathlib import Path
from typing import Any

import launch_testing
import launch_testing.actions
import launch_testing.asserts
import pytest
from launch.actions import IncludeLaunchDescription, SetLaunchConfiguration
from launch.launch_description import LaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing_ros import WaitForTopics
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

FILE = Path(__file__).parents[2] / "launch" / "hardware.launch.py"
CONTROLLER, WATCHDOG = "motion_controller", "effort_watchdog"
PATIENCE = 240.0  # for everything to come up on a busy computer [s]

PATIENT = [SetLaunchConfiguration(f"{sig}_timeout", "60") for sig in ("sigterm", "sigkill")]
"""A busy computer takes its time to end a node, which is not killed for that."""


@pytest.mark.launch_test
@launch_testing.ready_to_test_action_timeout(PATIENCE)
def generate_test_description() -> LaunchDescription:
    """No arm, and a reference that stays where the arm is."""
    source = PythonLaunchDescriptionSource(str(FILE))
    included = IncludeLaunchDescription(
        source, launch_arguments={"dry_run": "true", "loop": "topics"}.items()
    )
    return LaunchDescription([*PATIENT, included, launch_testing.actions.ReadyToTest()])


class TestRunning(unittest.TestCase):
    """While the launch is up."""

    def test_the_arm_is_commanded(self) -> None:
        """The broadcaster says where the arm is, and the controller commands it."""
        topics = [
            ("joint_states", JointState),
            ("effort_controller/commands", Float64MultiArray),
            (f"{CONTROLLER}/state", JointState),
        ]
        waiting = WaitForTopics(topics, timeout=PATIENCE)
        try:
            assert waiting.wait(), f"nothing on {waiting.topics_not_received()}"
        finally:
            waiting.shutdown()


@launch_testing.post_shutdown_test()
class TestEnded(unittest.TestCase):
    """After the launch was told to end."""

    def test_exit_codes(self, proc_info: Any) -> None:
        """Ours end with 0; the spawners did their work."""
        for name in (CONTROLLER, WATCHDOG, "spawner"):
            launch_testing.asserts.assertExitCodes(
                proc_info, process=name, strict_proc_matching=False
            )

    def test_output(self, proc_output: Any) -> None:
        """No traceback of ours."""
        for name in (CONTROLLER, WATCHDOG):
            processes = [p for p in proc_output.process_names() if p.startswith(name)]
            text = "".join(
                io.text.decode(errors="replace") for p in processes for io in proc_output[p]
            )
            assert "Traceback" not in text, text

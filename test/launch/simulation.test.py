"""launch/simulation.launch.py, each controller and each task: it runs, and ends well when told to.

launch_test test/launch/simulation.test.py
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

from projected_control.resources import arms_folder
from projected_control.settings.nodes import TASKS

FILE = Path(__file__).parents[2] / "launch" / "simulation.launch.py"
NODES = {
    "controller:=motion": "motion_controller",
    "controller:=force": "force_controller",
    "controller:=passive": "passive_joint_controller",
    "controller:=idc": "motion_controller",
    **{
        f"task:={name}": case.node
        for name, case in TASKS.items()
        if arms_folder() or not case.needs_arms
    },
}
"""Real arms are launched where the extra ``arms`` is installed."""
PATIENCE = 240.0  # for the nodes to come up on a busy computer [s]

PATIENT = [SetLaunchConfiguration(f"{sig}_timeout", "60") for sig in ("sigterm", "sigkill")]
"""A busy computer takes its time to end a node, which is not killed for that."""


@pytest.mark.launch_test
@launch_testing.parametrize("choice", list(NODES))
@launch_testing.ready_to_test_action_timeout(PATIENCE)
def generate_test_description(choice: str) -> tuple[LaunchDescription, dict[str, Any]]:
    """In lockstep, so that nothing depends on how fast the computer is."""
    source = PythonLaunchDescriptionSource(str(FILE))
    argument, _, value = choice.partition(":=")
    arguments = {argument: value, "lockstep": "true"}
    included = IncludeLaunchDescription(source, launch_arguments=arguments.items())
    return LaunchDescription([*PATIENT, included, launch_testing.actions.ReadyToTest()]), {}


class TestRunning(unittest.TestCase):
    """While the launch is up."""

    def test_states_are_answered(self, choice: str) -> None:
        """The arm says where it is, and the controller commands it and says what it does."""
        topics = [
            ("joint_states", JointState),
            ("effort_controller/commands", Float64MultiArray),
            (f"{NODES[choice]}/state", JointState),
        ]
        waiting = WaitForTopics(topics, timeout=PATIENCE)
        try:
            assert waiting.wait(), f"nothing on {waiting.topics_not_received()}"
        finally:
            waiting.shutdown()

    def test_all_three_are_there(self, choice: str, proc_info: Any) -> None:
        """The arm, its watchdog and the controller; each goes on running."""
        for name in ("simulated_arm", "effort_watchdog", NODES[choice]):
            proc_info.assertWaitForStartup(name, timeout=PATIENCE)


@launch_testing.post_shutdown_test()
class TestEnded(unittest.TestCase):
    """After the launch was told to end."""

    def test_exit_codes(self, choice: str, proc_info: Any) -> None:
        """Three processes, all 0."""
        names = {name.rpartition("-")[0] for name in proc_info.process_names()}
        assert names == {"simulated_arm", "effort_watchdog", NODES[choice]}
        launch_testing.asserts.assertExitCodes(proc_info)

    def test_output(self, choice: str, proc_output: Any) -> None:
        """No traceback; the controller said when it began to control the arm."""
        text = "".join(io.text.decode(errors="replace") for io in proc_output)
        assert "Traceback" not in text, text
        assert f"[{NODES[choice]}]: active: " in text, text

"""simulation.launch.py with seconds:=…, as `ros2 launch` runs it: it ends by itself, with status 0.

launch_test test/launch/ends_by_itself.test.py
"""

from __future__ import annotations

import unittest
from typing import Any

import launch_testing
import launch_testing.actions
import launch_testing.asserts
import launch_testing.markers
import pytest
from launch.actions import ExecuteProcess
from launch.launch_description import LaunchDescription

RUNS = {
    "motion": ["controller:=motion", "lockstep:=true"],
    "force": ["controller:=force", "lockstep:=true"],
    "passive": ["controller:=passive", "lockstep:=true"],
    "idc": ["controller:=idc", "lockstep:=true"],
    "motion in real time": ["controller:=motion", "rate:=100"],
}
PATIENCE = 240.0  # how long a run may take on a busy computer [s]


@pytest.mark.launch_test
@launch_testing.parametrize("run", list(RUNS))
@launch_testing.markers.keep_alive  # the tests go on when the only process has ended
@launch_testing.ready_to_test_action_timeout(PATIENCE)
def generate_test_description(run: str) -> tuple[LaunchDescription, dict[str, Any]]:
    """Half a second of simulated time."""
    command = ["ros2", "launch", "projected_control", "simulation.launch.py", "seconds:=0.5"]
    patient = ["sigterm_timeout:=60", "sigkill_timeout:=60"]  # a busy computer takes its time
    process = ExecuteProcess(
        cmd=[*command, *RUNS[run], *patient], name="ros2_launch", output="screen"
    )
    ready = launch_testing.actions.ReadyToTest()
    return LaunchDescription([process, ready]), {"process": process}


class TestRunning(unittest.TestCase):
    """While it runs."""

    def test_it_ends_by_itself(self, process: Any, proc_info: Any) -> None:
        """Which says that every state was answered: only then does the time go on."""
        proc_info.assertWaitForShutdown(process, timeout=PATIENCE)


@launch_testing.post_shutdown_test()
class TestEnded(unittest.TestCase):
    """Afterwards."""

    def test_exit_code(self, proc_info: Any) -> None:
        """Of `ros2 launch` itself."""
        launch_testing.asserts.assertExitCodes(proc_info)

    def test_output(self, process: Any, proc_output: Any) -> None:
        """Three nodes that ended cleanly, because the time was over."""
        text = "".join(io.text.decode(errors="replace") for io in proc_output[process])
        assert text.count("process has finished cleanly") == 3, text
        assert "process has died" not in text, text
        assert "Traceback" not in text, text

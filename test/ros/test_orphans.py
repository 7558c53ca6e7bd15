"""Nodes do not outlive the application that started them, however it ends."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import signal
import subprocess
import sys
from pathlib import Path

import yaml
from fleet import THREE_LINK, Fleet

from projected_control.settings.nodes import ARM, own_values

SCRIPT = """
import sys
from pathlib import Path
from time import sleep
from projected_control.apps.demo.fleet import Fleet

fleet = Fleet(Path(sys.argv[1]), {})
fleet.start("simulated_arm", ["--params-file", sys.argv[2]])
print(fleet._running["simulated_arm"].pid, flush=True)
sleep(600)
"""


def test_nodes_end_when_their_application_is_killed(fleet: Fleet, tmp_path: Path) -> None:
    file = tmp_path / "arm.yaml"
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": own_values(ARM, THREE_LINK)}}))
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=fleet.environment) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        fleet.until(lambda: fleet.diagnosis(ARM).level == 0, "the arm to come up")
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        fleet.until(lambda: not _alive(pid), "the node to end")


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"

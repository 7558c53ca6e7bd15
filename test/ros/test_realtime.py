"""Real-time priority: asked for, never taken unasked; one line says what was granted."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import os
import subprocess
import sys
import threading

from fleet import STEADY, THREE_LINK, Fleet

from projected_control.ros.realtime import ordinary_priority, real_time_priority
from projected_control.settings.nodes import ARM, WATCHDOG

pytestmark = pytest.mark.whole_starts

SETTINGS = {**THREE_LINK, **STEADY}
REFUSED = """
import os
from projected_control.ros.realtime import prepare_process

if os.getuid() == 0:
    os.setuid(65534)  # nobody
print(prepare_process(40, False, [0]).line)
"""


def permitted() -> bool:
    """Whether this user may have real-time priority."""
    with real_time_priority(1):
        return os.sched_getscheduler(0) == os.SCHED_FIFO


@pytest.mark.parametrize("kind", [ARM, WATCHDOG])
def test_not_taken_unasked(fleet: Fleet, kind: str) -> None:
    """The ordinary scheduler by default, of the watchdog as well; as root, too."""
    process = fleet.start(kind, SETTINGS, realtime__priority=None)
    fleet.until_state(kind, "active")
    assert os.sched_getscheduler(process.pid) == os.SCHED_OTHER
    assert process.log.count("granted: the ordinary scheduler (as configured)") == 1


@pytest.mark.parametrize("kind", [ARM, WATCHDOG])
def test_asked_for_and_said(fleet: Fleet, kind: str) -> None:
    process = fleet.start(kind, SETTINGS, realtime__priority=7)
    fleet.until_state(kind, "active")
    if permitted():
        assert os.sched_getscheduler(process.pid) == os.SCHED_FIFO
        assert os.sched_getparam(process.pid).sched_priority == 7
        assert "]: granted: real-time priority (SCHED_FIFO 7)" in process.log
    else:
        assert "not granted: real-time priority (SCHED_FIFO 7: Operation not" in process.log
    assert process.log.count("granted: ") == 1


def test_not_in_lockstep(fleet: Fleet) -> None:
    """There a node runs as fast as it can, and would let no other process run."""
    process = fleet.start(ARM, SETTINGS, lockstep=True, realtime__priority=40)
    fleet.until_state(ARM, "active")
    assert os.sched_getscheduler(process.pid) == os.SCHED_OTHER
    assert "granted: the ordinary scheduler (realtime.priority 40 is not for" in process.log


def test_refused_without_permission() -> None:
    """One line says what was granted and what was not, and what to do."""
    done = subprocess.run(
        [sys.executable, "-c", REFUSED], capture_output=True, text=True, check=True
    )
    (line,) = done.stdout.splitlines()
    assert line.startswith("granted: CPUs [0]; not granted: real-time priority (SCHED_FIFO 40")
    assert "rtprio" in line


def test_long_work_gives_way() -> None:
    """And only in its own thread."""
    seen: list[int] = []
    with real_time_priority(1):
        before = os.sched_getscheduler(0)
        thread = threading.Thread(target=lambda: seen.append(os.sched_getscheduler(0)))
        thread.start()
        thread.join()
        with ordinary_priority():
            assert os.sched_getscheduler(0) == os.SCHED_OTHER
        assert os.sched_getscheduler(0) == before
    assert seen == [before]
    assert os.sched_getscheduler(0) == os.SCHED_OTHER

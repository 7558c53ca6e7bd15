"""Real-time priority: taken where the system permits it, said on the console, never in lockstep."""

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
for asked in (True, False):
    print(prepare_process(40, False, [], asked=asked))
"""


def permitted() -> bool:
    """Whether this user may have real-time priority."""
    with real_time_priority(1):
        return os.sched_getscheduler(0) == os.SCHED_FIFO


@pytest.mark.parametrize(("kind", "priority"), [(ARM, 40), (WATCHDOG, 50)])
def test_taken_by_default_and_said(fleet: Fleet, kind: str, priority: int) -> None:
    process = fleet.start(kind, SETTINGS)
    fleet.until_state(kind, "active")
    if permitted():
        assert os.sched_getscheduler(process.pid) == os.SCHED_FIFO
        assert os.sched_getparam(process.pid).sched_priority == priority
        assert f"it has real-time priority (SCHED_FIFO {priority})" in process.log
    else:
        assert f"real-time priority (SCHED_FIFO {priority}) is not permitted" in process.log


def test_zero_is_the_ordinary_scheduler(fleet: Fleet) -> None:
    process = fleet.start(ARM, SETTINGS, realtime__priority=0)
    fleet.until_state(ARM, "active")
    assert os.sched_getscheduler(process.pid) == os.SCHED_OTHER
    assert "real-time" not in process.log


def test_not_in_lockstep(fleet: Fleet) -> None:
    """There a node runs as fast as it can, and would let nobody else run."""
    process = fleet.start(ARM, SETTINGS, lockstep=True)
    fleet.until_state(ARM, "active")
    assert os.sched_getscheduler(process.pid) == os.SCHED_OTHER


def test_refused_without_permission() -> None:
    """Asked for, it is a warning; by default it is a remark. Both say what to do."""
    done = subprocess.run(
        [sys.executable, "-c", REFUSED], capture_output=True, text=True, check=True
    )
    asked, default = done.stdout.splitlines()
    assert asked.startswith("Preparation(granted=[], refused=['real-time priority")
    assert default.startswith("Preparation(granted=[], refused=[], not_permitted=['real-time")
    assert "rtprio" in asked


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

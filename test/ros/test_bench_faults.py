"""``bench faults`` with real processes: what it reports, and its exit status."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import json
import subprocess
import sys
from typing import Any

from fleet import Fleet
from quiet import TooLate

from projected_control.apps.bench.faults import FAULTS


def bench(fleet: Fleet, *arguments: str) -> tuple[int, dict[str, Any], str]:
    """Exit status, numbers and standard error."""
    command = [sys.executable, "-m", "projected_control.apps.cli", "bench", "faults", "--json"]
    done = subprocess.run(
        [*command, *arguments],
        env=dict(fleet.environment),
        capture_output=True,
        text=True,
        timeout=280,
    )
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


def test_a_bound_that_nothing_meets_is_missed(fleet: Fleet) -> None:
    """Exit status 1, and what was missed in words."""
    arguments = ("--only", "controller_killed", "--repeats", "1", "--bound", "0.001")
    status, numbers, err = bench(fleet, *arguments)
    assert list(numbers) == ["controller_killed"]
    assert status == 1, err
    assert "bound missed: " in err
    assert FAULTS["controller_killed"].title in err


@pytest.mark.long
@pytest.mark.quiet
def test_the_documented_times(fleet: Fleet) -> None:
    """Those of docs/safety.md: every fault once."""
    status, numbers, err = bench(fleet, "--repeats", "1")
    assert list(numbers) == list(FAULTS), err
    if status == 1:
        raise TooLate(err)
    assert status == 0, err

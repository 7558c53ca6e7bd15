"""``bench view`` with real processes: the page does not touch the timing of a loop."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("aiohttp", reason="aiohttp is not installed")

import json
import subprocess
import sys
from typing import Any

from fleet import Fleet
from quiet import TooLate


def bench(fleet: Fleet, *arguments: str) -> tuple[int, dict[str, Any], str]:
    """Exit status, numbers and standard error."""
    command = [sys.executable, "-m", "projected_control.apps.cli", "bench", "view", "--json"]
    done = subprocess.run(
        [*command, *arguments], env=dict(fleet.environment), capture_output=True, text=True
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


@pytest.mark.long
@pytest.mark.quiet
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "arguments",
    [("--seconds", "10", "--rounds", "3"), ("--seconds", "600", "--rounds", "1")],
    ids=["by turns", "ten minutes"],
)
def test_a_loop_that_is_looked_at_is_as_fast_as_alone(
    fleet: Fleet, arguments: tuple[str, ...]
) -> None:
    """Latency (p50) within 10 %, deadlines within the spread, the page's memory bounded."""
    status, numbers, err = bench(fleet, *arguments)
    assert numbers["pictures"] > 0
    print(json.dumps(numbers))
    if status == 1:
        raise TooLate(err)
    assert status == 0, err

"""A run begins without a kick: every way is warm, and the arm is held until it is taken over."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from fleet import Fleet

from projected_control.apps.demo.demo_settings import run_in_process, settings_for
from projected_control.settings.nodes import ARM, FORCE

pytestmark = pytest.mark.whole_starts

SECONDS = 2.0


@pytest.mark.quiet
def test_a_run_in_real_time_begins_as_it_does_in_process(fleet: Fleet) -> None:
    """Hybrid control at 1 kHz: the torque's peak within 10 % where no state was late."""
    settings = settings_for("force", SECONDS, "paper", False, {"diagnostics_rate": 20.0})
    expected = run_in_process(settings)
    values = {**settings.controller.values(), "watchdog": ""}
    fleet.start(FORCE, values)
    fleet.start(ARM, settings.arm.values())
    fleet.until_counted(FORCE, "ticks", round(500 * SECONDS))
    numbers = fleet.summary(FORCE)
    late = numbers["deadline_misses"] + numbers["states_skipped"]
    if late:
        pytest.skip(f"{late} states were late or lost, so that the torques may differ")
    assert numbers["torque_peak"] <= 1.1 * expected["torque_peak"]
    assert numbers["events"] == {}
    assert numbers["tracking_peak"] < 1e-3

"""The controller inside a real Gazebo, headless: its numbers beside our own simulation's.

Needs Gazebo Harmonic with its Python modules, or a newer one; skipped where there is none.
"""

from __future__ import annotations

import math

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from gazebo_runs import SECONDS, Server, run, settings_of, write

from projected_control.apps.demo.demo_settings import DemoSettings, run_in_process
from projected_control.settings.nodes import ARM, checked, own_values

FORCE_ERROR = 0.03  # of a sensor beside a λ that is held near zero [N]


def own(choice, seconds=SECONDS, friction=False):
    """The numbers of the same run in our own simulation."""
    case, controller, settings = settings_of(choice, friction)
    arm = checked(ARM, own_values(ARM, settings))
    return run_in_process(DemoSettings(case, seconds, controller, arm, {}))


@pytest.mark.parametrize("choice", ["motion", "force", "idc", "passive"])
def test_it_tracks_as_our_own_simulation(choice, environment, tmp_path):
    found = run(tmp_path, environment, choice, friction=True)
    expected = own(choice, friction=True)
    assert found["ticks"] >= 1000 * SECONDS - 2
    assert found["tracking_rms"] == pytest.approx(expected["tracking_rms"], rel=0.1)
    assert found["torque_rms"] == pytest.approx(expected["torque_rms"], rel=0.1)
    assert found["residual_max"] < 1e-3
    bound = max(0.01 * found["lambda_model_rms"], FORCE_ERROR)
    assert found["lambda_difference_rms"] < bound
    assert all(math.isfinite(value) for value in found.values() if isinstance(value, float))


def test_the_sensor_measures_what_the_model_says(environment, tmp_path):
    found = run(tmp_path, environment, "motion")
    assert found["lambda_model_rms"] > 1.0
    assert found["lambda_difference_rms"] < 0.001 * found["lambda_model_rms"]


def test_idc_without_friction(environment, tmp_path):
    """It leaves λ, and the moment about the tip, to chance: ten times the error of PIDC."""
    found = run(tmp_path, environment, "idc")
    assert found["tracking_rms"] == pytest.approx(0.73e-3, rel=0.05)
    assert found["lambda_difference_rms"] < 0.005


def test_the_same_numbers_every_time_and_in_every_direction(environment, tmp_path):
    """A world turned by 0.7 rad is what catches a wrong solver."""
    keys = ("ticks", "tracking_rms", "tracking_peak", "lambda_rms", "torque_rms", "residual_max")
    first, again, turned = (
        run(tmp_path / name, environment, "force", seconds=3.0, yaw=yaw)
        for name, yaw in (("first", 0.0), ("again", 0.0), ("turned", 0.7))
    )
    assert [first[key] for key in keys] == [again[key] for key in keys]
    for key in keys:
        assert turned[key] == pytest.approx(first[key], rel=1e-3, abs=1e-9)


@pytest.fixture
def server(environment, tmp_path):
    # PIDC leans on the slider; a hybrid one with λ = 0 would stay on the line without it.
    server = Server(write(tmp_path, "motion", factor=1.0), environment)
    try:
        server.until(lambda: server.said == "following", "the controller to follow")
        yield server
    finally:
        server.close()


def test_detached_from_the_slider_it_stops(server):
    server.detach(lambda: "the arm has left its constraint" in server.said, "it to notice")
    server.until(lambda: server.values["state"] == "inactive", "it to stop")


def test_pause_step_and_reset(server):
    server.more()
    server.control("pause: true")
    paused = server.still()
    server.control("multi_step: 10, pause: true")
    server.until(lambda: server.ticks() == paused + 10, "ten steps")
    server.control("pause: false")
    server.more()
    server.control("reset: {all: true}")
    server.until(lambda: 0 <= server.ticks() < paused, "a new beginning")
    server.until(lambda: server.said == "following", "it to follow again")
    server.more()

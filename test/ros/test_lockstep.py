"""In lockstep the numbers through DDS are those of the same loop without ROS, every time."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fleet import Fleet
from ros_domain import own_domain

from projected_control.apps.demo.demo_settings import (
    DemoSettings,
    judge_arm,
    run_in_process,
    settings_for,
)
from projected_control.settings.build import build_arm
from projected_control.settings.nodes import ARM, FORCE, MOTION, PASSIVE

SECONDS = 1.5
TICKS = 1500
KEYS = ("tracking_rms", "tracking_peak", "lambda_rms", "torque_rms", "torque_peak")
FRICTION = {"friction.coulomb": [0.3], "friction.viscous": [0.05]}
OVERRIDES = {"diagnostics_rate": 20.0, "autostart": False, **FRICTION}


GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "lockstep.json").read_text())
"""What the runs in process gave when the golden runs were taken; see test/golden_runs.py."""


def settings_of(choice: str) -> DemoSettings:
    return settings_for(choice, SECONDS, "paper", True, OVERRIDES)


def run(fleet: Fleet, controller: str, arm: str) -> dict[str, Any]:
    """Both from their start to the end of the simulated time."""
    assert fleet.change(arm, "activate")
    assert fleet.change(controller, "activate"), fleet.diagnosis(controller)
    fleet.until_counted(controller, "ticks", TICKS)
    fleet.until_said(arm, "finished")
    numbers = fleet.summary(controller)
    assert fleet.change(controller, "deactivate")
    assert fleet.change(arm, "deactivate")
    assert fleet.summary(controller)["torque_rms"] == numbers["torque_rms"]  # kept after the run
    return numbers


def compare(numbers: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    assert numbers["ticks"] == TICKS
    assert numbers["malformed"] == numbers["deadline_misses"] == 0
    for key in KEYS:
        assert numbers[key] == pytest.approx(expected[key], rel=0.0, abs=1e-9), key
        assert expected[key] > 0.0


def compare_twice(fleet: Fleet, controller: str, settings: DemoSettings, golden: str = "") -> None:
    """The second time the arm names its joints in another order, which must change nothing."""
    first = run(fleet, controller, ARM)
    compare(first, run_in_process(settings))
    if golden:
        compare(first, GOLDEN[golden])
    fleet.put(ARM, {"fault": "reordered"})
    second = run(fleet, controller, ARM)
    fleet.put(ARM, {"fault": "none"})
    assert {key: second[key] for key in KEYS} == {key: first[key] for key in KEYS}


@pytest.fixture(scope="module")
def slider(shared_fleet: Fleet) -> Fleet:
    """An arm on a slider and two controllers, none of them active."""
    for choice, controller in (("motion", MOTION), ("force", FORCE)):
        shared_fleet.start(controller, settings_of(choice).controller.values())
    shared_fleet.start(ARM, settings_of("motion").arm.values())
    for node in (MOTION, FORCE, ARM):
        assert shared_fleet.change(node, "configure")
    return shared_fleet


@pytest.mark.parametrize(
    ("choice", "controller"), [("motion", MOTION), ("idc", MOTION), ("force", FORCE)]
)
def test_on_the_slider(slider: Fleet, choice: str, controller: str) -> None:
    settings = settings_of(choice)
    if controller == MOTION:
        slider.put(MOTION, {"law": settings.controller.law})
    compare_twice(slider, controller, settings, choice)


def test_with_a_passive_joint(fleet: Fleet) -> None:
    settings = settings_of("passive")
    fleet.start(PASSIVE, settings.controller.values())
    fleet.start(ARM, settings.arm.values())
    for node in (PASSIVE, ARM):
        assert fleet.change(node, "configure")
    compare_twice(fleet, PASSIVE, settings, "passive")


@pytest.mark.parametrize(
    ("task", "engine", "off"),
    [
        ("five_bar", "built_in", 1e-9),
        ("five_bar", "mujoco", 1e-6),
        pytest.param("four_bar_3d", "built_in", 1e-9, marks=pytest.mark.long),
        pytest.param("hitch", "built_in", 1e-9, marks=pytest.mark.long),
        pytest.param("two_arms", "built_in", 1e-9, marks=pytest.mark.long),
    ],
)
def test_a_mechanism(fleet: Fleet, task: str, engine: str, off: float) -> None:
    """The arm's own ‖Φ‖ stays small, and no effort reaches a joint without a motor."""
    if engine == "mujoco":
        pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")
    overrides = {"diagnostics_rate": 20.0, "autostart": False, "simulation.engine": engine}
    settings = settings_for(task, SECONDS, "paper", True, overrides)
    controller = settings.case.node
    fleet.start(controller, settings.controller.values())
    fleet.start(ARM, settings.arm.values())
    for node in (controller, ARM):
        assert fleet.change(node, "configure")
    expected = run_in_process(settings)
    compare(run(fleet, controller, ARM), expected)
    seen = judge_arm(settings, fleet.summary(ARM))
    assert 0.0 < seen["residual_max"] < off
    assert seen["passive_effort_peak"] == expected["passive_effort_peak"] == 0.0
    motors = [peak for peak in fleet.summary(ARM)["effort_peaks"].values() if peak]
    assert len(motors) == int(build_arm(settings.controller).actuated.sum())


def test_with_the_name_of_an_engine(fleet: Fleet) -> None:
    """Files of before may give one: it is taken, and the library makes the ticks as always."""
    settings = settings_of("force")
    fleet.start(FORCE, {**settings.controller.values(), "engine": "numba"})
    fleet.start(ARM, settings.arm.values())
    for node in (FORCE, ARM):
        assert fleet.change(node, "configure")
    numbers = run(fleet, FORCE, ARM)
    compare(numbers, GOLDEN["force"])
    assert numbers["engine"] == "native"


JUDGED = ("force_error_rms", "lateral_drift", "tilt_error", "tracking_rms", "torque_peak_ratio")


def test_a_task_is_judged_by_what_the_nodes_did(fleet: Fleet, tmp_path: Path) -> None:
    """An arm that sticks, with noise: the demo's numbers, from topics, are those in process."""
    config = Path(__file__).parents[2] / "config"
    demo = [sys.executable, "-m", "projected_control.apps.cli", "demo", "--controller", "force"]
    demo += ["--arm", str(config / "seven_joints.yaml"), "--with", str(config / "real.yaml")]
    demo += ["--seconds", "1.5", "--json", "--out", str(tmp_path / "out")]
    found = {}
    for way in ("--lockstep", "--in-process"):
        with own_domain() as own:
            environment = {**os.environ, **own}
            done = subprocess.run(
                [*demo, way], env=environment, capture_output=True, text=True, check=False
            )
        assert done.returncode == 0, done.stderr
        found[way] = json.loads(done.stdout)
    nodes, here = found["--lockstep"], found["--in-process"]
    assert nodes["ticks"] == here["in_process"]["ticks"] == TICKS
    for key in JUDGED:
        assert nodes[key] == pytest.approx(here[key], rel=1e-6, abs=1e-9), key
        assert nodes[key] > 0.0
    assert nodes["force_error_rms"] < 0.02 * nodes["force_wanted"]

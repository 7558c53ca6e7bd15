"""Arms in space inside a real Gazebo, headless: on a plane, at a point, on a circle, on a hinge.

Needs Gazebo Harmonic with its Python modules, or a newer one; skipped where there is none. What
DART alone can show of it, test/ros/test_gazebo_physics.py shows without Gazebo.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pinocchio
import pytest
from quiet import within

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")

from projected_control.apps.demo.demo_settings import DemoSettings, run_in_process
from projected_control.apps.gazebo import world_files as gazebo_files
from projected_control.apps.launch import choices
from projected_control.errors import ProjectedControlError
from projected_control.native.gazebo_build import gazebo_library
from projected_control.resources import arms_folder
from projected_control.settings.nodes import ARM, checked, own_values

SECONDS = 3.0

ANGLES = (0.4, -0.7, 1.1)
TURN = pinocchio.rpy.rpyToMatrix(*ANGLES)
TURNED = {
    "frames.tool.orientation": list(ANGLES),
    "coordinate.lean_x.axis": TURN[2].tolist(),
    "coordinate.lean_y.axis": TURN[2].tolist(),
    "coordinate.turn.axis": TURN[0].tolist(),
}

HINGE = {
    "constraint.kind": "hinge",
    "constraint.axis": [0.0, 0.0, 1.0],
    "constraint.point": [0.4, 0.1, 0.3],
    "coordinates": ["turn"],
    "force.reference": [0.0],
    "simulation.coordinates": ["turn"],
    "simulation.values": [-2.9],
    "reference.kind": "sine",
    "reference.offset": [-2.9],
    "reference.amplitude": [0.3],
    "reference.frequency": [0.5],
    "reference.phase": [0.0],
}
"""The seven joints, and a tool that turns about its own axis and nothing else."""

MORE = {"hinge": ("seven_joints", HINGE)}
"""Cases that are no file in config/: an arm, and what is different."""


def needs_arms(name):
    reason = "needs Gazebo and example-robot-data: pip install 'projected_control[arms]'"
    return pytest.param(name, marks=pytest.mark.skipif(arms_folder() is None, reason=reason))


def settings_of(arm, controller, own):
    given = {"controller": controller, "arm": arm, "preset": "paper", "friction": "false"}
    chosen = choices.choose(given)
    settings = {**chosen.values(), **own}
    return chosen.case, checked(chosen.case.node, own_values(chosen.case.node, settings)), settings


def run(folder, environment, arm, controller="force", own=None, **options):
    """The numbers of a run in Gazebo, with its course."""
    case, node, settings = settings_of(arm, controller, own or {})
    folder.mkdir(exist_ok=True)
    files = gazebo_files.write_files(
        folder,
        case.node,
        node,
        settings,
        gazebo_files.WorldOptions(measure=True, **options),
        summary=folder / "summary.json",
    )
    steps = str(round(1000 * SECONDS))
    done = subprocess.run(
        ["gz", "sim", "-s", "-r", "--iterations", steps, str(files.world)],
        env=environment,
        timeout=300,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads((folder / "summary.json").read_text())


def own_run(arm, controller="force", own=None):
    case, node, settings = settings_of(arm, controller, own or {})
    hardware = checked(ARM, own_values(ARM, settings))
    return run_in_process(DemoSettings(case, SECONDS, node, hardware, {}))


ARMS = [
    "seven_joints",
    "pivot",
    "hinge",
    *map(needs_arms, ("six_joints", "wipe", "valve", "drawer")),
]


@pytest.mark.parametrize("arm", ARMS)
def test_an_arm_in_space(arm, environment, tmp_path):
    """Tracking to 0.3 mm or mrad of our own simulation, λ to 1 %, the loop closed to 50 µm."""
    arm, own = MORE.get(arm, (arm, {}))
    found, expected = run(tmp_path, environment, arm, own=own), own_run(arm, own=own)
    assert found["ticks"] >= 1000 * SECONDS - 2
    assert found["tracking_rms"] < expected["tracking_rms"] + 3e-4
    assert found["torque_rms"] == pytest.approx(expected["torque_rms"], rel=0.02)
    assert found["lambda_rms"] == pytest.approx(expected["lambda_rms"], rel=0.01)
    assert found["lambda_difference_rms"] < max(2e-3 * found["lambda_model_rms"], 0.02)
    assert found["residual_max"] < 5e-5


def test_a_tip_frame_turned_against_the_last_link_gives_the_same_force(environment, tmp_path):
    plain, turned = (
        np.array(run(tmp_path / name, environment, "seven_joints", own=own)["course"]["lambda"])
        for name, own in (("plain", {}), ("turned", TURNED))
    )
    np.testing.assert_allclose(turned, plain, atol=1e-5)


def test_identical_numbers_on_every_run(environment, tmp_path):
    first, again = (
        run(tmp_path / name, environment, "seven_joints")["course"] for name in ("first", "again")
    )
    assert first == again


def test_friction_at_the_contact(environment, tmp_path):
    """µ N against the motion shows in the errors as in our own simulation."""
    rubbing = {"friction.contact": 0.3}
    found, smooth = run(tmp_path, environment, "seven_joints", own=rubbing), own_run("seven_joints")
    expected = own_run("seven_joints", own=rubbing)
    assert expected["tracking_rms"] > 3.0 * smooth["tracking_rms"]
    assert found["tracking_rms"] == pytest.approx(expected["tracking_rms"], rel=0.2)


def test_a_sensor_that_is_noisy_or_late(environment, tmp_path):
    """Motion control takes no notice of it: the true force is the same in all three runs."""
    clean, noisy, late = (
        np.array(run(tmp_path / name, environment, "auto", "motion", own)["course"]["lambda"])[:, 0]
        for name, own in (
            ("clean", {}),
            ("noisy", {"sensor.noise": 0.2}),
            ("late", {"sensor.delay": 10}),
        )
    )
    assert np.std(noisy - clean) == pytest.approx(0.2, rel=0.3)
    # A row is kept every ten steps; meanwhile the tip turns, and with it the axes of the wrench.
    np.testing.assert_allclose(late[2:], clean[1:-1], atol=1e-6)


@pytest.fixture
def library(gazebo):
    try:
        return gazebo_library()
    except ProjectedControlError as error:
        pytest.skip(str(error))


def test_the_compiled_library_reads_what_the_sensor_says(library, environment, tmp_path):
    """To 1e-6 N, over the whole run: the sensor's message is of the same step."""
    sensor = run(tmp_path / "sensor", environment, "seven_joints")
    compiled = run(tmp_path / "compiled", environment, "seven_joints", access=library)
    pair = (np.array(numbers["course"]["lambda"]) for numbers in (compiled, sensor))
    np.testing.assert_allclose(*pair, atol=1e-6)


@pytest.mark.quiet
def test_five_times_real_time(gazebo, environment):
    """The promise of docs/gazebo.md, as the time of a step of 1 ms."""
    command = [sys.executable, "-m", "projected_control.apps.cli", "bench", "gazebo", "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.stdout, done.stderr
    numbers = json.loads(done.stdout)
    print(numbers)
    for name, bound in numbers["bounds"].items():
        assert numbers[name]["times_real_time"] > 0.0
        within(1e-3 / bound, 1e-6 * numbers[name]["us_per_step"], f"a step with {name} control")

"""Our controllers in Gazebo's physics without Gazebo: DART steps the very worlds that we write.

Needs dartpy (the extra ``test`` has it); with a real Gazebo, test/gazebo does the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pinocchio
import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("dartpy", reason="dartpy, the physics that Gazebo uses, is not installed")

import rclpy
from ros_domain import free_domain

from projected_control.apps.demo.demo_settings import DemoSettings, run_in_process
from projected_control.apps.gazebo import world_files as gazebo_files
from projected_control.apps.launch import choices
from projected_control.ros.gazebo_stopwatch import read_outcome
from projected_control.ros.gazebo_system import FAILED
from projected_control.settings.nodes import ARM, checked, own_values

STAND_IN = Path(__file__).parents[1] / "gazebo" / "stand_in.py"
STEPS = 600

ANGLES = (0.4, -0.7, 1.1)
TURN = pinocchio.rpy.rpyToMatrix(*ANGLES)
TURNED = {
    "frames.tool.orientation": list(ANGLES),
    "coordinate.lean_x.axis": TURN[2].tolist(),
    "coordinate.lean_y.axis": TURN[2].tolist(),
    "coordinate.turn.axis": TURN[0].tolist(),
}
"""The same tool with its frame turned, and the coordinates given in its new axes."""

CIRCLE = {
    "constraint.kind": "point_on_circle",
    "constraint.point": [0.4, 0.0, 0.3],
    "constraint.radius": [0.1],
    "coordinates": ["round", "lean_x", "lean_y"],
    "coordinate.names": ["round", "lean_x", "lean_y"],
    "coordinate.round.kind": "round",
    "coordinate.round.frame": "tool",
    "coordinate.round.point": [0.4, 0.0, 0.3],
    "coordinate.round.direction": [0.0, 0.0, 1.0],
    "force.reference": [5.0, 0.0],
    "simulation.coordinates": ["round", "lean_x", "lean_y"],
    "simulation.values": [0.3, 0.0, 0.0],
    "reference.kind": "sine",
    "reference.offset": [0.3, 0.0, 0.0],
    "reference.amplitude": [0.5, 0.0, 0.0],
    "reference.frequency": [0.5, 0.0, 0.0],
    "reference.phase": [0.0, 0.0, 0.0],
}


def settings_of(arm, controller="force", **own):
    given = {"controller": controller, "arm": arm, "preset": "paper", "friction": "false"}
    chosen = choices.choose(given)
    settings = {**chosen.values(), **own}
    for name in ("coordinate.turn.", "reference.along", "reference.centre", "reference.size"):
        if own.get("coordinate.names"):  # of the file's own coordinates, some are gone
            settings = {k: v for k, v in settings.items() if not k.startswith(name)}
    node = chosen.case.node
    return chosen.case, checked(node, own_values(node, settings)), settings


@pytest.fixture(autouse=True)
def domain(monkeypatch):
    """One of its own: other nodes of ours in it would be noticed."""
    number, lock = free_domain()
    monkeypatch.setenv("ROS_DOMAIN_ID", str(number))
    with lock:
        yield number


def summary_of(folder):
    """The numbers of the run whose files are in this folder."""
    return folder.with_name(f"{folder.name}.json")


def simulate(folder, arm, controller="force", steps=STEPS, more=(), patience=300, **own):
    """A run in DART: its status with what it said, and its files."""
    case, node, settings = settings_of(arm, controller, **own)
    folder.mkdir(exist_ok=True)
    files = gazebo_files.write_files(
        folder,
        case.node,
        node,
        settings,
        gazebo_files.WorldOptions(measure=True),
        summary=summary_of(folder),
    )
    done = subprocess.run(
        [sys.executable, str(STAND_IN), str(files.world), "--iterations", str(steps), *more],
        env={**os.environ, "ROS_LOG_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=patience,
    )
    return done, files


def run(folder, arm, controller="force", steps=STEPS, **own):
    """The numbers of a run in DART; with the course of errors and λ."""
    done, _ = simulate(folder, arm, controller, steps, **own)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(summary_of(folder).read_text())


def own_run(arm, controller="force", steps=STEPS, **own):
    """The same in our own simulation."""
    case, node, settings = settings_of(arm, controller, **own)
    arm = checked(ARM, own_values(ARM, settings))
    return run_in_process(DemoSettings(case, steps / 1000, node, arm, {}))


def compare(found, expected, force):
    """Tracking to 0.2 mm or mrad, λ to a hundredth of what is held, the loop closed to 20 µm."""
    assert found["ticks"] >= STEPS - 2
    assert found["tracking_rms"] < expected["tracking_rms"] + 2e-4
    assert found["lambda_rms"] == pytest.approx(expected["lambda_rms"], rel=3e-3)
    assert found["torque_rms"] == pytest.approx(expected["torque_rms"], rel=1e-2)
    assert found["residual_max"] < 2e-5
    assert found["lambda_difference_rms"] < 2e-3 * force


def test_seven_joints_on_a_plane(tmp_path):
    """10 N on the table as in our own simulation."""
    compare(run(tmp_path, "seven_joints"), own_run("seven_joints"), 10.0)


def test_a_slider_that_lets_go_is_noticed_where_nothing_presses_on_it(tmp_path):
    """At λ_d = 0 the arm stays on its line without it: what is detached says so."""
    more = ("--detach-at", "300")
    done, files = simulate(tmp_path, "auto", steps=400, more=more, **{"force.reference": [0.0]})
    assert done.returncode == 0, done.stderr
    assert "Gazebo has detached it from what held it" in read_outcome(files.outcome)
    numbers = json.loads(summary_of(tmp_path).read_text())
    assert numbers["ticks"] <= 300
    assert numbers["residual_max"] < 1e-4


def test_another_controller_in_the_domain_is_noticed(tmp_path, domain):
    """Topics and parameters would be those of two: as the demonstration, it does not start."""
    context = rclpy.context.Context()
    rclpy.init(context=context, domain_id=domain)
    other = rclpy.create_node("force_controller", context=context)
    try:
        done, files = simulate(tmp_path, "auto", steps=10, more=("--listen",))
    finally:
        other.destroy_node()
        context.try_shutdown()
    assert done.returncode == FAILED
    words = f"force_controller run in ROS domain {domain} already"
    assert words in done.stderr
    assert words in read_outcome(files.outcome)


def test_a_folder_that_is_gone_at_the_end_does_no_harm(tmp_path):
    """The process that wanted to know has ended before Gazebo."""
    folder = tmp_path / "gone"
    done, _ = simulate(folder, "auto", steps=20, more=("--remove", str(folder)))
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert not folder.exists()


@pytest.mark.long
def test_a_tool_whose_frame_is_turned(tmp_path):
    """It gives the same λ."""
    plain = run(tmp_path / "plain", "seven_joints")
    turned = run(tmp_path / "turned", "seven_joints", **TURNED)
    pair = (np.array(numbers["course"]["lambda"]) for numbers in (plain, turned))
    np.testing.assert_allclose(*pair, atol=1e-6)


@pytest.mark.long
def test_seven_joints_at_a_point(tmp_path):
    compare(run(tmp_path, "pivot"), own_run("pivot"), 10.0)


@pytest.mark.long
def test_seven_joints_on_a_circle_twice_the_same(tmp_path):
    first, again = (run(tmp_path / name, "seven_joints", **CIRCLE) for name in ("first", "again"))
    compare(first, own_run("seven_joints", **CIRCLE), 5.0)
    assert first["course"] == again["course"]


@pytest.mark.long
@pytest.mark.parametrize("controller", ["motion", "idc", "passive"])
def test_planar_arms_on_their_slider(tmp_path, controller):
    """As docs/gazebo.md has it of Gazebo: 0.07 mm of its step, λ to 0.05 %."""
    own = {"robot_description_arguments": ["inertia:=rod"]} if controller == "passive" else {}
    found = run(tmp_path, "auto", controller, **own)
    expected = own_run("auto", controller, **own)
    assert found["tracking_rms"] < expected["tracking_rms"] + 1.5e-4
    assert found["residual_max"] < 1e-4
    assert found["lambda_difference_rms"] < max(5e-3 * found["lambda_model_rms"], 5e-3)


@pytest.mark.long
def test_friction_at_the_contact(tmp_path):
    """µ N against the motion shows in the errors as in our own simulation."""
    rubbing = {"friction.contact": 0.3}
    found, smooth = run(tmp_path, "seven_joints", **rubbing), own_run("seven_joints")
    expected = own_run("seven_joints", **rubbing)
    assert expected["tracking_rms"] > 3.0 * smooth["tracking_rms"]
    assert found["tracking_rms"] == pytest.approx(expected["tracking_rms"], rel=0.2)


@pytest.mark.long
def test_a_sensor_that_is_noisy_or_late(tmp_path):
    """Motion control takes no notice of it: the true force is the same in all three runs."""
    clean, noisy, late = (
        np.array(run(tmp_path / name, "auto", "motion", **own)["course"]["lambda"])[:, 0]
        for name, own in (
            ("clean", {}),
            ("noisy", {"sensor.noise": 0.2}),
            ("late", {"sensor.delay": 10}),
        )
    )
    assert np.std(noisy - clean) == pytest.approx(0.2, rel=0.3)
    # A row is kept every ten steps; meanwhile the tip turns, and with it the axes of the wrench.
    np.testing.assert_allclose(late[2:], clean[1:-1], atol=1e-6)

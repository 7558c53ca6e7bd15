"""``projected-control ik``: a pose, the reach along a reference, a map; and what it says."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from projected_control.apps.cli import main
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.settings import build
from projected_control.settings.build.kinematics import ArmKinematics
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import FORCE

CONFIG = Path(__file__).parents[1] / "config"
ARM, SLIDER = str(CONFIG / "seven_joints.yaml"), str(CONFIG / "three_link_slider.yaml")
REACH = float(np.sqrt(0.7**2 - 0.27**2))


def numbers(capsys, *arguments):
    status = main(["ik", *arguments, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_a_start_is_what_the_files_ask_for_and_can_be_loaded(tmp_path, capsys):
    """On the constraint and at simulation.values to 1e-9; the YAML starts the arm there."""
    out = tmp_path / "start.yaml"
    assert main(["ik", ARM, "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "constraint is met" in text
    assert "all tasks are met" in text
    layers = Layers.read([ARM, out])
    start = yaml.safe_load(out.read_text())["/**"]["ros__parameters"]["simulation"]["start"]
    case = ArmKinematics.of(layers, FORCE)
    coordinates = build.build_coordinates(list(case.wanted), case.arm, case.settings)
    model = ConstrainedArm(case.arm, case.constraint, coordinates)
    model.evaluate(np.array(start), np.zeros(7))
    np.testing.assert_allclose(model.residual, 0.0, atol=1e-9)
    np.testing.assert_allclose(model.theta, list(case.wanted.values()), atol=1e-9)


def test_tasks_are_met_in_order_and_what_is_missed_is_said(capsys):
    """The 3R arm on its slider: 0.7 m is beyond √(0.7² − 0.27²); the heading below gives way."""
    status, found = numbers(capsys, SLIDER, "--task", "tip.x:=0.7", "--task", "tip.angle:=2")
    assert status == 1
    constraint, place, heading = found["tasks"]
    assert constraint["met"]
    assert place["error"] == pytest.approx(0.7 - REACH, abs=1e-6)
    assert place["reason"] == "it is out of reach along the constraint"
    assert not heading["met"]
    assert found["stopped"].startswith("no step")
    status, found = numbers(capsys, SLIDER, "--task", "tip.x:=0.2", "--task", "tip.angle:=0.1")
    assert status == 0
    assert found["met"]
    assert found["nearest_limit"]["joint"].startswith("joint_")
    assert found["manipulability"] > 0.0


def test_along_the_reference_says_how_much_is_within_reach(tmp_path, capsys):
    picture = tmp_path / "along.png"
    status, found = numbers(capsys, SLIDER, "--along", "--picture", str(picture))
    assert (status, found["share_reached"], found["trouble"]) == (0, 1.0, "")
    assert picture.read_bytes().startswith(b"\x89PNG")
    # With its heading held, x reaches from 0.1 − √(0.6² − 0.27²) on; −0.475 is 39 mm too far.
    status, found = numbers(capsys, SLIDER, "--along", "--set", "reference.amplitude:=[0.4, 0.0]")
    assert status == 1
    assert 0.6 < found["share_reached"] < 1.0
    assert 0.01 < found["largest_miss"] < 0.05
    assert "reference is missed by" in found["trouble"]


def test_a_map_ends_where_the_arm_is_stretched_and_is_drawn(tmp_path, capsys):
    picture = tmp_path / "reach.svg"
    command = [SLIDER, "--map", "tip.x", "tip.angle", "--spacing", "0.1"]
    status, found = numbers(capsys, *command, "--picture", str(picture))
    assert status == 0
    assert found["highest"][0] == pytest.approx(REACH, abs=0.1)
    assert found["lowest"][0] == pytest.approx(-REACH, abs=0.1)
    assert b"<svg" in picture.read_bytes()


def test_an_arm_without_a_constraint_in_its_file_is_free(tmp_path, capsys):
    file = tmp_path / "bare.yaml"
    arm = {"robot_description_file": "three_link_slider.urdf.xacro"}
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": arm}}))
    status, found = numbers(capsys, str(file), "--task", "tip.x:=0.3", "tip.y:=0.2")
    assert status == 0
    assert [task["name"] for task in found["tasks"]] == ["tip.x, tip.y"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--task", "tip.x=0.2"], "name:=value"),
        (["--task", "tip.x:=far"], "name:=value"),
        (["--task", "tap.x:=0.2"], "unknown frame 'tap'; there are: tip"),
        (["--picture", "x.png"], "--picture draws --along or --map"),
        (["--map", "tip.x", "tip.angle", "--picture", "x.gif"], "must end in .png or .svg"),
        (["--posture", "1.0"], "posture must have shape 3, got 1"),
        (["--q", "1.0"], "must have 3 numbers"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(arguments, words, capsys):
    assert main(["ik", SLIDER, *arguments]) == 2
    message = capsys.readouterr().err
    assert words in message
    assert "Traceback" not in message

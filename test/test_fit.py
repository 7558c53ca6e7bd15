"""`projected-control fit`: lines, planes and circles from guided motions that are noisy."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from projected_control.apps.cli import main
from projected_control.errors import InvalidValue
from projected_control.model.fitting import fit_circle, fit_line, fit_plane
from projected_control.planning import assemble
from projected_control.settings import build
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import FORCE

CONFIG = Path(__file__).parents[1] / "config" / "seven_joints.yaml"


def angle(a, b):
    return float(np.arccos(np.clip(np.dot(a, b), -1.0, 1.0)))


def turned(seed):
    """A random rotation."""
    matrix, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return matrix * np.sign(np.linalg.det(matrix))


def guided(tilt, noise, seed=0, count=600):
    """Joint positions of an arm that is guided over a tilted table, read by noisy encoders."""
    layers = Layers.read([CONFIG], "paper")
    normal = np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    point = np.array([0.5, 0.0, 0.3])
    layers = layers.on_top(
        {"constraint.point": point.tolist(), "constraint.direction": normal.tolist()}, "test"
    )
    model = build.build_model(layers.controller(FORCE))
    random = np.random.default_rng(seed)
    q, rows = np.array(layers.arm().simulation.start), []
    for share in np.linspace(0.0, 1.0, count):
        x = 0.5 + 0.1 * np.sin(2 * np.pi * 1.3 * share)
        y = 0.15 * np.sin(2 * np.pi * 5.1 * share)
        values = [x, y, 0.0, 0.0, model.theta[4] if rows else 0.0]
        q = assemble(model.arm, model.constraint, q, model.coordinates, values)
        model.evaluate(q, np.zeros(7))
        rows.append(q + random.normal(0.0, noise, 7))
    return np.array(rows), point, normal


def test_a_plane_is_found_within_a_fifth_of_a_millimetre_and_a_fifth_of_a_degree(tmp_path, capsys):
    """From joint positions with 0.3 mrad of noise, through the command line, into a parameter file
    that a controller loads."""
    rows, point, normal = guided(np.radians(7.0), 3e-4)
    motion, block = tmp_path / "guided.csv", tmp_path / "table.yaml"
    names = ",".join(f"joint_{i}" for i in range(1, 8))
    np.savetxt(motion, rows, delimiter=",", header=names, comments="")
    command = ["fit", "plane", str(motion), "--arm", str(CONFIG), "--out", str(block)]
    assert main(command) == 0
    settings = Layers.read([CONFIG, block], "paper").controller(FORCE)
    found = np.array(settings.constraint.direction)
    assert angle(found, normal) < np.radians(0.2)
    assert abs((np.array(settings.constraint.point) - point) @ normal) < 2e-4
    assert build.build_model(settings).m == 1
    capsys.readouterr()
    assert main([*command[:-2], "--json"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert 1e-5 < numbers["residual_rms"] < 1e-3
    assert angle(numbers["direction"], normal) < 2.0 * numbers["direction_bound"] + 1e-6


@examples(max_examples=25)
@given(seed=st.integers(0, 10**6), noise=st.sampled_from([0.0, 1e-5, 3e-4]))
def test_shapes_anywhere_are_found_to_their_noise(seed, noise):
    random, turn = np.random.default_rng(seed), turned(seed)
    place = random.uniform(-1.0, 1.0, 3)
    off = random.normal(0.0, noise, (400, 3))
    a, b = random.uniform(-0.2, 0.2, (2, 400))
    plane = fit_plane(place + a[:, None] * turn[0] + b[:, None] * turn[1] + off, turn[2])
    assert angle(plane.direction, turn[2]) <= 1e-7 + 3.0 * plane.direction_bound
    assert abs((plane.point - place) @ turn[2]) <= 1e-9 + 3.0 * plane.place_bound
    line = fit_line(place + a[:, None] * turn[0] + off, turn[0])
    assert angle(line.direction, turn[0]) <= 1e-7 + 3.0 * line.direction_bound
    phi = random.uniform(0.0, 4.0, 400)[:, None]
    radius = random.uniform(0.05, 0.5)
    circle = fit_circle(
        place + radius * (np.cos(phi) * turn[0] + np.sin(phi) * turn[1]) + off, turn[2]
    )
    assert circle.radius == pytest.approx(radius, abs=1e-9 + 3.0 * circle.radius_bound)
    assert np.linalg.norm(circle.point - place) <= 1e-8 + 4.0 * circle.place_bound + 3e-4


def test_the_bounds_hold_95_percent_of_what_is_found():
    random, inside = np.random.default_rng(1), 0
    for _ in range(200):
        table = np.column_stack([*random.uniform(-0.2, 0.2, (2, 100)), np.zeros(100)])
        table[:, 2] += random.normal(0.0, 1e-3, 100)
        plane = fit_plane(table)
        at = plane.point[2] - (plane.direction[:2] @ plane.point[:2]) / plane.direction[2]
        inside += abs(at) < plane.place_bound
    assert 0.88 < inside / 200 <= 1.0


def test_points_that_make_no_plane_are_refused_with_what_to_do():
    along = np.outer(np.linspace(0.0, 1.0, 50), [1.0, 0.0, 0.0])
    noisy = along + np.random.default_rng(0).normal(0.0, 1e-3, (50, 3))
    with pytest.raises(InvalidValue, match=r"do not make a plane.*guide the arm farther, in two"):
        fit_plane(noisy)
    with pytest.raises(InvalidValue, match="do not make a line"):
        fit_line(np.random.default_rng(0).normal(size=(50, 3)))


def test_joint_positions_without_an_arm_are_refused(tmp_path, capsys):
    motion = tmp_path / "guided.npz"
    np.savez(motion, q=np.zeros((10, 7)))
    assert main(["fit", "plane", str(motion)]) == 2
    assert "--arm must name the arm's parameter file" in capsys.readouterr().err


def test_points_of_a_file_make_a_block_of_yaml(tmp_path, capsys):
    motion = tmp_path / "touched.csv"
    phi = np.linspace(0.0, 5.0, 60)
    points = np.column_stack([0.4 + 0.1 * np.cos(phi), 0.1 * np.sin(phi), np.full(60, 0.25)])
    np.savetxt(motion, points, delimiter=",", header="x,y,z", comments="")
    assert main(["fit", "circle", str(motion), "--frame", "hand"]) == 0
    block = yaml.safe_load(capsys.readouterr().out)["/**"]["ros__parameters"]["constraint"]
    assert block["kind"] == "point_on_circle"
    assert block["radius"] == pytest.approx(0.1, abs=1e-6)
    assert block["point"] == pytest.approx([0.4, 0.0, 0.25], abs=1e-6)

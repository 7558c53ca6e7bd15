"""The examples run as they stand, and print what they should."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from projected_control.apps.bench.tick_cases import spatial_urdf

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run(name, folder, *arguments):
    """Output of an example, run in an empty folder, which stays empty."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name), *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=240,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list(folder.iterdir()) == []
    return done.stdout


def numbers(text):
    return [float(x) for x in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?", text)]


def test_all_are_tested_and_short():
    tested = Path(__file__).read_text(encoding="utf-8")
    assert [path.name for path in EXAMPLES if f'"{path.name}"' not in tested] == []
    for path in EXAMPLES:
        assert len(path.read_text(encoding="utf-8").splitlines()) < 70


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_wrong_arguments_are_refused_in_one_sentence(path, tmp_path):
    """The one that takes a file and a frame names the file that is not there."""
    wrong = ["--fast"] if path.name != "05_own_arm.py" else ["no.urdf"]
    done = subprocess.run(
        [sys.executable, str(path), *wrong],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        encoding="utf-8",
    )
    usage, sentence = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (2, "")
    assert usage.startswith(f"usage: {path.name}")
    assert wrong[0] in sentence


def test_a_frame_that_an_arm_does_not_have_is_refused(tmp_path):
    urdf = ROOT / "urdf" / "seven_joints.urdf"
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "05_own_arm.py"), str(urdf), "hand"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 2
    assert "unknown frame 'hand'; there are: base, flange" in done.stderr


def test_slider(tmp_path):
    idc, idc_error, pidc, pidc_error = run("01_slider.py", tmp_path).splitlines()
    assert numbers(idc) == [pytest.approx(2.483, abs=0.01), pytest.approx(0.0, abs=0.02)]
    assert numbers(pidc) == [pytest.approx(1.500, abs=0.01), pytest.approx(6.5, abs=0.1)]
    assert max(numbers(idc_error) + numbers(pidc_error)) < 100.0  # µm or µrad


def test_force(tmp_path):
    margin, start, force, error = run("02_force.py", tmp_path).splitlines()
    begun, wanted = numbers(start)
    assert begun == pytest.approx(wanted, abs=1.0)  # the motion it begins with adds a little
    assert numbers(margin)[0] > 1.5
    low, high, miss = numbers(force)
    assert (low, high) == (2.0, 8.0)
    assert miss < 0.3
    assert numbers(error)[0] < 1.0


def test_one_motor(tmp_path):
    two, one, ratio = run("03_one_motor.py", tmp_path).splitlines()
    assert numbers(two)[-1] < 1e-6
    assert re.search(r"\[ *[\d.]+ +0\. *\]", one)
    assert numbers(ratio)[0] == pytest.approx(5**0.5, abs=2e-4)


def test_own_constraint(tmp_path):
    radii, error = run("04_own_constraint.py", tmp_path).splitlines()
    assert numbers(radii) == [0.45, 0.45]
    assert numbers(error)[0] < 100.0


def test_own_arm(tmp_path):
    arm, height, error, guard = run("05_own_arm.py", tmp_path).splitlines()
    assert "shoulder" in arm
    assert numbers(height)[0] < 1e-9
    assert numbers(error)[0] < 20.0
    assert guard == "the guard noticed: nothing"


def test_operational_space(tmp_path):
    place, lean, elbow, force = run("07_operational_space.py", tmp_path).splitlines()
    assert numbers(place)[-1] < 0.05  # mm
    assert numbers(lean)[-1] < 0.5  # mrad
    assert numbers(elbow)[-1] < 5.0
    assert numbers(force)[0] == pytest.approx(10.0, abs=0.05)


def test_impedance(tmp_path):
    """In the tool's axes, which point down: 5 N by 500 N/m along x, by 2000 N/m along z."""
    free, held = run("08_impedance.py", tmp_path).splitlines()
    assert numbers(free)[1:] == [
        pytest.approx(10.0, abs=0.1),
        pytest.approx(0.0, abs=0.1),
        pytest.approx(2.5, abs=0.1),
    ]
    *moved, force, _ = numbers(held)
    assert moved[0] == pytest.approx(10.0, abs=0.1)
    assert moved[2] == pytest.approx(0.0, abs=1e-6)
    assert force == pytest.approx(10.0, abs=0.1)


def test_selection(tmp_path):
    ours, selected = run("09_selection.py", tmp_path).splitlines()
    force, off = numbers(ours)
    assert force < 0.05
    assert off < 0.05
    assert numbers(selected)[-2] > 10.0 * force


def test_computed_torque(tmp_path):
    led, followed = run("10_computed_torque.py", tmp_path).splitlines()
    moved, rate = numbers(led)
    assert abs(moved) > 0.1
    assert rate < 0.01
    assert numbers(followed)[-1] < 500.0  # µrad


def test_own_arm_from_a_file(tmp_path):
    file, folder = tmp_path / "arm.urdf", tmp_path / "empty"
    folder.mkdir()
    file.write_text(spatial_urdf())
    arm, height, error, _ = run("05_own_arm.py", folder, str(file), "tip").splitlines()
    assert "spatial_arm" in arm
    assert numbers(height)[0] < 1e-9
    assert numbers(error)[0] < 20.0


def test_closed_chain(tmp_path):
    *efforts, force, spare = run("06_closed_chain.py", tmp_path).splitlines()
    assert [numbers(line)[-1] for line in efforts if "elbow" in line] == [0.0, 0.0]
    assert len(numbers(force)) == 2
    assert numbers(spare) == [0.0]


def test_inverse_kinematics(tmp_path):
    lines = run("11_inverse_kinematics.py", tmp_path).splitlines()
    near, _, constraint, place, square, *axes, reach = lines
    assert near.endswith("in 8 steps")
    assert "is met to" in constraint
    assert "is met to" in place
    assert "square is missed by 0.261, most of all lean_x" in square
    assert "what is needed for it is taken by constraint and place" in square
    assert len(axes) == 2
    assert numbers(reach)[0] == pytest.approx(1.84, abs=0.1)

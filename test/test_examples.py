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
    assert [path.name[:2] for path in EXAMPLES] == ["01", "02", "03", "04", "05", "06"]
    for path in EXAMPLES:
        assert len(path.read_text(encoding="utf-8").splitlines()) < 70


def test_slider(tmp_path):
    idc, idc_error, pidc, pidc_error = run("01_slider.py", tmp_path).splitlines()
    assert numbers(idc) == [pytest.approx(2.483, abs=0.01), pytest.approx(0.0, abs=0.02)]
    assert numbers(pidc) == [pytest.approx(1.500, abs=0.01), pytest.approx(6.5, abs=0.1)]
    assert max(numbers(idc_error) + numbers(pidc_error)) < 100.0  # µm or µrad


def test_force(tmp_path):
    margin, force, error = run("02_force.py", tmp_path).splitlines()
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


def test_own_arm_from_a_file(tmp_path):
    file, folder = tmp_path / "arm.urdf", tmp_path / "empty"
    folder.mkdir()
    file.write_text(spatial_urdf())
    arm, height, error, _ = run("05_own_arm.py", folder, str(file), "tip").splitlines()
    assert "spatial_arm" in arm
    assert numbers(height)[0] < 1e-9
    assert numbers(error)[0] < 20.0

"""Another package adds a constraint, a law with its node and a port; YAML names them.

Real processes with a real distribution on their path; nothing of ours knows of it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from arms import three_link_arm

ROOT = Path(__file__).parents[1]
SOURCE = Path(__file__).parent / "other_package"
START = [-3.0, 2.0, 1.0]
ENTRY_POINTS = """\
[projected_control.constraints]
circle = other_arms.circle:RECORD
hazy_circle = other_arms.circle:HAZY

[projected_control.controllers]
yielding_controller = other_arms.yielding:RECORD

[projected_control.ports]
virtual = other_arms.virtual_arm:RECORD
"""
KIND = "yielding_controller"


def settings() -> dict:
    """All three kinds of the other package, in one parameter file."""
    x, y, _ = three_link_arm().update(np.array(START), np.zeros(3)).frame("tip").position
    return {
        "robot_description_file": "three_link_slider.urdf.xacro",
        "joints": ["joint_1", "joint_2", "joint_3"],
        "constraint": {
            "kind": "circle",
            "frame": "tip",
            "arguments": [f"radius:={float(np.hypot(x, y))!r}"],
        },
        "coordinates": ["joint_1", "joint_2"],
        "gains": {"stiffness": [100.0], "damping": [20.0]},
        "reference": {"kind": "hold"},
        "hardware": "virtual",
        "width": 0.2,
        "rate": 100.0,
        "diagnostics_rate": 20.0,
    }


@pytest.fixture
def installed(tmp_path) -> Path:
    """What pip would install: the package, and a .dist-info with its entry points."""
    info = tmp_path / "site" / "other_arms-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other_arms\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    (tmp_path / "site" / "other_arms").symlink_to(SOURCE / "other_arms")
    content = {"/**": {"ros__parameters": settings()}}
    (tmp_path / "settings.yaml").write_text(yaml.safe_dump(content))
    return tmp_path


def environment(installed: Path) -> dict[str, str]:
    path = os.pathsep.join([str(installed / "site"), str(ROOT)])
    return {**os.environ, "PYTHONPATH": path}


def command(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "projected_control.apps.cli", *arguments],
        env=environment(installed),
        capture_output=True,
        text=True,
        timeout=280,
    )


def test_a_parameter_file_names_all_three(installed):
    """`check` reads the file, builds the law on the constraint, and finds nothing wrong."""
    start = ["--q", *map(str, START)]
    file = str(installed / "settings.yaml")
    done = command(installed, "check", file, "--node", KIND, *start, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    numbers = json.loads(done.stdout)
    assert numbers["constraint_rows"] == numbers["rank"] == 1
    assert numbers["coordinates"] == ["joint_1", "joint_2"]


@pytest.mark.parametrize(
    ("name", "value", "listed"),
    [("hardware", "virtuel", "virtual"), ("constraint", {"kind": "ring"}, "circle")],
)
def test_an_unknown_name_lists_theirs_among_ours(installed, name, value, listed):
    content = {"/**": {"ros__parameters": {**settings(), name: value}}}
    (installed / "settings.yaml").write_text(yaml.safe_dump(content))
    done = command(installed, "check", str(installed / "settings.yaml"), "--node", KIND)
    assert done.returncode != 0
    assert listed in done.stdout + done.stderr


def test_the_command_line_offers_the_law_where_the_package_is_installed(installed):
    wrong = ("check", str(ROOT / "config" / "three_link_slider.yaml"), "--node", "nothing")
    assert KIND in command(installed, *wrong).stderr
    (installed / "site" / "other_arms-1.0.dist-info" / "entry_points.txt").unlink()
    done = command(installed, *wrong)
    assert KIND not in done.stderr
    assert "motion_controller" in done.stderr


def test_each_addition_is_one_file():
    """Beside its test and the entry point: what CONTRIBUTING.md promises."""
    files = {path.stem for path in (SOURCE / "other_arms").glob("*.py")} - {"__init__"}
    assert files == {"circle", "yielding", "virtual_arm"}

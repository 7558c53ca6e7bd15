"""The library without what only the applications need, as real processes that cannot import it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from projected_control import extras

ROOT = Path(__file__).parents[1]
APPS = ("matplotlib", "rich")
ROS = ("rclpy", "launch", "launch_ros")
COMMAND = ("-m", "projected_control.apps.cli")
SETTINGS = str(ROOT / "config" / "three_link_slider.yaml")

LIBRARY = """
import numpy as np
import projected_control as pc
for name in pc.__all__:
    getattr(pc, name)
from projected_control.apps.bench.tick_cases import CASES
from projected_control.apps.bench.tick_timing import record
states = record(*CASES[0].build())
print(len(states), np.isfinite(states[-1].q).all())
"""


def run_without(
    missing: tuple[str, ...], folder: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """A Python process in which these modules cannot be imported."""
    blocker = f"import sys\nsys.modules.update(dict.fromkeys({missing!r}))\n"
    site, here = folder / "site", folder / "here"
    site.mkdir()
    here.mkdir()
    (site / "sitecustomize.py").write_text(blocker)
    path = os.pathsep.join([str(site), str(ROOT)])
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path},
        cwd=here,
        capture_output=True,
        text=True,
        timeout=280,
    )


def studies(folder: Path) -> dict[str, Path]:
    """Study files of sweeps, by name."""
    text = "task: slider\nvary: {simulation.mass_factor: [0.9, 1.1]}\n"
    kinds = {"STUDY": "latin", "SEARCH": "tpe", "SENSITIVE": "latin"}
    made = {name: folder / f"{name}.yaml" for name in kinds}
    for name, path in made.items():
        path.write_text(f"{text}design: {{kind: {kinds[name]}}}\n")
    with made["SENSITIVE"].open("a") as file:
        file.write("robustness: {sensitivity: morris}\n")
    return made


def test_the_blocker_blocks(tmp_path):
    done = run_without(APPS, tmp_path, "-c", "import matplotlib")
    assert "ModuleNotFoundError" in done.stderr


def test_the_library_needs_neither_ros_nor_the_applications_tools(tmp_path):
    done = run_without(APPS + ROS, tmp_path, "-c", LIBRARY)
    assert (done.returncode, done.stdout) == (0, "500 True\n"), done.stderr


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("check", SETTINGS), ("bench", "tick", "--seconds", "0.01", "--bound", "1e9")],
    ids=lambda arguments: arguments[0],
)
def test_commands_that_draw_nothing_need_nothing(tmp_path, arguments):
    done = run_without(APPS + ROS, tmp_path, *COMMAND, *arguments)
    said = [line for line in done.stderr.splitlines() if "bound missed" not in line]
    assert (done.returncode if not done.stderr else 0, said) == (0, [])  # a bound needs quiet


@pytest.mark.parametrize(
    ("missing", "arguments", "advice"),
    [
        ("matplotlib", ("reproduce", "free-fall"), "pip install 'projected_control[apps]'"),
        ("matplotlib", ("reproduce", "free-fall", "--json"), "projected_control[apps]"),
        ("rclpy", ("demo",), "pip install 'projected_control[ros]', or source your ROS 2"),
        ("rclpy", ("bench", "faults"), "pip install 'projected_control[ros]'"),
        ("pyarrow", ("sweep", "STUDY"), "pip install 'projected_control[sweep]'"),
        ("optuna", ("sweep", "SEARCH"), "pip install 'projected_control[sweep]'"),
        ("SALib", ("robustness", "SENSITIVE"), "pip install 'projected_control[sweep]'"),
        ("distributed", ("sweep", "STUDY", "--scheduler", "tcp://x:1"), "projected_control[sweep]"),
        ("rclpy", ("view",), "pip install 'projected_control[ros]'"),
    ],
)
def test_a_command_says_what_to_install(tmp_path, missing, arguments, advice):
    arguments = [str(studies(tmp_path).get(word, word)) for word in arguments]
    done = run_without((missing,), tmp_path, *COMMAND, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("projected-control: projected-control ")
    assert f"needs {missing}, which is not installed: " in done.stderr
    assert advice in done.stderr
    assert not list((tmp_path / "here").iterdir())


def test_the_live_page_says_what_to_install(tmp_path):
    pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
    done = run_without(("aiohttp",), tmp_path, *COMMAND, "view")
    assert done.returncode == 2
    assert "view needs aiohttp, which is not installed: pip install 'projected_control[view]'" in (
        done.stderr
    )


def test_the_demo_says_what_to_install(tmp_path):
    pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
    done = run_without(("matplotlib",), tmp_path, *COMMAND, "demo")
    assert done.returncode == 2
    assert "demo needs matplotlib, which is not installed: pip install" in done.stderr


def test_a_package_that_is_there_but_broken(tmp_path, monkeypatch):
    """Such as a ROS 2 that was built for another Python."""
    (tmp_path / "broken_rclpy.py").write_text("import no_such_library")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(extras.INSTALL, "broken_rclpy", "see its documentation")
    with pytest.raises(extras.MissingExtra, match=r"cannot be imported .*no_such_library"):
        extras.require("broken_rclpy", "this test")

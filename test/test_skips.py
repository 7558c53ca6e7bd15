"""What may be skipped after `make test` and `make test-peers`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from skips import main, outcomes, unexplained

TESTS = """
import pytest

def test_runs(): pass

@pytest.mark.skipif({arms} == [], reason="example-robot-data is missing")
@pytest.mark.parametrize("path", {arms})
def test_of_arms(path): pass

def test_of_gazebo(): pytest.skip("Gazebo (the command gz) is not installed")

def test_of_a_manager(): pytest.skip("ros2_control is not installed")

def test_by_root(): pytest.skip("root may write everywhere")

def test_of_launch_files(): pytest.importorskip("launch_rose", reason="launch_rose is not there")
"""


PYTEST = [sys.executable, *["-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null"]]


def report_of(folder: Path, name: str, arms: list[str], more: str = "") -> Path:
    (folder / "test_these.py").write_text(TESTS.format(arms=arms) + more)
    report = folder / f"{name}.xml"
    subprocess.run(
        [*PYTEST, "--rootdir", str(folder), f"--junitxml={report}", str(folder)],
        check=False,
        capture_output=True,
    )
    return report


def test_what_a_second_stage_runs_and_what_is_not_on_pypi_may_be_skipped(tmp_path, capsys) -> None:
    first, second = report_of(tmp_path, "a", []), report_of(tmp_path, "b", ["ur5", "panda"])
    wrong, here = unexplained([outcomes(first)])
    assert list(wrong.values()) == ["example-robot-data is missing"]
    assert list(here.values()) == ["root may write everywhere"]
    assert main([str(first), str(second)]) == 0
    assert "1 × root may write everywhere" in capsys.readouterr().out


def test_what_nobody_runs_fails_with_its_reason(tmp_path, capsys) -> None:
    more = "\ndef test_of_pink(): pytest.skip('Pink is not installed')\n"
    first, second = report_of(tmp_path, "a", [], more), report_of(tmp_path, "b", ["ur5"], more)
    assert main([str(first), str(second)]) == 1
    said = capsys.readouterr().out
    assert "1 × Pink is not installed" in said
    assert "mark them peers" in said
    assert "example-robot-data" not in said


def test_a_whole_file_counts_as_run_where_its_tests_were() -> None:
    names = {"test.test_placo": "no environment with placo", "test.test_pla": "the same"}
    wrong, _ = unexplained([names, {"test.test_placo.test_torques": ""}])
    assert list(wrong) == ["test.test_pla"]


def test_a_file_that_skips_itself_has_its_own_reason(tmp_path) -> None:
    """Not the name of its folder: that may be launch, too."""
    for name, more in (("launch", "Pink"), ("pink", "ros2_control")):
        (tmp_path / name).mkdir()
        skips = f'\npytest.skip("{more} is not installed", allow_module_level=True)\n'
        wrong, _ = unexplained([outcomes(report_of(tmp_path / name, "a", [], skips))])
        assert len(wrong) == (more == "Pink")

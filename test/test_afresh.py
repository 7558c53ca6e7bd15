"""One failing test of a file takes no other with it, in a pytest of its own: see `afresh`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
TESTS = """
import pytest

@pytest.fixture(scope="session")
def template():
    print("template begins")
    yield
    print("template ends")

@pytest.fixture(scope="module")
def fleet(template):
    print("fleet begins")
    yield {"broken": False}
    print("fleet ends")

@pytest.fixture
def ready(fleet):
    assert not fleet["broken"], "left behind"
    return fleet

def test_first(ready):
    pass

def test_breaks(ready):
    ready["broken"] = True
    assert ready is None

def test_second(ready):
    ready["broken"] = True

def test_finds_it_broken(ready):
    pass

def test_third(ready):
    pass
"""


def test_a_new_fleet_after_a_failure_and_after_a_failed_setup(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "afresh", "-p", "no:cacheprovider"]
    plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(HERE)}
    done = subprocess.run(
        [*command, str(tmp_path)],
        env={**os.environ, **plugins},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert "1 failed, 3 passed, 1 error" in done.stdout, done.stdout
    assert done.stdout.count("fleet begins") == 3, done.stdout
    assert done.stdout.count("fleet ends") == 3, done.stdout
    assert done.stdout.count("template begins") == 1, done.stdout

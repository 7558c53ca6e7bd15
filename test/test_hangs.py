"""A test that hangs fails, with the stacks of all threads, and the others go on: see `hangs`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("xdist", reason="pytest-xdist is not installed")

CONFTEST = """
import sys
sys.path.insert(0, {folder!r})
from hangs import Hangs

def pytest_configure(config):
    config.pluginmanager.register(Hangs(grace=0.5), "hangs")
"""

TESTS = """
import ctypes, threading, time
import pytest

@pytest.fixture
def stuck():
    yield
    library, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
    for _ in range(2):  # and keeps the interpreter's lock: no signal is answered
        library.pthread_mutex_lock(mutex)

def a_thread_at_work():
    time.sleep(100)

@pytest.mark.timeout(0.5)
def test_hangs(stuck):
    threading.Thread(target=a_thread_at_work, daemon=True).start()

@pytest.mark.parametrize("number", range(3))
def test_goes_on(number):
    pass
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(CONFTEST.format(folder=str(Path(__file__).parent)))
    (folder / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments, str(folder)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=90)


def test_of_a_worker(tmp_path: Path) -> None:
    done = run(tmp_path, "-n1")
    assert done.returncode == 1, done.stdout
    assert "1 failed, 4 passed" in done.stdout, done.stdout  # it passed before its fixture hung
    assert "crashed while running 'test_it.py::test_hangs'" in done.stdout
    for function in ("in stuck", "in a_thread_at_work"):
        assert function in done.stdout, done.stdout


def test_without_workers(tmp_path: Path) -> None:
    """The run ends: nothing can be told to go on."""
    done = run(tmp_path, "-n0")
    assert done.returncode == 1, done.stdout
    for function in ("in stuck", "in a_thread_at_work"):
        assert function in done.stderr, done.stderr

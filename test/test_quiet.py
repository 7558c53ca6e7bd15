"""The marker quiet, in a pytest of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest
from quiet import ReferenceThread

HERE = Path(__file__).parent
MISSED = "raise AssertionError('missed the bound')"


def outcome(folder: Path, mark: str, body: str) -> str:
    """What pytest says of one test with this mark."""
    file = folder / "test_marked.py"
    file.write_text(f"import pytest\n\n@pytest.mark.{mark}\ndef test_one():\n    {body}\n")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = quiet\n")
    arguments = ["-q", "-ra", "-p", "quiet", "-p", "no:cacheprovider", "-W", "error", str(file)]
    plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(HERE)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        env={**os.environ, **plugins},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    return done.stdout


def test_a_test_that_fails_is_skipped_with_the_number_where_the_reference_was_late(tmp_path):
    out = outcome(tmp_path, "quiet(late=0.0)", MISSED)
    assert re.search(
        r"this computer is busy: a bare thread woke up \d+\.\d ms late, 0 ms are allowed; "
        r"the test failed with: missed the bound",
        " ".join(out.split()),
    )
    assert "1 skipped" in out


def test_a_test_that_fails_beside_a_punctual_reference_fails(tmp_path):
    assert "1 failed" in outcome(tmp_path, "quiet(late=1e6)", MISSED)


@pytest.mark.parametrize("mark", ["quiet", "quiet(late=0.0)"])
def test_a_test_that_passes_passes(tmp_path, mark):
    assert "1 passed" in outcome(tmp_path, mark, "pass")


def test_a_test_that_skips_itself_gives_its_own_reason(tmp_path):
    out = outcome(tmp_path, "quiet(late=0.0)", "pytest.skip('no robot')")
    assert "no robot" in out
    assert "busy" not in out


def test_the_reference_measures_lateness():
    """A thread that does not run for 0.2 s is at least that late, but for its period."""
    reference = ReferenceThread()
    os.kill(reference.pid, signal.SIGSTOP)
    sleep(0.2)
    os.kill(reference.pid, signal.SIGCONT)
    assert reference.stop() >= 0.199

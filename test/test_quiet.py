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
from quiet import ReferenceThread, TooLate, within

HERE = Path(__file__).parent
MISSED = "within(0.02, 0.03, 'the answer')"


def outcome(folder: Path, mark: str, body: str) -> str:
    """What pytest says of one test with this mark."""
    file = folder / "test_marked.py"
    header = "import pytest\nfrom quiet import within\n"
    file.write_text(f"{header}\n@pytest.mark.{mark}\ndef test_one():\n    {body}\n")
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


def test_a_bound_that_is_missed_is_skipped_with_the_number_where_the_reference_was_late(tmp_path):
    out = outcome(tmp_path, "quiet(late=0.0)", MISSED)
    assert re.search(
        r"this computer is busy: a bare thread woke up \d+\.\d ms late, 0 ms are allowed; "
        r"the answer took 30.0 ms; it may take 20 ms",
        " ".join(out.split()),
    )
    assert "1 skipped" in out


def test_a_bound_that_is_missed_beside_a_punctual_reference_fails(tmp_path):
    assert "1 failed" in outcome(tmp_path, "quiet(late=1e6)", MISSED)


def test_what_fails_for_another_reason_than_time_fails(tmp_path):
    assert "1 failed" in outcome(tmp_path, "quiet(late=0.0)", "assert 1 == 2")
    assert "1 failed" in outcome(tmp_path, "quiet(late=0.0)", "within(0.02, 0.01, 'x'); 1 / 0")


def test_a_time_that_is_no_number_is_too_long():
    with pytest.raises(TooLate):
        within(1.0, float("nan"), "what never came")


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

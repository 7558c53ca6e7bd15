"""Kernels that call kernels: compiled, loaded by another process, and without parts."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from projected_control.compiled import COMPILED

pytestmark = pytest.mark.skipif(not COMPILED, reason="numba is not installed or switched off")

SMALL = """
from projected_control.compiled import compiled

@compiled
def add_thirds(a, total):
    for i in range(a.size):
        total[i] += a[i] * a[i] / 3.0

@compiled
def add_both(a, b, total):
    add_thirds(a, total)
    add_thirds(b, total)
"""

RUN = """
import numpy as np
from projected_control import tested_versions
tested_versions.NUMBA = {numba}
from projected_control import kernel_parts
import small

a, b, total = np.linspace(0.1, 7.0, 9), np.linspace(-3.0, 0.7, 9), np.zeros(9)
small.add_both(a, b, total)
print(kernel_parts.KNOWN, sum(small.add_both.stats.cache_hits.values()), total.tobytes().hex())
"""

OURS = "tested_versions.NUMBA"
ANOTHER = "'0.0'"


@pytest.fixture
def run(tmp_path):
    """Runs the two kernels in a process; whether they have parts, were loaded, and their sum."""
    (tmp_path / "small.py").write_text(SMALL)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(tmp_path)}

    def once(numba):
        command = [sys.executable, "-c", RUN.format(numba=numba)]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return once


def expected():
    a, b = np.linspace(0.1, 7.0, 9), np.linspace(-3.0, 0.7, 9)
    return (a * a / 3.0 + b * b / 3.0).tobytes().hex()


def test_another_process_loads_what_was_compiled(run):
    """The same numbers to the last bit, from disk the second time."""
    _, hits, first = run(OURS)
    assert hits == "0"
    _, hits, second = run(OURS)
    assert hits == "1"
    assert first == second == expected()


def test_with_a_numba_that_was_not_tried(run):
    """There are no parts, the numbers are the same, and nothing of the others' is loaded."""
    _, _, with_parts = run(OURS)
    known, hits, without = run(ANOTHER)
    assert (known, hits) == ("False", "0")
    assert without == with_parts == expected()
    assert run(ANOTHER)[1:] == ["1", expected()]

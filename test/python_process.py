"""Python code in a process of its own, for what is decided when the package is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TEST = Path(__file__).parent


def output_of(code: str, **environment: str) -> str:
    """What the code prints; it finds the package and the helpers of the tests."""
    path = os.pathsep.join([str(TEST.parent), str(TEST)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": path} | environment,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout

"""Compile what the tests need, once: numba's kernels and the native library, side by side.

The first test of each process would do it otherwise, one after the other. What goes wrong here is
no failure: the tests that need it will say so.
"""

from __future__ import annotations

import subprocess
import sys

NUMBA = """
from projected_control.apps.demo.case import run_in_process, settings_for

for choice in ("motion", "force", "passive"):
    run_in_process(settings_for(choice, 0.01, "paper", True, {}))
"""
NATIVE = """
from projected_control.native import library

print(library.reason_against() or "the native library is there")
"""


def main() -> None:
    processes = [subprocess.Popen([sys.executable, "-c", code]) for code in (NUMBA, NATIVE)]
    for process in processes:
        process.wait()


if __name__ == "__main__":
    main()

"""Processes that end with the one that started them, however that ends.

`tied` turns a command into one that does: the system sends the process SIGTERM when its parent is
gone, be it by kill -9. That is asked for before anything of the command itself is loaded. This file
is run as a script for it, so it imports nothing of the package.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1


def tied(command: Sequence[str]) -> list[str]:
    """A command that ends with this process; to be started by its main thread."""
    if not sys.platform.startswith("linux"):  # others have no such thing
        return list(command)
    return [sys.executable, "-IS", os.path.abspath(__file__), str(os.getpid()), *command]


def end_with(parent: int) -> None:
    """Have the system send this process SIGTERM when its parent ends; at once where it has ended.

    Args:
        parent: The process that started this one.
    """
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def _main(parent: str, *command: str) -> None:
    end_with(int(parent))
    try:
        os.execvp(command[0], command)
    except OSError as error:
        raise SystemExit(f"{command[0]} cannot be run: {error.strerror}") from None


if __name__ == "__main__":
    _main(*sys.argv[1:])

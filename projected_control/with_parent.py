"""Processes that end with the one that started them, however that ends.

`tied` turns a command into one that does: the system sends the process SIGTERM when its parent is
gone, be it by kill -9. That is asked for before anything of the command itself is loaded. This file
is run as a script for it, so it imports nothing of the package. `started` and `end` are for those
that we end ourselves.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from subprocess import Popen

_PR_SET_PDEATHSIG = 1


def tied(command: Sequence[str]) -> list[str]:
    """A command that ends with this process; to be started by its main thread."""
    if not sys.platform.startswith("linux"):  # others have no such thing
        return list(command)
    return [sys.executable, "-IS", os.path.abspath(__file__), str(os.getpid()), *command]


def started(command: Sequence[str], **options: Any) -> Popen[bytes]:
    """A command as a process in a session of its own, so that Ctrl-C reaches us alone."""
    from subprocess import DEVNULL, Popen

    return Popen(tied(command), stdin=DEVNULL, start_new_session=True, **options)


def end(
    processes: Sequence[Popen[bytes]],
    grace: Mapping[signal.Signals, float],
    with_children: bool = False,
) -> None:
    """End processes, all at a time, the first one first; those that do not listen are killed.

    Args:
        processes: That `started` has made.
        grace: Which signals they are sent, and how long they may take after each [s].
        with_children: Whether what they have started is sent these as well.
    """
    from subprocess import TimeoutExpired

    for number, seconds in [*grace.items(), (signal.SIGKILL, None)]:
        for process in processes:
            if process.poll() is None:  # its number is its own until it is waited for
                with suppress(ProcessLookupError):
                    (os.killpg if with_children else os.kill)(process.pid, number)
        deadline = None if seconds is None else monotonic() + seconds
        for process in processes:
            with suppress(TimeoutExpired):
                process.wait(None if deadline is None else max(deadline - monotonic(), 0.0))


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

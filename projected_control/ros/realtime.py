"""Making a process fit for a steady loop, as far as the system permits."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
from collections.abc import Iterator

_LOCK_ALL = 1 | 2  # MCL_CURRENT | MCL_FUTURE
SWITCH_INTERVAL = 2e-4
"""How long another thread may keep the interpreter from the loop [s]."""


def prepare_process(priority: int, lock_memory: bool, cpus: list[int]) -> list[str]:
    """Ask for what was configured; what was refused comes back as plain sentences.

    Call it before ``rclpy.init``: the middleware's threads inherit the priority.
    """
    refused = []
    if cpus:
        try:
            os.sched_setaffinity(0, set(cpus))
        except OSError as error:
            there = sorted(os.sched_getaffinity(0))
            refused.append(f"CPUs {cpus} cannot be used ({error.strerror}); there are {there}")
    if lock_memory:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mlockall(_LOCK_ALL) != 0:
            reason = os.strerror(ctypes.get_errno())
            refused.append(f"memory cannot be locked ({reason}); allow it with ulimit -l unlimited")
    if priority > 0:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        except OSError as error:
            refused.append(
                f"SCHED_FIFO priority {priority} is not permitted ({error.strerror}); allow it by "
                "an rtprio line in /etc/security/limits.conf, or leave realtime.priority at 0"
            )
    return refused


@contextlib.contextmanager
def quiet_interpreter() -> Iterator[None]:
    """Keep the garbage collector and other threads out of the way of a loop."""
    interval = sys.getswitchinterval()
    gc.collect()
    gc.freeze()
    gc.disable()
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        gc.enable()
        gc.unfreeze()

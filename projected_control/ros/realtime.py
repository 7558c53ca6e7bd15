"""Making a process fit for a steady loop, as far as the system permits."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_LOCK_ALL = 1 | 2  # MCL_CURRENT | MCL_FUTURE
SWITCH_INTERVAL = 2e-4  # how long another thread may keep the interpreter from the loop [s]


class Preparation(NamedTuple):
    """What became of the real-time settings of a process."""

    granted: list[str]  # what was asked for and given
    refused: list[str]  # what was asked for and not given, with what to do about it

    @property
    def line(self) -> str:
        """All of it, as one line of the console."""
        parts = [f"granted: {', '.join(self.granted)}"] if self.granted else []
        parts += [f"not granted: {'; '.join(self.refused)}"] if self.refused else []
        return "; ".join(parts)


def prepare_process(
    priority: int, lock_memory: bool, cpus: Sequence[int], at_a_pace: bool = True
) -> Preparation:
    """Ask the system for what was configured.

    Call it before ``rclpy.init``: the middleware's threads inherit the priority.

    Args:
        priority: SCHED_FIFO priority; 0 for the ordinary scheduler.
        lock_memory: Keep all memory in RAM.
        cpus: That the process may run on; empty for all.
        at_a_pace: Whether it waits for a clock. Else it runs as fast as it can, and with priority
            no other process would run: none is asked for.
    """
    outcome = Preparation([], [])
    if priority > 0 and at_a_pace:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
            outcome.granted.append(f"real-time priority (SCHED_FIFO {priority})")
        except OSError as error:
            outcome.refused.append(
                f"real-time priority (SCHED_FIFO {priority}: {error.strerror}); on a busy computer "
                "messages will be late. Allow it by an rtprio line in /etc/security/limits.conf, "
                "or set realtime.priority to 0 to do without"
            )
    else:
        why = f"realtime.priority {priority} is not for lockstep" if priority else "as configured"
        outcome.granted.append(f"the ordinary scheduler ({why})")
    if lock_memory:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mlockall(_LOCK_ALL) == 0:
            outcome.granted.append("memory locked in RAM")
        else:
            reason = os.strerror(ctypes.get_errno())
            outcome.refused.append(
                f"memory locked in RAM ({reason}); allow it with ulimit -l unlimited"
            )
    if cpus:
        try:
            os.sched_setaffinity(0, set(cpus))
            outcome.granted.append(f"CPUs {list(cpus)}")
        except OSError as error:
            there = sorted(os.sched_getaffinity(0))
            outcome.refused.append(f"CPUs {list(cpus)} ({error.strerror}); there are {there}")
    return outcome


@contextlib.contextmanager
def real_time_priority(priority: int) -> Iterator[None]:
    """This thread, and those that it starts meanwhile, run first where that is permitted."""
    policy, parameter = os.sched_getscheduler(0), os.sched_getparam(0)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, policy, parameter)


@contextlib.contextmanager
def ordinary_priority() -> Iterator[None]:
    """Give way to others in this thread for a while: for work that takes long and may wait.

    A thread with real-time priority that plans for seconds would take its CPU from all others.
    """
    policy, parameter = os.sched_getscheduler(0), os.sched_getparam(0)
    if policy not in (os.SCHED_FIFO, os.SCHED_RR):
        yield
        return
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # permitted a moment ago
            os.sched_setscheduler(0, policy, parameter)


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

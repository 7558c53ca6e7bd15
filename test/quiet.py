"""Tests that assert a time, marked ``quiet``: what they say only counts on a computer that is idle.

While such a test runs, a bare thread in a process of its own wakes up every millisecond and notes
how late. If something took too long (`within`) and that thread was later than it may be, the
computer was busy, which is no fault of ours: the test is skipped, with the number. A test that
passes has passed, and one that fails for another reason than time has failed.

    @pytest.mark.quiet              # the bare thread may be 5 ms late
    @pytest.mark.quiet(late=0.002)  # 2 ms
    def test_zeros_come_soon():
        within(0.020, measured, "zeros")
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

LATE = 0.005  # how late the reference may be, unless a test says otherwise [s]

SCRIPT = """
import sys, threading
from time import monotonic, sleep

end = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), end.set()), daemon=True).start()
worst, due, wake_ups, ended = 0.0, monotonic(), 0, False
while not ended:
    ended = end.is_set()  # asked before the wake-up: a thread held back just here is late, too
    due += 1e-3
    sleep(max(due - monotonic(), 0.0))
    now = monotonic()
    worst, due, wake_ups = max(worst, now - due), max(now, due), wake_ups + 1
    if wake_ups == 1:
        print("running", flush=True)
print(worst)
"""
"""Wakes up at 1 kHz until its standard input is closed; then prints its largest lateness [s]."""


class TooLate(AssertionError):
    """What was to happen within a time did not."""


def within(bound: float, seconds: float, what: str) -> None:
    """Assert that something took no longer than it may [s]."""
    if not seconds <= bound:
        raise TooLate(f"{what} took {1e3 * seconds:.1f} ms; it may take {1e3 * bound:g} ms")


class ReferenceThread:
    """The bare thread, from construction to `stop`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-c", SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()  # it has woken up once

    @property
    def pid(self) -> int:
        """Of its process."""
        return self._process.pid

    def stop(self) -> float:
        """How late it was at most [s]."""
        out, _ = self._process.communicate(timeout=60.0)
        return float(out)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[Any]:
    """Run a marked test beside the reference."""
    marker = item.get_closest_marker("quiet")
    if marker is None:
        return (yield)
    allowed = float(marker.kwargs.get("late", LATE))
    reference = ReferenceThread()
    try:
        result = yield
    except TooLate as failure:
        late = reference.stop()
        if late > allowed:
            pytest.skip(
                f"this computer is busy: a bare thread woke up {1e3 * late:.1f} ms late, "
                f"{1e3 * allowed:g} ms are allowed; {failure}"
            )
        raise
    except BaseException:
        reference.stop()
        raise
    reference.stop()
    return result

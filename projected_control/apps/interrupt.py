"""Ctrl-C that is not lost.

A KeyboardInterrupt raised while a library imports or compiles is now and then swallowed there. It
is therefore remembered, and raised again where the work can be left.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_noticed = threading.Event()


def _note(number: int, frame: FrameType | None) -> None:
    _noticed.set()
    raise KeyboardInterrupt


@contextmanager
def remembered() -> Iterator[None]:
    """Remember Ctrl-C within this block; no effect where somebody else handles it."""
    _noticed.clear()
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not ours or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, _note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def check() -> None:
    """Leave the work if Ctrl-C was pressed.

    Raises:
        KeyboardInterrupt: If so.
    """
    if _noticed.is_set():
        raise KeyboardInterrupt

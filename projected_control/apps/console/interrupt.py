"""Ctrl-C that is not lost, and kill and a closed terminal that end a command in the same order.

A KeyboardInterrupt raised while a library imports or compiles is now and then swallowed there. It
is therefore remembered, and raised again where the work can be left.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""That end a command: what it has started is ended, what it has changed is changed back."""

_noticed: list[int] = []


def _note(number: int, frame: FrameType | None) -> None:
    _noticed.append(number)
    raise KeyboardInterrupt


@contextmanager
def remembered() -> Iterator[None]:
    """Remember these signals within this block; no effect on those that are handled already.

    Nor on those that are ignored, as under nohup.
    """
    _noticed.clear()
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    untouched = (signal.SIG_DFL, signal.default_int_handler)
    before = {number: signal.getsignal(number) for number in SIGNALS}
    ours = {number: handler for number, handler in before.items() if handler in untouched}
    for number in ours:
        signal.signal(number, _note)
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)


def check() -> None:
    """Leave the work if Ctrl-C was pressed.

    Raises:
        KeyboardInterrupt: If so.
    """
    if _noticed:
        raise KeyboardInterrupt


def exit_status() -> int:
    """Of a command that was interrupted: 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP."""
    return 128 + (_noticed[0] if _noticed else signal.SIGINT)

"""How far the compiling of kernels is, and how long it still takes.

Kernels are compiled when they are called for the first time, and kept on disk; the first start of a
command, a node or a script waits for that. What is to come is told before (`expect`); how much work
it is follows from the size of the functions: numba types and translates each of them once, and then
optimises every kernel that Python calls together with all that it calls. How fast that goes here
and now is measured by what has been done so far, so that nothing depends on a computer.

It is shown on stderr: as a bar with the time that is left on a terminal, as a line now and then
where stderr is none, and not at all where ``PROJECTED_CONTROL_PROGRESS`` is 0.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event as Flag
from threading import Thread
from time import monotonic
from typing import Any, TextIO

from projected_control.compiled import COMPILED
from projected_control.resources import cache_folder

OPTIMISING = 0.65
"""Work of optimising a byte of a kernel and of all that it calls, over that of translating one."""

SILENT_SECONDS = 2.0
"""What takes no longer is not worth a word [s]."""

LINE_SECONDS = 10.0
"""Between two lines where there is no terminal [s]."""

DRAW_SECONDS = 0.25
"""Between two drawings of the bar [s]."""

WIDTH = 24
"""Of the bar, in characters."""

Show = Callable[[float, float | None], None]
"""Called with the fraction that is done, and with the time that is left [s], None if unknown."""


def called_by(kernel: Any) -> list[Any]:
    """The kernels that a kernel calls, directly or by way of others."""
    found: dict[Any, None] = {}
    waiting = [kernel]
    while waiting:
        function = waiting.pop().py_func
        for name in function.__code__.co_names:
            other = function.__globals__.get(name)
            if hasattr(other, "py_func") and other not in found and other is not kernel:
                found[other] = None
                waiting.append(other)
    return list(found)


def size(kernel: Any) -> int:
    """Work of translating a function: the size of its code [bytes]."""
    return len(kernel.py_func.__code__.co_code)


def is_kept(kernel: Any) -> bool:
    """Whether it was compiled before, in this process or on disk."""
    if kernel.overloads:
        return True
    folder, function = kernel.stats.cache_path, kernel.py_func
    if folder is None or not os.path.isdir(folder):
        return False
    known = f"{function.__qualname__}-{function.__code__.co_firstlineno}.py"
    return any(known in name and name.endswith(".nbi") for name in os.listdir(folder))


class Meter:
    """Counts the work that is done and that is to come.

    Args:
        clock: Gives the time [s].
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._expected: dict[Any, None] = {}
        self._work: dict[object, float] = {}  # all that is known of, by what it is done to
        self._done: set[object] = set()
        self._finished, self._all = 0.0, 0.0
        self._open: Any = None  # the kernel that is being compiled
        self._busy, self._since, self._shown = 0.0, 0.0, 0.0

    def expect(self, *kernels: Any) -> None:
        """Kernels that are going to be called; those that are kept cost nothing."""
        self._expected |= dict.fromkeys(kernels)

    def begin(self, kernel: Any) -> None:
        """A kernel that Python calls is going to be compiled."""
        self._take_in(kernel)
        for other in self._expected:
            if not is_kept(other):
                self._take_in(other)
        self._expected.clear()
        self._open, self._since = kernel, self._clock()

    def _take_in(self, kernel: Any) -> None:
        parts = called_by(kernel)
        work = {part.py_func: float(size(part)) for part in parts}
        work[kernel] = size(kernel) + OPTIMISING * (size(kernel) + sum(work.values()))
        for what, much in work.items():
            if what not in self._work:
                self._work[what] = much
                self._all += much

    def part(self, function: object) -> None:
        """A function was translated."""
        self._note_time()
        self._finish(function)

    def end(self) -> None:
        """The kernel is compiled, and so is all that it calls."""
        self._note_time()
        for part in called_by(self._open):
            self._finish(part.py_func)
        self._finish(self._open)
        self._open = None

    def _note_time(self) -> None:
        now = self._clock()
        self._busy += now - self._since
        self._since = now

    def _finish(self, what: object) -> None:
        if what in self._work and what not in self._done:
            self._done.add(what)
            self._finished += self._work[what]

    @property
    def seconds(self) -> float:
        """How long has been compiled so far [s]."""
        return self._busy + (self._clock() - self._since if self._open is not None else 0.0)

    @property
    def complete(self) -> bool:
        """Whether all that was expected is compiled."""
        return self._open is None and len(self._done) == len(self._work)

    def progress(self) -> tuple[float, float | None]:
        """The fraction that is done, and the time that is left [s], None where it is unknown.

        Of the step that is under way so much counts as done as would be at the pace so far.
        """
        pace = self._finished / self._busy if self._busy > 0.0 else 0.0
        done = self._finished
        if self._open is not None:
            passed = pace * (self._clock() - self._since)
            done += min(passed, 0.95 * self._work[self._open])
        self._shown = max(self._shown, done / self._all if self._all else 1.0)
        return self._shown, (self._all - done) / pace if pace > 0.0 else None


def words(left: float | None) -> str:
    """How long it takes still, in words."""
    if left is None:
        return ""
    seconds = max(round(left), 1)
    minutes, rest = divmod(seconds, 60)
    return f"{minutes}:{rest:02d} min left" if minutes else f"{seconds} s left"


class _Writer:
    """Shows it on a stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._terminal = stream, stream.isatty()
        self._told = 0.0
        self._drawn = False

    def show(self, seconds: float, fraction: float, left: float | None) -> None:
        what = f"{100.0 * fraction:3.0f} %  {words(left)}"
        if self._terminal:
            filled = round(WIDTH * fraction)
            bar = "━" * filled + "╌" * (WIDTH - filled)
            self._stream.write(f"\r\x1b[2Kcompiling kernels, once  {bar} {what}")
        elif not self._drawn:
            self._told = seconds
            kept = f"they are kept in {cache_folder()}"
            self._stream.write(f"projected-control: compiling kernels, once; {kept}\n")
        elif seconds - self._told >= LINE_SECONDS:
            self._told = seconds
            self._stream.write(f"projected-control: compiling kernels {what}\n")
        self._drawn = True
        self._stream.flush()

    def pause(self) -> None:
        """Take the bar away: others may write."""
        if self._drawn and self._terminal:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()

    def finish(self, seconds: float) -> None:
        if self._drawn:
            self._stream.write(f"projected-control: kernels compiled in {seconds:.0f} s\n")
            self._stream.flush()
        self._drawn = False


class CompileWatch:
    """Follows what numba compiles, and shows it."""

    def __init__(self) -> None:
        self.meter = Meter()
        self.show: Show | None = None
        self._depth = 0
        self._ended = Flag()
        self._drawing: Thread | None = None
        self._writer: _Writer | None = None

    def start(self, dispatcher: Any) -> None:
        """A function is going to be compiled; numba holds its lock."""
        if self._depth == 0:
            self.meter.begin(dispatcher)
            self._ended.clear()
            if os.environ.get("PROJECTED_CONTROL_PROGRESS", "1") != "0" and sys.stderr is not None:
                self._writer = self._writer or _Writer(sys.stderr)
                self._drawing = Thread(target=self._draw, daemon=True)
                self._drawing.start()
        self._depth += 1

    def end(self, dispatcher: Any) -> None:
        """It is compiled."""
        self._depth -= 1
        if self._depth:
            self.meter.part(dispatcher.py_func)
            return
        self.meter.end()
        self._ended.set()
        if self._drawing is not None and self._writer is not None:
            self._drawing.join()
            self._drawing = None
            self._writer.pause()
            if self.meter.complete:
                if self.show is None:
                    self._writer.finish(self.meter.seconds)
                elif self.meter.seconds >= SILENT_SECONDS:
                    self.show(1.0, 0.0)
                self.meter, self._writer = Meter(), None

    def _draw(self) -> None:
        while not self._ended.wait(DRAW_SECONDS):
            if self.meter.seconds < SILENT_SECONDS:
                continue
            fraction, left = self.meter.progress()
            if self.show is not None:
                self.show(fraction, left)
            elif self._writer is not None:
                self._writer.show(self.meter.seconds, fraction, left)


_WATCH = CompileWatch()


def expect(*kernels: Any) -> None:
    """Kernels that are going to be called, so that the time of compiling them can be told."""
    if COMPILED:
        _WATCH.meter.expect(*kernels)


@contextmanager
def shown_by(show: Show) -> Iterator[None]:
    """Show it in another way for a while: in the bars of an application, say."""
    before, _WATCH.show = _WATCH.show, show
    try:
        yield
    finally:
        _WATCH.show = before


def _follow() -> None:
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, happened: Any) -> None:
            _WATCH.start(happened.data["dispatcher"])

        def on_end(self, happened: Any) -> None:
            _WATCH.end(happened.data["dispatcher"])

    event.register("numba:compile", Listener())


if COMPILED:
    _follow()

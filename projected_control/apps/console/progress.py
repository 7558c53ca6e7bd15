"""Telling a person how far a computation has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Protocol, TextIO

from projected_control.apps.console import interrupt


class Progress(Protocol):
    """Called with what is being done, which fraction of it, 0 to 1, is finished, and a remark."""

    def __call__(self, what: str, fraction: float, remark: str = "", /) -> None: ...


BUILDING = "building the loop (its kernels are compiled the first time)"


def each_percent(ticks: int, progress: Progress) -> Callable[[int, object], None]:
    """For `run`: tells how far the simulation is, a hundred times."""
    every = max(ticks // 100, 1)

    def look(number: int, _: object) -> None:
        if number % every == 0 or number == ticks - 1:
            progress("simulating", (number + 1) / ticks)

    return look


def silent(what: str, fraction: float, remark: str = "") -> None:
    """Say nothing, but let Ctrl-C end the work."""
    interrupt.check()


@contextmanager
def terminal_progress(stream: TextIO) -> Iterator[Progress]:
    """Bars on a terminal, one for each thing done; none on other streams, nor without rich."""
    if not stream.isatty() or find_spec("rich") is None:
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[remark]}"),
    )
    tasks: dict[str, TaskID] = {}
    with Bars(*columns, console=Console(file=stream)) as bars:

        def show(what: str, fraction: float, remark: str = "") -> None:
            interrupt.check()
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=1.0, remark="")
            bars.update(tasks[what], completed=fraction, remark=remark)

        yield show

"""The live table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from math import hypot
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.table import Table

    from projected_control.apps.fleet.monitor import Monitor

Show = Callable[["Monitor", float], None]
"""Called again and again with the monitor and the fraction that is done."""


@contextmanager
def live_display(stream: TextIO, title: str, quiet: bool) -> Iterator[Show]:
    """A table that changes in place on a terminal with rich; without, a line now and then."""
    if quiet:
        yield lambda monitor, fraction: None
        return
    if not stream.isatty() or find_spec("rich") is None:
        yield _lines(stream)
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(file=stream), refresh_per_second=10, transient=False) as live:
        yield lambda monitor, fraction: live.update(_table(monitor, title, fraction))


def _lines(stream: TextIO) -> Show:
    last = [-1]

    def show(monitor: Monitor, fraction: float) -> None:
        tenth = int(10 * fraction)
        if tenth != last[0] and monitor.latest:
            last[0] = tenth
            rows = "   ".join(f"{name} {value}" for name, value in quantities(monitor))
            print(f"{100 * fraction:3.0f} %   {rows}", file=stream, flush=True)

    return show


def quantities(monitor: Monitor) -> list[tuple[str, str]]:
    """What is worth watching, in words."""
    state = monitor.latest
    _, message, values = monitor.diagnostics.get(monitor.controller, (0, "starting", {}))
    rows = [("controller", message)]
    if factor := monitor.real_time_factor:
        rows.append(("real-time factor", f"{factor:.2f}"))
    for key, unit in (("rate (Hz)", "Hz"), ("jitter (us)", "µs"), ("latency p50 (us)", "µs")):
        if key in values:
            rows.append((key.split(" (")[0], f"{float(values[key]):.0f} {unit}"))
    for name in [n.removesuffix("/error") for n in state if n.endswith("/error")]:
        error = 1e3 * state[f"{name}/error"]
        rows.append((f"{name} error", f"{error:+.3f} m{monitor.units.get(name, 'm or mrad')}"))
    for name in [n for n in state if n.startswith("lambda") and "/" not in n]:
        held, wanted = state[name], state[f"{name}/desired"]
        rows.append((name.replace("lambda_", "λ"), f"{held:+.2f} N of {wanted:+.2f} N wanted"))
    if "torque_norm/idc" in state:
        parts = [value for name, value in state.items() if name.endswith("/tangent")]
        motion, idc = hypot(*parts), state["torque_norm/idc"]
        rows.append(("motion f∥", f"{motion:.2f} N·m (inverse dynamics {idc:.2f})"))
        rows.append(("sent", f"{state['torque_norm']:.2f} N·m"))
    return rows


def _table(monitor: Monitor, title: str, fraction: float) -> Table:
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    table = Table(title=title, show_header=False, title_justify="left", min_width=56)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_row("progress", ProgressBar(total=1.0, completed=min(fraction, 1.0), width=34))
    for name, value in quantities(monitor):
        table.add_row(name, value)
    return table

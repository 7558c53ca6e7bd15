"""What a demonstration leaves behind: figures and a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from projected_control.apps.demo.demo_settings import DemoSettings
from projected_control.apps.demo.verdict import ComparedNumber, Verdict
from projected_control.apps.reports import run_numbers
from projected_control.apps.reports.contents import Outcome, Picture, Table
from projected_control.apps.reports.run_numbers import (
    motion_and_force,
    motion_torque,
    torque_in_words,
)
from projected_control.apps.reports.style import (
    BLUE,
    GREEN,
    GREY,
    VERMILION,
    canvas,
    legend_above,
)
from projected_control.arrays import Array


def make_report(
    settings: DemoSettings,
    times: Array,
    state: Mapping[str, Array],
    summary: Mapping[str, Any],
    verdict: Verdict,
) -> Outcome:
    """Numbers, tables and figures of a run, and whether it did what it should have."""
    mode = "in real time"
    if settings.controller.lockstep:
        mode = "in lockstep, at a pace" if settings.paced else "in lockstep"
    factor = summary["real_time_factor"]
    compared = verdict.comparisons
    rows = [
        [each.label, f"{each.found:.6g}", f"{each.expected:.6g}", _ratio(each)] for each in compared
    ]
    off = () if verdict.changed else [i for i, each in enumerate(compared) if each.off]
    held = motion_and_force(state)
    first = {
        "states answered": f"{verdict.answered:,} of {verdict.of:,}",
        "real-time factor: simulated time over the clock's": f"{factor:.3f}",
    }
    return Outcome(
        "demo",
        settings.case.title,
        f"{settings.case.node} on {settings.case.arm}, {settings.seconds:g} s {mode}",
        "The simulated arm, the watchdog and the controller ran as processes of their own and "
        "talked over DDS, on the topics an arm behind ros2_control has.",
        f"{verdict.counted}, real-time factor {factor:.2f}; tracking error "
        f"{run_numbers.tracking_in_words(run_numbers.by_unit(summary, settings.units))}. "
        f"{torque_in_words(held)}",
        {"demo": dict(summary)},
        [
            Table(
                "Through ROS, and the same run without it",
                ["", "this run", "in process", "ratio"],
                rows or [["not compared: the run was ended", "", "", ""]],
                _note(verdict),
                off,
            ),
            steadiness(summary, first, {"states skipped": summary["states_skipped"]}),
        ],
        pictures("demo", times, state, settings.units),
        [],
        verdict.warning,
    )


def steadiness(
    summary: Mapping[str, Any], first: Mapping[str, object], last: Mapping[str, object]
) -> Table:
    """How steadily a loop ran, and what its guard noticed, with more rows before and behind."""
    latency = summary["latency_us"]
    rows = {
        **first,
        "rate of the states (Hz)": f"{summary['rate_hz']:.2f}",
        "their jitter (µs)": f"{summary['jitter_us']:.1f}",
        "state received to effort sent, median (µs)": f"{latency['p50']:.0f}",
        "the same, 99th percentile (µs)": f"{latency['p99']:.0f}",
        "the same, longest (µs)": f"{latency['max']:.0f}",
        "deadlines missed": summary["deadline_misses"],
        **last,
        **{f"guard: {name}": count for name, count in summary["events"].items()},
    }
    return Table("Steadiness", ["", "value"], [[name, str(cell)] for name, cell in rows.items()])


def pictures(
    name: str, times: Array, state: Mapping[str, Array], units: Mapping[str, str]
) -> list[Picture]:
    """The figures of a run; their files' names begin with the one given."""
    return [
        Picture(
            f"{name}_motion",
            "Motion",
            "Each coordinate and its desired value; below, the error between them.",
            lambda: motion_figure(times, state, units),
        ),
        Picture(
            f"{name}_effort",
            "Force and effort",
            "The constraint force λ, held and wanted; the norm of f∥, the torque that the motion "
            "takes, beside what inverse dynamics sends for it; and the torque of each joint, which "
            "holds the force, too.",
            lambda: effort_figure(times, state),
        ),
    ]


def _ratio(each: ComparedNumber) -> str:
    if each.ratio is None or abs(each.expected) < 1e-9:
        return "–"
    return f"{each.ratio:.4f}"


def _note(verdict: Verdict) -> str:
    if verdict.changed:
        return f"Changed while it ran, by which the two differ: {', '.join(verdict.changed)}."
    return (
        "In lockstep the two agree to nine digits; by the clock they differ by what the "
        "computer's timing does to the loop."
    )


def motion_figure(times: Array, state: Mapping[str, Array], units: Mapping[str, str]) -> Figure:
    """Coordinates and their errors over time; units of the coordinates are by name."""
    names = [name.removesuffix("/desired") for name in state if name.endswith("/desired")]
    names = [name for name in names if not name.startswith("lambda")]
    figure, axes = canvas(2 * len(names), 1, height=1.5 * 2 * len(names) + 0.6, sharex=True)
    for i, name in enumerate(names):
        above, below = axes[2 * i], axes[2 * i + 1]
        above.plot(times, state[f"{name}/desired"], color=GREY, linestyle="--", label="desired")
        above.plot(times, state[name], color=BLUE, label=name)
        unit = units.get(name, "m or rad")
        above.set_ylabel(f"{name}\n({unit})")
        legend_above(above, 2)
        below.plot(times, 1e3 * state[f"{name}/error"], color=VERMILION)
        below.set_ylabel(f"{name} error\n({'mm or mrad' if name not in units else f'm{unit}'})")
    axes[-1].set_xlabel("time (s)")
    return figure


def effort_figure(times: Array, state: Mapping[str, Array]) -> Figure:
    figure, axes = canvas(3, 1, height=6.0, sharex=True)
    rows = [n for n in state if n.startswith("lambda") and "/" not in n]
    for row, name in enumerate(rows):
        which = f"λ{row}" if len(rows) > 1 else "λ"
        (line,) = axes[0].plot(times, state[name], label=f"{which} measured")
        desired, colour = state[f"{name}/desired"], line.get_color()
        label = f"{which} desired"
        axes[0].plot(times, desired, color=colour, linestyle="--", alpha=0.5, label=label)
    if any(np.abs(state[f"{name}/desired"]).max(initial=0.0) > 0.0 for name in rows):
        low, high = axes[0].get_ylim()  # a force that is held shows its size, not its last digits
        axes[0].set_ylim(min(1.2 * low, 0.0), max(1.2 * high, 0.0))
    axes[0].set_ylabel("λ (N)")
    motion, idc = motion_torque(state), state["torque_norm/idc"]
    axes[1].plot(times, idc, color=GREY, linestyle="--", label="inverse dynamics, for the motion")
    axes[1].plot(times, motion, color=GREEN, label="f∥, what the motion takes")
    axes[1].fill_between(times, motion, idc, where=motion <= idc, color=GREEN, alpha=0.15)
    axes[1].set_ylabel("‖f‖ (N·m)")
    for name in [n for n in state if n.endswith("/effort")]:
        axes[2].plot(times, state[name], label=name.removesuffix("/effort"))
    axes[2].set_ylabel("f (N·m)")
    axes[2].set_xlabel("time (s)")
    for axis in axes:
        if axis.get_legend_handles_labels()[0]:
            legend_above(axis, 3)
    return figure

"""What a demonstration leaves behind: figures and a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from projected_control.apps.demo.case import DemoSettings
from projected_control.apps.experiments.outcome import Outcome, Picture, Table
from projected_control.apps.experiments.style import (
    BLUE,
    GREEN,
    GREY,
    VERMILION,
    canvas,
    legend_above,
)

Array = NDArray[np.float64]

COMPARED = {
    "tracking_rms": "tracking error RMS (m, rad)",
    "lambda_rms": "λ RMS (N)",
    "torque_rms": "torque RMS (N·m)",
    "torque_peak": "torque peak (N·m)",
    "torque_rms_idc": "torque RMS that IDC would need (N·m)",
}

OF_THE_ARM = {
    "residual_max": "‖Φ‖ of the arm, largest (m, rad)",
    "passive_effort_peak": "effort on joints without a motor, largest (N·m, N)",
}


def make_report(
    settings: DemoSettings,
    times: Array,
    state: Mapping[str, Array],
    summary: Mapping[str, Any],
    expected: Mapping[str, Any] | None,
) -> Outcome:
    """Numbers, tables and figures of a run."""
    latency = summary["latency_us"]
    mode = "in lockstep" if settings.controller.lockstep else "in real time"
    rows = [
        [
            label,
            f"{summary[key]:.6g}",
            f"{expected[key]:.6g}" if expected is not None else "not run",
        ]
        for key, label in {**COMPARED, **OF_THE_ARM}.items()
    ]
    steadiness = [
        ["states answered", f"{summary['ticks']}"],
        ["rate of the states (Hz)", f"{summary['rate_hz']:.2f}"],
        ["their jitter (µs)", f"{summary['jitter_us']:.1f}"],
        ["state received to effort sent, median (µs)", f"{latency['p50']:.0f}"],
        ["the same, 99th percentile (µs)", f"{latency['p99']:.0f}"],
        ["the same, longest (µs)", f"{latency['max']:.0f}"],
        ["deadlines missed", f"{summary['deadline_misses']}"],
        ["states skipped", f"{summary['states_skipped']}"],
    ]
    steadiness += [[f"guard: {name}", str(count)] for name, count in summary["events"].items()]
    return Outcome(
        "demo",
        settings.case.title,
        f"{settings.case.node} on {settings.case.arm}, {settings.seconds:g} s {mode}",
        "The simulated arm, the watchdog and the controller ran as processes of their own and "
        "talked over DDS, on the topics an arm behind ros2_control has.",
        f"{summary['ticks']} states answered; tracking error {summary['tracking_rms']:.3g} RMS, "
        f"torque {summary['torque_rms']:.3f} N·m RMS where inverse dynamics, with a motor in "
        f"every joint, would need {summary['torque_rms_idc']:.3f}.",
        {"demo": dict(summary)},
        [
            Table(
                "Through ROS, and the same run without it",
                ["", "this run", "in process"],
                rows,
                "In lockstep the two agree to nine digits; in real time they differ by what the "
                "computer's timing does to the loop.",
            ),
            Table("Steadiness", ["", "value"], steadiness),
        ],
        [
            Picture(
                "demo_motion",
                "Motion",
                "Each coordinate and its desired value; below, the error between them.",
                lambda: motion_figure(times, state),
            ),
            Picture(
                "demo_effort",
                "Force and effort",
                "The constraint force λ; the norm of the torque that was sent beside what inverse "
                "dynamics would have sent for the same motion; and the torque of each joint.",
                lambda: effort_figure(times, state),
            ),
        ],
        [],
    )


def motion_figure(times: Array, state: Mapping[str, Array]) -> Figure:
    names = [name.removesuffix("/desired") for name in state if name.endswith("/desired")]
    names = [name for name in names if not name.startswith("lambda")]
    figure, axes = canvas(2 * len(names), 1, height=1.5 * 2 * len(names) + 0.6, sharex=True)
    for i, name in enumerate(names):
        above, below = axes[2 * i], axes[2 * i + 1]
        above.plot(times, state[f"{name}/desired"], color=GREY, linestyle="--", label="desired")
        above.plot(times, state[name], color=BLUE, label=name)
        above.set_ylabel(name)
        legend_above(above, 2)
        below.plot(times, 1e3 * state[f"{name}/error"], color=VERMILION)
        below.set_ylabel(f"{name} error\n(10⁻³)")
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
    axes[0].set_ylabel("λ (N)")
    axes[1].plot(times, state["torque_norm/idc"], color=GREY, linestyle="--", label="IDC")
    axes[1].plot(times, state["torque_norm"], color=GREEN, label="sent")
    axes[1].set_ylabel("‖f‖ (N·m)")
    for name in [n for n in state if n.endswith("/effort")]:
        axes[2].plot(times, state[name], label=name.removesuffix("/effort"))
    axes[2].set_ylabel("f (N·m)")
    axes[2].set_xlabel("time (s)")
    for axis in axes:
        if axis.get_legend_handles_labels()[0]:
            legend_above(axis, 3)
    return figure

"""The same table wiped by hybrid projected control, and by what else is on offer.

Beside the hybrid law stand two others, each a `law` of the same controller on the same arm along
the same raster: a selection matrix, the textbook way, which knows of no constraint and closes the
same force loop along one axis of its task frame; and a Cartesian impedance with an open-loop wrench
on top, as controllers for ROS 2 offer it (`impedance.projected: false`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from projected_control.apps.assess.force_cases import IMPEDANCE, SELECTION, ForceLaw
from projected_control.apps.console.progress import Progress
from projected_control.apps.demo.task_run import SETTLED, TaskRun, run_task
from projected_control.apps.experiments.catalogue import Options
from projected_control.apps.reports.contents import Outcome, Picture, Table
from projected_control.apps.reports.style import BLUE, GREEN, GREY, VERMILION, canvas
from projected_control.arrays import Array
from projected_control.resources import share_file
from projected_control.settings.declaration import Value
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import FORCE

SECONDS = 10.0  # simulated time unless another is asked for [s]
PRESS = 10.0  # force wanted on the table [N]

FIRST_SHOWN = 0.05
"""From when on the figure shows them [s]: before, the arm takes up its own weight."""

LAWS = {
    "projected": ForceLaw("hybrid projected control", {}),
    "selection": SELECTION,
    "impedance": ForceLaw(IMPEDANCE.title, {**IMPEDANCE.settings, "disturbance.kind": "none"}),
}
"""What wipes."""


@dataclass(frozen=True)
class Wiped:
    """One run."""

    times: Array  # [s], N
    force: Array  # that the table feels, N [N]
    drift: Array  # how far the tool is from where it should be on the table, N [m]
    tilt: Array  # how far it leans, N [rad]

    def numbers(self) -> dict[str, float]:
        """After the first second, or the first half of a shorter run: force error, drift, lean."""
        late = self.times >= min(SETTLED, 0.5 * self.times[-1])
        return {
            "force_error_rms": float(np.sqrt(np.mean((self.force[late] - PRESS) ** 2))),
            "force_error_max": float(np.abs(self.force[late] - PRESS).max()),
            "lateral_drift": float(self.drift[late].max()),
            "tilt_error": float(self.tilt[late].max()),
        }


def run(options: Options, progress: Progress) -> Outcome:
    """Wipe with all laws, on an arm as it is described and on a rough one."""
    seconds = options.seconds or SECONDS
    cases = {"as described": [], "rough": [share_file("config", "rough.yaml")]}
    runs: dict[str, dict[str, Wiped]] = {}
    for done, (name, files) in enumerate(cases.items()):
        runs[name] = {}
        for count, law in enumerate(LAWS):
            progress("wiping a table", (done + count / len(LAWS)) / len(cases))
            runs[name][law] = wiped(wipe(FORCE, LAWS[law].settings, seconds, files))
    progress("wiping a table", 1.0)
    numbers = {name: {law: r.numbers() for law, r in each.items()} for name, each in runs.items()}
    return _outcome(numbers, runs, seconds)


def wipe(
    node: str, own: Mapping[str, Value], seconds: float, files: Sequence[Path] = ()
) -> TaskRun:
    """Wipe with a controller that has these parameters of its own."""
    bare = share_file("config", "seven_joints.yaml")
    layers = Layers.read([bare, *files], "paper").on_top(own, "the experiment")
    return run_task(node, layers.controller(node), layers.arm(), round(1000 * seconds))


def wiped(done: TaskRun) -> Wiped:
    """What the table and the tool say of a run."""
    names = done.coordinates.names
    along = [names.index(name) for name in ("tool.x", "tool.y")]
    lean = [names.index(name) for name in ("lean_x", "lean_y")]
    return Wiped(
        done.samples.times,
        done.samples.multipliers[:, 0],
        np.linalg.norm(done.error[:, along], axis=1),
        np.linalg.norm(done.samples.theta[:, lean], axis=1),
    )


def _outcome(numbers: Any, runs: dict[str, dict[str, Wiped]], seconds: float) -> Outcome:
    rows = [
        [
            f"{LAWS[law].title}, {case}",
            f"{found['force_error_rms']:.3g}",
            f"{found['force_error_max']:.3g}",
            f"{1e3 * found['lateral_drift']:.3g}",
            f"{np.degrees(found['tilt_error']):.3g}",
        ]
        for case, each in numbers.items()
        for law, found in each.items()
    ]
    ours, selected, others = (numbers["rough"][law] for law in LAWS)
    return Outcome(
        "wiping",
        "A wiped table, beside what else there is",
        "Not in a paper: a comparison of ours",
        f"An arm of seven joints wipes a table along a raster for {seconds:g} s and is to press on "
        "it with 10 N: once as its description has it, once with joints that stick (0.5 N·m), 10 % "
        "more mass than the controller knows, coarse encoders and noisy sensors "
        "(config/rough.yaml).",
        f"On the rough arm, hybrid projected control is off by {ours['force_error_rms']:.2f} N RMS "
        f"and {1e3 * ours['lateral_drift']:.2f} mm, a selection matrix by "
        f"{selected['force_error_rms']:.2f} N and {1e3 * selected['lateral_drift']:.2f} mm, a "
        f"Cartesian impedance with an open-loop wrench by {others['force_error_rms']:.2f} N and "
        f"{1e3 * others['lateral_drift']:.1f} mm.",
        numbers,
        [
            Table(
                "After the first second",
                ["", "force error RMS (N)", "largest (N)", "drift (mm)", "lean (°)"],
                rows,
                "The selection matrix closes the same force loop along z of the world, here the "
                "table's normal. The impedance compensates weight and friction as it knows "
                "them and closes no loop on the force; its spring of 1000 N/m gives way.",
            )
        ],
        [
            Picture(
                "wiping",
                "Force and sideways drift",
                "Above the force on the table, below how far the tool is from its path; left an "
                "arm that is what its description says, right one that is not.",
                lambda: _figure(runs),
            )
        ],
        [],
    )


def _figure(runs: dict[str, dict[str, Wiped]]) -> Figure:
    figure, axes = canvas(2, 2, height=4.6, sharex=True, sharey="row")
    colours = {"projected": BLUE, "selection": GREEN, "impedance": VERMILION}
    for column, (case, each) in enumerate(runs.items()):
        force, drift = axes[column], axes[2 + column]
        force.axhline(PRESS, color=GREY, linestyle="--", linewidth=0.8)
        for law in reversed(LAWS):
            one = each[law]
            shown = one.times >= FIRST_SHOWN
            times, off = one.times[shown], np.maximum(one.drift[shown], 1e-7)
            look: Any = {"color": colours[law], "linewidth": 1.0}
            force.plot(times, one.force[shown], label=LAWS[law].title, **look)
            drift.plot(times, 1e3 * off, **look)
        force.set_title(f"arm {case}" if case == "as described" else "rough arm")
        drift.set_yscale("log")
        drift.set_xlabel("time (s)")
    axes[0].set_ylabel("force (N)")
    axes[2].set_ylabel("drift (mm)")
    lines, labels = axes[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=3)
    return figure

"""A wiped table with motors that are too weak for it: limits that are kept, beside clipping.

The path is timed for the arm's own motors. Then each motor gives at most what lies halfway between
the largest torque that it needs at rest along the path (weight and 10 N on the table) and its
largest on the way. Once the controller knows that and keeps it, with the force before the motion
(`limits.prefer: force`); once the motors clip, and it does not know.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from projected_control.apps.console.progress import Progress
from projected_control.apps.demo.task_run import TaskRun, run_task
from projected_control.apps.experiments.catalogue import Options
from projected_control.apps.experiments.wiping import PRESS
from projected_control.apps.reports.contents import Outcome, Picture, Table
from projected_control.apps.reports.style import BLUE, GREY, VERMILION, canvas
from projected_control.arrays import Array
from projected_control.control.loop import ControlLoop
from projected_control.planning.efforts import sent_effort
from projected_control.resources import share_file
from projected_control.runs.simulated import SimulatedArm
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import FORCE

SECONDS = 10.0  # simulated time unless another is asked for [s]
IDLE = 0.01  # a motor that needs less than this all the way keeps its own limit [N·m]
SETTLED = 0.05  # from when on runs are judged: before, the arm takes up its weight [s]

COLOURS = {"solved": BLUE, "clipped": VERMILION}


@dataclass(frozen=True)
class Weak:
    """One run with weak motors."""

    times: Array  # [s], N
    force: Array  # that the table feels, N [N]
    off: Array  # how far the tool is from its path, by the path's own time, N [m]
    # rate, lag: of the path's clock, N [1, s].
    rate: Array
    lag: Array

    @classmethod
    def of(cls, run: TaskRun) -> Weak:
        """What a run shows."""
        names, part = run.coordinates.names, run.kept.column
        along = [names.index(name) for name in ("tool.x", "tool.y")]
        return cls(
            run.samples.times,
            run.samples.multipliers[:, 0],
            np.linalg.norm(run.error[:, along], axis=1),
            part("path_rate"),
            part("path_lag"),
        )

    def numbers(self) -> dict[str, float]:
        """Largest errors, and how late the path is in the end."""
        late = self.times >= SETTLED
        return {
            "force_error_max": float(np.abs(self.force[late] - PRESS).max()),
            "path_error_max": float(self.off[late].max()),
            "path_lag": float(self.lag[-1]),
        }


def run(options: Options, progress: Progress) -> Outcome:
    """The free run, of which the limits are made; then both others."""
    ticks = round(1000 * (options.seconds or SECONDS))
    layers = Layers.read([share_file("config", "seven_joints.yaml")], "paper")

    def wipe(prepare: Any = None) -> TaskRun:
        return run_task(FORCE, layers.controller(FORCE), layers.arm(), ticks, prepare)

    progress("strong motors", 0.0)
    limits = halfway(wipe())

    def keep(loop: ControlLoop, arm: SimulatedArm) -> None:
        loop.guard.set_limits(replace(loop.guard.limits, effort=limits, prefer="force"))

    def clip(loop: ControlLoop, arm: SimulatedArm) -> None:
        arm.motors = replace(arm.motors, limit=limits.tolist())

    runs = {}
    for done, (name, prepare) in enumerate({"solved": keep, "clipped": clip}.items()):
        progress(name, (done + 1) / 3)
        runs[name] = Weak.of(wipe(prepare))
    progress("weak motors", 1.0)
    return _outcome(runs, limits, ticks / 1000)


def halfway(run: TaskRun) -> Array:
    """Between the largest torque at rest along the path and the largest on the way, n [N·m]."""
    controller = run.loop.controller
    model, own = controller.model, run.loop.guard.limits.effort
    desired = np.full(model.m, PRESS)
    peak = np.abs(run.kept.column("effort")).max(axis=0)
    rest = np.zeros(model.n)
    for q in run.q[::10]:
        controller.stop(q, np.zeros(model.n))
        sent, pressed = sent_effort(controller)
        rest = np.maximum(rest, np.abs(sent @ model.arm.h + pressed @ desired))
    return np.where(peak < IDLE, own, 0.5 * (rest + np.maximum(peak, rest)))


def _outcome(runs: dict[str, Weak], limits: Array, seconds: float) -> Outcome:
    numbers = {name: one.numbers() for name, one in runs.items()}
    solved, clipped = numbers["solved"], numbers["clipped"]
    return Outcome(
        "weak-motors",
        "A wiped table with motors that are too weak",
        "Not in a paper: a comparison of ours",
        f"An arm of seven joints wipes a table along a raster for {seconds:g} s and presses on it "
        "with 10 N. Each motor gives at most halfway between what it needs at rest and what the "
        f"motion takes: {', '.join(f'{limit:.3g}' for limit in limits)} N·m.",
        f"Limits that are kept leave the force within {solved['force_error_max']:.2g} N, the tool "
        f"within {1e3 * solved['path_error_max']:.2g} mm of its path, and the path "
        f"{solved['path_lag']:.2g} s late; clipping is off by {clipped['force_error_max']:.2g} N "
        f"and {1e3 * clipped['path_error_max']:.2g} mm.",
        {**numbers, "limits": limits.tolist()},
        [
            Table(
                "Largest errors",
                ["", "force (N)", "off the path (mm)", "path late by (s)"],
                [
                    [
                        name,
                        f"{found['force_error_max']:.3g}",
                        f"{1e3 * found['path_error_max']:.3g}",
                        f"{found['path_lag']:.3g}",
                    ]
                    for name, found in numbers.items()
                ],
                "The distance from the path counts by the path's own time.",
            )
        ],
        [
            Picture(
                "weak-motors",
                "Force, distance from the path, and the path's clock",
                "Where limits are kept, the path waits and the force stays; where motors clip, "
                "the torque bends, and both are lost.",
                lambda: _figure(runs),
            )
        ],
        [],
    )


def _figure(runs: dict[str, Weak]) -> Figure:
    figure, (force, off, rate) = canvas(3, 1, 6.0, sharex=True)
    force.axhline(PRESS, color=GREY, linestyle="--", linewidth=0.8)
    for name, one in reversed(runs.items()):
        shown = one.times >= SETTLED
        look: Any = {"color": COLOURS[name], "linewidth": 1.1}
        force.plot(one.times[shown], one.force[shown], label=name, **look)
        off.plot(one.times[shown], 1e3 * np.maximum(one.off[shown], 1e-7), **look)
        rate.plot(one.times[shown], 100.0 * one.rate[shown], **look)
    force.set_ylabel("force (N)")
    off.set_ylabel("off the path (mm)")
    off.set_yscale("log")
    rate.set_ylabel("path's rate (%)")
    rate.set_xlabel("time (s)")
    figure.legend(*force.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure

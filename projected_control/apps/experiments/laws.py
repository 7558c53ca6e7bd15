"""The same task under every law: an arm of seven joints wipes a table with 10 N.

What each law is for shows in what it gives up: which hold the force, which only carry the arm,
which are stiff, which give way. docs/laws.md has the figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from projected_control.apps.console.progress import Progress
from projected_control.apps.demo.task_run import EVERY
from projected_control.apps.experiments.catalogue import Options
from projected_control.apps.experiments.wiping import (
    FIRST_SHOWN,
    LAWS,
    PRESS,
    Wiped,
    wipe,
    wiped,
)
from projected_control.apps.reports.contents import Outcome, Picture, Table
from projected_control.apps.reports.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    canvas,
)
from projected_control.arrays import Array
from projected_control.control.references import Waypoints
from projected_control.resources import share_file
from projected_control.runs.runner import Runner
from projected_control.settings import build
from projected_control.settings.declaration import Value
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import FORCE, MOTION

SECONDS = 4.0  # simulated time unless another is asked for [s]
KNOTS_EVERY = 2  # recorded states per point of the joints' reference
LONGER = 0.1  # by how much the run whose joints are followed is longer than the others [s]

ROUGH: dict[str, Value] = {
    "compensation.coulomb": [0.4],
    "compensation.viscous": [0.08],
    "gains.stiffness": [900.0],
    "gains.damping": [60.0],
}
"""What config/rough.yaml gives the force controller, for the motion controller."""

LEVELS = [1.0, 1.0, 2.0, 2.0, 3.0]

CASES: dict[str, tuple[str, str, Mapping[str, Value]]] = {
    "hybrid": ("hybrid", FORCE, {}),
    "operational_space": (
        "operational space, 3 levels",
        FORCE,
        {"law": "operational_space", "operational_space.priority": LEVELS},
    ),
    "impedance": (
        "impedance, projected",
        FORCE,
        {**LAWS["impedance"].settings, "impedance.projected": True},
    ),
    "impedance_open_loop": ("impedance, open-loop wrench", FORCE, LAWS["impedance"].settings),
    "selection": ("selection matrix", FORCE, LAWS["selection"].settings),
    "pidc": ("pidc, no force asked for", MOTION, ROUGH),
    "idc": ("idc", MOTION, {"law": "idc", **ROUGH}),
}
"""Laws by name: in the figure, on which controller, with which parameters."""

JOINT_CASES = {"computed_torque": "computed torque", "gravity": "gravity compensation"}
"""Those that follow joints, or nothing."""

COLOURS = (BLUE, SKY, GREEN, VERMILION, PURPLE, ORANGE, GREY, BLACK, BLACK)


def run(options: Options, progress: Progress) -> Outcome:
    seconds = options.seconds or SECONDS
    runs: dict[str, Wiped] = {}
    total = len(CASES) + len(JOINT_CASES)
    joints = None
    for law, (title, node, own) in CASES.items():
        progress(title, len(runs) / total)
        first = joints is None
        done = wipe(node, own, seconds + (LONGER if first else 0.0), _rough())
        runs[law] = wiped(done)
        if first:
            times, q = done.samples.times[::KNOTS_EVERY], done.q[::KNOTS_EVERY]
            joints = Waypoints(times, q, np.gradient(q, times, axis=0), order=3)
            path = done.samples.desired[:, :2]
    assert joints is not None
    for law, title in JOINT_CASES.items():
        progress(title, len(runs) / total)
        runs[law] = follow_joints(law, joints, path, seconds)
    progress("wiping with every law", 1.0)
    titles = {**{law: title for law, (title, _, _) in CASES.items()}, **JOINT_CASES}
    return _outcome({law: r.numbers() for law, r in runs.items()}, runs, titles, seconds)


def follow_joints(law: str, reference: Waypoints, path: Array, seconds: float) -> Wiped:
    """The joints of a run that wiped, followed on the same table by a law in joint space.

    Args:
        law: Its name.
        reference: Of the joints.
        path: Where the tool should be, at each recorded state, N × 2 [m].
        seconds: How long.
    """
    bare = share_file("config", "seven_joints.yaml")
    layers = Layers.read([bare, *_rough()], "paper")
    names = layers.controller(MOTION).joints
    own = {**ROUGH, "law": law, "coordinates": [*names], "reference.kind": "hold"}
    settings = layers.on_top(own, "the experiment").controller(MOTION)
    plant, loop = build.build_plant(layers.arm()), build.build_loop(MOTION, settings)
    if law != "gravity":  # that one follows nothing: it stays with where the arm is
        loop.set_reference(reference)
    ticks, runner = round(1000 * seconds), Runner(loop, plant)
    kept = runner.keep(ticks // EVERY, EVERY)
    runner.run(ticks)
    probe, away, lean = plant.plant.model.arm.twin(), [], []
    for row, q in enumerate(kept.column("true_q")):
        tool = probe.update(q, np.zeros(q.size)).frame("tool")
        away.append(np.linalg.norm(tool.position[:2] - path[min(row, len(path) - 1)]))
        lean.append(np.linalg.norm(tool.rotation[:2, 2]))
    force = kept.column("true_multipliers")[:, 0]
    return Wiped(kept.column("stamp"), force, np.array(away), np.array(lean))


def _rough() -> list[Path]:
    return [share_file("config", "rough.yaml")]


def _outcome(
    numbers: Any, runs: dict[str, Wiped], titles: dict[str, str], seconds: float
) -> Outcome:
    rows = [
        [
            titles[law],
            f"{found['force_error_rms']:.3g}",
            f"{1e3 * found['lateral_drift']:.3g}",
            f"{np.degrees(found['tilt_error']):.3g}",
        ]
        for law, found in numbers.items()
    ]
    return Outcome(
        "laws",
        "The same task under every law",
        "Not in a paper: a comparison of ours",
        f"An arm of seven joints that sticks, is heavier than known and has noisy sensors "
        f"(config/rough.yaml) wipes a table along a raster for {seconds:g} s; where a law holds a "
        f"force, it is to be {PRESS:g} N. Computed torque and gravity compensation know of no "
        "table: the one follows the joints of the hybrid run, the other follows nothing.",
        "Hybrid control, operational space and selection hold force and place; the impedance that "
        "is projected holds the force and gives way along the table.",
        numbers,
        [
            Table(
                "After the first second",
                ["", "force error RMS (N)", "drift (mm)", "lean (°)"],
                rows,
                "pidc, idc, computed torque and gravity compensation are asked for no force: what "
                "stands there is how far the force they leave is from 10 N.",
            )
        ],
        [
            Picture(
                "laws",
                "Force on the table and distance from the path",
                "The same raster under every law, on an arm that its controllers do not know well.",
                lambda: _figure(runs, titles),
            )
        ],
        [],
    )


def _figure(runs: dict[str, Wiped], titles: dict[str, str]) -> Figure:
    figure, (force, drift) = canvas(2, 1, height=6.0, sharex=True)
    force.axhline(PRESS, color=GREY, linestyle="--", linewidth=0.8)
    for (law, one), colour in zip(runs.items(), COLOURS, strict=True):
        shown = one.times >= FIRST_SHOWN
        dashes = "--" if law == "gravity" else "-"
        look: Any = {"color": colour, "linewidth": 1.1, "ls": dashes, "label": titles[law]}
        force.plot(one.times[shown], one.force[shown], **look)
        drift.plot(one.times[shown], 1e3 * np.maximum(one.drift[shown], 1e-7), **look)
    force.set_ylabel("force on the table (N)")
    drift.set_ylabel("drift (mm)")
    drift.set_yscale("log")
    drift.set_xlabel("time (s)")
    lines, labels = force.get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=3)
    return figure

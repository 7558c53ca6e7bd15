"""The same table wiped by hybrid projected control, and by what else is on offer.

The baseline is a Cartesian impedance with an open-loop wrench on top, as controllers for ROS 2
offer it: a spring and a damper between the tool and a pose that moves along the raster, the arm's
weight and Coriolis forces compensated, and the wanted force added as J^T w, whatever becomes of it,

    f = Jᵀ [K (x_d − x) + D (ẋ_d − ẋ) + w] + h + Nᵀ M (K₀ (q₀ − q) − D₀ q̇),   N = I − M⁻¹JᵀΛJ.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from projected_control.apps.demo.task_run import EVERY, SETTLED, run_task
from projected_control.apps.experiments.outcome import Outcome, Picture, Table
from projected_control.apps.experiments.progress import Progress
from projected_control.apps.experiments.registry import Options
from projected_control.apps.experiments.style import BLUE, GREY, VERMILION, canvas
from projected_control.control.references import Reference
from projected_control.model.arm import Arm
from projected_control.resources import share_file
from projected_control.settings import build
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import FORCE

Array = NDArray[np.float64]

SECONDS = 10.0
"""Simulated time unless another is asked for [s]."""

PRESS = 10.0
"""Force wanted on the table [N]."""

DAMPING_RATIO = 0.7

FIRST_SHOWN = 0.05
"""From when on the figure shows both [s]: before, the arm takes up its own weight."""

FRAME, INTO_TABLE = "tool", np.array([0.0, 0.0, -1.0])


@dataclass(frozen=True)
class Impedance:
    """The baseline's gains, stiff for an impedance: those of a Panda in contact are lower.

    Attributes:
        translation, rotation: Stiffness [N/m, N·m/rad]; the damping follows the inertia that the
            tool has (Albu-Schäffer and others, 2003).
        posture, posture_damping: K₀ and D₀ [1/s², 1/s].
    """

    translation: float = 1000.0
    rotation: float = 50.0
    posture: float = 25.0
    posture_damping: float = 10.0

    def effort(
        self, arm: Arm, pose: tuple[Array, Array], rate: Array, wrench: Array, q0: Array
    ) -> Array:
        """Joint efforts at the arm's present state, for a pose, its rate and a wrench."""
        place = arm.frame(FRAME)
        J: Array = place.jacobian
        position, rotation = pose
        away = np.concatenate([position - place.position, _turn(rotation @ place.rotation.T)])
        stiffness = np.repeat([self.translation, self.rotation], 3)
        mobility = J @ np.linalg.solve(arm.M, J.T)
        sizes, axes = np.linalg.eigh(np.linalg.inv(mobility + 1e-6 * np.eye(6)))
        root, spring = axes @ np.diag(np.sqrt(sizes)) @ axes.T, np.diag(np.sqrt(stiffness))
        damping = DAMPING_RATIO * (root @ spring + spring @ root)
        push = stiffness * away + damping @ (rate - J @ arm.v) + wrench
        inverse = np.linalg.solve(mobility, J @ np.linalg.inv(arm.M))
        pull = arm.M @ (self.posture * (q0 - arm.q) - self.posture_damping * arm.v)
        return np.asarray(J.T @ push + arm.h + pull - J.T @ (inverse @ pull))


@dataclass(frozen=True)
class Wiped:
    """One run.

    Attributes:
        times: [s], N.
        force: That the table feels, N [N].
        drift: How far the tool is from where it should be on the table, N [m].
        tilt: How far it leans, N [rad].
    """

    times: Array
    force: Array
    drift: Array
    tilt: Array

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
    """Wipe with both controllers, on an arm as it is described and on a rough one."""
    seconds = options.seconds or SECONDS
    cases = {"as described": [], "rough": [share_file("config", "rough.yaml")]}
    runs: dict[str, dict[str, Wiped]] = {}
    for done, (name, files) in enumerate(cases.items()):
        progress("wiping a table", done / len(cases))
        ours, reference = projected(files, seconds)
        runs[name] = {"projected": ours, "impedance": impedance(files, seconds, reference)}
    progress("wiping a table", 1.0)
    numbers = {name: {law: r.numbers() for law, r in each.items()} for name, each in runs.items()}
    return _outcome(numbers, runs, seconds)


def projected(files: list[Path], seconds: float) -> tuple[Wiped, Reference]:
    """Wipe with our hybrid law, and what it followed."""
    layers = _layers(files)
    done = run_task(FORCE, layers.controller(FORCE), layers.arm(), round(1000 * seconds))
    error = done.error
    wiped = Wiped(
        done.times,
        done.multipliers[:, 0],
        np.linalg.norm(error[:, :2], axis=1),
        np.linalg.norm(done.theta[:, 2:4], axis=1),
    )
    return wiped, done.reference


def impedance(files: list[Path], seconds: float, reference: Reference) -> Wiped:
    """Wipe with the baseline, along the same reference."""
    layers = _layers(files)
    plant = build.build_plant(layers.arm())
    known = build.build_arm(layers.controller(FORCE))  # what the controller takes the arm to be
    posture = np.array(layers.controller(FORCE).posture.target)
    state = plant.read()
    rotation = known.update(state.q, state.v).frame(FRAME).rotation.copy()
    height = layers.arm().constraint.point[2]
    law, rows, truth = Impedance(), [], plant.plant.model.arm.twin()
    wrench = np.concatenate([PRESS * INTO_TABLE, np.zeros(3)])
    for tick in range(round(1000 * seconds)):
        state = plant.read()
        wanted = reference.at(state.stamp)
        known.update(state.q, state.v)
        target, rate = np.append(wanted.value[:2], height), np.zeros(6)
        rate[:2] = wanted.rate[:2]
        plant.write(law.effort(known, (target, rotation), rate, wrench, posture))
        if tick % EVERY == 0:
            place = truth.update(plant.truth.q, plant.truth.v).frame(FRAME)
            away = np.linalg.norm((place.position - target)[:2])
            lean = np.linalg.norm(place.rotation[:2, 2])
            rows.append((plant.truth.time, plant.truth.multipliers[0], away, lean))
    return Wiped(*np.array(rows).T)


def _layers(files: list[Path]) -> Layers:
    return Layers.read([share_file("config", "seven_joints.yaml"), *files], "paper")


def _turn(R: Array) -> Array:
    """The rotation vector of a small turn [rad]."""
    vector = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    size = float(np.linalg.norm(vector))
    return vector if size < 1e-9 else np.asarray(vector * np.arcsin(min(size, 1.0)) / size)


LAWS = {"projected": "hybrid projected control", "impedance": "impedance and open-loop wrench"}


def _outcome(numbers: Any, runs: dict[str, dict[str, Wiped]], seconds: float) -> Outcome:
    rows = [
        [
            f"{LAWS[law]}, {case}",
            f"{found['force_error_rms']:.3g}",
            f"{found['force_error_max']:.3g}",
            f"{1e3 * found['lateral_drift']:.3g}",
            f"{np.degrees(found['tilt_error']):.3g}",
        ]
        for case, both in numbers.items()
        for law, found in both.items()
    ]
    ours, others = (numbers["rough"][law] for law in LAWS)
    return Outcome(
        "wiping",
        "A wiped table, beside what else there is",
        "Not in a paper: a comparison of ours",
        f"An arm of seven joints wipes a table along a raster for {seconds:g} s and is to press on "
        "it with 10 N: once as its description has it, once with joints that stick (0.5 N·m), 10 % "
        "more mass than the controller knows, coarse encoders and noisy sensors "
        "(config/rough.yaml).",
        f"On the rough arm, hybrid projected control is off by {ours['force_error_rms']:.2f} N RMS "
        f"and {1e3 * ours['lateral_drift']:.2f} mm, a Cartesian impedance with an open-loop wrench "
        f"by {others['force_error_rms']:.2f} N and {1e3 * others['lateral_drift']:.1f} mm.",
        numbers,
        [
            Table(
                "After the first second",
                ["", "force error RMS (N)", "largest (N)", "drift (mm)", "lean (°)"],
                rows,
                "The baseline compensates the arm's weight as it knows it and closes no loop on "
                "the force; it compensates no friction, and its spring of 1000 N/m gives way.",
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
    colours = {"projected": BLUE, "impedance": VERMILION}
    for column, (case, both) in enumerate(runs.items()):
        force, drift = axes[column], axes[2 + column]
        force.axhline(PRESS, color=GREY, linestyle="--", linewidth=0.8)
        for law in reversed(LAWS):
            wiped = both[law]
            shown = wiped.times >= FIRST_SHOWN
            times, off = wiped.times[shown], np.maximum(wiped.drift[shown], 1e-7)
            look: Any = {"color": colours[law], "linewidth": 1.0}
            force.plot(times, wiped.force[shown], label=LAWS[law], **look)
            drift.plot(times, 1e3 * off, **look)
        force.set_title(f"arm {case}" if case == "as described" else "rough arm")
        drift.set_yscale("log")
        drift.set_xlabel("time (s)")
    axes[0].set_ylabel("force (N)")
    axes[2].set_ylabel("drift (mm)")
    lines, labels = axes[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=2)
    return figure

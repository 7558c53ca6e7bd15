"""One task on several engines: motion, force, energy and constraint error over the step.

The controller ticks at 1 kHz on every engine; what differs is what moves the arm between two ticks.
Arms are bare: joints without friction or stops, exact sensors. The reference is our own plant at
half of the finest step, on which Pinocchio's solver, which shares nothing with it but the model of
the arm, has to agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from matplotlib.figure import Figure

from projected_control.apps.console.progress import Progress, silent
from projected_control.apps.demo.demo_settings import in_process, settings_for
from projected_control.apps.demo.task_run import TaskRun
from projected_control.apps.experiments.catalogue import Options
from projected_control.apps.reports.contents import Outcome, Picture, Table
from projected_control.apps.reports.style import BLUE, GREEN, GREY, ORANGE, VERMILION, canvas
from projected_control.arrays import Array
from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.pinocchio_model import FLOATING
from projected_control.resources import share_file
from projected_control.settings.build.plants import constraint_groups
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import TASKS

SECONDS = 5.0  # simulated time unless another is asked for [s]
STEPS = (1e-3, 5e-4, 2.5e-4)  # steps of integration [s]; a tick takes the longest of them
JUDGED = 2.5e-4  # at which step engines have to agree [s]

FORCE_BOUND, MOTION_BOUND = 0.01, 1e-4
"""How far they may then be apart: F over its largest; any place on the arm [m]."""

LEFT_FORCE_BOUND, LEFT_MOTION_BOUND = 0.05, 1e-3
"""The same of tasks whose contacts come and go."""

MOST = 0.95
"""Share of the time in which F of such tasks has to be that near."""

FALLS = 1.5
"""By how much an error falls from a step to the next where the step decides it, not rounding."""

LITTLE = 0.1
"""Share of the largest effort below which an arm's F, then next to nothing, is no measure."""

TITLES = {
    "motion": "motion [m]",
    "force": "F = Aᵀλ, of its largest",
    "energy": "energy less work [J]",
    "residual": "‖Φ‖ [m or rad]",
}

ENGINES = {"built_in": "ours", "mujoco": "MuJoCo", "dart": "DART", "pinocchio": "Pinocchio"}
NEEDS = {"mujoco": ("mujoco",), "dart": ("mujoco", "dartpy"), "pinocchio": ("mujoco",)}
"""Packages without which there is no such run."""

COLOURS = {"built_in": BLUE, "mujoco": VERMILION, "dart": GREEN, "pinocchio": ORANGE}

BARE: dict[str, Any] = {"simulation.stops": False}
PARTLESS: dict[str, Any] = {
    "friction.coulomb": [0.0],
    "friction.viscous": [0.0],
    "friction.sticks": False,
    "compensation.coulomb": [0.0],
    "compensation.viscous": [0.0],
    "encoder.resolution": [0.0],
    "motor.noise": [0.0],
    "sensor.noise": 0.0,
}
"""What takes the parts of config/real.yaml off again, but for what is late."""

DIFFERENCES = (
    "Our plant and Pinocchio's solver agree to rounding or nearly so, though one projects and the "
    "other solves for q̈ and λ together by a proximal method with Baumgarte's terms: these two are "
    "right, and MuJoCo and DART tend to them as the step gets shorter.",
    "MuJoCo is off in the motion by its integration, Euler's semi-implicit one, and across the "
    "constraint by its softness: its constraints are springs with a time constant of two steps "
    "(solref) that know nothing of Ȧq̇, so that a moving arm is off by some T² Ȧq̇, which the "
    "impedance of 0.9999 (solimp) leaves as it is. Both vanish with the step.",
    "DART is off in the motion for the same reason. Across the constraint it takes the velocity "
    "away in every step, before positions move along a straight line: Φ is off by some T² Ȧq̇ "
    "again, of which a fifth comes back in a step (error reduction).",
)


@dataclass(frozen=True)
class EngineRun:
    """One run."""

    places: Array  # of every frame of the arm, N × 3 per frame [m]
    force: Array  # F, N × n
    effort: float  # largest of the efforts, as a vector [N·m]
    energy: float  # largest |E − E₀ − W| [J]
    residual: float  # largest ‖Φ‖

    @classmethod
    def of(cls, done: TaskRun) -> EngineRun:
        """What a run kept, every hundredth of a second."""
        part = done.kept.column
        stored = part("true_energy") - part("true_work_done")
        return cls(
            _places(done.arm.plant.model.arm.pinocchio_model, done.q),
            part("true_constraint_force"),
            float(np.linalg.norm(part("effort"), axis=1).max()),
            float(np.ptp(stored)),
            float(part("true_residual").max()),
        )

    def errors(self, reference: EngineRun, left: bool = False) -> dict[str, float]:
        """How far it is from a reference, by quantity; F of contacts that come and go most times.

        A touch a millisecond earlier or later is all of F, for as long.
        """
        away = np.linalg.norm(self.places - reference.places, axis=-1)
        force = float(np.linalg.norm(reference.force, axis=1).max())
        largest = max(force, LITTLE * reference.effort)
        off = np.linalg.norm(self.force - reference.force, axis=1)[1:]  # λ of no effort yet
        return {
            "motion": float(away.max()),
            "force": float(np.quantile(off, MOST if left else 1.0)) / largest,
            "energy": self.energy,
            "residual": self.residual,
        }


def _places(model: Any, q: Array) -> Array:
    """Where all frames are, N × frames × 3."""
    data, found = model.createData(), []
    for each in q:
        pin.framesForwardKinematics(model, data, each)
        found.append([place.translation.copy() for place in data.oMf])
    return np.array(found)


def tasks() -> dict[str, tuple[str, Path | None]]:
    """What can be compared: tasks, and mechanisms of config/ with the case that drives them."""
    found: dict[str, tuple[str, Path | None]] = {name: (name, None) for name in TASKS}
    shown = {case.arm for case in TASKS.values()}
    for file in sorted(share_file("config", "seven_joints.yaml").parent.glob("*.yaml")):
        if file.stem in shown:
            continue
        try:
            arm = Layers.read([file]).arm()
        except InvalidValue:
            continue  # of no node of ours
        if arm.robot_description_file and arm.base != FLOATING:  # not served by bare engines
            found[file.stem] = ("passive" if arm.passive_joints else "force"), file
    return found


def is_left(task: str) -> bool:
    """Whether contacts of a task come and go."""
    case, file = tasks()[task]
    arm = Layers.read([file or share_file("config", f"{TASKS[case].arm}.yaml")]).arm()
    return any(group.one_sided for group in constraint_groups(arm).values())


def followed(task: str, engine: str, step: float, seconds: float) -> EngineRun:
    """A task of the demonstration, or a mechanism of config/, on one engine."""
    own: dict[str, Any] = {**BARE, "simulation.engine": engine, "simulation.step": step}
    case, file = tasks()[task]
    if case in TASKS and TASKS[case].parts:
        own |= PARTLESS
    settings = settings_for(case, seconds, "paper", True, own, arm_file=file)
    done, _ = in_process(settings, silent)
    if done.statistics.lost:
        raise InvalidValue(f"the guard ended it: {done.statistics.lost}")
    return EngineRun.of(done)


def order(steps: Mapping[float, dict[str, float]], what: str) -> float:
    """Slope of an error over the step, down to where it falls no more; NaN where it never does."""
    seen = [(T, max(each[what], 1e-300)) for T, each in steps.items()]
    falling = [seen[0]]
    for each in seen[1:]:
        if falling[-1][1] < FALLS * each[1]:
            break
        falling.append(each)
    if len(falling) < 2:
        return float("nan")
    x, y = np.log(np.array(falling)).T
    return float(np.polyfit(x, y, 1)[0])


def run(options: Options, progress: Progress) -> Outcome:
    """The task on every engine that there is, at every step."""
    task, seconds = options.task or "slider", options.seconds or SECONDS
    if task not in tasks():
        raise UnknownName("task", task, tasks())
    progress(f"{task}: ours, the reference", 0.0)
    reference, left = followed(task, "built_in", 0.5 * min(STEPS), seconds), is_left(task)
    found: dict[str, dict[float, dict[str, float]]] = {}
    refused: dict[str, str] = {}
    for engine, title in ENGINES.items():
        missing = [name for name in NEEDS.get(engine, ()) if find_spec(name) is None]
        if missing:
            refused[engine] = f"not installed: pip install {' '.join(missing)}"
            continue
        errors = {}
        try:
            for done, step in enumerate(STEPS):
                progress(f"{task}: {title}", done / len(STEPS))
                errors[step] = followed(task, engine, step, seconds).errors(reference, left)
        except InvalidValue as error:
            refused[engine] = str(error).removeprefix("command line: ")
            continue
        progress(f"{task}: {title}", 1.0)
        found[engine] = errors
    return _outcome(task, seconds, found, refused, left)


def bounds(left: bool) -> tuple[float, float]:
    """Of F and motion, of a task whose contacts come and go, or of another."""
    return (LEFT_FORCE_BOUND, LEFT_MOTION_BOUND) if left else (FORCE_BOUND, MOTION_BOUND)


def disagreeing(
    found: Mapping[str, Mapping[float, dict[str, float]]], left: bool = False
) -> list[str]:
    """Engines that are not where they have to be at the step that counts."""
    force, motion = bounds(left)
    return [
        engine
        for engine, errors in found.items()
        if errors[JUDGED]["force"] > force or errors[JUDGED]["motion"] > motion
    ]


def _outcome(
    task: str,
    seconds: float,
    found: dict[str, dict[float, dict[str, float]]],
    refused: dict[str, str],
    left: bool,
) -> Outcome:
    orders = {
        engine: {what: order(errors, what) for what in TITLES} for engine, errors in found.items()
    }
    off, (force, motion) = disagreeing(found, left), bounds(left)
    mostly = f" in {100 * MOST:g} % of the time, as contacts come and go" if left else ""
    numbers = {
        "task": task,
        "seconds": seconds,
        "engines": {
            engine: {
                "steps": {f"{1e3 * T:g} ms": each for T, each in errors.items()},
                "order": orders[engine],
            }
            for engine, errors in found.items()
        },
        "refused": refused,
        "disagree": off,
    }
    rows = [
        [ENGINES[engine], *(f"{errors[JUDGED][what]:.1e}" for what in TITLES),
         *(_slope(orders[engine][what]) for what in TITLES)]
        for engine, errors in found.items()
    ]  # fmt: skip
    rows += [[ENGINES[engine], *["–"] * 2 * len(TITLES)] for engine in refused]
    agree = [ENGINES[e] for e in found if e not in off]
    notes = [f"{ENGINES[engine]}: {reason}" for engine, reason in refused.items()]
    summary = f"{task}: {', '.join(agree)} agree at {1e3 * JUDGED:g} ms"
    if off:
        summary += f"; {', '.join(ENGINES[e] for e in off)} do not"
    return Outcome(
        "engines",
        "One task on several engines",
        "Not in a paper: a comparison of ours",
        f"{task} for {seconds:g} s: the same controller at 1 kHz on an arm without friction or "
        "stops, moved by our own plant, by MuJoCo, by DART (the physics that Gazebo uses) and by "
        "Pinocchio's constraintDynamics with a step of fourth order. Errors are the largest over "
        "the run, against our plant at half of the finest step; the motion counts wherever on the "
        "arm it is off most.",
        f"{summary}: F within {100 * force:g} %{mostly}, every place on the arm within "
        f"{1e3 * motion:g} mm.",
        numbers,
        [
            Table(
                f"Errors at {1e3 * JUDGED:g} ms, and their order",
                ["", *TITLES.values(), *(f"order: {what}" for what in TITLES)],
                rows,
                "An order is the slope over the step where the step decides the error; – where "
                "rounding does. The work is counted step by step, with mean velocities, which of "
                "Pinocchio's row is the error of second order. " + ". ".join(notes),
                [list(found).index(engine) for engine in off],
            )
        ],
        [
            Picture(
                f"engines-{task}",
                "Errors over the step",
                "Each line is an engine, against our own plant at half of the finest step; the "
                "grey lines have slopes one and four.",
                lambda: draw(found),
            )
        ],
        DIFFERENCES,
    )


def _slope(number: float) -> str:
    return f"{number:.2f}" if np.isfinite(number) else "–"


def draw(found: Mapping[str, Mapping[float, dict[str, float]]]) -> Figure:
    """Each quantity over the step, with slopes."""
    figure, axes = canvas(2, 2, height=4.8, sharex=True)
    for ax, (what, title) in zip(axes, TITLES.items(), strict=True):
        for engine, errors in found.items():
            steps = 1e3 * np.array(list(errors))
            values = np.maximum([each[what] for each in errors.values()], 1e-16)
            found_slope = _slope(order(errors, what))
            look: Any = {"marker": "o", "markersize": 3.5, "color": COLOURS[engine]}
            label = ENGINES[engine] + ("" if found_slope == "–" else f": {found_slope}")
            ax.loglog(steps, values, label=label, **look)
        low, high = ax.get_ylim()
        steps = 1e3 * np.array(STEPS)
        for slope in (1, 4):
            guide = np.sqrt(low * high) * (steps / steps[1]) ** slope
            ax.loglog(steps, guide, color=GREY, linewidth=0.7, linestyle=":", zorder=0)
        ax.set_ylim(low / (high / low) ** 0.35, high)
        ax.set_title(title)
        ax.legend(fontsize=7.0, ncols=2, loc="lower center")
        ax.set_xticks(steps, [f"{each:g}" for each in steps])
        ax.minorticks_off()
    for ax in axes[2:]:
        ax.set_xlabel("step [ms]")
    return figure

"""What can be shown: a task, an experiment, a kind of constraint, a recording, a parameter file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from projected_control.apps.animation.film import Film, Strip, film_of
from projected_control.apps.console.progress import Progress, silent
from projected_control.apps.demo.demo_settings import settings_for
from projected_control.apps.demo.task_run import TaskRun, run_task
from projected_control.apps.docs.constraint_pages import constraint_of
from projected_control.apps.experiments.catalogue import ALIASES, EXPERIMENTS, Options
from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import CONSTRAINTS, Constraint, with_mimics
from projected_control.model.pinocchio_model import FLOATING
from projected_control.planning import assemble
from projected_control.resources import share_file
from projected_control.runs.recording import read_recording
from projected_control.runs.simulated import SimulatedArm
from projected_control.settings import build
from projected_control.settings.nodes import FORCE, LEGGED, PASSIVE, TASKS, DemoCase, demo_cases
from projected_control.settings.recorded import controller_settings
from projected_control.simulation import JointFriction, Plant

SECONDS = {
    **{"wipe": 12.0, "wipe_sphere": 12.0, "drawer": 6.0, "valve": 8.0},
    **{"wipe_edge": 5.0, "drawer_stop": 4.0, "peg": 4.0, "push": 4.0},
}
"""How long tasks are shown that take longer than the usual time [s]."""

USUAL_SECONDS = 4.0

INSTANTS = ("impact", "cone", "touch", "unannounced", "standing", "pushes")
"""Experiments of which there is no film: about one instant, or about many cases."""

SWING_SECONDS = 4.0
"""For which an arm swings on a constraint that is shown for itself [s]."""


def _cases() -> dict[str, DemoCase]:
    return {**demo_cases(), **TASKS, **LEGGED}


def names() -> dict[str, str]:
    """What can be asked for by name, and what it is."""
    tasks = {name: case.title for name, case in _cases().items()}
    moving = {name: entry for name, entry in EXPERIMENTS.items() if name not in INSTANTS}
    experiments = {name: entry.summary for name, entry in moving.items()}
    shown = [name for name in CONSTRAINTS if name in _SWINGS or name == "loop"]
    constraints = {name: f"an arm swings on {CONSTRAINTS[name].title}" for name in shown}
    return {**tasks, **experiments, **constraints}


def film(what: str, seconds: float | None = None, progress: Progress = silent) -> Film:
    """The film of a name or of a file.

    Args:
        what: A name (see `names`), a recording (``*.mcap``) or a parameter file (``*.yaml``).
        seconds: How long; what it usually takes unless given [s].
        progress: Told how far the computation has come.
    """
    path = Path(what)
    if path.suffix == ".mcap":
        return recorded(path, seconds)
    if path.suffix in (".yaml", ".yml"):
        return _task("force", path.stem, seconds or USUAL_SECONDS, path)
    name = ALIASES.get(what, what)
    if name in INSTANTS:
        raise InvalidValue(
            f"there is no film of {name}; its numbers and its figure: "
            f"projected-control reproduce {name}"
        )
    if name in (cases := _cases()):
        return _task(name, cases[name].title, seconds or SECONDS.get(name, USUAL_SECONDS))
    if name in EXPERIMENTS:
        return _experiment(name, seconds, progress)
    if name in CONSTRAINTS:
        return swing(name, seconds or SWING_SECONDS)
    raise UnknownName("task, experiment or constraint", what, list(names()))


def _task(choice: str, title: str, seconds: float, file: Path | None = None) -> Film:
    settings = settings_for(choice, seconds, "paper", True, {}, (), file)
    node = settings.case.node
    if file is not None and (settings.arm.passive_joints or settings.arm.base == FLOATING):
        settings = settings_for("passive", seconds, "paper", True, {}, (), file)
        node = PASSIVE
    run = run_task(node, settings.controller, settings.arm, settings.ticks)
    if run.statistics.lost:
        raise InvalidValue(f"{choice} ended early: {run.statistics.lost}")
    model = run.arm.plant.model
    return film_of(
        title, model.arm, model.constraint, run.samples.times, run.q, run.arm.frame, _strip(run)
    )


def _strip(run: TaskRun) -> Strip:
    """The force that is held; where none is, the error."""
    force = run.loop.controller.force
    if force is not None and force.controlled.any():
        rows = np.flatnonzero(force.controlled)
        wanted = np.linalg.norm(run.samples.wanted[:, rows], axis=1)
        return Strip("force (N)", np.linalg.norm(run.samples.multipliers[:, rows], axis=1), wanted)
    return Strip("error (10⁻³)", 1e3 * np.linalg.norm(run.error, axis=1))


def _experiment(name: str, seconds: float | None, progress: Progress) -> Film:
    """A case of a paper; of several, the one that the paper is about."""
    options = Options(seconds=seconds)
    if name == "engines":  # its task on our own plant; in other engines it looks the same
        return _task("slider", TASKS["slider"].title, seconds or USUAL_SECONDS)
    if name in ("wiping", "laws", "weak-motors"):  # one task; under other laws it looks the same
        file = share_file("config", "seven_joints.yaml")
        return _task("force", "A wiped table", seconds or 8.0, file)
    from projected_control.apps.experiments import free_fall, slider_crank, table1, table2_cases
    from projected_control.apps.experiments.case_run import simulate

    case = {
        "free-fall": lambda: free_fall.describe(options),
        "slider-crank": lambda: slider_crank.describe(options),
        "table1": lambda: table1.describe(options)["one_active"],
        "limits": lambda: table2_cases.describe(table2_cases.SETTINGS["nominal"], "pidc", options),
        "table2": lambda: table2_cases.describe(
            table2_cases.SETTINGS["nominal"], "hybrid", options
        ),
    }[name]()
    run = simulate(case, progress)
    force = np.linalg.norm(run.constraint_force, axis=1)
    strip = Strip("‖Aᵀλ‖ (N·m)", force)
    return film_of(case.name, case.arm.load(), case.constraint, run.time, run.q, "tip", strip)


def recorded(path: Path, seconds: float | None = None) -> Film:
    """What a recorded arm did."""
    recording = read_recording(path)
    answers = recording.answers
    if not answers.any():
        raise InvalidValue(f"{path.name} holds no tick")
    times = recording.times
    kept = np.ones(len(times), dtype=bool) if seconds is None else times <= seconds
    constraint: Constraint | None = None
    if recording.parameters:
        settings = controller_settings(recording)
        model = build.build_model(settings)
        arm, constraint = model.arm, model.constraint
    else:
        arm = Arm.from_urdf(recording.description, joints=recording.joints)
    felt = recording.column("lambda_measured")[answers][kept]
    wanted = recording.column("lambda_desired")[answers][kept]
    strip = None
    if felt.shape[1] and np.isfinite(felt).any():
        strip = Strip("force (N)", np.linalg.norm(felt, axis=1), np.linalg.norm(wanted, axis=1))
    q = recording.column("q")[answers][kept]
    return film_of(path.stem, arm, constraint, times[kept], q, None, strip)


_SWINGS: dict[str, dict[str, Any]] = {
    "point_on_line": {"frame": "tool", "point": [0.45, 0.0, 0.35], "direction": [0.0, 1.0, 0.0]},
    "point_on_plane": {"frame": "tool", "point": [0.45, 0.0, 0.35], "direction": [0.0, 0.0, 1.0]},
    "point_at_point": {"frame": "tool", "point": [0.45, 0.0, 0.35]},
    "point_on_circle": {
        "frame": "tool",
        "point": [0.45, 0.0, 0.4],
        "direction": [1.0, 0.0, 0.0],
        "radius": 0.15,
    },
    "point_on_surface": {
        "frame": "tool",
        "surface": "sphere",
        "point": [0.45, 0.0, 0.2],
        "radius": 0.2,
    },
    "distance": {"frame": "tool", "length": 0.4, "point": [0.45, 0.0, 0.75]},
    "parallel": {"frame": "tool", "axis": [0.0, 0.0, 1.0], "direction": [0.0, 0.0, -1.0]},
    "angle": {
        "frame": "tool",
        "axis": [0.0, 0.0, 1.0],
        "direction": [0.0, 0.0, -1.0],
        "angle": 0.5,
    },
    "frame_fixed": {
        "frame": "tool",
        "point": [0.0, 0.0, 0.35],
        "directions": ["tz", "rx", "ry"],
        "orientation": [np.pi, 0.0, 0.0],
    },
    "hinge": {
        "frame": "tool",
        "axis": [0.0, 1.0, 0.0],
        "point": [0.45, 0.0, 0.35],
        "direction": [0.0, 1.0, 0.0],
    },
    "joint_coupling": {"joint": "joint_4", "other_joint": "joint_2", "ratio": -1.0},
    "joint_locked": {"joint": "joint_4", "position": -1.4},
}
"""Constraints of the arm of seven joints in config/, within its reach."""


def swing(kind: str, seconds: float) -> Film:
    """An arm that nothing drives swings on a constraint, and shows what that leaves free."""
    if kind == "loop":
        return _task("five_bar", CONSTRAINTS[kind].title, seconds)
    settings = settings_for(
        "force", 1.0, "paper", True, {}, (), share_file("config", "seven_joints.yaml")
    )
    assert settings.case.node == FORCE
    arm = build.build_arm(settings.arm)
    values = _SWINGS.get(kind)
    if values is None:
        raise InvalidValue(
            f"there is no picture of {kind!r}, which was not given an arm to swing on; there are "
            f"those of {', '.join([*_SWINGS, 'loop'])}; a parameter file with it can be shown"
        )
    constraint = with_mimics(arm, constraint_of(CONSTRAINTS[kind], values))
    guess = np.array(settings.arm.simulation.start)
    q0 = assemble(arm, constraint, guess)
    friction = JointFriction(viscous=0.6)
    plant = Plant(ConstrainedArm(arm, constraint, tolerance=1e-6), 1e-3, friction=friction)
    port = SimulatedArm(plant, q0)
    port.open()
    model = ConstrainedArm(arm.twin(), None)
    every, times, q = 20, [], []
    push = np.array([1.0, 0.6, 1.0, 0.6, 0.6, 0.4, 0.4])
    for tick in range(round(1000.0 * seconds)):
        state = port.sense()
        if tick % every == 0:
            times.append(state.stamp)
            q.append(state.q.copy())
        model.evaluate(state.q, state.v)
        # Its weight is carried, and it is pushed to and fro.
        sway = 4.0 * np.sin(2.0 * np.pi * 0.5 * state.stamp + np.arange(arm.n))
        port.write(model.h + push * sway - 2.0 * state.v)
    title = CONSTRAINTS[kind].title
    return film_of(f"{kind}: {title}", arm, constraint, np.array(times), np.array(q), "tool")

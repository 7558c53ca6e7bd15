"""A robot with legs is pushed on ground that it can slip on and leave: MuJoCo's own contacts.

The ground takes forces in a cone of µ = `GROUND`, elliptic; the controller, which feels no force
and believes masses that are wrong, asks for what lies within `KEPT` (`contact.friction`). A random
push is a horizontal force at the base's origin. A foot at the edge of its cone slides: the cone
counts as kept where every foot presses with less than `EDGE` of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from scipy.spatial.transform import Rotation

from projected_control.apps.console.progress import Progress
from projected_control.apps.demo.demo_settings import settings_for
from projected_control.apps.demo.task_run import ready_task, simulated_arm
from projected_control.apps.experiments.catalogue import Options
from projected_control.apps.reports.contents import Outcome, Picture, Table
from projected_control.apps.reports.style import BLUE, ORANGE, VERMILION, canvas
from projected_control.arrays import Array
from projected_control.control.events import Action
from projected_control.errors import ProjectedControlError, UnknownName
from projected_control.runs.runner import Runner
from projected_control.settings.declaration import Value
from projected_control.settings.nodes import PASSIVE
from projected_control.simulation.mujoco_plant import MujocoPlant

ROBOTS = {"quadruped": "quadruped", "solo12": "squat", "anymal": "anymal_squat"}
"""Robots, by the task in which they squat: all of them on points."""

GROUND, KEPT, EDGE = 0.6, 0.5, 0.999
"""µ of the ground, µ that the controller keeps, and the share of a cone that counts as its edge."""

WRONG = 1.15
"""By how much all bodies are heavier than the controller believes."""

PUSH, LASTS, PAUSE = 0.2, 0.2, (0.8, 1.5)
"""A push over the robot's weight, how long it lasts, and from one to the next, evenly drawn [s]."""

SECONDS, SEED = 60.0, 0
"""Of standing, unless said otherwise."""

SETTLES = 0.5
"""When feet count as having come to rest [s]."""

SQUATS = 4.0
"""How long it squats; after the first second it is judged [s]."""

SLIPPED, FALLEN = 2e-3, 0.2
"""How far a foot may slip [m], and the share of its height that a robot may lose."""

SIZES, DIRECTIONS, AFTER = np.linspace(0.1, 0.8, 8), 12, 1.2
"""Of the picture: pushes over the weight, how many directions, and how long each is watched [s]."""


@dataclass
class PushedRun:
    """What feet and robot did."""

    slip: float = 0.0  # how far a foot went along the ground from where it had settled [m]
    used: float = 0.0  # largest ‖f_t‖/f_n
    kept: int = 0  # ticks in which all feet pressed, each within its cone
    ticks: int = 0
    error: float = 0.0  # largest of the coordinates that are lengths, after the first second [m]
    sank: float = 0.0  # how far its base was below where it began [m]
    seconds: float = 0.0  # for how long it was judged [s]
    fell: str = ""  # in words, how it ended; empty where it did not
    pushed: list[float] = field(default_factory=list)  # when pushes began [s]

    def numbers(self) -> dict[str, Any]:
        """In SI units."""
        return {
            "seconds": self.seconds,
            "pushes": len(self.pushed),
            "slip": self.slip,
            "friction_used": self.used,
            "cone_kept": self.kept / max(self.ticks, 1),
            "error": self.error,
            "sank": self.sank,
            "fell": self.fell,
        }


LEFT: dict[str, Value] = {"directions": [], "one_sided": True, "direction": [0.0, 0.0, -1.0]}
"""What makes a foot of something that holds it."""


def _feet(names: Iterable[str], **said: Value) -> dict[str, Value]:
    return {f"constraints.{name}.{key}": v for name in names for key, v in said.items()}


def on_ground(
    robot: str, *, squats: bool = False, wrong: float = WRONG
) -> tuple[Runner, list[str]]:
    """A robot about to stand, or squat, on feet that nothing but the ground holds; these."""
    if robot not in ROBOTS:
        raise UnknownName("robot", robot, ROBOTS)
    own = {} if squats else {"reference.kind": "hold"}
    asked = settings_for(ROBOTS[robot], 1.0, "paper", True, own)
    feet = asked.arm.constraints
    controller = asked.controller.changed(
        {
            **_feet(feet, kind="point_at_point", **LEFT),
            "contact.friction": KEPT,
            "reference.approach": True,
        }
    )
    arm = asked.arm.changed(
        {
            **_feet(feet, kind="point_on_plane", **LEFT),
            "simulation.engine": "mujoco",
            "simulation.mass_factor": wrong,
            "simulation.rates": [],  # from rest: planes would let feet slide at the start
            "friction.contact": GROUND,
        }
    )
    return ready_task(PASSIVE, controller, arm)[0], [each.frame for each in feet.values()]


def stand_pushed(
    robot: str,
    seconds: float,
    pushes: Iterator[tuple[float, Array]],
    *,
    squats: bool = False,
    wrong: float = WRONG,
) -> PushedRun:
    """Let a robot stand or squat while it is pushed.

    Args:
        robot: Which.
        seconds: How long.
        pushes: When each begins [s], and its force over the weight, x and y.
        squats: Whether its centre of mass goes down and up meanwhile.
        wrong: Masses of the robot over those that the controller believes.
    """
    (runner, feet), run = on_ground(robot, squats=squats, wrong=wrong), PushedRun()
    port = simulated_arm(runner)
    plant, model = port.plant, runner.loop.controller.model
    assert isinstance(plant, MujocoPlant)
    arm = plant.model.arm
    weight = 9.81 * sum(inertia.mass for inertia in arm.pinocchio_model.inertias)
    height, period = float(plant.q[2]), runner.loop.controller.period
    begins, force = next(pushes, (np.inf, np.zeros(2)))
    assert model.coordinates is not None
    lengths = [each.unit == "m" for each in model.coordinates.members]
    places: Array | None = None
    runner.open()
    for tick in range(round(seconds / period)):
        now = tick * period
        if now >= begins + LASTS:
            begins, force = next(pushes, (np.inf, np.zeros(2)))
            port.push[:] = 0.0
        if now >= begins:
            if not run.pushed or run.pushed[-1] != begins:
                run.pushed.append(begins)
            turned = Rotation.from_rotvec(plant.q[3:6]).inv()
            port.push[:3] = turned.apply([*(weight * force), 0.0])
        try:
            runner.step()
        except ProjectedControlError as error:
            run.fell = str(error)
            break
        if runner.loop.report.action is not Action.FOLLOW:
            run.fell = f"its controller stopped at {now:.3g} s"
            break
        forces = plant.touching
        if now < SETTLES:
            continue
        at = np.array([arm.frame(foot).position[:2] for foot in feet])
        places = at if places is None else places
        run.ticks, run.seconds = run.ticks + 1, run.seconds + period
        run.sank = max(run.sank, height - float(plant.q[2]))
        share = np.hypot(*forces[:, 1:].T) / np.maximum(forces[:, 0], 1e-9)
        run.kept += len(forces) == len(feet) and bool((share < EDGE * GROUND).all())
        run.used = max(run.used, float(share.max(initial=0.0)))
        run.slip = max(run.slip, float(np.linalg.norm(at - places, axis=1).max()))
        if now >= 1.0:
            off = runner.loop.controller.error[0][lengths]
            run.error = max(run.error, float(np.abs(off).max()))
        if run.sank > FALLEN * height and not squats:
            run.fell = f"it was {plant.q[2]:.3g} m high at {now:.3g} s"
            break
    return run


def random_pushes(seed: int, size: float = PUSH) -> Iterator[tuple[float, Array]]:
    """Pushes of one size in random directions, after random pauses."""
    random, begins = np.random.default_rng(seed), SETTLES
    while True:
        begins += random.uniform(*PAUSE)
        angle = random.uniform(0.0, 2.0 * np.pi)
        yield begins, size * np.array([np.cos(angle), np.sin(angle)])
        begins += LASTS


def run(options: Options, progress: Progress) -> Outcome:
    """Pushed at random, left alone, and squatting."""
    robot = options.robot or "quadruped"
    seconds, seed = options.seconds or SECONDS, SEED if options.seed is None else options.seed
    progress("standing under pushes", 0.0)
    pushed = stand_pushed(robot, seconds, random_pushes(seed))
    progress("standing alone", 0.5)
    alone = stand_pushed(robot, seconds, iter(()))
    progress("squatting", 0.9)
    squat = stand_pushed(robot, min(seconds, SQUATS), iter(()), squats=True, wrong=1.0)
    progress("squatting", 1.0)
    runs = {"pushed": pushed, "alone": alone, "squat": squat}
    rows = [
        (
            name,
            f"{each.seconds:.1f}",
            str(len(each.pushed)),
            f"{1e3 * each.slip:.4f}",
            f"{each.used:.3f}",
            f"{100.0 * each.kept / max(each.ticks, 1):.2f}",
            f"{1e3 * each.error:.2f}",
            each.fell or "no",
        )
        for name, each in runs.items()
    ]
    head = ("", "s", "pushes", "slip [mm]", "µ used", "cone kept [%]", "error [mm]", "fell")
    return Outcome(
        name="pushes",
        title=f"{robot} is pushed",
        source="MuJoCo's own contacts; the cone by docs/floating_base.md",
        introduction=(
            f"The ground has µ = {GROUND:g}, the controller keeps {KEPT:g}, and the robot is "
            f"{100 * (WRONG - 1):.0f} % heavier than it believes, but where it squats. Pushes of "
            f"{100 * PUSH:.0f} % of the weight last {LASTS:g} s."
        ),
        summary=f"{len(pushed.pushed)} pushes in {rows[0][1]} s, seed {seed}: a foot slipped "
        f"{rows[0][3]} mm at most, the cone was kept in {rows[0][5]} % of ticks; "
        f"{pushed.fell or 'it stood'}. Alone a foot crept {rows[1][3]} mm.",
        numbers={
            "robot": robot,
            "seed": seed,
            **{name: each.numbers() for name, each in runs.items()},
        },
        tables=[Table("What feet and robot did", head, rows)],
        pictures=[
            Picture(
                "pushes",
                "Which pushes it takes",
                f"By size over the weight and direction (x is ahead), {LASTS:g} s each: no foot "
                f"slips more than {1e3 * SLIPPED:.0f} mm, one does, or the robot falls.",
                lambda: draw(*fates(robot, progress)),
            )
        ],
        differences=(),
    )


def fate(robot: str, size: float, angle: float) -> int:
    """What one push does: nothing (0), a foot slips (1), the robot falls (2)."""
    push = (SETTLES + 0.1, size * np.array([np.cos(angle), np.sin(angle)]))
    found = stand_pushed(robot, SETTLES + AFTER, iter([push]))
    return 2 if found.fell else int(found.slip > SLIPPED)


def fates(robot: str, progress: Progress) -> tuple[Array, Array]:
    """Directions, and what pushes of all sizes do in them, sizes × directions."""
    angles = np.arange(DIRECTIONS) * 2.0 * np.pi / DIRECTIONS
    found = np.zeros((SIZES.size, DIRECTIONS))
    for i, size in enumerate(SIZES):
        progress("sizes and directions", i / SIZES.size)
        found[i] = [fate(robot, float(size), float(angle)) for angle in angles]
    progress("sizes and directions", 1.0)
    return angles, found


def draw(angles: Array, found: Array) -> Figure:
    """What pushes do, over direction and size."""
    figure, (axes,) = canvas(1, 1, height=3.4, subplot_kw={"projection": "polar"})
    width, step = 2.0 * np.pi / angles.size, float(SIZES[1] - SIZES[0])
    edges = np.append(angles, 2.0 * np.pi) - 0.5 * width
    rings = np.append(SIZES, SIZES[-1] + step) - 0.5 * step
    colours = {"holds": BLUE, "a foot slips": ORANGE, "falls": VERMILION}
    axes.pcolormesh(edges, rings, found, cmap=ListedColormap([*colours.values()]), vmin=0, vmax=2)
    for name, colour in colours.items():
        axes.plot([], [], "s", color=colour, label=name)
    axes.legend(loc="upper left", bbox_to_anchor=(1.1, 1.0))
    axes.set_ylim(0.0, rings[-1])
    return figure

"""Which experiments there are, and what a user may change about them.

Light on purpose: the modules of the experiments are imported when they run.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from projected_control.apps.console.progress import Progress, silent
from projected_control.errors import InvalidValue, UnknownName

if TYPE_CHECKING:
    from projected_control.apps.reports.contents import Outcome

MAX_SECONDS = 1000.0
"""Longest simulated time accepted [s]; at the usual step of 0.01 s a hundred thousand samples."""


@dataclass(frozen=True)
class Options:
    """What a user may change; None leaves the paper's value."""

    q0: tuple[float, ...] | None = None  # initial joint positions [rad]
    seconds: float | None = None  # simulated time [s]
    gravity: float | None = None  # along −z [m/s²]
    seed: int | None = None  # seed of everything random
    limit: float | None = None  # of the motors' torques [N·m]
    restitution: float | None = None  # e of an impact
    mu: float | None = None  # coefficient of friction
    task: str | None = None  # a task of the demonstration, or a mechanism of config/
    robot: str | None = None  # which robot stands
    posture: tuple[float, ...] | None = None  # hips, thighs and knees, or one per joint [rad]
    feet: tuple[str, ...] | None = None  # links on which it stands
    criterion: str | None = None  # what is least: torque or contact_force
    count: int | None = None  # how many random cases

    def __post_init__(self) -> None:
        from projected_control import validate  # NumPy, which no help needs

        if self.q0 is not None:
            validate.finite_array("q0", self.q0, (None,))
        if self.posture is not None:
            validate.finite_array("posture", self.posture, (None,))
        if self.seconds is not None and validate.positive("seconds", self.seconds) > MAX_SECONDS:
            raise InvalidValue(f"seconds must be at most {MAX_SECONDS:g}, got {self.seconds:g}")
        if self.gravity is not None:
            validate.finite("gravity", self.gravity)
        if self.seed is not None and self.seed < 0:
            raise InvalidValue(f"seed must not be negative, got {self.seed}")
        if self.limit is not None:
            validate.positive("limit", self.limit)
        if self.restitution is not None and not 0.0 <= self.restitution <= 1.0:
            raise InvalidValue(f"restitution must lie between 0 and 1, got {self.restitution:g}")
        if self.mu is not None:
            validate.not_negative("mu", self.mu)
        if self.count is not None and self.count < 1:
            raise InvalidValue(f"count must be one or more, got {self.count}")

    @property
    def given(self) -> list[str]:
        """Names of those that are set."""
        return [name for name, value in vars(self).items() if value is not None]


@dataclass(frozen=True)
class Experiment:
    """An experiment that can be asked for."""

    module: str  # its module in this package
    summary: str  # one line for the help
    options: tuple[str, ...]  # names of the options it takes
    needs: str = ""  # a package without which there is none, and `ALL` goes without it


EXPERIMENTS = {
    "free-fall": Experiment(
        "free_fall",
        "three links fall, the tip on a vertical slider (Moura, Figs. 3, 4)",
        ("q0", "seconds", "gravity", "seed"),
    ),
    "slider-crank": Experiment(
        "slider_crank",
        "a crank runs through its singularities (Aghili, Fig. 4)",
        ("q0", "seconds", "gravity", "seed"),
    ),
    "table1": Experiment(
        "table1",
        "the slider-crank controlled with two motors and with one (Aghili, Table I)",
        ("seconds", "gravity"),
    ),
    "table2": Experiment(
        "table2",
        "three controllers on an arm with its tip on a slider (Aghili, Table II)",
        ("seconds",),
    ),
    "wiping": Experiment(
        "wiping",
        "a wiped table, beside a selection matrix and an impedance with an open-loop wrench",
        ("seconds",),
    ),
    "laws": Experiment(
        "laws",
        "the same task under every law (docs/laws.md)",
        ("seconds",),
    ),
    "limits": Experiment(
        "limited_torque",
        "motors that are too weak: solved by levels, clipped or scaled",
        ("limit",),
    ),
    "impact": Experiment(
        "impact",
        "a two-link arm meets its floor, and bounces (the arm of Aghili 66)",
        ("seconds", "restitution"),
    ),
    "cone": Experiment(
        "cone",
        "a tip that is to stick: the least torque within the cone of friction (same arm)",
        ("mu", "limit"),
    ),
    "standing": Experiment(
        "standing",
        "a robot stands on its feet: least torque, and within cones of friction (Righetti)",
        ("robot", "mu", "posture", "feet", "criterion"),
    ),
    "pushes": Experiment(
        "pushes",
        "a robot on ground that it can slip on is pushed, in MuJoCo (the extra mujoco)",
        ("robot", "seconds", "seed"),
        "mujoco",
    ),
    "touch": Experiment(
        "touch",
        "random touches of surfaces that give, beside a force loop alone and an impedance",
        ("seed", "count"),
    ),
    "unannounced": Experiment(
        "unannounced",
        "into and out of a contact that was not announced, beside an impedance (Pang, Tedrake)",
        (),
    ),
    "weak-motors": Experiment(
        "weak_motors",
        "a wiped table with motors that are too weak: limits kept beside clipping (docs/limits.md)",
        ("seconds",),
    ),
    "engines": Experiment(
        "engine_comparison",
        "a task on our plant, MuJoCo, DART and Pinocchio's solver (docs/engines.md)",
        ("task", "seconds"),
    ),
}

ALIASES = {"fig4": "slider-crank", "fig5": "table1", "fig6": "table1", "fig8": "table2"}
"""Other names by which a paper's figure may be asked for."""

ALL = "all"


def names_of(case: str, options: Options) -> list[str]:
    """The experiments that a name stands for, refused where an option does not apply to them."""
    if case == ALL:
        refused = [name for name in options.given if name != "seed"]
        if refused:
            raise InvalidValue(
                f"{ALL!r} runs every case as its paper has it: --{refused[0]} changes a single one"
            )
        return [n for n, each in EXPERIMENTS.items() if not each.needs or find_spec(each.needs)]
    name = ALIASES.get(case, case)
    if name not in EXPERIMENTS:
        raise UnknownName("case", case, [*EXPERIMENTS, *ALIASES, ALL])
    for option in options.given:
        if option not in EXPERIMENTS[name].options:
            taken = ", ".join(f"--{o}" for o in EXPERIMENTS[name].options) or "none"
            raise InvalidValue(f"{case} takes no --{option}; it takes: {taken}")
    return [name]


def run_experiment(
    name: str, options: Options | None = None, progress: Progress = silent
) -> Outcome:
    """Run one experiment by its name."""
    if name not in EXPERIMENTS:
        raise UnknownName("case", name, EXPERIMENTS)
    module = import_module(f"{__package__}.{EXPERIMENTS[name].module}")
    return cast("Outcome", module.run(options or Options(), progress))

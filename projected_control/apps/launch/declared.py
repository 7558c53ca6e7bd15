"""Arguments of the launch files, ``name:=value``, as records: nothing here needs launch or ROS."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from projected_control.apps.launch.choices import BOOLEANS
from projected_control.errors import InvalidValue, UnknownName
from projected_control.resources import PRESETS
from projected_control.settings.nodes import TASKS, demo_cases


class LaunchArgument(NamedTuple):
    """One of them."""

    name: str  # before the ``:=``
    default: str  # what counts where it is not given
    description: str  # for help
    # All that it takes; empty where it takes anything, which is checked later.
    choices: Sequence[str] = ()

    @property
    def help(self) -> str:
        """Its lines in a list of arguments."""
        takes = f" One of {', '.join(self.choices)}." if self.choices else ""
        return f"{self.description}{takes} (default: {self.default or 'empty'})"


def common(controller: str, preset: str) -> list[LaunchArgument]:
    """Which controller on which arm; these are the defaults."""
    return [
        LaunchArgument(
            "controller",
            controller,
            "motion: least torque (PIDC), which leans on the constraint what weight that can "
            "carry. force: carries the arm and holds the constraint force; to begin with where "
            "there is something to press on. passive: joints without a motor. idc: inverse "
            "dynamics, the baseline.",
            list(demo_cases()),
        ),
        LaunchArgument(
            "arm",
            "auto",
            "A file in config/ without its ending (three_link_slider, three_link_passive, "
            "slider_crank), or the path of a parameter file; auto is slider_crank for passive, "
            "else three_link_slider.",
        ),
        LaunchArgument(
            "preset",
            preset,
            "Gains and limits: a file in config/presets/ without its ending "
            f"({', '.join(PRESETS)}), or a path. What the arm's file says counts before it.",
        ),
        LaunchArgument(
            "friction",
            "false",
            "Joint friction of a simulated arm: Coulomb 0.3 N·m, viscous 0.05 N·m·s/rad.",
            list(BOOLEANS),
        ),
        LaunchArgument(
            "show",
            "false",
            "Print every parameter of the controller and where it came from.",
            list(BOOLEANS),
        ),
    ]


def task() -> LaunchArgument:
    """A mechanism or a task in place of a controller and an arm."""
    return LaunchArgument(
        "task",
        "",
        "A mechanism or task with the controller that fits it: "
        f"{', '.join(TASKS)}; empty for controller:=.",
    )


def read(words: Iterable[str], declared: Sequence[LaunchArgument]) -> dict[str, str]:
    """Every argument by name, as ``name:=value`` gives it or at its default.

    Raises:
        InvalidValue: Where a word is none, or a value is not one of its choices.
    """
    known = {argument.name: argument for argument in declared}
    given = {argument.name: argument.default for argument in declared}
    for word in words:
        name, sign, value = word.partition(":=")
        if not sign:
            raise InvalidValue(f"arguments are given as name:=value, got {word!r}")
        if name not in known:
            raise UnknownName("argument", name, known)
        if known[name].choices and value not in known[name].choices:
            listed = ", ".join(known[name].choices)
            raise InvalidValue(f"{name}:= must be one of {listed}, got {value!r}")
        given[name] = value
    return given

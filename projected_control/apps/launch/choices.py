"""What the launch files share: from arguments to settings. Nothing here needs launch or ROS."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from projected_control.errors import InvalidValue, ProjectedControlError, UnknownName
from projected_control.resources import share_file
from projected_control.settings import build, inspection
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import (
    CONTROLLERS,
    TASKS,
    ControllerSettings,
    DemoCase,
    NodeSettings,
    SimulatedArmSettings,
    demo_cases,
    nodes,
)

BOOLEANS = {"true": True, "false": False}

FRICTION = {"friction.coulomb": [0.3], "friction.viscous": [0.05]}
"""Friction of a simulated arm, as in the report on the papers' second table [N·m, N·m·s/rad]."""

EFFORT_CONTROLLERS = {
    "effort_controller": "effort_controllers",
    "forward_effort_controller": "forward_command_controller",
}
"""In config/ros2_control.yaml, the better one first, and the packages they need."""

CONTROLLERS_FILE = "ros2_control.yaml"
"""In config/, of the controller manager; the other files there are arms."""


PRIORITY = "realtime.priority"
ARM_PRIORITY, WATCHDOG_PRIORITY = 40, 50
"""SCHED_FIFO priorities on an arm behind ros2_control: the watchdog runs before whom it watches."""


def number(given: Mapping[str, str], name: str) -> float:
    """An argument as a number that is not negative."""
    try:
        value = float(given[name])
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0.0):
        raise InvalidValue(f"{name}:= must be a number from zero on, got {given[name]!r}")
    return value


def whole(given: Mapping[str, str], name: str) -> int:
    """An argument as a whole number that is not negative."""
    value = number(given, name)
    if value != round(value):
        raise InvalidValue(f"{name}:= must be a whole number, got {given[name]!r}")
    return round(value)


def priority(given: Mapping[str, str], chosen: Choice, node: str, default: int) -> dict[str, Any]:
    """Real-time priority of a node: priority:=, else what the files say, else this default."""
    if given["priority"]:
        return {PRIORITY: whole(given, "priority")}
    return {} if PRIORITY in chosen.layers.given(node) else {PRIORITY: default}


def arm_file(name: str, default: str) -> Path:
    """The parameter file of an arm: by name from config/, or by path."""
    if Path(name).suffix in (".yaml", ".yml"):
        return Path(name).expanduser()
    folder = share_file("config", f"{default}.yaml").parent
    there = sorted(p.stem for p in folder.glob("*.yaml") if p.name != CONTROLLERS_FILE)
    chosen = default if name == "auto" else name
    if chosen not in there:
        raise InvalidValue(
            f"arm:={name} is neither a path to a .yaml file nor one of {', '.join(there)}"
        )
    return folder / f"{chosen}.yaml"


@dataclass(frozen=True)
class Choice:
    """What the common arguments of the launch files amount to."""

    case: DemoCase  # the controller, and what it sets
    layers: Layers  # the parameters of preset, arm and controller
    joints: tuple[str, ...]  # that move
    passive: tuple[str, ...]  # those of them without a motor, as far as this controller knows such
    friction: Mapping[str, Any]  # friction of a simulated arm, as parameters

    @property
    def motors(self) -> list[str]:
        """Joints with a motor."""
        return [name for name in self.joints if name not in self.passive]

    @property
    def all_motors(self) -> dict[str, Any]:
        """For an arm whose controller moves all joints: none of them is passive."""
        return {} if self.passive else {"passive_joints": []}

    def settings(self, node: str, own: Mapping[str, Any]) -> NodeSettings:
        """The complete settings of a node, with values of the launch file's own on top."""
        return self.layers.on_top(own, "launch file and its arguments").settings(node)

    def controller(self, own: Mapping[str, Any]) -> ControllerSettings:
        """The complete settings of the controller, with values of the launch file's own on top."""
        layers = self.layers.on_top(own, "launch file and its arguments")
        return layers.controller(self.case.node)

    def values(self) -> dict[str, Any]:
        """Everything that is given to any node, by name."""
        return {k: v for node in nodes() for k, v in self.layers.values(node).items()}


def choose(given: Mapping[str, str]) -> Choice:
    """Read the files that the arguments name; raises where something is wrong with them."""
    task = given.get("task", "")
    if task and task not in TASKS:
        raise UnknownName("task", task, TASKS)
    case = TASKS[task] if task else demo_cases()[given["controller"]]
    file = arm_file(given["arm"], case.arm)
    layers = Layers.read([file], given["preset"])
    layers = layers.on_top(case.own, f"controller:={case.name}")
    arm = layers.arm()
    takes_passive = CONTROLLERS[case.node].takes_passive_joints
    if takes_passive and not arm.passive_joints:
        raise InvalidValue(
            f"controller:={case.name} needs an arm with passive_joints, and {file} names none"
        )
    passive = arm.passive_joints if takes_passive else ()
    joints = arm.joints or build.build_arm(arm).joint_names
    friction = FRICTION if BOOLEANS[given["friction"]] else {}
    return Choice(case, layers, tuple(joints), passive, friction)


def require_sound(choice: Choice, settings: NodeSettings) -> list[str]:
    """Raise where the controller would not start, as `projected-control check` finds; warnings."""
    if not isinstance(settings, ControllerSettings):
        raise InvalidValue(f"{settings.title()} is no controller")
    guess = choice.layers.arm().simulation.start
    return inspection.require_sound(choice.case.node, settings, guess)


def remarks(choice: Choice, settings: NodeSettings, *, show: bool) -> list[str]:
    """What is doubtful, and on demand where values came from; raises as `require_sound` does."""
    said = [f"WARNING: {warning}" for warning in require_sound(choice, settings)]
    return said + (choice.layers.table(choice.case.node) if show else [])


def given_values(settings: NodeSettings) -> dict[str, Any]:
    """What a node has to be told: what was given, though it be the default, and what differs.

    Of some parameters a node asks whether they were given (`Settings.said`).
    """
    defaults, said = type(settings).of({}).values(), settings.said
    return {
        name: value
        for name, value in settings.values().items()
        if name in said or name not in defaults or value != defaults[name]
    }


def ended_how(status: int) -> str:
    """What became of a process, in words."""
    return f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"


def summary_file(text: str) -> Path | None:
    """The file for the numbers of a run; its folder must be there before the run."""
    if not text:
        return None
    path = Path(text).expanduser().absolute()
    if not path.parent.is_dir():
        raise InvalidValue(f"summary:={text}: there is no folder {path.parent}; make it first")
    return path


def starting_positions(arm: SimulatedArmSettings) -> dict[str, float]:
    """Joint positions at which an arm starts, assembled on its constraint."""
    hardware = build.build_plant(arm)
    names = hardware.plant.model.arm.joint_names
    return dict(zip(names, hardware.plant.q.tolist(), strict=True))


def controllers_file(
    joints: Iterable[str],
    sensor: str,
    frame: str,
    text: str,
    rate: float = 1000.0,
    moving: Iterable[str] = (),
    sensed: bool = False,
    time_interface: str = "",
) -> str:
    """The controllers' parameter file, with the joints and the sensor of an arm filled in.

    Args:
        joints: With a motor.
        sensor: Name of the force-torque sensor.
        frame: That it measures in.
        text: The file as it is in config/.
        rate: Rate of the controller manager [Hz].
        moving: All joints that move; those with a motor where none are given.
        sensed: Whether our own plugin reads that sensor.
        time_interface: State interface with the arm's own time, which our plugin reads; or none.
    """
    content, joints = yaml.safe_load(text), list(joints)
    content["controller_manager"]["ros__parameters"]["update_rate"] = whole_rate(rate)
    for name in ("effort_controller", "forward_effort_controller"):
        content[name]["ros__parameters"]["joints"] = list(joints)
    content["projected_controller"]["ros__parameters"] |= {
        "joints": list(moving) or list(joints),
        "command_joints": list(joints),
        "sensor": sensor if sensed else "",
        "time_interface": time_interface,
    }
    broadcaster = content["force_torque_sensor_broadcaster"]["ros__parameters"]
    broadcaster |= {"sensor_name": sensor, "frame_id": frame}
    return str(yaml.safe_dump(content, sort_keys=False))


def whole_rate(rate: float) -> int:
    """A rate as a controller manager takes it [Hz]."""
    if rate != round(rate):
        raise InvalidValue(f"a controller manager's rate is a whole number of Hz, got {rate:g}")
    return round(rate)


def first_installed(candidates: Mapping[str, str], prefix_of: Any) -> str:
    """The first name whose package is installed.

    Args:
        candidates: Names, and the packages they need.
        prefix_of: Finds a package, or raises.
    """
    for name, package in candidates.items():
        try:
            prefix_of(package)
        except Exception:  # ament's own error, which must not be imported here
            continue
        return name
    raise ProjectedControlError(
        f"none of the packages {', '.join(candidates.values())} is installed "
        "(apt install ros-$ROS_DISTRO-ros2-controllers)"
    )

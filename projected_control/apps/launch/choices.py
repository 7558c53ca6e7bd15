"""What the launch files share: from arguments to settings. Nothing here needs launch or ROS."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.resources import share_file
from projected_control.settings import build
from projected_control.settings.files import read_parameter_file
from projected_control.settings.nodes import (
    ARM,
    NodeSettings,
    SimulatedArmSettings,
    checked,
    own_values,
)

BOOLEANS = {"true": True, "false": False}

FRICTION = {"friction.coulomb": [0.3], "friction.viscous": [0.05]}
"""Of a simulated arm, as in the report on the papers' second table [N·m, N·m·s/rad]."""

EFFORT_CONTROLLERS = {
    "effort_controller": "effort_controllers",
    "forward_effort_controller": "forward_command_controller",
}
"""In config/ros2_control.yaml, the better one first, and the packages they need."""

CONTROLLERS_FILE = "ros2_control.yaml"
"""In config/, of the controller manager; the other files there are arms."""


def number(given: Mapping[str, str], name: str) -> float:
    """An argument as a number that is not negative."""
    try:
        value = float(given[name])
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0.0):
        raise InvalidValue(f"{name}:= must be a number from zero on, got {given[name]!r}")
    return value


def arm_file(name: str, default: str) -> Path:
    """The parameter file of an arm: by name from config/, or by path."""
    if Path(name).suffix in (".yaml", ".yml"):
        return Path(name).expanduser()
    folder = share_file("config", f"{default}.yaml").parent
    there = sorted(p.stem for p in folder.glob("*.yaml") if p.name != CONTROLLERS_FILE)
    wanted = default if name == "auto" else name
    if wanted not in there:
        raise InvalidValue(
            f"arm:={name} is neither a path to a .yaml file nor one of {', '.join(there)}"
        )
    return folder / f"{wanted}.yaml"


def preset_file(name: str) -> Path:
    """The parameter file of a preset."""
    return share_file("config", "presets", f"{name}.yaml")


def read_all(files: Iterable[Path]) -> dict[str, Any]:
    """The settings of several files, later ones first."""
    return {name: value for path in files for name, value in read_parameter_file(path).items()}


def require_valid(node: str, settings: Mapping[str, Any]) -> NodeSettings:
    """A node's complete settings out of those of all nodes; raises where one is wrong."""
    return checked(node, own_values(node, settings))


def start_of(settings: Mapping[str, Any]) -> dict[str, float]:
    """Joint positions at which an arm's file starts it, assembled on its constraint."""
    hardware = build.build_plant(SimulatedArmSettings.of(own_values(ARM, settings)))
    names = hardware.plant.model.arm.joint_names
    return dict(zip(names, hardware.plant.q.tolist(), strict=True))


def controllers_file(joints: Iterable[str], sensor: str, frame: str, text: str) -> str:
    """The controllers' parameter file, with the joints and the sensor of an arm filled in.

    Args:
        joints: With a motor.
        sensor: Name of the force-torque sensor.
        frame: That it measures in.
        text: The file as it stands in config/.
    """
    content = yaml.safe_load(text)
    for name in ("effort_controller", "forward_effort_controller"):
        content[name]["ros__parameters"]["joints"] = list(joints)
    broadcaster = content["force_torque_sensor_broadcaster"]["ros__parameters"]
    broadcaster |= {"sensor_name": sensor, "frame_id": frame}
    return str(yaml.safe_dump(content, sort_keys=False))


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

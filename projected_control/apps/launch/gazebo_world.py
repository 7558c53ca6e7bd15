"""The files of an arm in Gazebo: its description, assembled; its world; what the bridge must know.

Gazebo welds the arm's tip to the slider's carriage as they stand in the description. So the
description is written at the very configuration in which the arm starts, with joint positions that
count from there; the bridge adds them up again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from projected_control.apps.launch.choices import FRICTION
from projected_control.errors import InvalidValue
from projected_control.model.description import read_description
from projected_control.resources import share_file
from projected_control.settings import build
from projected_control.settings.nodes import (
    ARM,
    ControllerSettings,
    SimulatedArmSettings,
    own_values,
)

SENSOR_TOPIC = "/tip_sensor"
"""Gazebo topic on which the force-torque sensor of urdf/gazebo.xacro publishes."""

WELD_TOPIC = "/slider"
"""Gazebo topics of its DetachableJoint system, which welds the tip to the slider, begin so."""


class GazeboFiles(NamedTuple):
    """What was written.

    Attributes:
        world: For ``gz sim``.
        model: The arm, which the world includes.
        bridge: What `projected_control.ros.gazebo_system` reads, if the controller is in Gazebo.
        parameters: Parameters of the controller.
        controllers: Controllers of ros2_control, if the arm is behind it.
        outcome: In which our system in Gazebo says what became of it (`ros.gazebo_outcome`).
    """

    world: Path
    model: Path
    bridge: Path
    parameters: Path
    controllers: Path
    outcome: Path


class WorldOptions(NamedTuple):
    """The scene.

    Attributes:
        yaw: Yaw angle of the arm in its world [rad].
        friction: Whether the joints have the friction of `choices.FRICTION`.
        factor: Speed of time against the clock; zero for as fast as it goes.
        world: Another world: a xacro file with the arguments of worlds/constrained_arm.sdf.xacro.
    """

    yaw: float = 0.0
    friction: bool = False
    factor: float = 0.0
    world: Path | None = None


PLAIN = WorldOptions()


def start_in(settings: Mapping[str, Any]) -> tuple[dict[str, float], float]:
    """Joint positions at the start, on the constraint, and the tip's place along the slider [m]."""
    arm_settings = SimulatedArmSettings.of(own_values(ARM, settings))
    step = {"simulation.step": 1.0 / arm_settings.rate}  # of our own simulation, not of Gazebo's
    hardware = build.build_plant(arm_settings.changed(step))
    arm, q = hardware.plant.model.arm, hardware.plant.q
    for frame in ("tip", "slider"):
        if frame not in arm.frame_names:
            raise InvalidValue(
                f"an arm in Gazebo needs the frames tip and slider, and {arm.name} has no {frame}"
            )
    arm.update(q, np.zeros(arm.n))
    slider, tip = arm.frame("slider"), arm.frame("tip")
    along = float(slider.rotation[:, 0] @ (tip.position - slider.position))
    return dict(zip(arm.joint_names, q.tolist(), strict=True)), along


def pose_arguments(settings: Mapping[str, Any]) -> dict[str, str]:
    """xacro arguments of a description that stands where the arm starts."""
    start, along = start_in(settings)
    poses = {f"pose{i}": repr(q) for i, q in enumerate(start.values(), start=1)}
    return {**poses, "pose_along": repr(along)}


def write_files(
    folder: Path,
    node: str,
    controller: ControllerSettings,
    settings: Mapping[str, Any],
    setting: WorldOptions = PLAIN,
    *,
    summary: Path | None = None,
) -> GazeboFiles:
    """Write what ``gz sim`` needs for an arm with our controller in its physics step.

    Args:
        folder: Where to, an absolute path.
        node: Kind of the controller node.
        controller: Its settings, complete.
        settings: Settings of the arm and its start, as in the files in config/.
        setting: The scene.
        summary: File for the numbers of the run, written when the world ends; none if not given.
    """
    files = _files(folder)
    files.parameters.write_text(_parameter_file(controller.values()), encoding="utf-8")
    bridge = {
        "node": node,
        "parameters": str(files.parameters),
        "start": start_in(settings)[0],
        "sensor": SENSOR_TOPIC,
        "weld": WELD_TOPIC,
        "friction": _friction(setting),
        "outcome": str(files.outcome),
        "summary": "" if summary is None else str(summary),
    }
    files.bridge.write_text(json.dumps(bridge, indent=2), encoding="utf-8")
    _write_scene(files, controller, settings, setting, {"settings": str(files.bridge)})
    return files


def write_ros2_control_files(
    folder: Path,
    controller: ControllerSettings,
    settings: Mapping[str, Any],
    controllers: str,
    passive: Sequence[str],
    setting: WorldOptions = PLAIN,
) -> GazeboFiles:
    """Write what ``gz sim`` needs for an arm behind gz_ros2_control, as a real one.

    The parameters are then those for ``hardware.launch.py hardware:=running``.

    Args:
        folder: Where to, an absolute path.
        controller: Settings of the controller, complete.
        settings: Settings of the arm and its start, as in the files in config/.
        controllers: Parameter file of the controller manager, as text.
        passive: Joints without a motor.
        setting: The scene.
    """
    files = _files(folder)
    content = yaml.safe_load(controllers)
    content["controller_manager"]["ros__parameters"]["use_sim_time"] = True
    files.controllers.write_text(yaml.safe_dump(content), encoding="utf-8")
    more = {
        "joint_offsets": list(start_in(settings)[0].values()),  # Gazebo counts from the start
        "ros2_control.wrench": "wrench",
        "constraint.wrench_frame": "tip",
    }
    files.parameters.write_text(_parameter_file({**settings, **more}), encoding="utf-8")
    arguments = {
        "controllers": str(files.controllers),
        "hardware": "gz_ros2_control/GazeboSimSystem",
        "passive": " ".join(passive),
    }
    _write_scene(files, controller, settings, setting, arguments)
    return files


def _files(folder: Path) -> GazeboFiles:
    names = ("world.sdf", "arm.urdf", "bridge.json", "controller.yaml", "controllers.yaml")
    return GazeboFiles(*(folder / name for name in (*names, "outcome.txt")))


def _friction(setting: WorldOptions) -> dict[str, float]:
    """Of every joint, in the terms of `JointFriction`."""
    kinds = ("coulomb", "viscous") if setting.friction else ()
    return {kind: FRICTION[f"friction.{kind}"][0] for kind in kinds}


def _parameter_file(settings: Mapping[str, Any]) -> str:
    return str(yaml.safe_dump({"/**": {"ros__parameters": dict(settings)}}))


def _write_scene(
    files: GazeboFiles,
    controller: ControllerSettings,
    settings: Mapping[str, Any],
    setting: WorldOptions,
    arguments: Mapping[str, str],
) -> None:
    """The arm as Gazebo gets it, and the world around it."""
    given = dict(item.split(":=", 1) for item in controller.robot_description_arguments)
    given |= pose_arguments(settings)
    if setting.friction:
        friction = _friction(setting)
        given |= {"friction": repr(friction["coulomb"]), "damping": repr(friction["viscous"])}
    given |= {"gazebo": "true", "yaw": repr(setting.yaw), **arguments}
    description = build.description_file(controller.robot_description_file)
    files.model.write_text(read_description(description, given).urdf, encoding="utf-8")
    text = expand_world(
        setting.world or share_file("worlds", "constrained_arm.sdf.xacro"),
        {
            "model": str(files.model),
            "step": repr(1.0 / controller.rate),
            "gravity": repr(controller.gravity),
            "factor": repr(setting.factor),
        },
    )
    files.world.write_text(text, encoding="utf-8")


def expand_world(path: Path, arguments: Mapping[str, str]) -> str:
    """A world from its xacro file."""
    import xacro

    try:
        document = xacro.process_file(str(path), mappings=dict(arguments))
    except Exception as error:  # xacro raises whatever an expression raises
        raise InvalidValue(f"the world {path} cannot be read: {error}") from None
    return str(document.toprettyxml(indent="  "))

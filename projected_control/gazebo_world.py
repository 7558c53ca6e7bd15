"""The files of an arm in Gazebo: its description, assembled; its world; what the bridge must know.

Gazebo welds the arm's tip to the slider's carriage as they stand in the description. So the
description is written at the very configuration in which the arm starts, with joint positions that
count from there; the bridge adds them up again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from projected_control import configuration
from projected_control.description import read_description
from projected_control.errors import InvalidValue
from projected_control.parameters import ARM, checked, parameters_of
from projected_control.resources import share_file

COULOMB, VISCOUS = "0.3", "0.05"
"""Friction of joints, if they have any [N·m, N·m·s/rad]; see also `launching.FRICTION`."""

SENSOR_TOPIC = "/tip_sensor"
"""Of Gazebo, where the force-torque sensor of urdf/gazebo.xacro publishes."""


class GazeboFiles(NamedTuple):
    """What was written.

    Attributes:
        world: For ``gz sim``.
        model: The arm, which the world includes.
        bridge: What `projected_control.hardware.gazebo` reads.
        parameters: Of the controller.
    """

    world: Path
    model: Path
    bridge: Path
    parameters: Path


def start_in(settings: Mapping[str, Any]) -> tuple[dict[str, float], float]:
    """Joint positions at the start, on the constraint, and the tip's place along the slider [m]."""
    own = {name: value for name, value in settings.items() if name in parameters_of(ARM)}
    hardware, _ = configuration.build_plant(checked(ARM, own))
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
    controller: Mapping[str, Any],
    settings: Mapping[str, Any],
    *,
    yaw: float = 0.0,
    friction: bool = False,
    factor: float = 0.0,
    world: Path | None = None,
    summary: Path | None = None,
) -> GazeboFiles:
    """Write everything that ``gz sim`` needs for an arm with our controller in its physics step.

    Args:
        folder: Where to, an absolute path.
        node: Kind of the controller node.
        controller: Its settings, complete.
        settings: Of the arm and its start, as in the files in config/.
        yaw: Of the arm in its world [rad].
        friction: Give its joints in Gazebo the friction of `launching.FRICTION`.
        factor: Speed of time against the clock; zero for as fast as it goes.
        world: Another world: a xacro file with the arguments of worlds/constrained_arm.sdf.xacro.
        summary: File for the numbers of the run, written when the world ends; none if not given.
    """
    names = ("world.sdf", "arm.urdf", "bridge.json", "controller.yaml")
    files = GazeboFiles(*(folder / name for name in names))
    arguments = dict(item.split(":=", 1) for item in controller["robot_description_arguments"])
    description = configuration.description_file(controller["robot_description_file"])
    arguments |= pose_arguments(settings)
    if friction:
        arguments |= {"friction": COULOMB, "damping": VISCOUS}
    arguments |= {"gazebo": "true", "yaw": repr(yaw), "settings": str(files.bridge)}
    files.model.write_text(read_description(description, arguments).urdf, encoding="utf-8")
    parameters = {k: v for k, v in controller.items() if v not in ([], "")}
    files.parameters.write_text(
        yaml.safe_dump({"/**": {"ros__parameters": parameters}}), encoding="utf-8"
    )
    bridge = {
        "node": node,
        "parameters": str(files.parameters),
        "start": start_in(settings)[0],
        "sensor": SENSOR_TOPIC,
        "summary": "" if summary is None else str(summary),
    }
    files.bridge.write_text(json.dumps(bridge, indent=2), encoding="utf-8")
    text = expand_world(
        world or share_file("worlds", "constrained_arm.sdf.xacro"),
        {
            "model": str(files.model),
            "step": repr(1.0 / controller["rate"]),
            "gravity": repr(controller["gravity"]),
            "factor": repr(factor),
        },
    )
    files.world.write_text(text, encoding="utf-8")
    return files


def expand_world(path: Path, arguments: Mapping[str, str]) -> str:
    """A world from its xacro file."""
    import xacro

    try:
        document = xacro.process_file(str(path), mappings=dict(arguments))
    except Exception as error:  # xacro raises whatever an expression raises
        raise InvalidValue(f"the world {path} cannot be read: {error}") from None
    return str(document.toprettyxml(indent="  "))

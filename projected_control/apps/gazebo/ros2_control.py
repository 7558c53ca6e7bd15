"""The files of an arm in Gazebo that is behind gz_ros2_control, as a real one would be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np
import pinocchio
import yaml

from projected_control.apps.gazebo.model import plugin
from projected_control.apps.gazebo.visuals import in_text, origin_of
from projected_control.apps.gazebo.world_files import (
    PLAIN,
    GazeboFiles,
    WorldOptions,
    files_in,
    start_in,
    wrench_frame,
    write_scene,
)
from projected_control.apps.launch.hardware_block import with_hardware
from projected_control.errors import InvalidValue
from projected_control.settings.files import ALL_NODES, parameter_text
from projected_control.settings.nodes import ControllerSettings
from projected_control.settings.real_arms import WEIGHT

HARDWARE = "gz_ros2_control/GazeboSimSystem"
SENSOR = "tip_sensor"  # name of the force-torque sensor for ros2_control, as in the model
LIBRARIES = ("libgz_hardware_plugins.so", "libgz_ros2_control-system.so")  # of gz_ros2_control
FORCE_COMPONENT = b"components.ForceTorque"  # in one of them where it hands force-torque sensors on


def hands_force_on(prefixes: Iterable[Path]) -> bool:
    """Whether gz_ros2_control gives a controller the measured force: early releases do not."""
    files = [prefix / "lib" / name for prefix in prefixes for name in LIBRARIES]
    return any(FORCE_COMPONENT in file.read_bytes() for file in files if file.is_file())


def write_ros2_control_files(
    folder: Path,
    controller: ControllerSettings,
    settings: Mapping[str, Any],
    controllers: str,
    motors: Sequence[str],
    options: WorldOptions = PLAIN,
    *,
    sensed: bool = False,
) -> GazeboFiles:
    """Write what ``gz sim`` needs for an arm behind gz_ros2_control.

    The parameters are then those for ``hardware.launch.py hardware:=running``.

    Args:
        folder: Where to, an absolute path.
        controller: Settings of the controller, complete.
        settings: Settings of the arm and its start, as in the files in config/.
        controllers: Parameter file of the controller manager, as text.
        motors: Joints with a motor.
        options: The scene.
        sensed: Whether a controller in the manager reads the force.
    """
    files, start = files_in(folder), start_in(settings)
    own = start.settings
    if own.friction.contact or own.sensor.noise or own.sensor.delay:
        raise InvalidValue(
            "friction at the contact, and noise and delay of the sensor, are made by our system in "
            "Gazebo, which bridge:=ros2_control goes without: leave friction.contact, sensor.noise "
            "and sensor.delay out, or use bridge:=lockstep"
        )
    content = yaml.safe_load(controllers)
    content["controller_manager"]["ros__parameters"]["use_sim_time"] = True
    files.controllers.write_text(yaml.safe_dump(content), encoding="utf-8")
    more: dict[str, Any] = {
        "joint_offsets": start.q.tolist(),  # Gazebo counts from the start
        WEIGHT: controller.effort_includes_gravity,  # the world's gravity follows from it
    }
    frame = wrench_frame(controller, start)
    if frame:
        more |= {"ros2_control.wrench": "wrench", "constraint.wrench_frame": frame}
    text = parameter_text({ALL_NODES: {**settings, **more}})
    files.parameters.write_text(text, encoding="utf-8")
    system = plugin(
        "gz_ros2_control-system",
        "gz_ros2_control::GazeboSimROS2ControlPlugin",
        parameters=str(files.controllers),
    )
    write_scene(files, controller, start, options, [system])
    urdf = with_hardware(
        fold_start(start.arm.urdf, start.positions),
        HARDWARE,
        dict.fromkeys(start.arm.joint_names, 0.0),
        motors,
        SENSOR if sensed else "",
        frame,
    )
    files.description.write_text(urdf, encoding="utf-8")
    return files


def fold_start(urdf: str, start: Mapping[str, float]) -> str:
    """The description in which all joints named stand at zero where the arm starts.

    Joints that are not named are fixed where they are.

    Args:
        urdf: The description, with every limit written down (see `model.description`).
        start: Positions at the start, by joint [rad or m].
    """
    root = ElementTree.fromstring(urdf)
    for joint in root.findall("joint"):
        if joint.get("type") == "fixed":
            continue
        name = joint.get("name", "")
        if name in start:
            _fold(joint, start[name])
        else:
            joint.set("type", "fixed")
    return ElementTree.tostring(root, encoding="unicode")


def _fold(joint: Element, position: float) -> None:
    origin = joint.find("origin")
    if origin is None:
        origin = SubElement(joint, "origin")
    named = joint.find("axis")
    axis = np.array([float(x) for x in (named.get("xyz", "") if named is not None else "").split()])
    axis = axis / np.linalg.norm(axis) if axis.size else np.array([1.0, 0.0, 0.0])
    place = origin_of(origin)
    if joint.get("type") == "prismatic":
        place = place * pinocchio.SE3(np.eye(3), position * axis)
    else:
        place = place * pinocchio.SE3(pinocchio.exp3(position * axis), np.zeros(3))
    origin.set("xyz", in_text(place.translation))
    origin.set("rpy", in_text(pinocchio.rpy.matrixToRpy(place.rotation)))
    limit = joint.find("limit")
    if limit is not None:
        for side in ("lower", "upper"):
            limit.set(side, repr(float(limit.get(side, "0")) - position))

"""A controller on an arm behind ros2_control, with its watchdog.

No arm at all, to see whether everything comes up:
    ros2 launch projected_control hardware.launch.py dry_run:=true
The simulated arm behind the real controller manager:
    ros2 launch projected_control hardware.launch.py hardware:=simulated controller:=force
An arm whose driver has brought its own controller manager:
    ros2 launch projected_control hardware.launch.py hardware:=running arm:=my_arm.yaml
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_prefix
from launch.action import Action
from launch.actions import (
    DeclareLaunchArgument,
    OpaqueFunction,
    Shutdown,
    TimerAction,
)
from launch.event_handlers import OnShutdown
from launch.launch_context import LaunchContext
from launch.launch_description import LaunchDescription
from launch_ros.actions import LifecycleNode, Node
from launch_ros.parameter_descriptions import ParameterValue

from projected_control.apps.launch import choices, parts
from projected_control.apps.launch.choices import BOOLEANS
from projected_control.model.description import read_description
from projected_control.resources import share_file
from projected_control.settings import build
from projected_control.settings.nodes import ARM, WATCHDOG

PLUGINS = {
    "mock": "mock_components/GenericSystem",
    "simulated": "joint_state_topic_hardware_interface/JointStateTopicSystem",
}
RUNNING = "running"

SENSOR = "tip_sensor"

COMMAND_TIMEOUT = 0.04
"""Of the simulated arm's drive, as a UR's [s]."""

LAST_SECONDS = 5.0
"""For which the others go on when a node has ended: the watchdog to send zeros, the controller to
give the arm back [s]."""

ARGUMENTS = [
    *parts.arguments("motion", "gentle"),
    DeclareLaunchArgument(
        "hardware",
        default_value="mock",
        description="mock: no arm, for a dry run. simulated: the simulated arm behind the real "
        "controller manager. running: a controller manager that is there already, with its arm. "
        "Or the name of a ros2_control plugin.",
    ),
    DeclareLaunchArgument(
        "dry_run",
        default_value="false",
        choices=list(BOOLEANS),
        description="No arm whatever hardware:= says, and a reference that stays where the arm is.",
    ),
    DeclareLaunchArgument(
        "controller_manager",
        default_value="controller_manager",
        description="Its name; with hardware:=running.",
    ),
    DeclareLaunchArgument(
        "priority",
        default_value="",
        description="SCHED_FIFO priority of our nodes, 1 to 99; 0 for the ordinary scheduler; "
        "empty for 40, and 50 for the watchdog, where the system permits it.",
    ),
    DeclareLaunchArgument(
        "lock_memory",
        default_value="false",
        choices=list(BOOLEANS),
        description="Keep the memory of our nodes in RAM.",
    ),
]


def generate_launch_description() -> LaunchDescription:
    """What `ros2 launch` runs."""
    return parts.description(ARGUMENTS, start)


def start(context: LaunchContext) -> list[Action]:
    """Check the arguments as a whole; then the manager, its controllers, and ours, in order."""
    given = context.launch_configurations
    case, files, settings, passive, motors, friction = parts.choice(given)
    hardware = "mock" if BOOLEANS[given["dry_run"]] else given["hardware"]
    has_sensor = hardware not in ("simulated", RUNNING)

    steady = {
        **(
            {"realtime.priority": int(choices.number(given, "priority"))}
            if given["priority"]
            else {}
        ),
        "realtime.lock_memory": BOOLEANS[given["lock_memory"]],
    }
    reached = {
        **steady,
        "hardware": "ros2_control",
        "ros2_control.manager": given["controller_manager"],
    }
    own: dict[str, dict[str, Any]] = {
        WATCHDOG: {**reached, "controller": case.node, "joints": motors},
        case.node: {
            **reached,
            **case.own,
            "watchdog": WATCHDOG,
            **({"reference.kind": "hold"} if hardware == "mock" else {}),
            **({"ros2_control.wrench": "wrench"} if hardware == "simulated" else {}),
        },
    }
    if hardware == "simulated":
        own[ARM] = {
            **steady,
            "simulation.interface": "joint_commands",
            "simulation.command_timeout": COMMAND_TIMEOUT,
            "simulation.brake": True,
            **friction,
            **({} if passive else {"passive_joints": [""]}),
        }
    for node, values in own.items():
        choices.require_valid(node, {**settings, **values})

    nodes = {name: our_node(name, files, values) for name, values in own.items()}
    ours: list[Action] = [nodes[WATCHDOG], nodes[case.node]]
    if hardware == RUNNING:
        return ours

    parameters = write_controllers(context, settings, motors)
    effort = choices.first_installed(choices.EFFORT_CONTROLLERS, get_package_prefix)
    broadcasters = ["joint_state_broadcaster"]
    if has_sensor:
        broadcasters.append("force_torque_sensor_broadcaster")
    plugin = PLUGINS.get(hardware, hardware)
    first = parts.spawner(broadcasters, parameters)
    second = parts.spawner([effort], parameters, "--inactive")
    return [
        robot_state_publisher(settings, plugin, passive, SENSOR if has_sensor else ""),
        # Where it dies, the launch goes on: our nodes say what happened.
        Node(
            package="controller_manager",
            executable="ros2_control_node",
            parameters=[str(parameters)],
            output="screen",
            emulate_tty=True,
        ),
        *([nodes[ARM]] if ARM in nodes else []),
        first,
        parts.after(first, [second], "the broadcasters"),
        parts.after(second, ours, effort),
    ]


def our_node(name: str, files: list[Path], values: dict[str, Any]) -> LifecycleNode:
    """A node of this package; the launch ends with it."""
    return LifecycleNode(
        package="projected_control",
        executable=name,
        name=name,
        namespace="",
        parameters=[*map(str, files), values],
        remappings=[("joint_states", "arm/joint_states")] if name == ARM else [],
        output="screen",
        emulate_tty=True,
        on_exit=[OpaqueFunction(function=end_together, args=[name])],
    )


def robot_state_publisher(
    settings: dict[str, Any], plugin: str, passive: list[str], sensor: str
) -> Node:
    """Publishes the description, from which the controller manager learns of its hardware."""
    arguments = dict(
        item.split(":=", 1) for item in settings.get("robot_description_arguments", [])
    )
    starts = choices.start_of(settings)
    arguments |= {f"start{i}": str(q) for i, q in enumerate(starts.values(), start=1)}
    arguments |= {"hardware": plugin, "passive": " ".join(passive), "force_sensor": sensor}
    file = build.description_file(settings["robot_description_file"])
    text = read_description(file, arguments).urdf
    return Node(
        package="robot_state_publisher",
        executable="robot_state_publisher",
        parameters=[{"robot_description": ParameterValue(text, value_type=str)}],
        output="screen",
    )


def write_controllers(context: LaunchContext, settings: dict[str, Any], motors: list[str]) -> Path:
    """The controllers' parameters for this arm, in a file that goes when the launch ends."""
    text = share_file("config", choices.CONTROLLERS_FILE).read_text(encoding="utf-8")
    frame = settings.get("constraint.frame", "tip")
    handle, name = tempfile.mkstemp(prefix="projected_control_controllers_", suffix=".yaml")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(choices.controllers_file(motors, SENSOR, frame, text))
    path = Path(name)
    context.register_event_handler(OnShutdown(on_shutdown=lambda *_: path.unlink(missing_ok=True)))
    return path


def end_together(context: LaunchContext, name: str) -> list[Action]:
    """When one of our nodes has ended, end the others, when they have seen to the arm."""
    if context.is_shutdown:
        return []
    return [TimerAction(period=LAST_SECONDS, actions=[Shutdown(reason=f"{name} ended")])]

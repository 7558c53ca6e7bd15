"""A controller on an arm in Gazebo.

ros2 launch projected_control gazebo.launch.py controller:=force
ros2 launch projected_control gazebo.launch.py gui:=true factor:=1
ros2 launch projected_control gazebo.launch.py --show-args
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from launch.action import Action
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    OpaqueFunction,
    RegisterEventHandler,
    Shutdown,
)
from launch.event_handlers import OnShutdown
from launch.launch_context import LaunchContext
from launch.launch_description import LaunchDescription

import projected_control
from projected_control import gazebo_world, launch_parts, launching
from projected_control.errors import ProjectedControlError
from projected_control.hardware.gazebo import find_gazebo
from projected_control.launching import BOOLEANS

ARGUMENTS = [
    *launch_parts.arguments("force", "paper"),
    DeclareLaunchArgument(
        "gui", default_value="false", choices=list(BOOLEANS), description="Show Gazebo's window."
    ),
    DeclareLaunchArgument(
        "world",
        default_value="",
        description="Another world: a xacro file with the arguments of "
        "worlds/constrained_arm.sdf.xacro.",
    ),
    DeclareLaunchArgument(
        "factor",
        default_value="0",
        description="Speed of time against the clock; 0 for as fast as it goes.",
    ),
    DeclareLaunchArgument(
        "yaw", default_value="0", description="By which the arm is turned in its world, in rad."
    ),
    DeclareLaunchArgument(
        "seconds", default_value="0", description="End after this much simulated time; 0 for never."
    ),
    DeclareLaunchArgument(
        "summary",
        default_value="",
        description="File for the numbers of the run, as JSON, written when Gazebo ends.",
    ),
]


def generate_launch_description() -> LaunchDescription:
    """What `ros2 launch` runs."""
    return launch_parts.description(ARGUMENTS, start)


def start(context: LaunchContext) -> list[Action]:
    """Check the arguments as a whole, write the world, start Gazebo."""
    given = context.launch_configurations
    require_gazebo()
    case, _, settings, _, _, friction = launch_parts.choice(given)
    settings |= case.own
    controller = launching.require_valid(case.node, settings)
    folder = Path(tempfile.mkdtemp(prefix="projected_control_gazebo_"))
    written = gazebo_world.write_files(
        folder,
        case.node,
        controller,
        settings,
        yaw=float(given["yaw"]),
        friction=bool(friction),
        factor=launching.number(given, "factor"),
        world=Path(given["world"]).expanduser() if given["world"] else None,
        summary=Path(given["summary"]).expanduser().absolute() if given["summary"] else None,
    )
    seconds = launching.number(given, "seconds")
    iterations = ["--iterations", str(round(seconds * controller["rate"]))] if seconds else []
    server = [] if BOOLEANS[given["gui"]] else ["-s"]
    return [
        ExecuteProcess(
            cmd=["gz", "sim", "-r", *server, *iterations, str(written.world)],
            additional_env={"PYTHONPATH": python_path()},
            output="screen",
            on_exit=[OpaqueFunction(function=end)],
        ),
        RegisterEventHandler(
            OnShutdown(on_shutdown=lambda *_: shutil.rmtree(folder, ignore_errors=True))
        ),
    ]


def require_gazebo() -> None:
    """Say what to install where something is missing."""
    if shutil.which("gz") is None:
        raise ProjectedControlError(
            "Gazebo is not installed: apt install ros-$ROS_DISTRO-ros-gz and source its setup file"
        )
    find_gazebo()


def python_path() -> str:
    """Where Gazebo's own interpreter finds this package."""
    here = str(Path(projected_control.__file__).resolve().parents[1])
    there = os.environ.get("PYTHONPATH", "")
    return f"{here}:{there}" if there else here


def end(context: LaunchContext) -> list[Action]:
    """The launch ends with Gazebo."""
    return [] if context.is_shutdown else [Shutdown(reason="Gazebo ended")]

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
    SetEnvironmentVariable,
    Shutdown,
)
from launch.event_handlers import OnShutdown
from launch.launch_context import LaunchContext
from launch.launch_description import LaunchDescription
from launch.substitutions import EnvironmentVariable

import projected_control
from projected_control import gazebo_world, launching
from projected_control.demo.case import CASES
from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.hardware.gazebo import find_gazebo
from projected_control.launching import BOOLEANS
from projected_control.parameters import PASSIVE
from projected_control.resources import PRESETS

ARGUMENTS = [
    DeclareLaunchArgument(
        "controller",
        default_value="force",
        choices=list(CASES),
        description="motion: least torque (PIDC). force: the same, and the constraint force held. "
        "passive: joints without a motor. idc: inverse dynamics, the baseline.",
    ),
    DeclareLaunchArgument(
        "arm",
        default_value="auto",
        description="A file in config/ without its ending (three_link_slider, three_link_passive, "
        "slider_crank), or the path of a parameter file; auto is slider_crank for passive, else "
        "three_link_slider.",
    ),
    DeclareLaunchArgument(
        "preset",
        default_value="paper",
        choices=list(PRESETS),
        description="Gains and limits, a file in config/presets/.",
    ),
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
        "friction",
        default_value="false",
        choices=list(BOOLEANS),
        description="Joint friction: Coulomb 0.3 N·m, viscous 0.05 N·m·s/rad.",
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
    return LaunchDescription(
        [
            *ARGUMENTS,
            SetEnvironmentVariable(
                "ROS_AUTOMATIC_DISCOVERY_RANGE",
                EnvironmentVariable("ROS_AUTOMATIC_DISCOVERY_RANGE", default_value="LOCALHOST"),
            ),
            OpaqueFunction(function=start),
        ]
    )


def start(context: LaunchContext) -> list[Action]:
    """Check the arguments as a whole, write the world, start Gazebo."""
    given = context.launch_configurations
    require_gazebo()
    case = CASES[given["controller"]]
    files = [launching.arm_file(given["arm"], case.arm), launching.preset_file(given["preset"])]
    settings = {**launching.read_all(files), **case.own}
    if case.node == PASSIVE and not settings.get("passive_joints"):
        raise InvalidValue(
            f"controller:=passive needs an arm with passive_joints, and {files[0]} names none"
        )
    controller = launching.require_valid(case.node, settings)
    folder = Path(tempfile.mkdtemp(prefix="projected_control_gazebo_"))
    written = gazebo_world.write_files(
        folder,
        case.node,
        controller,
        settings,
        yaw=float(given["yaw"]),
        friction=BOOLEANS[given["friction"]],
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

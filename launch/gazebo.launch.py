"""A controller on an arm in Gazebo: any arm, on a line, a plane, a circle, at a point or a hinge.

ros2 launch projected_control gazebo.launch.py controller:=force
ros2 launch projected_control gazebo.launch.py task:=wipe
ros2 launch projected_control gazebo.launch.py controller:=force arm:=seven_joints contact:=0.3
ros2 launch projected_control gazebo.launch.py gui:=true factor:=1
ros2 launch projected_control gazebo.launch.py --show-args

`projected-control gazebo` starts the same without launch, but for bridge:=ros2_control.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ament_index_python.packages import get_package_prefix
from launch.action import Action
from launch.actions import (
    ExecuteProcess,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
    Shutdown,
    TimerAction,
)
from launch.events.process import ProcessExited
from launch.launch_context import LaunchContext
from launch.launch_description import LaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import Node

from projected_control.apps.gazebo import gazebo_run
from projected_control.apps.gazebo import ros2_control as behind
from projected_control.apps.gazebo.arguments import ARGUMENTS, ROS2_CONTROL
from projected_control.apps.gazebo.gazebo_run import Process, Request
from projected_control.apps.gazebo.model import SENSOR_TOPIC
from projected_control.apps.launch import choices, loop_choice, parts
from projected_control.errors import ProjectedControlError
from projected_control.native.plugin_build import ros_prefixes
from projected_control.resources import share_file
from projected_control.ros.gazebo_stopwatch import read_outcome, was_loaded
from projected_control.settings import build
from projected_control.with_parent import tied

Ended = Callable[[ProcessExited, LaunchContext], list[Action]]


def generate_launch_description() -> LaunchDescription:
    """What `ros2 launch` runs."""
    return parts.description([parts.declare(argument) for argument in ARGUMENTS], start)


def start(context: LaunchContext) -> list[Action]:
    """Check the arguments as a whole, write the world, start Gazebo."""
    request = gazebo_run.requested(context.launch_configurations)
    through = request.given["bridge"] == ROS2_CONTROL
    make = through_ros2_control if through else in_the_physics_step
    actions = make(request, gazebo_run.temporary_folder())
    return [*(LogInfo(msg=line) for line in request.said), *actions]


def in_the_physics_step(request: Request, folder: Path) -> list[Action]:
    """The controller is a part of Gazebo."""
    written, (gazebo, *others) = gazebo_run.in_the_physics_step(request, folder)

    def ended(event: ProcessExited, context: LaunchContext) -> list[Action]:
        reason = gazebo_run.judge(written.outcome, event.returncode, context.is_shutdown)
        gazebo_run.tidy(folder)
        if reason and context.is_shutdown:
            raise ProjectedControlError(reason)  # no timer fires any more; its status is then 1
        if reason:
            return parts.fail(reason)
        return [] if context.is_shutdown else [Shutdown(reason="Gazebo ended")]

    def judge(context: LaunchContext) -> list[Action]:
        if was_loaded(written.outcome):
            return []
        return parts.fail(read_outcome(written.outcome))

    return [
        started(gazebo, ended),
        TimerAction(period=gazebo_run.LOADING_SECONDS, actions=[OpaqueFunction(function=judge)]),
        *(started(process) for process in others),
    ]


def through_ros2_control(request: Request, folder: Path) -> list[Action]:
    """The controller reaches Gazebo as it reaches a real arm."""
    given, chosen, controller = request.given, request.chosen, request.controller
    settings = {**chosen.values(), **(gazebo_run.DRAWN if request.drawn else {})}
    text = share_file("config", choices.CONTROLLERS_FILE).read_text(encoding="utf-8")
    senses = build.build_loop(chosen.case.node, controller).needs_wrench
    loop = choose_loop(request, senses)
    controllers = choices.controllers_file(
        chosen.motors,
        behind.SENSOR,
        controller.constraint.frame,
        text,
        controller.rate,
        chosen.joints,
        sensed=senses,
    )
    written = behind.write_ros2_control_files(
        folder,
        controller,
        settings,
        controllers,
        chosen.motors,
        request.options,
        sensed=loop.plugin and senses,
    )
    effort = loop_choice.CONTROLLER
    if not loop.plugin:
        effort = choices.first_installed(choices.EFFORT_CONTROLLERS, get_package_prefix)
    first = parts.spawner(["joint_state_broadcaster"], written.controllers)
    second = parts.spawner([effort], written.controllers, "--inactive")
    ours = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(share_file("launch", "hardware.launch.py"))),
        launch_arguments={
            "hardware": "running",
            "may_fall": "true",
            "loop": loop_choice.PLUGIN if loop.plugin else loop_choice.TOPICS,
            "arm": str(written.parameters),
            "controller": given["controller"],
            "task": given["task"],
            "preset": given["preset"],
            "rate": str(controller.rate),
            "friction": "false",
            "show": "false",
            "sensor": behind.SENSOR if loop.plugin and senses else "",
        }.items(),
    )

    def ended(event: ProcessExited, context: LaunchContext) -> list[Action]:
        gazebo_run.tidy(folder)
        return parts.end_with(context, "Gazebo", event.returncode)

    urdf = written.description.read_text(encoding="utf-8")
    return [
        *([LogInfo(msg=loop.said)] if loop.said else []),
        started(gazebo_run.state_publisher(urdf, folder)),
        Node(
            package="ros_gz_bridge",
            executable="parameter_bridge",
            arguments=[
                "/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock",
                f"{SENSOR_TOPIC}@geometry_msgs/msg/WrenchStamped[gz.msgs.Wrench",
            ],
            remappings=[(SENSOR_TOPIC, "/wrench")],
            **parts.tie("parameter_bridge"),
            on_exit=lambda event, context: parts.end_with(
                context, "ros_gz_bridge", event.returncode
            ),
        ),
        started(gazebo_run.simulator(request, written.world), ended),
        first,
        parts.after(first, [second], "the joint state broadcaster"),
        parts.after(second, [ours], effort),
        *([started(gazebo_run.rviz(chosen.case.node))] if request.drawn else []),
    ]


def choose_loop(request: Request, senses: bool) -> loop_choice.LoopChoice:
    """Where the ticks are made; in Gazebo's own process the force must get there, too."""
    asked, chosen = request.given["loop"], request.chosen
    loop = loop_choice.choose_loop(asked, chosen, request.controller, None)
    if not (loop.plugin and senses) or behind.hands_force_on(ros_prefixes()):
        return loop
    reason = (
        "the gz_ros2_control that is installed hands no force-torque sensor on to controllers, and "
        f"controller:={chosen.case.name} measures the force; force.source model or momentum does "
        "without"
    )
    if asked == loop_choice.PLUGIN:
        raise ProjectedControlError(f"loop:=plugin cannot be: {reason}; loop:=topics can")
    return loop_choice.LoopChoice(False, f"the loop runs in the node (loop:=topics): {reason}")


def started(process: Process, ended: Ended | None = None) -> ExecuteProcess:
    """A process that ends with the launch, however that ends."""
    return ExecuteProcess(
        cmd=tied(process.command),
        name=process.name,
        additional_env=process.environment,
        output="screen",
        on_exit=ended,
    )

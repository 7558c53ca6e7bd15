"""A controller on an arm in Gazebo: any arm, on a line, a plane, a circle, at a point or a hinge.

ros2 launch projected_control gazebo.launch.py controller:=force
ros2 launch projected_control gazebo.launch.py task:=wipe
ros2 launch projected_control gazebo.launch.py controller:=force arm:=seven_joints contact:=0.3
ros2 launch projected_control gazebo.launch.py gui:=true factor:=1
ros2 launch projected_control gazebo.launch.py --show-args
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ament_index_python.packages import get_package_prefix
from launch.action import Action
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
    TimerAction,
)
from launch.event_handlers import OnShutdown
from launch.events.process import ProcessExited
from launch.launch_context import LaunchContext
from launch.launch_description import LaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

import projected_control
from projected_control.apps.gazebo import files as gazebo_files
from projected_control.apps.gazebo import ros2_control as behind
from projected_control.apps.gazebo.model import SENSOR_TOPIC
from projected_control.apps.launch import choices, loop_choice, parts
from projected_control.apps.launch.choices import BOOLEANS, Choice
from projected_control.errors import ProjectedControlError
from projected_control.native.gazebo_build import gazebo_library
from projected_control.native.plugin_build import ros_prefixes
from projected_control.resources import share_file
from projected_control.ros.gazebo_modules import find_gazebo
from projected_control.ros.gazebo_outcome import read_outcome, was_loaded
from projected_control.settings import build
from projected_control.settings.nodes import ARM, ControllerSettings
from projected_control.with_parent import tied

POINT_MASSES = ("slider_crank.urdf.xacro",)
"""Descriptions whose links have no inertia unless told otherwise; Gazebo wants some."""

LOADING_SECONDS = 60.0
"""Within which Gazebo has loaded our controller, also on a busy computer [s]."""

AUTO, COMPILED, PYTHON = "auto", "compiled", "python"
"""What ``access:=`` takes."""

OWN = {
    "contact": "friction.contact",
    "sensor_noise": "sensor.noise",
    "sensor_delay": "sensor.delay",
}
"""Arguments about the arm in Gazebo, and the settings of the simulated arm that they stand for."""

ENGINE = "auto"
"""Ticks inside the physics step are made by the exported library where it can be had."""

DRAWN = {"markers_rate": 20.0}
"""Settings of a controller that RViz looks at."""

ARGUMENTS = [
    *parts.arguments("force", "paper"),
    parts.task(),
    DeclareLaunchArgument(
        "bridge",
        default_value="lockstep",
        choices=["lockstep", "ros2_control"],
        description="lockstep: the controller inside the physics step. ros2_control: through "
        "gz_ros2_control and ros_gz_bridge, exactly as on a real arm.",
    ),
    DeclareLaunchArgument(
        "loop",
        default_value=loop_choice.AUTO,
        choices=list(loop_choice.LOOPS),
        description="With bridge:=ros2_control, where the ticks are made. plugin: in the physics "
        "step, by projected_control/ProjectedController. topics: in our node. auto: plugin where "
        "it is installed and can do it, else topics.",
    ),
    DeclareLaunchArgument(
        "access",
        default_value=AUTO,
        choices=[AUTO, COMPILED, PYTHON],
        description="With bridge:=lockstep, who reads the physics' numbers. compiled: a small "
        "library, built once where Gazebo's development files are, with the force of the same "
        "step. python: Gazebo's Python modules, and the sensor's message. auto: compiled where it "
        "can be built, else python.",
    ),
    DeclareLaunchArgument(
        "measure",
        default_value=AUTO,
        choices=[AUTO, *BOOLEANS],
        description="Whether the constraint force is measured where no law needs it, too. auto: "
        "where that costs little, with access:=compiled.",
    ),
    DeclareLaunchArgument(
        "solver",
        default_value=AUTO,
        choices=[AUTO, *gazebo_files.SOLVERS],
        description="DART's solver for the closed loop. auto: dantzig, which is exact, or pgs for "
        "planar arms, where dantzig fails.",
    ),
    DeclareLaunchArgument(
        "contact",
        default_value="",
        description="Coefficient of friction where the tip slides along line, plane or circle; "
        "empty for what the arm's file says (friction.contact).",
    ),
    DeclareLaunchArgument(
        "sensor_noise",
        default_value="",
        description="Standard deviation of the measured force and moment, in N and N·m; empty for "
        "what the arm's file says (sensor.noise).",
    ),
    DeclareLaunchArgument(
        "sensor_delay",
        default_value="",
        description="Steps by which the measured force is late, on top of the one that sampling "
        "brings; empty for what the arm's file says (sensor.delay).",
    ),
    DeclareLaunchArgument(
        "gui", default_value="false", choices=list(BOOLEANS), description="Show Gazebo's window."
    ),
    DeclareLaunchArgument(
        "rviz",
        default_value="false",
        choices=list(BOOLEANS),
        description="RViz with the arm, the slider, the constraint force and the reference.",
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
    return parts.description(ARGUMENTS, start)


def start(context: LaunchContext) -> list[Action]:
    """Check the arguments as a whole, write the world, start Gazebo."""
    given = context.launch_configurations
    through = given["bridge"] == "ros2_control"
    require_gazebo(through)
    chosen = choose(given)
    summary = choices.summary_file(given["summary"])
    controller = chosen.settings(chosen.case.node, DRAWN if BOOLEANS[given["rviz"]] else {})
    said = parts.checks(context, chosen, controller)
    if through and summary is not None:
        raise ProjectedControlError(
            "summary:= is written by a controller inside Gazebo; behind ros2_control ask it while "
            f"it runs: ros2 service call /{chosen.case.node}/summary std_srvs/srv/Trigger"
        )
    factor = choices.number(given, "factor")
    options = gazebo_files.WorldOptions(
        yaw=float(given["yaw"]),
        factor=1.0 if through and not factor else factor,  # others have to keep up
        world=Path(given["world"]).expanduser() if given["world"] else None,
        solver="" if given["solver"] == AUTO else given["solver"],
        measure=None if given["measure"] == AUTO else BOOLEANS[given["measure"]],
    )
    if not through:
        access, why_not = library(given["access"])
        options = replace(options, access=access)
        said += [LogInfo(msg=why_not)] if why_not else []
    arm = chosen.settings(ARM, {})
    said += [LogInfo(msg=f"WARNING: {line}") for line in gazebo_files.left_out(arm)]
    folder = temporary_folder(context)
    make = through_ros2_control if through else in_the_physics_step
    actions = make(given, chosen, controller, folder, options, summary)
    if BOOLEANS[given["rviz"]]:
        actions.append(rviz(chosen.case.node))
    return [*said, *actions]


def choose(given: dict[str, str]) -> Choice:
    """Controller and arm, with what this launch file's own arguments say of the arm on top."""
    chosen = choices.choose(given)
    own: dict[str, object] = dict(chosen.friction)
    for argument, name in OWN.items():
        if given[argument]:
            own[name] = choices.number(given, argument)
    if "sensor.delay" in own:
        own["sensor.delay"] = choices.whole(given, "sensor_delay")
    arm = chosen.layers.arm()
    if arm.robot_description_file in POINT_MASSES and not arm.robot_description_arguments:
        own["robot_description_arguments"] = ["inertia:=rod"]
    if given["bridge"] == "lockstep" and not chosen.settings(chosen.case.node, {}).engine:
        own["engine"] = ENGINE
    return replace(chosen, layers=chosen.layers.on_top(own, "launch file and its arguments"))


def library(asked: str) -> tuple[Path | None, str]:
    """The compiled library for ``access:=``, and why there is none where it would be welcome."""
    if asked == PYTHON:
        return None, ""
    try:
        return gazebo_library(), ""
    except ProjectedControlError as error:
        if asked == COMPILED:
            raise ProjectedControlError(f"access:=compiled cannot be: {error}") from None
        return None, f"Python reads the arm in Gazebo (access:=python), which is slower: {error}"


def temporary_folder(context: LaunchContext) -> Path:
    """A folder that goes when the launch ends, also where it ends before anything has started."""
    folder = Path(tempfile.mkdtemp(prefix="projected_control_gazebo_"))
    context.register_event_handler(
        OnShutdown(on_shutdown=lambda *_: shutil.rmtree(folder, ignore_errors=True))
    )
    return folder


def in_the_physics_step(
    given: dict[str, str],
    chosen: Choice,
    controller: ControllerSettings,
    folder: Path,
    options: gazebo_files.WorldOptions,
    summary: Path | None,
) -> list[Action]:
    """The controller is a part of Gazebo."""
    written = gazebo_files.write_files(
        folder, chosen.case.node, controller, chosen.values(), options, summary=summary
    )
    outcome = written.outcome

    def ended(event: ProcessExited, context: LaunchContext) -> list[Action]:
        reason = "" if context.is_shutdown else read_outcome(outcome)
        return parts.fail(reason) if reason else parts.end_with(context, "Gazebo", event.returncode)

    def judge(context: LaunchContext) -> list[Action]:
        return [] if was_loaded(outcome) else parts.fail(read_outcome(outcome))

    actions: list[Action] = [
        simulator(given, written.world, controller.rate, ended),
        TimerAction(period=LOADING_SECONDS, actions=[OpaqueFunction(function=judge)]),
    ]
    if BOOLEANS[given["rviz"]]:
        actions.append(state_publisher(build.build_arm(controller).urdf))
    return actions


def through_ros2_control(
    given: dict[str, str],
    chosen: Choice,
    controller: ControllerSettings,
    folder: Path,
    options: gazebo_files.WorldOptions,
    summary: Path | None,
) -> list[Action]:
    """The controller reaches Gazebo as it reaches a real arm."""
    settings = {**chosen.values(), **(DRAWN if BOOLEANS[given["rviz"]] else {})}
    text = share_file("config", choices.CONTROLLERS_FILE).read_text(encoding="utf-8")
    senses = build.build_loop(chosen.case.node, controller).needs_wrench
    loop = choose_loop(given["loop"], chosen, controller, senses)
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
        options,
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
        }.items(),
    )

    def ended(event: ProcessExited, context: LaunchContext) -> list[Action]:
        return parts.end_with(context, "Gazebo", event.returncode)

    return [
        *([LogInfo(msg=loop.said)] if loop.said else []),
        state_publisher(written.description.read_text(encoding="utf-8")),
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
        simulator(given, written.world, controller.rate, ended),
        first,
        parts.after(first, [second], "the joint state broadcaster"),
        parts.after(second, [ours], effort),
    ]


def choose_loop(
    asked: str, chosen: Choice, controller: ControllerSettings, senses: bool
) -> loop_choice.LoopChoice:
    """Where the ticks are made; in Gazebo's own process the force must get there, too."""
    loop = loop_choice.choose_loop(asked, chosen, controller, None)
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


def state_publisher(urdf: str) -> Node:
    """Publishes the description, and where its links are."""
    return Node(
        package="robot_state_publisher",
        executable="robot_state_publisher",
        parameters=[{"robot_description": ParameterValue(urdf, value_type=str)}],
        **parts.tie("robot_state_publisher"),
    )


def rviz(controller: str) -> Node:
    """RViz, looking at the arm and at what its controller draws."""
    return Node(
        package="rviz2",
        executable="rviz2",
        arguments=["-d", str(share_file("config", "constrained_arm.rviz"))],
        remappings=[("/markers", f"/{controller}/markers")],
        **parts.tie("rviz2"),
    )


def simulator(
    given: dict[str, str],
    world: Path,
    rate: float,
    ended: Callable[[ProcessExited, LaunchContext], list[Action]],
) -> ExecuteProcess:
    """Gazebo itself; the launch ends with it."""
    seconds = choices.number(given, "seconds")
    iterations = ["--iterations", str(round(seconds * rate))] if seconds else []
    server = [] if BOOLEANS[given["gui"]] else ["-s"]
    return ExecuteProcess(
        cmd=tied(["gz", "sim", "-r", *server, *iterations, str(world)]),
        name="gz",
        additional_env={"PYTHONPATH": python_path()},
        output="screen",
        on_exit=ended,
    )


def require_gazebo(through_ros2_control: bool) -> None:
    """Say what to install where something is missing."""
    if shutil.which("gz") is None:
        raise ProjectedControlError(
            "Gazebo is not installed: apt install ros-$ROS_DISTRO-ros-gz and source its setup file"
        )
    if not through_ros2_control:
        find_gazebo()


def python_path() -> str:
    """Where Gazebo's own interpreter finds this package."""
    here = str(Path(projected_control.__file__).resolve().parents[1])
    there = os.environ.get("PYTHONPATH", "")
    return f"{here}:{there}" if there else here

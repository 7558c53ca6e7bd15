"""What the launch files have in common; imported by them alone, as it needs launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from launch.action import Action
from launch.actions import (
    DeclareLaunchArgument,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    SetEnvironmentVariable,
    Shutdown,
)
from launch.event_handlers import OnProcessExit
from launch.launch_context import LaunchContext
from launch.launch_description import LaunchDescription
from launch.substitutions import EnvironmentVariable
from launch_ros.actions import Node

from projected_control.apps.launch import choices
from projected_control.errors import InvalidValue
from projected_control.resources import PRESETS
from projected_control.settings.nodes import PASSIVE, DemoCase, demo_cases


def arguments(controller: str, preset: str) -> list[DeclareLaunchArgument]:
    """Which controller on which arm; these are the defaults."""
    return [
        DeclareLaunchArgument(
            "controller",
            default_value=controller,
            choices=list(demo_cases()),
            description="motion: least torque (PIDC). force: the same, and the constraint force "
            "held. passive: joints without a motor. idc: inverse dynamics, the baseline.",
        ),
        DeclareLaunchArgument(
            "arm",
            default_value="auto",
            description="A file in config/ without its ending (three_link_slider, "
            "three_link_passive, slider_crank), or the path of a parameter file; auto is "
            "slider_crank for passive, else three_link_slider.",
        ),
        DeclareLaunchArgument(
            "preset",
            default_value=preset,
            choices=list(PRESETS),
            description="Gains and limits, a file in config/presets/.",
        ),
        DeclareLaunchArgument(
            "friction",
            default_value="false",
            choices=list(choices.BOOLEANS),
            description="Joint friction of a simulated arm: Coulomb 0.3 N·m, viscous "
            "0.05 N·m·s/rad.",
        ),
    ]


def description(
    declared: Sequence[DeclareLaunchArgument], start: Callable[[LaunchContext], list[Action]]
) -> LaunchDescription:
    """Declare the arguments, stay on this computer, start."""
    return LaunchDescription(
        [
            *declared,
            SetEnvironmentVariable(
                "ROS_AUTOMATIC_DISCOVERY_RANGE",
                EnvironmentVariable("ROS_AUTOMATIC_DISCOVERY_RANGE", default_value="LOCALHOST"),
            ),
            OpaqueFunction(function=start),
        ]
    )


class Choice(NamedTuple):
    """What the common arguments amount to.

    Attributes:
        case: The controller, and what it sets.
        files: Of arm and preset, for the nodes.
        settings: All that stands in them.
        passive, motors: Joints without and with a motor.
        friction: Of a simulated arm, as settings.
    """

    case: DemoCase
    files: list[Path]
    settings: dict[str, Any]
    passive: list[str]
    motors: list[str]
    friction: dict[str, Any]


def choice(given: dict[str, str]) -> Choice:
    """Read the files that the arguments name."""
    case = demo_cases()[given["controller"]]
    files = [choices.arm_file(given["arm"], case.arm), choices.preset_file(given["preset"])]
    settings = choices.read_all(files)
    passive = settings.get("passive_joints", [])
    if case.node == PASSIVE and not passive:
        raise InvalidValue(
            f"controller:=passive needs an arm with passive_joints, and {files[0]} names none"
        )
    if case.node != PASSIVE:
        passive = []  # the others move all joints
    motors = [name for name in settings.get("joints", []) if name not in passive]
    friction = choices.FRICTION if choices.BOOLEANS[given["friction"]] else {}
    return Choice(case, files, settings, passive, motors, dict(friction))


def spawner(names: Sequence[str], parameters: Path, *more: str) -> Node:
    """Loads controllers of ros2_control; ends when they are there."""
    return Node(
        package="controller_manager",
        executable="spawner",
        arguments=[*names, "--param-file", str(parameters), *more],
        output="screen",
    )


def after(process: Node, then: list[Action], what: str) -> RegisterEventHandler:
    """Go on when a spawner has done its work; end where it failed."""

    def go_on(event: Any, context: LaunchContext) -> list[Action]:
        if context.is_shutdown:
            return []
        if event.returncode:
            reason = f"{what} did not come up (spawner's status {event.returncode})"
            return [LogInfo(msg=reason), Shutdown(reason=reason)]
        return then

    return RegisterEventHandler(OnProcessExit(target_action=process, on_exit=go_on))

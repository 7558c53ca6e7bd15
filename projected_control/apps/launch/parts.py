"""What the launch files have in common; imported by them alone, as it needs launch."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from launch.action import Action
from launch.actions import (
    DeclareLaunchArgument,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    SetEnvironmentVariable,
    Shutdown,
    TimerAction,
)
from launch.event_handlers import OnProcessExit, OnShutdown
from launch.launch_context import LaunchContext
from launch.launch_description import LaunchDescription
from launch.substitutions import EnvironmentVariable, LaunchConfiguration
from launch_ros.actions import LifecycleNode, Node

from projected_control.apps.launch import choices, declared
from projected_control.apps.launch.choices import Choice
from projected_control.apps.launch.declared import LaunchArgument
from projected_control.errors import ProjectedControlError
from projected_control.settings.files import ALL_NODES, parameter_text
from projected_control.settings.nodes import NodeSettings
from projected_control.with_parent import tied

_USERS_PREFIX = LaunchConfiguration("launch-prefix", default="")


def declare(argument: LaunchArgument) -> DeclareLaunchArgument:
    """An argument, as launch wants it."""
    more = {"choices": list(argument.choices)} if argument.choices else {}
    return DeclareLaunchArgument(
        argument.name,
        default_value=argument.default,
        description=argument.description,
        **more,
    )


def arguments(controller: str, preset: str) -> list[DeclareLaunchArgument]:
    """Which controller on which arm; these are the defaults."""
    return [declare(argument) for argument in declared.common(controller, preset)]


def task() -> DeclareLaunchArgument:
    """A mechanism or a task in place of a controller and an arm."""
    return declare(declared.task())


def names() -> list[DeclareLaunchArgument]:
    """What our nodes are called, and the topics they listen to."""
    named = (
        LaunchArgument("namespace", "", "Namespace of our nodes and their topics."),
        LaunchArgument("joint_states", "joint_states", "Topic of the joint states."),
        LaunchArgument("wrench", "wrench", "Topic of the measured wrench."),
    )
    return [declare(each) for each in named]


def priority(unless_given: str) -> DeclareLaunchArgument:
    """One switch for the priority of all nodes."""
    return declare(
        LaunchArgument(
            "priority",
            "",
            "SCHED_FIFO priority of all our nodes, 1 to 99, or 0 for the ordinary scheduler; "
            f"{unless_given}. Each node says what it was granted.",
        )
    )


TOPICS = ("joint_states", "wrench")


def description(
    takes: Sequence[DeclareLaunchArgument], start: Callable[[LaunchContext], list[Action]]
) -> LaunchDescription:
    """Declare the arguments, stay on this computer, start."""
    return LaunchDescription(
        [
            *takes,
            SetEnvironmentVariable(
                "ROS_AUTOMATIC_DISCOVERY_RANGE",
                EnvironmentVariable("ROS_AUTOMATIC_DISCOVERY_RANGE", default_value="LOCALHOST"),
            ),
            OpaqueFunction(function=start),
        ]
    )


def node(
    context: LaunchContext,
    name: str,
    settings: NodeSettings,
    on_exit: Callable[..., list[Action]],
    remappings: Sequence[tuple[str, str]] = (),
) -> LifecycleNode:
    """A node of this package, with its parameters in a file that goes when the launch ends."""
    given = context.launch_configurations
    topics = [(topic, given[topic]) for topic in TOPICS if given.get(topic, topic) != topic]
    return LifecycleNode(
        package="projected_control",
        executable=name,
        name=name,
        namespace=given.get("namespace", ""),
        parameters=[str(parameter_file(context, name, settings))],
        remappings=[*remappings, *topics],
        output="screen",
        emulate_tty=True,
        on_exit=lambda event, context: on_exit(context, name, event.returncode),
        **tie(name),
    )


def tie(name: str) -> dict[str, Any]:
    """For a node: its process ends with the launch, also where that is killed.

    Args:
        name: Of the process in the launch's output.
    """
    return {"prefix": [shlex.join(tied([])), " ", _USERS_PREFIX], "exec_name": name}


def parameter_file(context: LaunchContext, name: str, settings: NodeSettings) -> Path:
    """Write the parameters of a node, as far as they were given or differ from its defaults."""
    content = parameter_text({ALL_NODES: choices.given_values(settings)})
    return temporary_file(context, f"{name}_", content)


def temporary_file(
    context: LaunchContext, prefix: str, content: str = "", suffix: str = ".yaml"
) -> Path:
    """A file that goes when the launch ends."""
    handle, name = tempfile.mkstemp(prefix=f"projected_control_{prefix}", suffix=suffix)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(content)
    path = Path(name)
    context.register_event_handler(OnShutdown(on_shutdown=lambda *_: path.unlink(missing_ok=True)))
    return path


def checks(context: LaunchContext, choice: Choice, settings: NodeSettings) -> list[Action]:
    """Refuse what would not start; say what is doubtful, and on demand where values came from."""
    show = choices.BOOLEANS[context.launch_configurations["show"]]
    return [LogInfo(msg=line) for line in choices.remarks(choice, settings, show=show)]


def fail(reason: str) -> list[Action]:
    """End the launch with a status that is not 0."""

    def end(context: LaunchContext) -> None:
        if not context.is_shutdown:
            raise ProjectedControlError(reason)

    # Not at once: others have to hear of what happened, too.
    return [TimerAction(period=0.1, actions=[OpaqueFunction(function=end)])]


def end_with(context: LaunchContext, name: str, status: int, after: float = 0.0) -> list[Action]:
    """When a process has ended, end the others; with a status that is not 0 where it failed.

    Args:
        context: Context of the launch.
        name: Name of what ended.
        status: With which it did.
        after: For how long the others go on, to see to the arm [s].
    """
    if context.is_shutdown:
        return []
    then = (
        fail(f"{name} {choices.ended_how(status)}")
        if status
        else [Shutdown(reason=f"{name} ended")]
    )
    return [TimerAction(period=after, actions=then)] if after else then


def spawner(names: Sequence[str], parameters: Path, *more: str) -> Node:
    """Loads controllers of ros2_control; ends when they are there."""
    return Node(
        package="controller_manager",
        executable="spawner",
        arguments=[*names, "--param-file", str(parameters), *more],
        output="screen",
        **tie("spawner"),
    )


def after(
    process: Node, then: list[Action], what: str, may_fail: bool = False
) -> RegisterEventHandler:
    """Go on when a spawner has ended; end where it failed, unless it may.

    Nothing begins once the launch is ending: a lifecycle node that is added then waits for ever.
    """

    def go_on(event: Any, context: LaunchContext) -> list[Action]:
        if context.is_shutdown:
            return []
        if event.returncode and not may_fail:
            return fail(f"{what} did not come up (spawner's status {event.returncode})")
        return then

    return RegisterEventHandler(OnProcessExit(target_action=process, on_exit=go_on))


def needed_until(process: Node, done: Callable[[], bool], what: str) -> RegisterEventHandler:
    """End the launch where a process ends before something is done that cannot do without it."""

    def judge(event: Any, context: LaunchContext) -> list[Action]:
        if context.is_shutdown or done():
            return []
        return fail(f"{what} ended with status {event.returncode} before our nodes could start")

    return RegisterEventHandler(OnProcessExit(target_action=process, on_exit=judge))

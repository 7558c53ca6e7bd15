"""A controller on the simulated arm, with its watchdog: `projected-control demo` without an end.

ros2 launch projected_control simulation.launch.py controller:=force preset:=gentle
ros2 launch projected_control simulation.launch.py real_time:=true
ros2 launch projected_control simulation.launch.py --show-args
"""

from __future__ import annotations

import math
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from launch.action import Action
from launch.actions import (
    DeclareLaunchArgument,
    OpaqueFunction,
)
from launch.events import Shutdown as ShutdownEvent
from launch.launch_context import LaunchContext
from launch.launch_description import LaunchDescription
from launch_ros.ros_adapters import get_ros_node

from projected_control.apps.demo.demo_settings import PATIENT
from projected_control.apps.launch import choices, parts
from projected_control.apps.launch.choices import BOOLEANS
from projected_control.errors import InvalidValue
from projected_control.settings.nodes import ARM, WATCHDOG

LONGEST_STEP = 1e-3
"""Longest integration step [s]."""

ARGUMENTS = [
    *parts.arguments("force", "paper"),
    *parts.names(),
    parts.task(),
    parts.priority("empty for what the files say, else 0"),
    DeclareLaunchArgument(
        "lockstep",
        default_value="false",
        choices=list(BOOLEANS),
        description="As fast as it goes: each state waits for its answer, but not for the clock.",
    ),
    DeclareLaunchArgument(
        "real_time",
        default_value="false",
        choices=list(BOOLEANS),
        description="By the clock, as a real arm: states that are not answered in time are lost, "
        "and the watchdog acts. Else each state waits for its answer, and time passes more slowly "
        "where the computer does not keep up.",
    ),
    DeclareLaunchArgument(
        "rate", default_value="1000", description="Rate of the loop, 1 to 10000 Hz."
    ),
    DeclareLaunchArgument(
        "seconds",
        default_value="0",
        description="End after this much simulated time under control; 0 for never.",
    ),
]


def generate_launch_description() -> LaunchDescription:
    """What `ros2 launch` runs."""
    return parts.description(ARGUMENTS, start)


def start(context: LaunchContext) -> list[Action]:
    """Check the arguments as a whole, then start the three nodes."""
    given = context.launch_configurations
    chosen = choices.choose(given)
    rate, seconds = choices.number(given, "rate"), choices.number(given, "seconds")
    unpaced, controller = BOOLEANS[given["lockstep"]], chosen.case.node
    lockstep = not BOOLEANS[given["real_time"]]
    if unpaced and not lockstep:
        raise InvalidValue(
            "lockstep:=true goes as fast as it can, real_time:=true by the clock; give one of them"
        )
    shared = {"rate": rate, "lockstep": lockstep}
    own: dict[str, dict[str, Any]] = {
        controller: {
            **shared,
            "watchdog": WATCHDOG,
            **({"limits.watchdog_time": PATIENT} if lockstep else {}),
        },
        ARM: {
            **shared,
            **chosen.friction,
            **chosen.all_motors,
            **({"simulation.factor": 0.0} if unpaced else {}),
            "simulation.wait_for_command": True,
        },
        WATCHDOG: {
            "controller": controller,
            "joints": list(chosen.joints),
        },
    }
    if rate > 0.0:
        own[ARM]["simulation.step"] = integration_step(rate)
    if seconds:
        # It says soon that it has finished: before the controller finds the arm lost.
        own[ARM] |= {"simulation.duration": seconds, "diagnostics_rate": 10.0}
    for name, values in own.items():
        values |= choices.priority(given, chosen, name, 0)
    settings = {name: chosen.settings(name, values) for name, values in own.items()}
    said = parts.checks(context, chosen, settings[controller])
    actions = [parts.node(context, name, settings[name], parts.end_with) for name in own]
    if seconds:
        actions.append(OpaqueFunction(function=end_when_finished))
    return [*said, *actions]


def end_when_finished(context: LaunchContext) -> None:
    """Shut down when the simulated arm says on /diagnostics that its time is over."""

    def listen(message: DiagnosticArray) -> None:
        if any(
            status.name.rpartition("/")[2] == ARM and status.message == "finished"
            for status in message.status
        ):
            context.asyncio_loop.call_soon_threadsafe(end)

    def end() -> None:
        if not context.is_shutdown:
            context.emit_event_sync(ShutdownEvent(reason="the simulated time is over"))

    get_ros_node(context).create_subscription(DiagnosticArray, "/diagnostics", listen, 10)


def integration_step(rate: float) -> float:
    """The largest step [s] that is short enough and divides the loop's period."""
    period = 1.0 / rate
    return period / math.ceil(period / LONGEST_STEP - 1e-9)

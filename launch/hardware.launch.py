"""A controller on an arm behind ros2_control: its loop in the controller manager, or in its node.

No arm at all, to see whether everything comes up:
    ros2 launch projected_control hardware.launch.py dry_run:=true
The simulated arm behind the real controller manager:
    ros2 launch projected_control hardware.launch.py hardware:=simulated controller:=force
An arm whose driver has brought its own controller manager:
    ros2 launch projected_control hardware.launch.py hardware:=running arm:=my_arm.yaml
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_prefix
from launch.action import Action
from launch.actions import (
    DeclareLaunchArgument,
    LogInfo,
    OpaqueFunction,
)
from launch.launch_context import LaunchContext
from launch.launch_description import LaunchDescription
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from projected_control.apps.launch import choices, hardware_block, loop_choice, parts
from projected_control.apps.launch.choices import BOOLEANS, Choice
from projected_control.errors import InvalidValue
from projected_control.native.plant_file import write_plant
from projected_control.resources import share_file
from projected_control.settings import build
from projected_control.settings.nodes import ARM, WATCHDOG, ForceControllerSettings
from projected_control.settings.real_arms import WEIGHT

PLUGINS = {
    "mock": "mock_components/GenericSystem",
    "simulated": "joint_state_topic_hardware_interface/JointStateTopicSystem",
}
SIMULATED_SYSTEM = "projected_control/SimulatedSystem"
"""The simulated arm within the controller manager, for a loop that runs there too."""

SIMULATED_TIME = f"{hardware_block.NAME}/time"
"""Its own time, as a state interface."""

RUNNING, OWN = "running", "own"

SENSOR = "force_sensor"
"""Name of the sensor that a block of ours has."""

COMMAND_TIMEOUT = 0.04
"""Command timeout of the simulated arm's drive, the same as a UR's [s]."""

LAST_SECONDS = 5.0
"""For which the others go on when a node has ended: the watchdog to send zeros, the controller to
give the arm back [s]."""

ARGUMENTS = [
    *parts.arguments("motion", "gentle"),
    *parts.names(),
    parts.task(),
    DeclareLaunchArgument(
        "hardware",
        default_value="mock",
        description="mock: no arm, for a dry run. simulated: the simulated arm behind the real "
        "controller manager. own: what the description's own ros2_control block names. running: a "
        "controller manager that is there already, with its arm. Or the name of a ros2_control "
        "plugin. Any description goes: where it has no ros2_control block, one is added.",
    ),
    DeclareLaunchArgument(
        "loop",
        default_value=loop_choice.AUTO,
        choices=list(loop_choice.LOOPS),
        description="Where the ticks are made. plugin: in each cycle of the controller manager, by "
        "projected_control/ProjectedController, which our node commands. topics: in our node, with "
        "effort_watchdog. auto: plugin where it is installed and can do it, else topics.",
    ),
    DeclareLaunchArgument(
        "may_fall",
        default_value="false",
        choices=list(BOOLEANS),
        description="With loop:=topics: start though our efforts carry the arm's weight. Where our "
        "node is late or dies they end, and the arm falls; with loop:=plugin it is held.",
    ),
    DeclareLaunchArgument(
        "time_interface",
        default_value="",
        description="With loop:=plugin: the state interface that tells the arm's own time in s, as "
        "a Franka's robot_time does; empty for the time of the controller manager. The simulated "
        "arm's own is found by itself.",
    ),
    DeclareLaunchArgument(
        "sensor",
        default_value="",
        description="With hardware:=running and loop:=plugin, where the law measures the force: "
        "the arm's force-torque sensor, as in NAME/force.x; empty for that of the description's "
        "own ros2_control block.",
    ),
    DeclareLaunchArgument(
        "fault_file",
        default_value="",
        description="For tests of hardware:=simulated loop:=plugin: a file with one word that "
        "spoils what the arm reports: wrench_nan, wrench_frozen, state_nan, state_frozen, "
        "time_nan, time_frozen, or none.",
    ),
    DeclareLaunchArgument(
        "rate",
        default_value="1000",
        description="Rate of the controller manager and of our loop, in Hz: 500 for a UR. With "
        "hardware:=running it must be what that manager has.",
    ),
    DeclareLaunchArgument(
        "timeout",
        default_value="",
        description="Silence of the controller after which the watchdog sends zeros, in s; empty "
        "for its default.",
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
    parts.priority("empty for what the files say, else 40, and 50 for the watchdog"),
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
    chosen = choices.choose(given)
    hardware = "mock" if BOOLEANS[given["dry_run"]] else given["hardware"]
    controller = chosen.case.node
    own = own_values(given, chosen, hardware)
    settings = {name: chosen.settings(name, values) for name, values in own.items()}
    loop = loop_choice.choose_loop(given["loop"], chosen, settings[controller], settings.get(ARM))
    loop_choice.refuse_falling(settings[controller], loop)
    said = parts.checks(context, chosen, settings[controller])
    said += [LogInfo(msg=loop.said)] if loop.said else []
    if given["time_interface"] and (hardware in PLUGINS or not loop.plugin):
        said.append(LogInfo(msg="time_interface:= is for loop:=plugin on an arm: not used here"))
    senses = senses_force(settings[controller])
    if given["sensor"] and not (hardware == RUNNING and loop.plugin and senses):
        said.append(LogInfo(msg="sensor:= is for hardware:=running loop:=plugin: not used here"))
    plant: list[Path] = []
    if loop.plugin:
        if ARM in own:
            plant.append(parts.temporary_file(context, "plant_", suffix=".bin"))
            write_plant(plant[0], build.build_plant(settings[ARM]))
        own = plugin_values(own, controller)
        settings = {name: chosen.settings(name, values) for name, values in own.items()}
    description = describe(chosen, hardware, senses, plant, given["fault_file"])
    then = leave_to_plugin if loop.plugin else end_together
    nodes = {
        name: parts.node(context, name, settings[name], then, remappings(name)) for name in own
    }
    ours: list[Action] = [nodes[name] for name in (WATCHDOG, controller) if name in nodes]
    if hardware == RUNNING and not loop.plugin:
        return [*said, *ours]

    sensor = hardware_block.sensors(description)
    if hardware == RUNNING and senses:
        sensor = hardware_block.sensor_of_running(given["sensor"], sensor, chosen.case.name)
    rate = settings[controller].rate
    axes = root_link(chosen) if plant else chosen.layers.arm().constraint.frame
    time_interface = given["time_interface"]
    if plant or hardware == "mock":  # it is the arm's that is named, and this is another one
        time_interface = SIMULATED_TIME if plant else ""
    parameters = write_controllers(context, chosen, sensor, axes, rate, senses, time_interface)
    if loop.plugin:
        effort = loop_choice.CONTROLLER
    else:
        effort = choices.first_installed(choices.EFFORT_CONTROLLERS, get_package_prefix)
    if hardware == RUNNING:
        manager_is = ("--controller-manager", given["controller_manager"])
        only = parts.spawner([effort], parameters, "--inactive", *manager_is)
        # It fails where the controller runs already; what is missing otherwise, our node says.
        return [*said, only, parts.after(only, ours, effort, may_fail=True)]
    broadcasters = ["joint_state_broadcaster"]
    if sensor:
        broadcasters.append("force_torque_sensor_broadcaster")
    first = parts.spawner(broadcasters, parameters)
    second = parts.spawner([effort], parameters, "--inactive")
    publisher = robot_state_publisher(description)
    manager = Node(
        package="controller_manager",
        executable="ros2_control_node",
        parameters=[str(parameters)],
        output="screen",
        emulate_tty=True,
        **parts.tie("ros2_control_node"),
    )
    started: list[bool] = []  # from then on our nodes say what happened where the manager dies
    ours.insert(0, OpaqueFunction(function=lambda _: started.append(True)))
    return [
        *said,
        parts.needed_until(publisher, lambda: bool(started), "robot_state_publisher"),
        parts.needed_until(manager, lambda: bool(started), "the controller manager"),
        publisher,
        manager,
        *([nodes[ARM]] if ARM in nodes else []),
        first,
        parts.after(first, [second], "the broadcasters"),
        parts.after(second, ours, effort),
    ]


def own_values(given: dict[str, str], chosen: Choice, hardware: str) -> dict[str, dict[str, Any]]:
    """The parameters that this launch sets, per node."""
    rate = {"rate": choices.number(given, "rate")}
    memory: dict[str, Any] = {"realtime.lock_memory": BOOLEANS[given["lock_memory"]]}
    reached = {
        **memory,
        "hardware": "ros2_control",
        "ros2_control.manager": given["controller_manager"],
    }
    timeout = {"timeout": choices.number(given, "timeout")} if given["timeout"] else {}
    controller = {**reached, **rate, "watchdog": WATCHDOG}
    if hardware == "mock":
        controller["reference.kind"] = "hold"
    if hardware == "simulated":
        controller["ros2_control.wrench"] = "wrench"
    if hardware in PLUGINS:
        controller["effort_states"] = "torque"
        if WEIGHT not in chosen.layers.given(chosen.case.node):  # neither carries its own weight
            controller[WEIGHT] = True
    if hardware in PLUGINS or BOOLEANS[given["may_fall"]]:  # there is no arm that could
        controller["ros2_control.may_fall"] = True
    own = {
        WATCHDOG: {
            **reached,
            **timeout,
            "controller": chosen.case.node,
            "joints": chosen.motors,
        },
        chosen.case.node: controller,
    }
    if hardware == "simulated":
        own[ARM] = {
            **memory,
            **rate,
            "simulation.step": 1.0 / rate["rate"] if rate["rate"] > 1000.0 else 0.001,
            "simulation.interface": "joint_commands",
            "simulation.command_timeout": COMMAND_TIMEOUT,
            "simulation.brake": True,
            **chosen.friction,
            **chosen.all_motors,
        }
    for name, values in own.items():
        default = choices.WATCHDOG_PRIORITY if name == WATCHDOG else choices.ARM_PRIORITY
        values |= choices.priority(given, chosen, name, default)
    return own


def plugin_values(own: dict[str, dict[str, Any]], controller: str) -> dict[str, dict[str, Any]]:
    """The same for a loop in the controller manager: no watchdog, and no process for the arm."""
    values = {**own[controller], "hardware": "plugin", "watchdog": ""}
    values.pop("ros2_control.wrench", None)
    return {controller: values}


def root_link(chosen: Choice) -> str:
    """In whose axes the simulated arm's force is."""
    return build.build_arm(chosen.layers.arm()).root_link


def senses_force(settings: Any) -> bool:
    """Whether the law measures the force."""
    if not isinstance(settings, ForceControllerSettings):
        return False
    enabled = getattr(settings.force, "enabled", True)
    return bool(enabled) and settings.force.source == "sensor"


def describe(
    chosen: Choice, hardware: str, senses: bool, plant: Sequence[Path] = (), faults: str = ""
) -> str:
    """The description from which the controller manager learns of its hardware.

    Args:
        chosen: Controller and arm.
        hardware: What ``hardware:=`` says.
        senses: Whether the law measures the force.
        plant: The file of the simulated arm that lives in the controller manager, if it does.
        faults: The file of its faults; empty for none.
    """
    arm = chosen.layers.arm()
    urdf = build.build_arm(arm).urdf
    if hardware == RUNNING:
        return urdf
    if hardware == OWN:
        if not hardware_block.own_plugins(urdf):
            raise InvalidValue(
                "hardware:=own needs a ros2_control block in the description, and there is none; "
                "name the plugin instead, as in hardware:=my_driver/MySystem"
            )
        hardware_block.require_effort(urdf, chosen.motors)
        if senses and not hardware_block.sensors(urdf):
            raise InvalidValue(
                f"controller:={chosen.case.name} measures the force, and the description's "
                "ros2_control block has no force-torque sensor; add one, or set force.source to "
                "model or momentum"
            )
        return urdf
    plugin = SIMULATED_SYSTEM if plant else PLUGINS.get(hardware, hardware)
    sensor = SENSOR if senses and (plant or hardware != "simulated") else ""
    starts = choices.starting_positions(chosen.settings(ARM, chosen.all_motors))
    own = {"plant_file": str(plant[0]), "brakes": "true"} if plant else {}
    own |= {"fault_file": faults} if plant and faults else {}
    return hardware_block.with_hardware(
        urdf, plugin, starts, chosen.motors, sensor, arm.constraint.frame, own
    )


def remappings(name: str) -> list[tuple[str, str]]:
    """The simulated arm talks to the controller manager, not to us."""
    return [("joint_states", "arm/joint_states")] if name == ARM else []


def robot_state_publisher(description: str) -> Node:
    """Publishes the description."""
    return Node(
        package="robot_state_publisher",
        executable="robot_state_publisher",
        parameters=[{"robot_description": ParameterValue(description, value_type=str)}],
        output="screen",
        **parts.tie("robot_state_publisher"),
    )


def write_controllers(
    context: LaunchContext,
    chosen: Choice,
    sensor: list[str],
    frame: str,
    rate: float,
    senses: bool,
    time_interface: str,
) -> Any:
    """The controllers' parameters for this arm, in a file that goes when the launch ends."""
    text = share_file("config", choices.CONTROLLERS_FILE).read_text(encoding="utf-8")
    name = sensor[0] if sensor else SENSOR
    sensed = senses and bool(sensor)
    content = choices.controllers_file(
        chosen.motors, name, frame, text, rate, chosen.joints, sensed, time_interface
    )
    return parts.temporary_file(context, "controllers_", content)


def leave_to_plugin(context: LaunchContext, name: str, status: int) -> list[Action]:
    """When our node was killed, the plugin does its part, and the controller manager stays."""
    if context.is_shutdown or status >= 0:
        return end_together(context, name, status)
    return [
        LogInfo(
            msg=f"{name} was killed by signal {-status}: the plugin does what plugin.on_silence "
            "says. Start the node anew to take the arm over, for example by this launch file with "
            "hardware:=running"
        )
    ]


def end_together(context: LaunchContext, name: str, status: int) -> list[Action]:
    """When one of our nodes has ended, end the others, when they have seen to the arm."""
    return parts.end_with(context, name, status, LAST_SECONDS)

"""The settings of every node, composed of groups (see `groups`), and which node has which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from projected_control.control import law_kinds
from projected_control.control.compensation import FrictionCompensation
from projected_control.control.contact import Contact, Unexpected
from projected_control.control.disturbance import Disturbance
from projected_control.control.laws.admittance import Admittance
from projected_control.control.laws.impedance import ImpedanceSettings
from projected_control.control.laws.operational_space import OperationalSpace
from projected_control.control.laws.selection import Selection
from projected_control.control.surface import EstimatedSurface
from projected_control.declaration import LARGE
from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.arm import OffsetFrame
from projected_control.model.pinocchio_model import BASES, FIXED
from projected_control.model.projection import Metric
from projected_control.registry import Registry
from projected_control.runs.port import PORTS
from projected_control.settings import groups
from projected_control.settings.declaration import (
    Named,
    Numbers,
    Parameter,
    Settings,
    Value,
    Words,
    group,
    named,
    parameter,
)
from projected_control.simulation import Encoders, ForceSensor, Motors
from projected_control.simulation.engines import LOOP_ENGINES, FormerEngines
from projected_control.simulation.sensors import FAULTS
from projected_control.simulation.surfaces import Surface

MOTION = "motion_controller"
FORCE = "force_controller"
PASSIVE = "passive_joint_controller"
ARM = "simulated_arm"
WATCHDOG = "effort_watchdog"

# fmt: off


@dataclass(frozen=True)
class ConstrainedArmSettings(Settings):
    """The arm and what holds it."""

    robot_description: str = parameter("", "URDF of the arm; takes precedence over the file. Where neither is given, it is taken from the latched topic robot_description", required=True)
    robot_description_file: str = parameter("", "URDF or xacro file of the arm: a path, a name in the package's urdf folder, or arms/… for one of example-robot-data (the extra arms)", required=True)
    robot_description_arguments: Words = parameter((), "xacro arguments, each as name:=value")
    base: str = parameter(FIXED, "What the first link of the description stands on: the world (fixed), or nothing (floating), as of a robot with legs; that is served in process and in the plugin, see docs/floating_base.md", choices=BASES)
    joints: Words = parameter((), "Joints that move; empty for all of the description. The rest is locked")
    gravity: float = parameter(9.81, "Acceleration of gravity along −z", "m/s²", minimum=-100.0, maximum=100.0)
    armature: Numbers = parameter((), "Inertia of the rotors as the joints feel it, one number or one per joint; empty for none", "kg·m² or kg", minimum=0.0, maximum=1e3)
    massless_links: Words = parameter((), "Links that have no mass on purpose, or less than a thousandth of their neighbour's, where a joint moves them; any other body without mass is refused")
    payload: groups.Payload = group(groups.Payload)
    frames: Named[OffsetFrame] = named(OffsetFrame, "frame")
    constraint: groups.Constraint = group(groups.Constraint)
    constraints: Named[groups.Constraint] = named(groups.Constraint, "constraint")
    coordinate: Named[groups.Coordinate] = named(groups.Coordinate, "coordinate")


@dataclass(frozen=True)
class PassiveJointsSettings(Settings):
    """Where not every joint needs a motor."""

    passive_joints: Words = parameter((), "Joints without a motor")


@dataclass(frozen=True)
class TimedSettings(Settings):
    """What an arm and its controller must agree on."""

    rate: float = parameter(1000.0, "Rate of the loop: how often the arm publishes its state", "Hz", minimum=1.0, maximum=1e4)
    lockstep: bool = parameter(False, "Answer every state exactly once, tagged, however long it takes")


@dataclass(frozen=True)
class NodeSettings(Settings):
    """What every node has."""

    diagnostics_rate: float = parameter(2.0, "Rate of /diagnostics", "Hz", minimum=0.1, maximum=100.0, live=True)
    autostart: bool = parameter(True, "Configure and activate without being told, as soon as it is possible")
    realtime: groups.Realtime = group(groups.Realtime)


@dataclass(frozen=True)
class HardwareSettings(Settings):
    """How an arm is reached."""

    hardware: str = parameter("topics", "Every node that listens on effort_controller/commands; controllers of ros2_control, which are found, checked and switched; or our plugin in the controller manager, which makes the ticks there", choices=PORTS)
    ros2_control: groups.Ros2Control = group(groups.Ros2Control)


@dataclass(frozen=True)
class MovedArmSettings(ConstrainedArmSettings):
    """What is moved, how, and within which limits."""

    constraint: groups.ControllerConstraint = group(groups.ControllerConstraint)
    joint_offsets: Numbers = parameter((), "Added to the positions that the arm reports, one number per joint, where its zero is not the description's; empty for none", "rad or m", minimum=-LARGE, maximum=LARGE)
    effort_includes_gravity: bool = parameter(True, "Efforts carry the arm's weight; false for arms whose firmware does (UR, Franka). Behind ros2_control it has to be said", said=True)
    effort_states: str = parameter("", "What the efforts are that the arm reports: torque (or force of a sliding joint), motor current (UR), or none. Momentum observers (force.source momentum, disturbance.kind observer) are refused with current and none, and on an arm behind ros2_control until torque is said; the delay is measured by the echo of efforts only where they are not said to be something else", choices=("", "torque", "current", "none"))
    coordinates: Words = parameter((), "Independent coordinates: link.x, link.y, link.z, link.angle (in the plane of motion), link.rx, link.ry and link.rz (orientation), centre_of_mass.x, .y or .z, angular_momentum.x, .y or .z (docs/floating_base.md), a joint's name, or a name of coordinate.names", required=True)
    gains: groups.Gains = group(groups.Gains)
    operational_space: OperationalSpace = group(OperationalSpace)
    impedance: ImpedanceSettings = group(ImpedanceSettings)
    posture: groups.Posture = group(groups.Posture)
    compensation: FrictionCompensation = group(FrictionCompensation)
    disturbance: Disturbance = group(Disturbance)
    metric: Metric = group(Metric)
    limits: groups.Limits = group(groups.Limits)
    reference: groups.Reference = group(groups.Reference)


@dataclass(frozen=True)
class ControllerSettings(NodeSettings, TimedSettings, HardwareSettings, MovedArmSettings):
    """What every controller has."""

    ros2_control: groups.ControllerRos2Control = group(groups.ControllerRos2Control)
    plugin: groups.Plugin = group(groups.Plugin)
    recording: groups.RecordingOptions = group(groups.RecordingOptions)
    engine: str = parameter("", "Of before, and no longer needed: the library of kernels makes all ticks. A name is taken, with one line that says so", choices=FormerEngines(("", *LOOP_ENGINES)))
    watchdog: str = parameter("", "Name of the watchdog without which the controller does not run; empty for none, but with hardware: ros2_control one has to be named, or none said")
    state_rate: float = parameter(100.0, "Rate of the topic ~/state; 0 for never", "Hz", minimum=0.0, maximum=1e4)
    markers_rate: float = parameter(0.0, "Rate of the topic ~/markers, for RViz; 0 for never", "Hz", minimum=0.0, maximum=100.0)
    heartbeat_rate: float = parameter(250.0, "Rate of the topic ~/heartbeat, by which the watchdog knows that the controller lives", "Hz", minimum=1.0, maximum=1e4)


@dataclass(frozen=True)
class MotionControllerSettings(ControllerSettings):
    """Settings of `motion_controller`."""

    law: str = parameter("pidc", f"What turns errors into efforts. {law_kinds.titles_for(law_kinds.MOTION)}", choices=law_kinds.laws_for(law_kinds.MOTION))
    contact: Unexpected = group(Unexpected)

    @classmethod
    def title(cls) -> str:
        return MOTION


@dataclass(frozen=True)
class ForceControllerSettings(ControllerSettings):
    """Settings of `force_controller`, and of every controller that may control the force."""

    law: str = parameter("hybrid", f"What turns errors into efforts. {law_kinds.titles_for(law_kinds.FORCE)}", choices=law_kinds.laws_for(law_kinds.FORCE))
    limits: groups.ForceLimits = group(groups.ForceLimits)
    force: groups.Force = group(groups.Force)
    contact: Contact = group(Contact)
    selection: Selection = group(Selection)
    admittance: Admittance = group(Admittance)
    surface: EstimatedSurface = group(EstimatedSurface)

    @classmethod
    def title(cls) -> str:
        return FORCE


@dataclass(frozen=True)
class PassiveJointControllerSettings(ForceControllerSettings, PassiveJointsSettings):
    """Settings of `passive_joint_controller`."""

    law: str = parameter("pidc", f"What turns errors into efforts, through (I + H). {law_kinds.titles_for(law_kinds.PASSIVE)}", choices=law_kinds.laws_for(law_kinds.PASSIVE))
    force: groups.OptionalForce = group(groups.OptionalForce)

    @classmethod
    def title(cls) -> str:
        return PASSIVE


@dataclass(frozen=True)
class SimulatedArmSettings(NodeSettings, TimedSettings, PassiveJointsSettings, ConstrainedArmSettings):
    """Settings of `simulated_arm`."""

    simulation: groups.Simulation = group(groups.Simulation)
    friction: groups.Friction = group(groups.Friction)
    contact: Surface = group(Surface)
    encoder: Encoders = group(Encoders)
    motor: Motors = group(Motors)
    sensor: ForceSensor = group(ForceSensor)
    push: groups.Push = group(groups.Push)
    disturbance: groups.FormerPush = group(groups.FormerPush)
    fault: str = parameter(FAULTS[0], "A fault to provoke: nothing published, nothing but old contents with new stamps, NaN positions, stamps that go back, joints in another order, or no wrench", choices=FAULTS, live=True)

    @classmethod
    def title(cls) -> str:
        return ARM


@dataclass(frozen=True)
class WatchdogSettings(NodeSettings, HardwareSettings):
    """Settings of `effort_watchdog`."""

    joints: Words = parameter((), "Joints of the effort controller, for the size of the zeros", required=True)
    timeout: float = parameter(0.012, "Silence of the heartbeat after which zeros are sent", "s", minimum=0.001, maximum=10.0, live=True)
    controller: str = parameter("force_controller", "Name of the controller node whose heartbeat counts")
    deactivate_time: float = parameter(0.5, "How long zeros are sent without a break before the effort controller is deactivated; where the controller is heard again before that, it goes on", "s", minimum=0.05, maximum=60.0, live=True)
    state_time: float = parameter(0.5, "Time without a new or changing joint state under an active controller after which zeros are sent", "s", minimum=0.01, maximum=10.0, live=True)
    zero_rate: float = parameter(500.0, "Rate at which zeros are repeated while tripped", "Hz", minimum=1.0, maximum=1e4)

    @classmethod
    def title(cls) -> str:
        return WATCHDOG

# fmt: on


@dataclass(frozen=True)
class DemoCase:
    """A choice of ``controller:=`` in launch files and of ``demo --controller``."""

    name: str  # the choice
    node: str  # kind of the controller node
    arm: str  # name of its file in config/
    title: str  # in words
    own: Mapping[str, Value] = field(default_factory=dict)  # parameters of its own
    needs_arms: bool = False  # whether its arm comes with the extra ``arms``
    # Name of a file in config/ with what the demo's simulated arm is made of; empty for an
    # ideal one.
    parts: str = ""


@dataclass(frozen=True)
class ControllerKind:
    """A kind of controller: the one record from which all else follows.

    Nodes, executables, choices on the command line and in launch files, and docs/parameters.md are
    made from it. Other packages add kinds through the entry points
    ``projected_control.controllers``.
    """

    name: str  # name of the node and its executable
    title: str  # what it does, in words
    settings: type[ControllerSettings]  # the class of its settings
    # ``module:function``, loaded when it is needed: makes the controller from settings, model
    # and gains.
    factory: str
    cases: tuple[DemoCase, ...] = ()  # what launch files and the demo offer with it
    needs_force: bool = False  # whether it always controls the force
    takes_passive_joints: bool = False  # whether it is for arms with joints without a motor

    def make(self, settings: Any, model: Any, gains: Any) -> Any:
        """The controller of these settings."""
        module, _, function = self.factory.partition(":")
        return getattr(import_module(module), function)(settings, model, gains)


CONTROLLERS: Registry[ControllerKind] = Registry("controller", "projected_control.controllers")
"""Every kind of controller, ours and other packages'."""

CONTROLLERS.add(
    ControllerKind(
        MOTION,
        "motion control of a constrained arm",
        MotionControllerSettings,
        "projected_control.settings.build:motion_controller",
        (
            DemoCase("motion", MOTION, "three_link_slider", "Projected inverse dynamics (PIDC)"),
            DemoCase(
                "idc",
                MOTION,
                "three_link_slider",
                "Inverse dynamics (IDC), the baseline",
                {"law": "idc"},
            ),
        ),
    )
)
CONTROLLERS.add(
    ControllerKind(
        FORCE,
        "motion control, and the constraint force held",
        ForceControllerSettings,
        "projected_control.settings.build:force_controller",
        (DemoCase("force", FORCE, "three_link_slider", "Hybrid motion and force control"),),
        needs_force=True,
    )
)
CONTROLLERS.add(
    ControllerKind(
        PASSIVE,
        "control of arms with joints without a motor",
        PassiveJointControllerSettings,
        "projected_control.settings.build:passive_joint_controller",
        (DemoCase("passive", PASSIVE, "slider_crank", "One motor for the crank: (I + H) f∥"),),
        takes_passive_joints=True,
    )
)


def _real(name: str, title: str) -> DemoCase:
    """A task on an arm that one can buy."""
    return DemoCase(name, FORCE, name, title, needs_arms=True, parts="real")


def _legged(name: str, arm: str, title: str, own: Mapping[str, Value] = {}) -> DemoCase:
    """A task of a robot with legs that one can buy."""
    return DemoCase(name, PASSIVE, arm, title, own, needs_arms=True)


TASKS: dict[str, DemoCase] = {
    case.name: case
    for case in (
        DemoCase(
            "slider",
            FORCE,
            "three_link_slider",
            "A tip on a slider, 10 N held across it",
            {"force.reference": [10.0]},
        ),
        DemoCase("seven_joints", FORCE, "seven_joints", "Seven joints wipe a table with 10 N"),
        DemoCase("wipe_edge", FORCE, "wipe_edge", "A table is found, wiped over its edge and left"),
        DemoCase("drawer_stop", FORCE, "drawer_stop", "A drawer is opened until it meets its stop"),
        DemoCase("peg", FORCE, "peg", "A peg slides into a hole, along two of its walls"),
        DemoCase("push", MOTION, "push", "A box is pushed over a table"),
        DemoCase("crank", PASSIVE, "slider_crank", "A crank with one motor"),
        DemoCase("five_bar", PASSIVE, "five_bar", "A five-bar with two motors"),
        DemoCase("four_bar_3d", PASSIVE, "four_bar_3d", "A four-bar in space, rows that repeat"),
        DemoCase("hitch", PASSIVE, "hitch", "A tractor's hitch with two cylinders"),
        DemoCase("two_arms", FORCE, "two_arms", "Two arms carry a bar, internal force held"),
        _real("wipe", "A Panda wipes a table with 10 N"),
        _real("wipe_sphere", "A UR5 wipes a dome with 10 N"),
        _real("drawer", "An xArm7 opens and closes a drawer"),
        _real("valve", "A Panda turns a valve and pushes it with 5 N"),
    )
}
"""Mechanisms and tasks that the demo and the launch files show, each with the controller that fits
it."""

LEGGED: dict[str, DemoCase] = {
    case.name: case
    for case in (
        DemoCase("quadruped", PASSIVE, "quadruped", "A robot of ours with four legs squats"),
        _legged("stand_still", "solo12", "Solo12 stands still", {"reference.kind": "hold"}),
        _legged("squat", "solo12", "Solo12 squats"),
        _legged("anymal_stand_still", "anymal", "ANYmal stands still", {"reference.kind": "hold"}),
        _legged("anymal_squat", "anymal", "ANYmal squats"),
        _legged("lean", "talos", "Talos leans to both sides"),
    )
}
"""Tasks of robots with legs, which no node serves: their bases float (docs/floating_base.md)."""

_OTHERS: dict[str, type[NodeSettings]] = {ARM: SimulatedArmSettings, WATCHDOG: WatchdogSettings}


def demo_cases() -> dict[str, DemoCase]:
    """What launch files and the demo offer, by the name of the choice."""
    return {case.name: case for kind in CONTROLLERS.values() for case in kind.cases}


def nodes() -> tuple[str, ...]:
    """The kinds of nodes there are, in the order in which a reader wants them."""
    return (*CONTROLLERS, *_OTHERS)


def settings_class(node: str) -> type[NodeSettings]:
    """The class of a node's settings."""
    if node in CONTROLLERS:
        return CONTROLLERS[node].settings
    if node not in _OTHERS:
        raise UnknownName("node", node, nodes())
    return _OTHERS[node]


def parameters_of(node: str) -> dict[str, Parameter]:
    """The parameters of a node, by name."""
    return settings_class(node).parameters()


def checked(node: str, values: Mapping[str, Value]) -> NodeSettings:
    """The settings of a node: defaults, replaced by what is given, each value checked."""
    return settings_class(node).of(values)


def checked_controller(node: str, values: Mapping[str, Value]) -> ControllerSettings:
    """The settings of a controller node."""
    settings = checked(node, values)
    if not isinstance(settings, ControllerSettings):
        raise InvalidValue(f"{node} is no controller; there are: {', '.join(CONTROLLERS)}")
    return settings


def own_values(node: str, values: Mapping[str, Value]) -> dict[str, Value]:
    """Those of the values for all nodes that this node has."""
    kind = settings_class(node)
    return {name: value for name, value in values.items() if kind.parameter(name) is not None}

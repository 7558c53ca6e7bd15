"""Every parameter of every node, in one table: name, default, unit, range, what it does.

The nodes declare themselves from it, `configuration` builds from it, and docs/parameters.md is
generated from it. Nothing here needs ROS.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from projected_control.errors import InvalidValue, UnknownName

Value = Any
Settings = Mapping[str, Value]

MOTION, FORCE, PASSIVE = "motion_controller", "force_controller", "passive_joint_controller"
ARM, WATCHDOG = "simulated_arm", "effort_watchdog"
CONTROLLERS = (MOTION, FORCE, PASSIVE)
EVERY_PLANT = (*CONTROLLERS, ARM)
GUARDS = (*CONTROLLERS, WATCHDOG)


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    Attributes:
        name: With dots for groups.
        default: Its type is the parameter's type; lists hold numbers or strings.
        description: What it does.
        unit: SI; empty for none.
        minimum, maximum: Of the number, or of each number of a list; None for no bound.
        choices: Allowed words, empty for any.
        live: Whether it may change while the node is active.
        nodes: Which nodes have it.
    """

    name: str
    default: Value
    description: str
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    live: bool = False
    nodes: tuple[str, ...] = CONTROLLERS

    def check(self, value: Value) -> Value:
        """The value in the parameter's type, or an error that says what is wrong with it."""
        if isinstance(self.default, list):
            return self._check_list(value)
        return self._check_one(value, self.default)

    def _check_list(self, value: Value) -> list[Value]:
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise InvalidValue(f"{self.name} must be a list, got {value!r}")
        sample: Value = "" if self.name in _WORD_LISTS else 0.0
        return [self._check_one(item, sample) for item in value if item != ""]

    def _check_one(self, value: Value, sample: Value) -> Value:
        if isinstance(sample, bool):
            if not isinstance(value, (bool, np.bool_)):
                raise InvalidValue(f"{self.name} must be true or false, got {value!r}")
            return bool(value)
        if isinstance(sample, str):
            if not isinstance(value, str):
                raise InvalidValue(f"{self.name} must be text, got {value!r}")
            if self.choices and value not in self.choices:
                raise UnknownName(self.name, value, self.choices)
            return value
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
            raise InvalidValue(f"{self.name} must be a number, got {value!r}")
        number = float(value)
        if isinstance(sample, int) and number != int(number if np.isfinite(number) else 0):
            raise InvalidValue(f"{self.name} must be a whole number, got {value!r}")
        if not np.isfinite(number):
            raise InvalidValue(f"{self.name} must be finite, got {value!r}")
        if self.minimum is not None and number < self.minimum:
            raise InvalidValue(f"{self.name} must be at least {self.minimum:g}, got {number:g}")
        if self.maximum is not None and number > self.maximum:
            raise InvalidValue(f"{self.name} must be at most {self.maximum:g}, got {number:g}")
        return int(number) if isinstance(sample, int) else number


def _p(name: str, default: Value, description: str, unit: str = "", **more: Any) -> Parameter:
    return Parameter(name, default, description, unit, **more)


_WORD_LISTS = (
    "joints",
    "passive_joints",
    "coordinates",
    "simulation.coordinates",
    "robot_description_arguments",
)
_SMALL, _LARGE = 1e-9, 1e6

TABLE: tuple[Parameter, ...] = (
    # The arm
    _p("robot_description", "", "URDF of the arm; takes precedence over the file", nodes=EVERY_PLANT),
    _p("robot_description_file", "three_link_slider.urdf.xacro", "URDF or xacro file of the arm: a path, or a name in the package's urdf folder", nodes=EVERY_PLANT),
    _p("robot_description_arguments", [], "xacro arguments, each as name:=value", nodes=EVERY_PLANT),
    _p("joints", [], "Joints that move; empty for all of the description. The rest is locked", nodes=EVERY_PLANT),
    _p("passive_joints", [], "Joints without a motor", nodes=(PASSIVE, ARM)),
    _p("gravity", 9.81, "Acceleration of gravity along −z", "m/s²", minimum=-100.0, maximum=100.0, nodes=EVERY_PLANT),
    _p("joint_offsets", [], "Added to the positions that the arm reports, one number a joint, where its zero is not the description's; empty for none", "rad or m", minimum=-_LARGE, maximum=_LARGE),
    _p("effort_includes_gravity", True, "Efforts carry the arm's weight; false for arms whose firmware does (UR, Franka)"),
    # What constrains it
    _p("constraint.kind", "line", "What holds the arm", choices=("line", "plane", "point", "loop", "none"), nodes=EVERY_PLANT),
    _p("constraint.frame", "tip", "Link whose origin is held", nodes=EVERY_PLANT),
    _p("constraint.other_frame", "", "Second link of a loop", nodes=EVERY_PLANT),
    _p("constraint.point", [0.0, -0.27, 0.0], "A point of the line or plane, or the point itself, in the world", "m", minimum=-_LARGE, maximum=_LARGE, nodes=EVERY_PLANT),
    _p("constraint.direction", [1.0, 0.0, 0.0], "Direction of the line, or normal of the plane, in the world", minimum=-_LARGE, maximum=_LARGE, nodes=EVERY_PLANT),
    _p("constraint.plane_normal", [0.0, 0.0, 1.0], "Normal of the plane a planar arm moves in; empty for an arm in space", minimum=-_LARGE, maximum=_LARGE, nodes=EVERY_PLANT),
    _p("constraint.wrench_frame", "", "Link in whose axes the wrench is measured, whatever its messages say; empty for what they say: constraint.frame, else the world's axes"),
    _p("constraint.singular_value", 1e-4, "Singular values of A up to this count as zero", minimum=1e-12, maximum=1e-3),
    _p("constraint.residual_tolerance", 0.005, "‖Φ‖ up to which the controller agrees to start", "m", minimum=_SMALL, maximum=1.0),
    # What is moved
    _p("coordinates", ["tip.x", "tip.angle"], "Independent coordinates: link.x, link.y, link.z, link.angle (in the plane of motion), or a joint's name"),
    _p("law", "pidc", "Projected inverse dynamics, or inverse dynamics for comparison", choices=("pidc", "idc"), nodes=(MOTION,)),
    _p("gains.stiffness", [100.0], "G_P, one number or one a coordinate", "1/s²", minimum=_SMALL, maximum=1e6, live=True),
    _p("gains.damping", [20.0], "G_D, one number or one a coordinate", "1/s", minimum=_SMALL, maximum=1e4, live=True),
    _p("gains.null_damping", 10.0, "Damping of free motions that no coordinate describes", "1/s", minimum=0.0, maximum=1e4, live=True),
    _p("gains.blend_time", 0.2, "Time over which changed gains come into force", "s", minimum=0.0, maximum=10.0, live=True),
    _p("metric.kind", "none", "How joint efforts are compared when the least is sought", choices=("none", "length", "limits")),
    _p("metric.length", 1.0, "Length that turns forces of sliding joints into torques", "m", minimum=_SMALL, maximum=1e3),
    # The constraint force
    _p("force.proportional", 3.0, "G_F", minimum=0.0, maximum=1e4, live=True, nodes=(FORCE, PASSIVE)),
    _p("force.integral", 0.1, "G_I", "1/s", minimum=0.0, maximum=1e5, live=True, nodes=(FORCE, PASSIVE)),
    _p("force.cutoff", 50.0, "Cut-off of the low-pass on the measured force; 0 for none", "Hz", minimum=0.0, maximum=1e5, live=True, nodes=(FORCE, PASSIVE)),
    _p("force.delay", 1, "Samples from a torque to its effect in the measured force", "samples", minimum=1, maximum=100, live=True, nodes=(FORCE, PASSIVE)),
    _p("force.integral_limit", 100.0, "Largest share of the integral", "N", minimum=_SMALL, maximum=1e6, live=True, nodes=(FORCE, PASSIVE)),
    _p("force.anti_windup", "conditional", "What the integral does while efforts are limited", choices=("none", "conditional", "back_calculation"), live=True, nodes=(FORCE, PASSIVE)),
    _p("force.tracking_time", 0.1, "Time constant of back-calculation", "s", minimum=1e-4, maximum=100.0, live=True, nodes=(FORCE, PASSIVE)),
    _p("force.reference", [0.0], "λ_d, one number a constraint row", "N", minimum=-1e6, maximum=1e6, live=True, nodes=(FORCE, PASSIVE)),
    _p("force.source", "sensor", "Where λ comes from: the wrench topic, the model (32), or a momentum observer", choices=("sensor", "model", "momentum"), nodes=(FORCE, PASSIVE)),
    _p("force.observer_bandwidth", 50.0, "Of the momentum observer", "Hz", minimum=_SMALL, maximum=1e4, nodes=(FORCE, PASSIVE)),
    _p("force.enabled", False, "Also control the force, where passive joints leave the freedom", nodes=(PASSIVE,)),
    # What the arm stands
    _p("limits.effort", [], "Largest effort a joint; empty for the description's", "N·m or N", minimum=_SMALL, maximum=1e6, live=True),
    _p("limits.effort_rate", [1000.0], "Largest change of effort, one number or one a joint", "N·m/s or N/s", minimum=_SMALL, maximum=1e9, live=True),
    _p("limits.velocity", [], "Largest joint velocity; empty for the description's", "rad/s or m/s", minimum=_SMALL, maximum=1e6, live=True),
    _p("limits.lower", [], "Smallest joint position; empty for the description's", "rad or m", minimum=-_LARGE, maximum=_LARGE, live=True),
    _p("limits.upper", [], "Largest joint position; empty for the description's", "rad or m", minimum=-_LARGE, maximum=_LARGE, live=True),
    _p("limits.reference_jump", 0.05, "Step of a reference that is refused", "m or rad", minimum=_SMALL, maximum=1e3, live=True),
    _p("limits.residual", 0.02, "‖Φ‖ of an active controller beyond which it stops: the constraint is gone", "m", minimum=_SMALL, maximum=10.0, live=True),
    _p("limits.hold_time", 0.01, "For which the last effort is held on bad states", "s", minimum=0.0, maximum=1.0, live=True),
    _p("limits.frozen_time", 0.05, "After which a state that does not change though it should is frozen", "s", minimum=1e-3, maximum=10.0, live=True),
    _p("limits.stale_time", 0.02, "Without a new state, after which the effort is zero", "s", minimum=1e-3, maximum=10.0, live=True),
    _p("limits.force_time", 0.05, "Without a new wrench, after which the arm is braked", "s", minimum=1e-3, maximum=10.0, live=True, nodes=(FORCE, PASSIVE)),
    _p("limits.lost_time", 0.5, "Without a new state, after which the controller goes inactive", "s", minimum=0.01, maximum=60.0, live=True),
    # What it follows
    _p("reference.kind", "hold", "Stay where the arm is, or follow a sine; the topic ~/reference takes over either", choices=("hold", "sine"), live=True),
    _p("reference.offset", [0.0], "Centre of the sine, one number or one a coordinate", "m or rad", minimum=-_LARGE, maximum=_LARGE, live=True),
    _p("reference.amplitude", [0.0], "Of the sine, likewise", "m or rad", minimum=-_LARGE, maximum=_LARGE, live=True),
    _p("reference.frequency", [0.5], "Of the sine, likewise", "Hz", minimum=0.0, maximum=100.0, live=True),
    _p("reference.phase", [0.0], "Of the sine, likewise", "rad", minimum=-_LARGE, maximum=_LARGE, live=True),
    _p("reference.approach", True, "Go to the start of the sine smoothly first; without it the arm must already move along it"),
    _p("reference.max_rate", [0.5], "On the way to a set-point", "m/s or rad/s", minimum=_SMALL, maximum=1e3, live=True),
    _p("reference.max_acceleration", [2.0], "On the way to a set-point", "m/s² or rad/s²", minimum=_SMALL, maximum=1e4, live=True),
    _p("reference.max_jerk", [20.0], "On the way to a set-point", "m/s³ or rad/s³", minimum=_SMALL, maximum=1e6, live=True),
    # How the arm is reached
    _p("hardware", "topics", "Whoever listens on effort_controller/commands, or controllers of ros2_control, which are found, checked and switched", choices=("topics", "ros2_control"), nodes=GUARDS),
    _p("ros2_control.manager", "controller_manager", "Name of the controller manager", nodes=GUARDS),
    _p("ros2_control.effort_controller", "", "Controller that takes the efforts; empty for the one that fits the joints", nodes=GUARDS),
    _p("ros2_control.wrench", "", "Topic of the measured wrench; empty for the force-torque broadcaster's, or wrench where there is none"),
    _p("ros2_control.timeout", 5.0, "For which an answer of the controller manager is awaited", "s", minimum=0.1, maximum=60.0, nodes=GUARDS),
    _p("watchdog", "", "Name of the watchdog without which the controller does not run; empty for none"),
    _p("limits.watchdog_time", 0.5, "Silence of that watchdog after which the controller goes inactive", "s", minimum=0.1, maximum=10.0, live=True),
    # The loop
    _p("rate", 1000.0, "Of the loop: how often the arm publishes its state", "Hz", minimum=1.0, maximum=1e4, nodes=EVERY_PLANT),
    _p("lockstep", False, "Answer every state exactly once, tagged, however long it takes", nodes=EVERY_PLANT),
    _p("state_rate", 100.0, "Of the topic ~/state; 0 for never", "Hz", minimum=0.0, maximum=1e4),
    _p("diagnostics_rate", 2.0, "Of /diagnostics", "Hz", minimum=0.1, maximum=100.0, live=True, nodes=(*EVERY_PLANT, WATCHDOG)),
    _p("markers_rate", 0.0, "Of the topic ~/markers, for RViz; 0 for never", "Hz", minimum=0.0, maximum=100.0),
    _p("heartbeat_rate", 250.0, "Of the topic ~/heartbeat, by which the watchdog knows the controller lives", "Hz", minimum=1.0, maximum=1e4),
    _p("autostart", True, "Configure and activate without being told, as soon as it is possible", nodes=(*EVERY_PLANT, WATCHDOG)),
    _p("realtime.priority", 40, "SCHED_FIFO priority of the process; taken where the system permits it, but not in lockstep; 0 for the ordinary scheduler", minimum=0, maximum=99, nodes=EVERY_PLANT),
    _p("realtime.lock_memory", False, "Keep all memory in RAM", nodes=(*EVERY_PLANT, WATCHDOG)),
    _p("realtime.cpus", [], "CPUs the process may run on; empty for all", minimum=0, maximum=4096, nodes=(*EVERY_PLANT, WATCHDOG)),
    # The simulated arm
    _p("simulation.start", [-3.0, 2.0, 1.0], "Guess of the joint positions to start from; the nearest configuration on the constraint is taken", "rad or m", minimum=-_LARGE, maximum=_LARGE, nodes=(ARM,)),
    _p("simulation.coordinates", [], "Coordinates prescribed at the start: names as for controllers", nodes=(ARM,)),
    _p("simulation.values", [], "Values of these coordinates", "m or rad", minimum=-_LARGE, maximum=_LARGE, nodes=(ARM,)),
    _p("simulation.rates", [], "Rates of these coordinates; empty for rest", "m/s or rad/s", minimum=-_LARGE, maximum=_LARGE, nodes=(ARM,)),
    _p("simulation.factor", 1.0, "Speed of time against the wall clock; 0 for as fast as it goes", minimum=0.0, maximum=1000.0, live=True, nodes=(ARM,)),
    _p("simulation.step", 0.001, "Of the integration; divides the period of the loop", "s", minimum=1e-6, maximum=0.1, nodes=(ARM,)),
    _p("simulation.wait_for_command", False, "Time stands still until the first effort is commanded, so that the arm does not fall before", nodes=(ARM,)),
    _p("simulation.interface", "effort_controller", "Who commands it: an effort controller's topic, or a controller manager through JointStateTopicSystem, with joint states on joint_commands", choices=("effort_controller", "joint_commands"), nodes=(ARM,)),
    _p("simulation.command_timeout", 0.0, "Without a command, after which the motors give nothing, as drivers of real arms do; 0 to hold the last effort for ever", "s", minimum=0.0, maximum=10.0, nodes=(ARM,)),
    _p("simulation.brake", False, "Brakes hold the arm, while time goes on, until an effort that is not zero is commanded", nodes=(ARM,)),
    _p("simulation.clock", False, "Publish /clock", nodes=(ARM,)),
    _p("simulation.duration", 0.0, "Stop after this much simulated time; 0 for never", "s", minimum=0.0, maximum=1e6, nodes=(ARM,)),
    _p("friction.coulomb", [0.0], "Coulomb friction, one number or one a joint", "N·m or N", minimum=0.0, maximum=1e6, live=True, nodes=(ARM,)),
    _p("friction.viscous", [0.0], "Viscous friction, likewise", "N·m·s/rad or N·s/m", minimum=0.0, maximum=1e6, live=True, nodes=(ARM,)),
    _p("sensor.noise", 0.0, "Standard deviation of the measured force", "N", minimum=0.0, maximum=1e6, live=True, nodes=(ARM,)),
    _p("sensor.delay", 0, "Extra delay of the measured force", "samples", minimum=0, maximum=100, live=True, nodes=(ARM,)),
    _p("disturbance.effort", [], "Joint efforts added to the commanded ones; empty for none", "N·m or N", minimum=-_LARGE, maximum=_LARGE, live=True, nodes=(ARM,)),
    _p("fault", "none", "A fault to provoke: nothing published, nothing but old contents with new stamps, NaN positions, stamps that go back, joints in another order, or no wrench", choices=("none", "silent", "frozen", "nan", "back", "reordered", "no_wrench"), live=True, nodes=(ARM,)),
    # The watchdog
    _p("joints", [], "Joints of the effort controller, for the size of the zeros", nodes=(WATCHDOG,)),
    _p("timeout", 0.012, "Silence of the heartbeat after which zeros are sent", "s", minimum=0.001, maximum=10.0, live=True, nodes=(WATCHDOG,)),
    _p("controller", "force_controller", "Name of the controller node whose heartbeat counts", nodes=(WATCHDOG,)),
    _p("realtime.priority", 50, "SCHED_FIFO priority of the process, above the controller's; taken where the system permits it; 0 for the ordinary scheduler", minimum=0, maximum=99, nodes=(WATCHDOG,)),
    _p("deactivate_time", 0.5, "Of zeros without a break, after which the effort controller is deactivated; where the controller is heard again before, it goes on", "s", minimum=0.05, maximum=60.0, live=True, nodes=(WATCHDOG,)),
    _p("state_time", 0.5, "Without a new or changing joint state under an active controller, after which zeros are sent", "s", minimum=0.01, maximum=10.0, live=True, nodes=(WATCHDOG,)),
    _p("zero_rate", 500.0, "At which zeros are repeated while tripped", "Hz", minimum=1.0, maximum=1e4, nodes=(WATCHDOG,)),
)  # fmt: skip
"""All parameters, in the order in which a reader wants them."""


def parameters_of(node: str) -> dict[str, Parameter]:
    """The parameters of a node, by name."""
    return {p.name: p for p in TABLE if node in p.nodes}


def defaults_of(node: str) -> dict[str, Value]:
    """A node's settings when nothing is said."""
    return {name: p.default for name, p in parameters_of(node).items()}


def checked(node: str, settings: Settings) -> dict[str, Value]:
    """Complete settings of a node: defaults, overridden by what is given, each value checked."""
    table = parameters_of(node)
    unknown = sorted(set(settings) - set(table))
    if unknown:
        raise UnknownName(f"parameter of {node}", unknown[0], table)
    return {name: p.check(settings.get(name, p.default)) for name, p in table.items()}

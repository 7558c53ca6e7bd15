"""The groups of parameters, from which the settings of nodes are composed (see `nodes`)."""

from __future__ import annotations

from dataclasses import dataclass

from projected_control.control.force_source import SOURCES
from projected_control.model.constraints import CONSTRAINTS
from projected_control.model.constraints.point_on_surface import SURFACES
from projected_control.model.constraints.poses import DIRECTIONS
from projected_control.model.coordinates import OWN_COORDINATES
from projected_control.settings.declaration import Group, Numbers, Words, group, parameter
from projected_control.settings.references import REFERENCES

SMALL, LARGE = 1e-9, 1e6
"""Bounds of numbers that only have to be positive, or finite."""

# fmt: off


@dataclass(frozen=True)
class Motion(Group):
    """How a constraint is driven: Φ(q) = x(t), x(0) = 0, one number per row or one for all."""

    rate: Numbers = parameter((), "Rate at which it travels; empty for none", "m/s or rad/s", minimum=-LARGE, maximum=LARGE)
    amplitude: Numbers = parameter((), "Amplitude of a sine on top; empty for none", "m or rad", minimum=-LARGE, maximum=LARGE)
    frequency: Numbers = parameter((), "Frequency of that sine", "Hz", minimum=0.0, maximum=100.0)
    phase: Numbers = parameter((), "Phase of that sine; empty for zero", "rad", minimum=-LARGE, maximum=LARGE)


@dataclass(frozen=True)
class Constraint(Group):
    """What holds the arm."""

    kind: str = parameter("", "What holds the arm; none for an arm that moves freely. Where several constraints hold it, they stand under constraints instead", choices=CONSTRAINTS, required=True)
    frame: str = parameter("", "Link whose origin or axis is held")
    other_frame: str = parameter("", "Second link of a loop; or the link in whose axes the first is held, empty for the world")
    point: Numbers = parameter((), "A point of the line or plane, the point itself, the centre of a circle; in the world, or in other_frame", "m", minimum=-LARGE, maximum=LARGE)
    direction: Numbers = parameter((), "Direction of the line, normal of the plane, axis of circle and hinge; in the world, or in other_frame", minimum=-LARGE, maximum=LARGE)
    plane_normal: Numbers = parameter((), "Normal of the plane in which a planar arm moves; empty for an arm in space", minimum=-LARGE, maximum=LARGE)
    axis: Numbers = parameter((), "Axis of frame that is held or turned about, in its own axes", minimum=-LARGE, maximum=LARGE)
    angle: Numbers = parameter((), "Angle between axis and direction, away from 0 and π", "rad", minimum=0.0, maximum=3.15)
    directions: Words = parameter((), "Some of tx, ty, tz, rx, ry, rz, in which a frame is held", choices=DIRECTIONS)
    orientation: Numbers = parameter((), "Roll, pitch and yaw in which a frame is held; empty for none", "rad", minimum=-LARGE, maximum=LARGE)
    length: Numbers = parameter((), "Length of the rod of a distance", "m", minimum=SMALL, maximum=LARGE)
    radius: Numbers = parameter((), "Radius of circle, sphere or cylinder", "m", minimum=SMALL, maximum=LARGE)
    surface: str = parameter("", "Which surface a point is on", choices=("", *SURFACES))
    heights_file: str = parameter("", "Heights of a surface on a grid: a text, .csv or .npy file, one line per place along x")
    spacing: Numbers = parameter((), "Distance between these heights, one number, or one along x and one along y", "m", minimum=SMALL, maximum=LARGE)
    joint: str = parameter("", "Joint that is locked, or follows another")
    other_joint: str = parameter("", "Joint that it follows")
    ratio: Numbers = parameter((), "How far it goes for each unit of the other", minimum=-LARGE, maximum=LARGE)
    position: Numbers = parameter((), "Where it is locked, or is while the other is at zero", "rad or m", minimum=-LARGE, maximum=LARGE)
    motion: Motion = group(Motion)
    arguments: Words = parameter((), "What a kind of another package needs beyond these, each as name:=value")


@dataclass(frozen=True)
class OffsetFrame(Group):
    """A frame that the description does not name."""

    link: str = parameter("", "Link on which it sits", required=True)
    position: Numbers = parameter((0.0, 0.0, 0.0), "Its origin in the link's axes", "m", minimum=-LARGE, maximum=LARGE)
    orientation: Numbers = parameter((0.0, 0.0, 0.0), "Roll, pitch and yaw of its axes in the link's", "rad", minimum=-LARGE, maximum=LARGE)


@dataclass(frozen=True)
class Coordinate(Group):
    """A coordinate that a bare name does not say."""

    kind: str = parameter("", "What is moved: a position along a direction, the angle of an axis about a direction, the tilt of an axis towards a direction, how far round an axis a point has gone (turns are counted), or the centre of mass along a direction", choices=OWN_COORDINATES, required=True)
    frame: str = parameter("", "Link whose origin or axis is followed")
    direction: Numbers = parameter((), "Along or about which, in the world, or in other_frame for a position", minimum=-LARGE, maximum=LARGE)
    other_frame: str = parameter("", "Link from which a position counts, in its axes; empty for the world")
    point: Numbers = parameter((), "A point of the axis that a point goes round", "m", minimum=-LARGE, maximum=LARGE)
    axis: Numbers = parameter((), "Axis of the link that is followed, in its own axes; empty for x", minimum=-LARGE, maximum=LARGE)


@dataclass(frozen=True)
class Payload(Group):
    """A load that a link carries."""

    link: str = parameter("", "Link that carries a load; empty for none")
    mass: float = parameter(0.0, "Mass of the load", "kg", minimum=0.0, maximum=1e4, live=True)
    centre: Numbers = parameter((), "Its centre of mass in the link's axes; empty for the link's origin", "m", minimum=-10.0, maximum=10.0, live=True)


@dataclass(frozen=True)
class ControllerConstraint(Constraint):
    """What holds the arm, and how a controller deals with it."""

    wrench_frame: str = parameter("", "Link in whose axes the wrench is measured, whatever its messages say; empty for what they say: constraint.frame, else the world's axes")
    singular_value: float = parameter(1e-4, "Singular values of A up to this count as zero", minimum=1e-12, maximum=1e-3)
    row_length: float = parameter(1.0, "Length by which rows that are angles compare with rows that are lengths, in singular values and where λ is not unique", "m", minimum=1e-3, maximum=1e3)
    residual_tolerance: float = parameter(0.005, "‖Φ‖ up to which the controller agrees to start", "m", minimum=SMALL, maximum=1.0)


@dataclass(frozen=True)
class Gains(Group):
    """Feedback on the coordinates."""

    stiffness: Numbers = parameter((100.0,), "G_P, one number or one per coordinate", "1/s²", minimum=SMALL, maximum=1e6, live=True)
    damping: Numbers = parameter((20.0,), "G_D, one number or one per coordinate", "1/s", minimum=SMALL, maximum=1e4, live=True)
    null_damping: float = parameter(10.0, "Damping of free motions that no coordinate describes", "1/s", minimum=0.0, maximum=1e4, live=True)
    blend_time: float = parameter(0.2, "Time over which changed gains come into force", "s", minimum=0.0, maximum=10.0, live=True)


@dataclass(frozen=True)
class Posture(Group):
    """Where motions that no coordinate describes are drawn to."""

    target: Numbers = parameter((), "Joint positions to which motions that no coordinate describes are drawn, one per joint, without disturbing constraint and coordinates; empty for damping only", "rad or m", minimum=-LARGE, maximum=LARGE)
    stiffness: float = parameter(25.0, "How strongly", "1/s²", minimum=SMALL, maximum=1e6)
    damping: float = parameter(0.0, "Damping of these motions, on top of gains.null_damping", "1/s", minimum=0.0, maximum=1e4)


@dataclass(frozen=True)
class Metric(Group):
    """How joint efforts are compared."""

    kind: str = parameter("none", "How joint efforts are compared when the least is sought", choices=("none", "length", "limits"))
    length: float = parameter(1.0, "Length that turns forces of sliding joints into torques", "m", minimum=SMALL, maximum=1e3)


@dataclass(frozen=True)
class Force(Group):
    """The constraint force: where it comes from, and the feedback on it."""

    proportional: float = parameter(3.0, "G_F", minimum=0.0, maximum=1e4, live=True)
    integral: float = parameter(0.1, "G_I", "1/s", minimum=0.0, maximum=1e5, live=True)
    cutoff: float = parameter(50.0, "Cut-off of the low-pass on the measured force; 0 for none", "Hz", minimum=0.0, maximum=1e5, live=True)
    delay: int = parameter(1, "Samples from a torque to its effect in the measured force", "samples", minimum=1, maximum=100, live=True)
    integral_limit: float = parameter(100.0, "Largest share of the integral", "N", minimum=SMALL, maximum=1e6, live=True)
    anti_windup: str = parameter("conditional", "What the integral does while efforts are limited", choices=("none", "conditional", "back_calculation"), live=True)
    tracking_time: float = parameter(0.1, "Time constant of back-calculation", "s", minimum=1e-4, maximum=100.0, live=True)
    rows: Words = parameter((), "Rows of the constraint whose force is controlled, as constraint.row or row (see docs/constraints.md); empty for all")
    reference: Numbers = parameter((0.0,), "λ_d, one number per row that is controlled, or one for all", "N or N·m", minimum=-1e6, maximum=1e6, live=True)
    source: str = parameter("sensor", "Where λ comes from: the wrench topic, the model (32), or a momentum observer", choices=SOURCES)
    observer_bandwidth: float = parameter(50.0, "Bandwidth of the momentum observer", "Hz", minimum=SMALL, maximum=1e4)
    tare: Numbers = parameter((), "Wrench that the sensor shows without contact and without tool, force then moment, in its own axes; subtracted. The service ~/tare measures it; empty for none", "N and N·m", minimum=-1e6, maximum=1e6, live=True)
    tool_mass: float = parameter(0.0, "Mass of what hangs beyond the sensor; its weight is taken away from the wrench", "kg", minimum=0.0, maximum=1e3, live=True)
    tool_centre: Numbers = parameter((), "Centre of mass of that tool, in the sensor's axes; empty for the sensor's origin", "m", minimum=-10.0, maximum=10.0, live=True)


@dataclass(frozen=True)
class OptionalForce(Force):
    """The constraint force where a controller may leave it alone."""

    enabled: bool = parameter(False, "Also control the force, where passive joints leave the freedom")


@dataclass(frozen=True)
class Limits(Group):
    """What the guard allows."""

    effort: Numbers = parameter((), "Largest effort, one number or one per joint; empty for the description's", "N·m or N", minimum=SMALL, maximum=1e6, live=True)
    effort_rate: Numbers = parameter((1000.0,), "Largest change of effort, one number or one per joint", "N·m/s or N/s", minimum=SMALL, maximum=1e9, live=True)
    velocity: Numbers = parameter((), "Largest joint velocity, one number or one per joint; empty for the description's", "rad/s or m/s", minimum=SMALL, maximum=1e6, live=True)
    lower: Numbers = parameter((), "Smallest joint position, one number or one per joint; empty for the description's", "rad or m", minimum=-LARGE, maximum=LARGE, live=True)
    upper: Numbers = parameter((), "Largest joint position, one number or one per joint; empty for the description's", "rad or m", minimum=-LARGE, maximum=LARGE, live=True)
    reference_jump: float = parameter(0.05, "Step of a reference that is refused", "m or rad", minimum=SMALL, maximum=1e3, live=True)
    residual: float = parameter(0.02, "‖Φ‖ of an active controller beyond which it stops: the constraint is gone", "m", minimum=SMALL, maximum=10.0, live=True)
    hold_time: float = parameter(0.01, "Time for which the last effort is held on bad states", "s", minimum=0.0, maximum=1.0, live=True)
    frozen_time: float = parameter(0.05, "Time after which a state that does not change though it should counts as frozen", "s", minimum=1e-3, maximum=10.0, live=True)
    stale_time: float = parameter(0.02, "Time without a new state after which the effort is zero", "s", minimum=1e-3, maximum=10.0, live=True)
    lost_time: float = parameter(0.5, "Time without a new state after which the controller goes inactive", "s", minimum=0.01, maximum=60.0, live=True)
    watchdog_time: float = parameter(0.5, "Silence of the watchdog after which the controller goes inactive", "s", minimum=0.1, maximum=10.0, live=True)


@dataclass(frozen=True)
class ForceLimits(Limits):
    """What the guard allows where the force counts."""

    force_time: float = parameter(0.05, "Time without a new wrench after which the arm is braked", "s", minimum=1e-3, maximum=10.0, live=True)
    force_difference: float = parameter(10.0, "Largest difference between the measured λ and the model's, under an effort, that /diagnostics does not report", "N", minimum=SMALL, maximum=1e9, live=True)


@dataclass(frozen=True)
class Reference(Group):
    """What a controller follows."""

    kind: str = parameter("hold", "Stay where the arm is, or follow a sine; the topic ~/reference takes over either", choices=REFERENCES, live=True)
    offset: Numbers = parameter((0.0,), "Centre of the sine, one number or one per coordinate", "m or rad", minimum=-LARGE, maximum=LARGE, live=True)
    amplitude: Numbers = parameter((0.0,), "Amplitude of the sine, likewise", "m or rad", minimum=-LARGE, maximum=LARGE, live=True)
    frequency: Numbers = parameter((0.5,), "Frequency of the sine, likewise", "Hz", minimum=0.0, maximum=100.0, live=True)
    phase: Numbers = parameter((0.0,), "Phase of the sine, likewise", "rad", minimum=-LARGE, maximum=LARGE, live=True)
    approach: bool = parameter(True, "Go to the start of the sine smoothly first; without it the arm must already move along it")
    max_rate: Numbers = parameter((0.5,), "Largest rate on the way to a set-point", "m/s or rad/s", minimum=SMALL, maximum=1e3, live=True)
    max_acceleration: Numbers = parameter((2.0,), "Largest acceleration on the way to a set-point", "m/s² or rad/s²", minimum=SMALL, maximum=1e4, live=True)
    max_jerk: Numbers = parameter((20.0,), "Largest jerk on the way to a set-point", "m/s³ or rad/s³", minimum=SMALL, maximum=1e6, live=True)


@dataclass(frozen=True)
class Ros2Control(Group):
    """How an arm behind ros2_control is found."""

    manager: str = parameter("controller_manager", "Name of the controller manager")
    effort_controller: str = parameter("", "Controller that takes the efforts; empty for the one that fits the joints")
    timeout: float = parameter(5.0, "Time for which an answer of the controller manager is awaited", "s", minimum=0.1, maximum=60.0)


@dataclass(frozen=True)
class ControllerRos2Control(Ros2Control):
    """How a controller finds an arm behind ros2_control."""

    wrench: str = parameter("", "Topic of the measured wrench; empty for the force-torque broadcaster's, or wrench where there is none")


@dataclass(frozen=True)
class Realtime(Group):
    """What the operating system is asked for."""

    priority: int = parameter(40, "SCHED_FIFO priority of the process; taken where the system permits it, but not in lockstep; 0 for the ordinary scheduler", minimum=0, maximum=99)
    lock_memory: bool = parameter(False, "Keep all memory in RAM")
    cpus: tuple[int, ...] = parameter((), "CPUs the process may run on; empty for all", minimum=0, maximum=4096)


@dataclass(frozen=True)
class WatchdogRealtime(Realtime):
    """The watchdog runs before whom it watches."""

    priority: int = parameter(50, "SCHED_FIFO priority of the process, above the controller's; taken where the system permits it; 0 for the ordinary scheduler", minimum=0, maximum=99)


@dataclass(frozen=True)
class Simulation(Group):
    """How an arm is simulated."""

    start: Numbers = parameter((), "Guess of the joint positions to start from, one per joint; the nearest configuration on the constraint is taken. Empty for a guess within the joints' ranges", "rad or m", minimum=-LARGE, maximum=LARGE)
    coordinates: Words = parameter((), "Coordinates prescribed at the start: names as for controllers")
    values: Numbers = parameter((), "Values of these coordinates", "m or rad", minimum=-LARGE, maximum=LARGE)
    rates: Numbers = parameter((), "Rates of these coordinates; empty for rest", "m/s or rad/s", minimum=-LARGE, maximum=LARGE)
    factor: float = parameter(1.0, "Speed of time against the wall clock; 0 for as fast as it goes", minimum=0.0, maximum=1000.0, live=True)
    step: float = parameter(0.001, "Step of the integration; divides the period of the loop", "s", minimum=1e-6, maximum=0.1)
    wait_for_command: bool = parameter(False, "Time stands still until the first effort is commanded, so that the arm does not fall before")
    interface: str = parameter("effort_controller", "Who commands it: an effort controller's topic, or a controller manager through JointStateTopicSystem, with joint states on joint_commands", choices=("effort_controller", "joint_commands"))
    command_timeout: float = parameter(0.0, "Time without a command after which the motors give no torque, as drivers of real arms do; 0 to hold the last effort for ever", "s", minimum=0.0, maximum=10.0)
    brake: bool = parameter(False, "Brakes hold the arm, while time goes on, until an effort that is not zero is commanded")
    clock: bool = parameter(False, "Publish /clock")
    duration: float = parameter(0.0, "Stop after this much simulated time; 0 for never", "s", minimum=0.0, maximum=1e6)


@dataclass(frozen=True)
class Friction(Group):
    """Joint friction of a simulated arm."""

    coulomb: Numbers = parameter((0.0,), "Coulomb friction, one number or one per joint", "N·m or N", minimum=0.0, maximum=1e6, live=True)
    viscous: Numbers = parameter((0.0,), "Viscous friction, likewise", "N·m·s/rad or N·s/m", minimum=0.0, maximum=1e6, live=True)


@dataclass(frozen=True)
class Sensor(Group):
    """The force sensor of a simulated arm."""

    noise: float = parameter(0.0, "Standard deviation of the measured force", "N", minimum=0.0, maximum=1e6, live=True)
    delay: int = parameter(0, "Extra delay of the measured force", "samples", minimum=0, maximum=100, live=True)


@dataclass(frozen=True)
class Disturbance(Group):
    """What pushes a simulated arm."""

    effort: Numbers = parameter((), "Joint efforts added to the commanded ones; empty for none", "N·m or N", minimum=-LARGE, maximum=LARGE, live=True)

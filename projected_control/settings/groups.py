"""The groups of parameters, from which the settings of nodes are composed (see `nodes`).

What the library takes as it is declares its parameters itself (`Metric`, `EstimatedSurface`,
`Disturbance`, `FrictionCompensation`, `Encoders`, `Motors`, `ForceSensor`, `OffsetFrame`). Where a node needs to know
more, a group here derives from the library's class: its object can be given to the library.
"""

from __future__ import annotations

from dataclasses import dataclass

from projected_control import control
from projected_control.control.force import ForceGains
from projected_control.control.force_kernels import SOURCES
from projected_control.control.gains import HOLD_STIFFNESS, MotionGains
from projected_control.control.references import MotionLimits
from projected_control.declaration import LARGE, SMALL, parameter_of
from projected_control.model.constraints import CONSTRAINTS
from projected_control.model.constraints.point_on_surface import SURFACES
from projected_control.model.constraints.poses import DIRECTIONS
from projected_control.model.coordinates import OWN_COORDINATES
from projected_control.model.friction import JointFriction
from projected_control.settings.declaration import Group, Numbers, Words, group, parameter
from projected_control.settings.reference_kinds import REFERENCES
from projected_control.simulation.engines import BUILT_IN, ENGINES

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
    one_sided: bool = parameter(False, "Whether a simulated arm may leave it on one side, as it may leave a table (point_on_plane, point_on_surface), a rope (distance), a stop (joint_locked) or another link's face (loop with one of tx, ty, tz). A controller that feels the force looks for the contact, holds it and knows when it is lost, also of a point_at_point, whose direction then is the normal into the surface (docs/contacts.md). See contact")
    free_side: str = parameter("", "Where the arm is free then: negative, which it is unless said otherwise, where Φ < 0 and λ > 0 presses, as before a plane whose direction points into it, or inside of a sphere; positive, where λ < 0 presses, as outside of a sphere or cylinder, or above a height map", choices=("", "negative", "positive"))
    extent: Numbers = parameter((), "Where a surface is that can be left, and beyond which it ends, as a table does at its edge: x, y and z of two corners of a box in the world; empty for no end. For a simulated arm", "m", minimum=-LARGE, maximum=LARGE)
    estimated: bool = parameter(False, "Whether a plane (point_on_plane) follows the contact point and the measured force, within the bounds of surface; for controllers")
    arguments: Words = parameter((), "What a kind of another package needs beyond these, each as name:=value")


@dataclass(frozen=True)
class Coordinate(Group):
    """A coordinate that a bare name does not say."""

    kind: str = parameter("", "What is moved: a position along a direction, the angle of an axis about a direction, the tilt of an axis towards a direction, how far round an axis a point has gone (turns are counted), the way along a constraint, the centre of mass along a direction, or an orientation, which is three coordinates: name.rx, name.ry and name.rz", choices=OWN_COORDINATES, required=True)
    frame: str = parameter("", "Link whose origin or axis is followed")
    direction: Numbers = parameter((), "Along or about which, in the world, or in other_frame for a position", minimum=-LARGE, maximum=LARGE)
    other_frame: str = parameter("", "Link from which a position counts, in its axes; empty for the world")
    point: Numbers = parameter((), "A point of the axis that a point goes round", "m", minimum=-LARGE, maximum=LARGE)
    axis: Numbers = parameter((), "Axis of the link that is followed, in its own axes; empty for x", minimum=-LARGE, maximum=LARGE)
    constraint: str = parameter("", "Constraint along which a way is, one of constraints.names; empty for the only one. Of point_on_line and of frame_fixed with one direction left it counts from their point, of point_on_circle it is an angle whose turns are counted, of a hinge the angle of the link")
    zero: Numbers = parameter((), "Roll, pitch and yaw, in the world, from which an orientation counts: where its rotation vector is zero; empty for the world's axes", "rad", minimum=-LARGE, maximum=LARGE)


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
class Gains(MotionGains):
    """Feedback on the coordinates, and how it is changed."""

    blend_time: float = parameter(0.2, "Time over which changed gains come into force", "s", minimum=0.0, maximum=10.0, live=True)


@dataclass(frozen=True)
class Posture(control.Posture):
    """Where motions that no coordinate describes are drawn to, or that they are held."""

    hold: float = parameter(HOLD_STIFFNESS, "How strongly they are held where the arm stands when the controller starts, where posture.target is empty, critically damped together with gains.null_damping; 0 for damping only. Not with the law gravity, which is led by hand", "1/s²", minimum=0.0, maximum=1e6)


@dataclass(frozen=True)
class Force(ForceGains):
    """The constraint force: where it comes from, and the feedback on it."""

    rows: Words = parameter((), "Rows of the constraint whose force is controlled, as constraint.row or row (see docs/constraints.md); empty for all")
    reference: Numbers = parameter((0.0,), "λ_d, one number per row that is controlled, or one for all", "N or N·m", minimum=-1e6, maximum=1e6, live=True)
    max_step: float = parameter(100.0, "Largest change of λ_d that such a reference may ask for; a larger one is refused", "N or N·m", minimum=SMALL, maximum=1e6, live=True)
    source: str = parameter("sensor", "Where λ comes from: the wrench topic, the model (32), or a momentum observer", choices=SOURCES)
    observer_bandwidth: float = parameter(50.0, "Bandwidth of the momentum observer", "Hz", minimum=SMALL, maximum=1e4)
    tare: Numbers = parameter((), "Wrench that the sensor shows without contact and without tool, force then moment, in its own axes; subtracted. The service ~/tare measures it; empty for none", "N and N·m", minimum=-1e6, maximum=1e6, live=True)
    effort_tare: Numbers = parameter((), "Joint efforts that the sources model and momentum show without contact, one per joint; subtracted from what they show. They are measured in free motion near the contact, see docs/friction.md; empty for none", "N·m or N", minimum=-1e6, maximum=1e6, live=True)
    sign: int = parameter(1, "1 for a wrench that is the force which the constraint takes; -1 for one that is the force which acts on the tool", minimum=-1, maximum=1)
    tool_mass: float = parameter(0.0, "Mass of what hangs beyond the sensor; its weight is taken away from the wrench", "kg", minimum=0.0, maximum=1e3, live=True)
    tool_centre: Numbers = parameter((), "Centre of mass of that tool, in the sensor's axes; empty for the sensor's origin", "m", minimum=-10.0, maximum=10.0, live=True)


@dataclass(frozen=True)
class OptionalForce(Force):
    """The constraint force where a controller may leave it alone."""

    enabled: bool = parameter(False, "Also control the force, where passive joints leave the freedom")


@dataclass(frozen=True)
class Limits(control.Limits):
    """What the guard allows, and when a node gives up; where no force counts, nothing is said of it."""

    force_time: float = control.Limits.force_time
    force_difference: float = control.Limits.force_difference
    force_stop: float = control.Limits.force_stop
    above_description: bool = parameter(False, "Whether limits.effort, velocity, lower and upper may be wider than the description's; else such a number is refused, in a file and while the arm moves", live=True)
    lost_time: float = parameter(0.5, "Time without a new state after which the controller goes inactive", "s", minimum=0.01, maximum=60.0, live=True)
    watchdog_time: float = parameter(0.5, "Silence of the watchdog after which the controller goes inactive", "s", minimum=0.1, maximum=10.0, live=True)


@dataclass(frozen=True)
class ForceLimits(Limits):
    """What the guard allows where the force counts."""

    force_time: float = parameter_of(control.Limits, "force_time")
    force_difference: float = parameter_of(control.Limits, "force_difference")
    force_stop: float = parameter_of(control.Limits, "force_stop")


@dataclass(frozen=True)
class Reference(Group):
    """What a controller follows."""

    kind: str = parameter("hold", "Stay where the arm is, follow a sine, or go along a path: a line, a circle, a spiral, a raster or waypoints; the topic ~/reference takes over any of them", choices=REFERENCES, live=True)
    offset: Numbers = parameter((0.0,), "Centre of the sine, one number or one per coordinate", "m or rad", minimum=-LARGE, maximum=LARGE, live=True)
    amplitude: Numbers = parameter((0.0,), "Amplitude of the sine, one number or one per coordinate", "m or rad", minimum=-LARGE, maximum=LARGE, live=True)
    frequency: Numbers = parameter((0.5,), "Frequency of the sine, one number or one per coordinate", "Hz", minimum=0.0, maximum=100.0, live=True)
    phase: Numbers = parameter((0.0,), "Phase of the sine, one number or one per coordinate; of a circle or spiral, the angle at which it begins", "rad", minimum=-LARGE, maximum=LARGE, live=True)
    approach: bool = parameter(True, "Go to the start of the motion smoothly first; without it, only where the arm is not there or moves otherwise")
    along: Words = parameter((), "Coordinates that a path moves, in its order; empty for the first ones. The others stay where they are", live=True)
    centre: Numbers = parameter((), "Centre of a line, circle, spiral or raster in these coordinates; empty for where the arm is", "m or rad", minimum=-LARGE, maximum=LARGE, live=True)
    size: Numbers = parameter((), "From end to end of a line, one number per coordinate that it moves; length and width of a raster", "m or rad", minimum=-LARGE, maximum=LARGE, live=True)
    radius: float = parameter(0.05, "Radius of a circle, outer radius of a spiral", "m or rad", minimum=SMALL, maximum=LARGE, live=True)
    spacing: float = parameter(0.02, "Distance between the lines of a raster or the windings of a spiral", "m or rad", minimum=SMALL, maximum=LARGE, live=True)
    turns: float = parameter(1.0, "Turns of a circle; negative for backwards", minimum=-1000.0, maximum=1000.0, live=True)
    points: Numbers = parameter((), "Waypoints, one after the other, each with one number per coordinate of reference.along", "m or rad", minimum=-LARGE, maximum=LARGE, live=True)
    file: str = parameter("", "CSV file of waypoints, instead of reference.points: a line with the names of coordinates, then one line per point; with a column time [s], the points are passed at these times", live=True)
    blend: float = parameter(0.01, "Distance before a corner of a path at which its rounding begins; 0 to stop at every corner", "m or rad", minimum=0.0, maximum=LARGE, live=True)
    back: bool = parameter(False, "Go along the path there and back", live=True)
    repeats: int = parameter(1, "How often the path is gone along; one that does not close is then gone along there and back", minimum=1, maximum=10000, live=True)
    square: bool = parameter(True, "Coordinates of kind tilt of the held link keep its axis square to the surface along a path; false to hold their values", live=True)
    speed: float = parameter(0.25, "Largest speed along a path, of the coordinates that are lengths together", "m/s", minimum=SMALL, maximum=LARGE, live=True)
    rate_share: float = parameter(0.8, "Share of the joints' velocity limits that a path may use", minimum=0.01, maximum=1.0, live=True)
    effort_share: float = parameter(0.8, "Share of the joints' effort limits that a path may use", minimum=0.01, maximum=1.0, live=True)
    max_distance: Numbers = parameter((), "How far from where the arm is a set-point or a trajectory of ~/reference, or of the action, may lead, and how far away a reference may begin that is changed by parameters (reference.*) while the controller runs, one number or one per coordinate; further is refused. Empty for 0.05 where the arm is real (hardware is ros2_control or plugin), and for no bound in simulation", "m or rad", minimum=SMALL, maximum=LARGE, live=True)
    check: bool = parameter(True, "Whether the way of a reference that comes while the controller runs is looked at before it is taken: joint ranges, velocities, efforts, singular places; on a real arm also the rates and accelerations of trajectories, and the way from where it stands at activation. False takes it as it is", live=True)
    limits: MotionLimits = group(MotionLimits, flat=True)


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
    may_fall: bool = parameter(False, "Start over topics (hardware: ros2_control) though the efforts carry the arm's weight: where this node is late or dies they end, and the arm falls. Without it such an arm is refused; the plugin holds it")


@dataclass(frozen=True)
class Plugin(Group):
    """A loop that runs in the controller manager, as a plugin that the node commands."""

    on_silence: str = parameter("stop", "What the plugin does when the node dies or hangs: stop (the reference comes to rest and λ_d to zero, then all motion is damped), hold (the reference comes to rest and is held, with λ_d as it is), or finish (what there is is followed to its end, then stop)", choices=("stop", "hold", "finish"))
    silence_time: float = parameter(0.2, "Time without a sign of life of the node after which the plugin does that; the arm goes on along its references until then", "s", minimum=0.05, maximum=60.0)
    request_time: float = parameter(30.0, "Time that the node may take for one request, such as a path to plan; longer, it counts as hung, and its signs of life end", "s", minimum=1.0, maximum=600.0, live=True)
    stop_time: float = parameter(0.5, "Time in which it brings reference and λ_d to rest", "s", minimum=0.01, maximum=60.0)


@dataclass(frozen=True)
class RecordingOptions(Group):
    """What is kept of every tick."""

    file: str = parameter("", "MCAP file in which every tick is recorded while the controller is active; where it exists, a number is added to its name. Empty for none; setting it starts and ends a recording at any time", live=True)
    megabytes: float = parameter(4000.0, "Size at which a recording ends", "MB", minimum=1.0, maximum=1e6, live=True)


@dataclass(frozen=True)
class Realtime(Group):
    """What the operating system is asked for."""

    priority: int = parameter(0, "SCHED_FIFO priority of the process, asked for where it is above 0, but not in lockstep; 0 for the ordinary scheduler. The console says whether it was granted. hardware.launch.py asks for 40, and 50 for the watchdog", minimum=0, maximum=99)
    lock_memory: bool = parameter(False, "Keep all memory in RAM")
    cpus: tuple[int, ...] = parameter((), "CPUs the process may run on; empty for all", minimum=0, maximum=4096)


@dataclass(frozen=True)
class Simulation(Group):
    """How an arm is simulated."""

    start: Numbers = parameter((), "Guess of the joint positions to start from, one per joint; the nearest configuration on the constraint is taken. Empty for a guess within the joints' ranges", "rad or m", minimum=-LARGE, maximum=LARGE)
    coordinates: Words = parameter((), "Coordinates prescribed at the start: names as for controllers")
    values: Numbers = parameter((), "Values of these coordinates", "m or rad", minimum=-LARGE, maximum=LARGE)
    touches: bool = parameter(True, "Whether it starts on what it can leave (constraint.one_sided); false for off it, where the coordinates say")
    rates: Numbers = parameter((), "Rates of these coordinates; empty for rest", "m/s or rad/s", minimum=-LARGE, maximum=LARGE)
    mass_factor: float = parameter(1.0, "Masses and inertias of the simulated links over those of the description: not one for an arm that its controller does not quite know", minimum=0.01, maximum=100.0)
    factor: float = parameter(1.0, "Speed of time against the wall clock; 0 for as fast as it goes. In lockstep time is slower where the computer does not keep up", minimum=0.0, maximum=1000.0, live=True)
    engine: str = parameter(BUILT_IN, "What moves the arm: built_in, our own plant, mujoco (the extra mujoco, see docs/tutorials/mujoco.md), or, a bare arm to compare with, dart or pinocchio (docs/engines.md)", choices=ENGINES)
    drive: float = parameter(0.0, "Bandwidth of drives at the joints that take velocities, for the law resolved_rate; they know the weight they carry. 0: the joints take efforts, as every other law sends them", "1/s", minimum=0.0, maximum=1000.0)
    step: float = parameter(0.001, "Step of the integration; divides the period of the loop", "s", minimum=1e-6, maximum=0.1)
    wait_for_command: bool = parameter(False, "Time stands still until the first effort is commanded, so that the arm does not fall before")
    interface: str = parameter("effort_controller", "Who commands it: an effort controller's topic, or a controller manager through JointStateTopicSystem, with joint states on joint_commands", choices=("effort_controller", "joint_commands"))
    command_timeout: float = parameter(0.0, "Time without a command after which the motors give no torque, as drivers of real arms do; 0 to hold the last effort for ever", "s", minimum=0.0, maximum=10.0)
    brake: bool = parameter(False, "Brakes hold the arm, while time goes on, until an effort that is not zero is commanded")
    stops: bool = parameter(True, "Joints have stops, stiff and damped, a hundredth of their range (0.01 rad or m at most) inside of the description's limits. Without, they turn without end")
    clock: bool = parameter(False, "Publish /clock")
    duration: float = parameter(0.0, "Stop after this much simulated time; 0 for never. Time goes on where it is made longer", "s", minimum=0.0, maximum=1e6, live=True)


@dataclass(frozen=True)
class Friction(JointFriction):
    """Friction of a simulated arm, at its joints and where it is held."""

    contact: float = parameter(0.0, "Coefficient of friction µ at the constraint's frame, along what holds it", minimum=0.0, maximum=10.0, live=True)


@dataclass(frozen=True)
class FormerPush(Group):
    """What pushes a simulated arm, under its former name."""

    effort: Numbers = parameter((), "Former name of push.effort, which counts before it: still taken, with a warning", "N·m or N", minimum=-LARGE, maximum=LARGE, live=True)


@dataclass(frozen=True)
class Push(Group):
    """What pushes a simulated arm."""

    effort: Numbers = parameter((), "Joint efforts added to the commanded ones; empty for none", "N·m or N", minimum=-LARGE, maximum=LARGE, live=True)

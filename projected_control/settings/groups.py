"""The groups of parameters, from which the settings of nodes are composed (see `nodes`)."""

from __future__ import annotations

from dataclasses import dataclass

from projected_control.control.disturbance import KINDS as DISTURBANCES
from projected_control.control.force_kernels import SOURCES
from projected_control.control.gains import HOLD_STIFFNESS
from projected_control.model.constraints import CONSTRAINTS
from projected_control.model.constraints.point_on_surface import SURFACES
from projected_control.model.constraints.poses import DIRECTIONS
from projected_control.model.coordinates import OWN_COORDINATES
from projected_control.settings.declaration import Group, Numbers, Words, group, parameter
from projected_control.settings.references import REFERENCES
from projected_control.simulation.sensors import VELOCITIES

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
    estimated: bool = parameter(False, "Whether a plane (point_on_plane) follows the contact point and the measured force, within the bounds of surface; for controllers")
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
class Gains(Group):
    """Feedback on the coordinates."""

    stiffness: Numbers = parameter((100.0,), "G_P, one number or one per coordinate", "1/s²", minimum=SMALL, maximum=1e6, live=True)
    damping: Numbers = parameter((20.0,), "G_D, one number or one per coordinate", "1/s", minimum=SMALL, maximum=1e4, live=True)
    null_damping: float = parameter(10.0, "Damping of free motions that no coordinate describes", "1/s", minimum=0.0, maximum=1e4, live=True)
    blend_time: float = parameter(0.2, "Time over which changed gains come into force", "s", minimum=0.0, maximum=10.0, live=True)


@dataclass(frozen=True)
class OperationalSpace(Group):
    """Task levels of the law operational_space."""

    priority: Numbers = parameter((), "Level of each coordinate, 1 the highest: a lower level never moves a higher one; empty for all on one level", minimum=1.0, maximum=100.0)
    singular_range: float = parameter(0.01, "Singular values of a level's Jacobian, in what higher levels leave, from which on it is damped", minimum=1e-5, maximum=1.0)


@dataclass(frozen=True)
class Impedance(Group):
    """What the law impedance behaves like."""

    stiffness: Numbers = parameter((100.0,), "K, one number, one per coordinate, or a symmetric positive definite matrix row by row", "N/m or N·m/rad", minimum=-1e6, maximum=1e6, live=True)
    damping_ratio: float = parameter(1.0, "ζ of every mode, wherever the arm is, unless impedance.damping is given", minimum=0.0, maximum=10.0, live=True)
    damping: Numbers = parameter((), "D, likewise, not negative; empty for damping by ratio", "N·s/m or N·m·s/rad", minimum=-1e6, maximum=1e6, live=True)
    inertia: Numbers = parameter((), "Λ_d, likewise, positive definite; needs disturbance.kind observer, which tells the force of the surroundings. Empty for the inertia that the arm has", "kg or kg·m²", minimum=-1e6, maximum=1e6, live=True)
    frame: str = parameter("", "Frame in whose axes these matrices are, for coordinates link.x, link.y, link.z and link.rx, link.ry, link.rz; empty for the world's")
    projected: bool = parameter(True, "Along the constraint only, with the force loop across it; false for a law that knows of no constraint, and λ_d open-loop on top")


@dataclass(frozen=True)
class Selection(Group):
    """Directions of the law selection."""

    force: Words = parameter((), "Coordinates along which a force is controlled; the others are moved")
    frame: str = parameter("", "Frame whose axes link.x, link.y and link.z of selection.force stand for; empty for the world's")


@dataclass(frozen=True)
class Posture(Group):
    """Where motions that no coordinate describes are drawn to."""

    target: Numbers = parameter((), "Joint positions to which motions that no coordinate describes are drawn, one per joint, without disturbing constraint and coordinates; empty for where the arm stands when the controller starts, see posture.hold", "rad or m", minimum=-LARGE, maximum=LARGE)
    stiffness: float = parameter(25.0, "How strongly, where posture.target is given", "1/s²", minimum=SMALL, maximum=1e6)
    damping: float = parameter(0.0, "Damping of these motions, on top of gains.null_damping, where posture.target is given", "1/s", minimum=0.0, maximum=1e4)
    hold: float = parameter(HOLD_STIFFNESS, "How strongly they are held where the arm stands when the controller starts, where posture.target is empty, critically damped together with gains.null_damping; 0 for damping only. Not with the law gravity, which is led by hand", "1/s²", minimum=0.0, maximum=1e6)


@dataclass(frozen=True)
class Compensation(Group):
    """Friction that a controller knows and compensates, following the desired joint velocity."""

    coulomb: Numbers = parameter((0.0,), "Coulomb friction that is compensated, one number or one per joint", "N·m or N", minimum=0.0, maximum=1e6, live=True)
    viscous: Numbers = parameter((0.0,), "Viscous friction, likewise", "N·m·s/rad or N·s/m", minimum=0.0, maximum=1e6, live=True)
    static: Numbers = parameter((), "Friction at the beginning of a motion, likewise; empty for that of coulomb", "N·m or N", minimum=0.0, maximum=1e6, live=True)
    stribeck_velocity: Numbers = parameter((0.05,), "Velocity over which static goes over into Coulomb friction, likewise", "rad/s or m/s", minimum=1e-6, maximum=1e3, live=True)
    width: Numbers = parameter((0.02,), "Desired velocity at which three quarters of the dry friction are compensated, likewise; the loop widens it where the desired velocity changes sign so fast that period and delay ask for it", "rad/s or m/s", minimum=1e-6, maximum=1e3, live=True)
    contact: float = parameter(0.0, "Coefficient of friction µ at the contact: µ times the wanted force is compensated, against the motion along the surface", minimum=0.0, maximum=10.0, live=True)
    contact_width: float = parameter(0.005, "Wanted speed of the contact point at which three quarters of it are", "m/s", minimum=1e-6, maximum=10.0, live=True)


@dataclass(frozen=True)
class Rejection(Group):
    """What answers the disturbances that no model knows."""

    kind: str = parameter("none", "Nothing, integral action on the coordinates, or the tangent part of a momentum observer's estimate; one at a time", choices=DISTURBANCES)
    integral: float = parameter(500.0, "K_I of integral action", "1/s³", minimum=0.0, maximum=1e9, live=True)
    integral_limit: float = parameter(20.0, "Largest acceleration that the integral asks for", "m/s² or rad/s²", minimum=SMALL, maximum=1e6, live=True)
    bandwidth: float = parameter(10.0, "Bandwidth of the observer", "Hz", minimum=SMALL, maximum=1e4)
    effort_limit: float = parameter(5.0, "Largest effort that the observer adds to any joint", "N·m or N", minimum=SMALL, maximum=1e6, live=True)
    band: Numbers = parameter((0.001,), "Error up to which either waits while the reference rests, so that dry friction does not have the arm hunt; one number or one per coordinate", "m or rad", minimum=0.0, maximum=10.0, live=True)


@dataclass(frozen=True)
class Surface(Group):
    """How a plane is followed that is marked estimated."""

    angle: float = parameter(0.2, "Largest angle between the plane and where it should be; beyond, the arm has left its constraint", "rad", minimum=1e-3, maximum=1.4)
    distance: float = parameter(0.05, "Largest distance of the contact point from where the plane should be; likewise", "m", minimum=1e-4, maximum=10.0)
    bandwidth: float = parameter(2.0, "How fast the plane is followed", "Hz", minimum=1e-3, maximum=100.0)
    force: float = parameter(1.0, "Least normal force at which it is", "N", minimum=SMALL, maximum=1e6)
    speed: float = parameter(0.005, "Least speed of the contact point at which its direction is", "m/s", minimum=SMALL, maximum=10.0)


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
    max_rate: float = parameter(200.0, "Largest rate at which λ_d goes to a new reference, of ~/force_reference or force.reference, while the controller is active", "N/s or N·m/s", minimum=1e-3, maximum=1e9, live=True)
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
class Limits(Group):
    """What the guard allows."""

    effort: Numbers = parameter((), "Largest effort, one number or one per joint; empty for the description's", "N·m or N", minimum=SMALL, maximum=1e6, live=True)
    above_description: bool = parameter(False, "Whether limits.effort, velocity, lower and upper may be wider than the description's; else such a number is refused, in a file and while the arm moves", live=True)
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
    latch_time: float = parameter(1.0, "Time for which the guard may stop the arm, hold its effort or send zero, and go on by itself. What has lasted longer starts again only when it is told to: a damped stop with a reference that begins at the arm (~/reference), anything else by activating the controller, from inside the limits", "s", minimum=0.02, maximum=60.0, live=True)
    return_margin: float = parameter(0.0, "How far out of its range a joint may rest where the controller is activated, to be led back in: it may then not go further out than it has been, and has to stay inside once it is there. 0 to refuse", "rad or m", minimum=0.0, maximum=0.5)
    watchdog_time: float = parameter(0.5, "Silence of the watchdog after which the controller goes inactive", "s", minimum=0.1, maximum=10.0, live=True)


@dataclass(frozen=True)
class ForceLimits(Limits):
    """What the guard allows where the force counts."""

    force_time: float = parameter(0.05, "Time without a new wrench after which the arm is braked", "s", minimum=1e-3, maximum=10.0, live=True)
    force_stop: float = parameter(0.0, "The same difference, at which the arm is stopped, until it is told to go on; above limits.force_difference. 0 for 50 N, or twice limits.force_difference where that is more", "N", minimum=0.0, maximum=1e9, live=True)
    force_difference: float = parameter(10.0, "Largest difference between the measured λ and the model's, under an effort, that /diagnostics does not report", "N", minimum=SMALL, maximum=1e9, live=True)


@dataclass(frozen=True)
class Reference(Group):
    """What a controller follows."""

    kind: str = parameter("hold", "Stay where the arm is, follow a sine, or go along a path: a line, a circle, a spiral, a raster or waypoints; the topic ~/reference takes over any of them", choices=REFERENCES, live=True)
    offset: Numbers = parameter((0.0,), "Centre of the sine, one number or one per coordinate", "m or rad", minimum=-LARGE, maximum=LARGE, live=True)
    amplitude: Numbers = parameter((0.0,), "Amplitude of the sine, likewise", "m or rad", minimum=-LARGE, maximum=LARGE, live=True)
    frequency: Numbers = parameter((0.5,), "Frequency of the sine, likewise", "Hz", minimum=0.0, maximum=100.0, live=True)
    phase: Numbers = parameter((0.0,), "Phase of the sine, likewise; of a circle or spiral, the angle at which it begins", "rad", minimum=-LARGE, maximum=LARGE, live=True)
    approach: bool = parameter(True, "Go to the start of the motion smoothly first; without it, only where the arm is elsewhere or moves otherwise")
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
    max_rate: Numbers = parameter((0.5,), "Largest rate of a coordinate on the way to a set-point and along a path", "m/s or rad/s", minimum=SMALL, maximum=1e3, live=True)
    max_acceleration: Numbers = parameter((2.0,), "Largest acceleration, likewise", "m/s² or rad/s²", minimum=SMALL, maximum=1e4, live=True)
    max_jerk: Numbers = parameter((20.0,), "Largest jerk, likewise", "m/s³ or rad/s³", minimum=SMALL, maximum=1e6, live=True)


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
    rates: Numbers = parameter((), "Rates of these coordinates; empty for rest", "m/s or rad/s", minimum=-LARGE, maximum=LARGE)
    mass_factor: float = parameter(1.0, "Masses and inertias of the simulated links over those of the description: not one for an arm that its controller does not quite know", minimum=0.01, maximum=100.0)
    factor: float = parameter(1.0, "Speed of time against the wall clock; 0 for as fast as it goes. In lockstep time is slower where the computer does not keep up", minimum=0.0, maximum=1000.0, live=True)
    step: float = parameter(0.001, "Step of the integration; divides the period of the loop", "s", minimum=1e-6, maximum=0.1)
    wait_for_command: bool = parameter(False, "Time stands still until the first effort is commanded, so that the arm does not fall before")
    interface: str = parameter("effort_controller", "Who commands it: an effort controller's topic, or a controller manager through JointStateTopicSystem, with joint states on joint_commands", choices=("effort_controller", "joint_commands"))
    command_timeout: float = parameter(0.0, "Time without a command after which the motors give no torque, as drivers of real arms do; 0 to hold the last effort for ever", "s", minimum=0.0, maximum=10.0)
    brake: bool = parameter(False, "Brakes hold the arm, while time goes on, until an effort that is not zero is commanded")
    stops: bool = parameter(True, "Joints have stops, stiff and damped, a hundredth of their range (0.01 rad or m at most) inside of the description's limits. Without, they turn without end")
    clock: bool = parameter(False, "Publish /clock")
    duration: float = parameter(0.0, "Stop after this much simulated time; 0 for never. Time goes on where it is made longer", "s", minimum=0.0, maximum=1e6, live=True)


@dataclass(frozen=True)
class Friction(Group):
    """Friction of a simulated arm."""

    coulomb: Numbers = parameter((0.0,), "Coulomb friction, one number or one per joint", "N·m or N", minimum=0.0, maximum=1e6, live=True)
    viscous: Numbers = parameter((0.0,), "Viscous friction, likewise", "N·m·s/rad or N·s/m", minimum=0.0, maximum=1e6, live=True)
    static: Numbers = parameter((), "Friction up to which a joint at rest stays there, likewise; empty for that of coulomb", "N·m or N", minimum=0.0, maximum=1e6, live=True)
    stribeck_velocity: Numbers = parameter((0.05,), "Velocity over which static goes over into Coulomb friction, likewise", "rad/s or m/s", minimum=1e-6, maximum=1e3, live=True)
    sticks: bool = parameter(False, "Dry friction is set-valued: the arm sticks, and does not creep below its breakaway torque; otherwise it is a smooth curve", live=True)
    contact: float = parameter(0.0, "Coefficient of friction µ at the constraint's frame, along what holds it", minimum=0.0, maximum=10.0, live=True)


@dataclass(frozen=True)
class Encoder(Group):
    """The encoders of a simulated arm."""

    resolution: Numbers = parameter((0.0,), "Step of the measured positions, one number or one per joint; 0 for exact ones", "rad or m", minimum=0.0, maximum=1.0, live=True)
    velocity: str = parameter("exact", "What is measured as velocity: the exact one, the difference of two positions, or that through a low-pass", choices=VELOCITIES, live=True)
    cutoff: float = parameter(50.0, "Cut-off of that low-pass", "Hz", minimum=1e-3, maximum=1e5, live=True)


@dataclass(frozen=True)
class Motor(Group):
    """The motors of a simulated arm."""

    noise: Numbers = parameter((0.0,), "Standard deviation of the effort they give, one number or one per joint", "N·m or N", minimum=0.0, maximum=1e6, live=True)
    delay: int = parameter(0, "Extra delay of the effort", "samples", minimum=0, maximum=100, live=True)


@dataclass(frozen=True)
class Sensor(Group):
    """The force sensor of a simulated arm."""

    noise: float = parameter(0.0, "Standard deviation of the measured force", "N", minimum=0.0, maximum=1e6, live=True)
    delay: int = parameter(0, "Extra delay of the measured force", "samples", minimum=0, maximum=100, live=True)


@dataclass(frozen=True)
class FormerPush(Group):
    """What pushes a simulated arm, under its former name."""

    effort: Numbers = parameter((), "Former name of push.effort, which counts before it: still taken, with a warning", "N·m or N", minimum=-LARGE, maximum=LARGE, live=True)


@dataclass(frozen=True)
class Push(Group):
    """What pushes a simulated arm."""

    effort: Numbers = parameter((), "Joint efforts added to the commanded ones; empty for none", "N·m or N", minimum=-LARGE, maximum=LARGE, live=True)

"""From settings (see `nodes`) to arms, controllers, guards, references and plants.

The nodes, the demo and the tests all build through here, so that the same settings give the same
numbers everywhere. Nothing here needs ROS.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from projected_control.control import (
    AntiWindup,
    Controller,
    ForceController,
    ForceGains,
    Law,
    MotionController,
    MotionGains,
    PassiveJointController,
    Posture,
)
from projected_control.control.force import ForceLoopState
from projected_control.control.force_source import ForceSource
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.control.references import (
    Constant,
    MotionLimits,
    Reference,
    ReferencePoint,
    Sines,
)
from projected_control.control.stability import MotionLoop
from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.arm import Arm, OffsetFrame
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import CONSTRAINTS, Constraint, Moving, Stack, with_mimics
from projected_control.model.constraints.moving import Travel
from projected_control.model.coordinates import Coordinates, coordinate_named, own_coordinate
from projected_control.model.projection import Metric
from projected_control.native.engine import use_engine
from projected_control.ports import SimulatedArm
from projected_control.resources import share_file
from projected_control.settings import groups, references
from projected_control.settings.nodes import (
    CONTROLLERS,
    ConstrainedArmSettings,
    ControllerSettings,
    ForceControllerSettings,
    MotionControllerSettings,
    MovedArmSettings,
    PassiveJointControllerSettings,
    PassiveJointsSettings,
    SimulatedArmSettings,
    TimedSettings,
)
from projected_control.settings.references import REFERENCES, spread
from projected_control.simulation import ForceSensor, JointFriction, Plant, assemble

Array = NDArray[np.float64]

PLANT_SINGULAR_VALUE = 1e-6
"""A plant's own tolerance: far below a controller's, so that no step falls where the rank drops."""


def build_arm(settings: ConstrainedArmSettings) -> Arm:
    """The arm of a node's settings."""
    weightless = isinstance(settings, MovedArmSettings) and not settings.effort_includes_gravity
    arm = Arm.from_urdf(
        _description(settings),
        mappings=_arguments("robot_description_arguments", settings.robot_description_arguments),
        joints=settings.joints or None,
        frames={
            name: OffsetFrame(frame.link, frame.position, frame.orientation)
            for name, frame in settings.frames.items()
        },
        passive=settings.passive_joints if isinstance(settings, PassiveJointsSettings) else (),
        gravity=0.0 if weightless else settings.gravity,
        armature=settings.armature or 0.0,
    )
    set_payload(arm, settings.payload)
    return arm


def check_payload(arm: Arm, payload: groups.Payload) -> None:
    """Refuse a load that the arm cannot carry."""
    if payload.mass > 0.0 and not payload.link:
        raise InvalidValue("payload.mass is given: payload.link must say which link carries it")
    if len(payload.centre) not in (0, 3):
        raise InvalidValue(f"payload.centre must have 3 numbers, got {len(payload.centre)}")
    if payload.link:
        arm.attachment(payload.link)


def set_payload(arm: Arm, payload: groups.Payload) -> None:
    """Let an arm carry what the settings say."""
    check_payload(arm, payload)
    if payload.link:
        arm.set_payload(payload.link, payload.mass, payload.centre or (0.0, 0.0, 0.0))


def _description(settings: ConstrainedArmSettings) -> str | Path:
    if settings.robot_description:
        return settings.robot_description
    if not settings.robot_description_file:
        raise InvalidValue(
            "no arm is described: give robot_description_file, a path or a name in the package's "
            "urdf folder, or robot_description, the URDF itself"
        )
    return description_file(settings.robot_description_file)


def description_file(name: str) -> Path:
    """A path as it is, a bare name in the package's urdf folder."""
    path = Path(name)
    return path if path.is_absolute() or path.exists() else share_file("urdf", name)


def _arguments(parameter: str, items: Sequence[str]) -> dict[str, str]:
    arguments = {}
    for item in items:
        name, separator, value = item.partition(":=")
        if not separator:
            raise InvalidValue(f"{parameter} must be name:=value, got {item!r}")
        arguments[name] = value
    return arguments


def build_constraint(settings: ConstrainedArmSettings) -> Constraint | None:
    """What holds the arm of a node's settings: one constraint, or several under names."""
    group, several = settings.constraint, settings.constraints
    if several:
        if group.kind:
            raise InvalidValue(
                f"constraint.kind ({group.kind}) and constraints.names ({', '.join(several)}) are "
                "both given; move constraint into constraints, under a name, and list that"
            )
        made = {name: _one_constraint(g, f"constraints.{name}") for name, g in several.items()}
        parts = {name: part for name, part in made.items() if part is not None}
        return Stack(list(parts.values()), list(parts)) if parts else None
    return _one_constraint(group, "constraint")


def _one_constraint(group: groups.Constraint, name: str) -> Constraint | None:
    """The constraint of one group, moving where that says so."""
    if not group.kind:
        raise InvalidValue(
            f"{name}.kind must be given, as nothing is assumed of what holds an arm: one of "
            f"{', '.join(CONSTRAINTS)}"
        )
    constraint = CONSTRAINTS[group.kind].build(group, name)
    motion = group.motion
    if constraint is None or not (motion.rate or motion.amplitude):
        return constraint
    rows = constraint.rows

    def per_row(field: str, numbers: Sequence[float]) -> Array:
        return spread(f"{name}.motion.{field}", numbers or (0.0,), rows, "row")

    return Moving(
        constraint,
        Travel(
            per_row("rate", motion.rate),
            per_row("amplitude", motion.amplitude),
            per_row("frequency", motion.frequency),
            per_row("phase", motion.phase),
        ),
    )


def build_coordinates(
    names: Sequence[str], arm: Arm, settings: ConstrainedArmSettings
) -> Coordinates:
    """Coordinates by name (see `model.coordinates.COORDINATES`)."""
    return Coordinates(
        [
            own_coordinate(name, settings.coordinate[name])
            if name in settings.coordinate
            else coordinate_named(name, arm, settings.constraint)
            for name in names
        ]
    )


def build_model(settings: MovedArmSettings) -> ConstrainedArm:
    """Arm, constraint and coordinates of a controller."""
    arm = build_arm(settings)
    if not settings.coordinates:
        raise InvalidValue(
            "coordinates must be given: what the controller moves, each as link.x, link.y, "
            f"link.z, link.angle or a joint's name ({', '.join(arm.joint_names)})"
        )
    metric = None
    if settings.metric.kind == "length":
        metric = Metric.from_length(settings.metric.length, arm.prismatic)
    elif settings.metric.kind == "limits":
        metric = Metric.from_limits(build_limits(settings, arm).effort)
    return ConstrainedArm(
        arm,
        with_mimics(arm, build_constraint(settings)),
        build_coordinates(settings.coordinates, arm, settings),
        tolerance=settings.constraint.singular_value,
        metric=metric,
        row_length=settings.constraint.row_length,
    )


def build_gains(settings: MovedArmSettings, k: int) -> MotionGains:
    """Gains on k coordinates."""
    for loop, name in _motion_loops(settings, k):
        loop.require_stable(name)
    group = settings.gains
    return MotionGains(
        spread("gains.stiffness", group.stiffness, k),
        spread("gains.damping", group.damping, k),
        group.null_damping,
    )


def gain_warnings(settings: MovedArmSettings) -> list[str]:
    """What is doubtful about the gains though nothing is wrong with them."""
    loops = _motion_loops(settings, len(settings.coordinates))
    return [text for loop, name in loops if (text := loop.warning(name))]


def _motion_loops(settings: MovedArmSettings, k: int) -> list[tuple[MotionLoop, str]]:
    """The sampled loops of k coordinates with their names, each pair of gains once."""
    group = settings.gains
    stiffness = spread("gains.stiffness", group.stiffness, k)
    damping = spread("gains.damping", group.damping, k)
    delay = settings.force.delay if isinstance(settings, ForceControllerSettings) else 1
    rate = settings.rate if isinstance(settings, TimedSettings) else 1000.0
    loops: dict[MotionLoop, str] = {}
    for i in range(k):
        name = settings.coordinates[i] if len(settings.coordinates) == k else ""
        loops.setdefault(MotionLoop(stiffness[i], damping[i], 1.0 / rate, delay), name)
    return list(loops.items())


def build_force_gains(settings: ForceControllerSettings) -> ForceGains:
    """Gains on λ, refused where the sampled loop would diverge."""
    gains = ForceGains(
        settings.force.proportional,
        settings.force.integral,
        settings.force.cutoff or None,
        settings.force.delay,
        settings.force.integral_limit,
        AntiWindup(settings.force.anti_windup),
        settings.force.tracking_time,
    )
    gains.loop(1.0 / settings.rate).require_stable()
    return gains


def build_limits(settings: MovedArmSettings, arm: Arm) -> Limits:
    """The limits of the settings, and the description's where these say nothing."""
    group = settings.limits

    def given(name: str, numbers: Sequence[float]) -> Array | None:
        return spread(f"limits.{name}", numbers, arm.n, "joint") if numbers else None

    return Limits.of(
        arm,
        effort=given("effort", group.effort),
        effort_rate=spread("limits.effort_rate", group.effort_rate, arm.n, "joint"),
        velocity=given("velocity", group.velocity),
        lower=given("lower", group.lower),
        upper=given("upper", group.upper),
        reference_jump=group.reference_jump,
        hold_time=group.hold_time,
        frozen_time=group.frozen_time,
        stale_time=group.stale_time,
        residual=group.residual,
        **(
            {"force_time": group.force_time, "force_difference": group.force_difference}
            if isinstance(group, groups.ForceLimits)
            else {}
        ),
    )


def build_controller(node: str, settings: ControllerSettings) -> Controller:
    """The controller of a node."""
    if node not in CONTROLLERS:
        raise InvalidValue(f"{node} is no controller; there are: {', '.join(CONTROLLERS)}")
    kind = CONTROLLERS[node]
    if not isinstance(settings, kind.settings):
        raise InvalidValue(f"{type(settings).__name__} are not the settings of {node}")
    model = build_model(settings)
    controller = kind.make(settings, model, build_gains(settings, model.k))
    if settings.posture.target:
        group = settings.posture
        delay = settings.force.delay if isinstance(settings, ForceControllerSettings) else 1
        damping = settings.gains.null_damping + group.damping
        if damping == 0.0:
            raise InvalidValue(
                "posture.target is given, and nothing damps the motion towards it: set "
                "gains.null_damping or posture.damping"
            )
        MotionLoop(group.stiffness, damping, controller.period, delay).require_stable("posture")
        controller.set_posture(Posture(group.target, group.stiffness, group.damping))
    return controller


def motion_controller(
    settings: MotionControllerSettings, model: ConstrainedArm, gains: MotionGains
) -> Controller:
    """PIDC, or IDC by parameter."""
    return MotionController(model, gains, Law[settings.law.upper()], 1.0 / settings.rate)


def force_controller(
    settings: ForceControllerSettings, model: ConstrainedArm, gains: MotionGains
) -> Controller:
    """Hybrid control of motion and force."""
    return ForceController(model, gains, build_force_gains(settings), 1.0 / settings.rate)


def passive_joint_controller(
    settings: PassiveJointControllerSettings, model: ConstrainedArm, gains: MotionGains
) -> Controller:
    """(I + H) f∥, and the force where it is asked for."""
    force = build_force_gains(settings) if settings.force.enabled else None
    return PassiveJointController(model, gains, force, 1.0 / settings.rate)


def motion_limits(settings: MovedArmSettings, k: int) -> MotionLimits:
    """What a set-point may ask for on the way."""
    return references.motion_limits(settings.reference, k)


def build_sines(settings: MovedArmSettings, k: int) -> Sines:
    """The sine of the settings, from time zero."""
    return references.sines(settings.reference, k)


def build_reference(settings: MovedArmSettings, start: ReferencePoint, begin: float) -> Reference:
    """What a controller follows from a time on, starting from where its reference is."""
    references.motion_limits(settings.reference, start.value.size)
    return REFERENCES[settings.reference.kind].build(settings.reference, start, begin)


def check_reference(settings: MovedArmSettings, k: int) -> None:
    """Raise where the settings make no reference for k coordinates."""
    build_reference(settings, ReferencePoint(*np.zeros((3, k))), 0.0)


def build_force_reference(settings: ForceControllerSettings, force: ForceLoopState) -> Constant:
    """λ_d of every row; zero for those that are not controlled."""
    values = np.asarray(settings.force.reference, dtype=np.float64)
    rows = int(force.controlled.sum())
    if values.size not in (1, rows):
        raise InvalidValue(
            f"force.reference must have {rows} numbers, one per row of the constraint that is "
            f"controlled, got {values.size}"
        )
    return Constant(force.expanded(values))


def controlled_rows(settings: ForceControllerSettings, constraint: Constraint) -> list[int]:
    """The rows that ``force.rows`` names: each as constraint.row, or a constraint for all."""
    names = list(constraint.row_names)
    if not settings.force.rows:
        return list(range(constraint.rows))
    rows: list[int] = []
    for word in settings.force.rows:
        found = [i for i, name in enumerate(names) if name == word or name.startswith(f"{word}.")]
        if not found:
            raise UnknownName("row of the constraint (force.rows)", word, names)
        rows += found
    if len(set(rows)) != len(rows):
        raise InvalidValue(f"force.rows names rows twice: {list(settings.force.rows)}")
    return rows


def build_loop(node: str, settings: ControllerSettings) -> ControlLoop:
    """The control loop of a node, holding still until it is given a reference."""
    controller = build_controller(node, settings)
    model = controller.model
    source, force_reference = None, None
    if isinstance(settings, ForceControllerSettings):
        force = settings.force
        source = ForceSource(
            model, force.source, bandwidth=force.observer_bandwidth, period=controller.period
        )
        tare_source(source, force)
        if controller.force is not None and model.constraint is not None:
            controller.force.control_rows(controlled_rows(settings, model.constraint))
            force_reference = build_force_reference(settings, controller.force)
    loop = ControlLoop(
        controller,
        Constant(np.zeros(model.k)),
        limits=build_limits(settings, model.arm),
        force_reference=force_reference,
        force_source=source or "sensor",
    )
    use_engine(loop, settings.engine or None)
    return loop


def tare_source(source: ForceSource, force: groups.Force) -> None:
    """Tell a source what its sensor shows of itself and of the tool."""
    check_tare(force)
    source.set_offset(np.array(force.tare or np.zeros(6)))
    source.set_tool(force.tool_mass, force.tool_centre or (0.0, 0.0, 0.0))


def check_tare(force: groups.Force) -> None:
    """Raise where what is said of the sensor and the tool has the wrong size."""
    for name, numbers, size in (("tare", force.tare, 6), ("tool_centre", force.tool_centre, 3)):
        if len(numbers) not in (0, size):
            raise InvalidValue(f"force.{name} must have {size} numbers or none, got {len(numbers)}")


def build_plant(settings: SimulatedArmSettings) -> SimulatedArm:
    """The simulated arm, assembled at its start."""
    arm = build_arm(settings)
    constraint = with_mimics(arm, build_constraint(settings))
    simulation = settings.simulation
    names = simulation.coordinates
    coordinates = build_coordinates(names, arm, settings) if names else None
    values = np.asarray(simulation.values, dtype=np.float64) if names else None
    if values is not None and values.size != len(names):
        raise InvalidValue(
            f"simulation.values must have {len(names)} numbers, one per name in "
            f"simulation.coordinates, got {values.size}"
        )
    guess = start_guess(arm, simulation.start)
    start = assemble(arm, constraint, guess, coordinates, values)
    model = ConstrainedArm(arm, constraint, coordinates, tolerance=PLANT_SINGULAR_VALUE)
    velocity = np.zeros(arm.n)
    if simulation.rates:
        if coordinates is None or len(simulation.rates) != coordinates.size:
            raise InvalidValue(
                "simulation.rates must have one number per name in simulation.coordinates"
            )
        model.evaluate(start, velocity)
        along = model.J_theta @ model.P
        velocity = np.linalg.pinv(along) @ np.asarray(simulation.rates)
    friction = build_friction(settings, arm.n)
    plant = Plant(model, simulation.step, friction=friction)
    sensor = ForceSensor(settings.sensor.noise, settings.sensor.delay)
    return SimulatedArm(plant, start, velocity, period=1.0 / settings.rate, sensor=sensor)


def start_guess(arm: Arm, given: Sequence[float]) -> Array:
    """Joint positions to look for a start from: those given, else some within the ranges."""
    if len(given) == arm.n:
        return np.array(given, dtype=np.float64)
    if given:
        raise InvalidValue(
            f"simulation.start must have {arm.n} numbers, one per joint "
            f"({', '.join(arm.joint_names)}), or none, got {len(given)}"
        )
    lower, upper = arm.limits.lower, arm.limits.upper
    middle = np.where(np.isfinite(lower) & np.isfinite(upper), 0.5 * (lower + upper), 0.0)
    return np.where((lower <= 0.0) & (upper >= 0.0), 0.0, middle)


def build_friction(settings: SimulatedArmSettings, n: int) -> JointFriction:
    """Joint friction of a simulated arm with n joints."""
    coulomb = spread("friction.coulomb", settings.friction.coulomb, n, "joint")
    viscous = spread("friction.viscous", settings.friction.viscous, n, "joint")
    return JointFriction(coulomb, viscous)

"""From settings (see `parameters`) to arms, controllers, guards, references and plants.

The nodes, the demo and the tests all build through here, so that the same settings give the same
numbers everywhere. Nothing here needs ROS.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

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
)
from projected_control.control.force_source import ModelObserver, MomentumObserver
from projected_control.control.guard import Guard
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.control.references import (
    Constant,
    MotionLimits,
    Reference,
    ReferencePoint,
    SetPoint,
    Shifted,
    Sine,
    Sines,
)
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import CONSTRAINTS, Constraint
from projected_control.model.coordinates import Coordinates, coordinate_named
from projected_control.model.projection import Metric
from projected_control.ports import SimulatedArm
from projected_control.resources import share_file
from projected_control.settings.parameters import FORCE, MOTION, PASSIVE, Settings
from projected_control.simulation import ForceSensor, JointFriction, Plant, assemble

Array = NDArray[np.float64]

PLANT_SINGULAR_VALUE = 1e-6
"""A plant's own tolerance: far below a controller's, so that no step falls where the rank drops."""


def build_arm(settings: Settings) -> Arm:
    """The arm of a node's settings."""
    arguments = {}
    for item in settings["robot_description_arguments"]:
        name, separator, value = item.partition(":=")
        if not separator:
            raise InvalidValue(f"robot_description_arguments must be name:=value, got {item!r}")
        arguments[name] = value
    gravity = settings["gravity"] if settings.get("effort_includes_gravity", True) else 0.0
    return Arm.from_urdf(
        settings["robot_description"] or description_file(settings["robot_description_file"]),
        mappings=arguments,
        joints=settings["joints"] or None,
        passive=settings.get("passive_joints", ()),
        gravity=gravity,
    )


def description_file(name: str) -> Path:
    """A path as it is, a bare name in the package's urdf folder."""
    path = Path(name)
    return path if path.is_absolute() or path.exists() else share_file("urdf", name)


def build_constraint(settings: Settings) -> Constraint | None:
    """The constraint of a node's settings."""
    group = _group(settings, "constraint")
    return CONSTRAINTS[group.kind].build(group)


def _group(settings: Settings, name: str) -> SimpleNamespace:
    """The settings of one group as attributes."""
    prefix = f"{name}."
    return SimpleNamespace(
        **{key[len(prefix) :]: settings[key] for key in settings if key.startswith(prefix)}
    )


def build_coordinates(names: Sequence[str], arm: Arm, settings: Settings) -> Coordinates:
    """Coordinates by name (see `model.coordinates.COORDINATES`)."""
    group = _group(settings, "constraint")
    return Coordinates([coordinate_named(name, arm, group) for name in names])


def build_model(settings: Settings) -> ConstrainedArm:
    """Arm, constraint and coordinates of a controller."""
    arm = build_arm(settings)
    metric = None
    if settings["metric.kind"] == "length":
        metric = Metric.from_length(settings["metric.length"], arm.prismatic)
    elif settings["metric.kind"] == "limits":
        metric = Metric.from_limits(build_limits(settings, arm).effort)
    return ConstrainedArm(
        arm,
        build_constraint(settings),
        build_coordinates(settings["coordinates"], arm, settings),
        tolerance=settings["constraint.singular_value"],
        metric=metric,
    )


def build_gains(settings: Settings, k: int) -> MotionGains:
    """Gains on k coordinates."""
    gains = MotionGains(
        settings["gains.stiffness"], settings["gains.damping"], settings["gains.null_damping"]
    )
    gains.array(k)
    return gains


def build_force_gains(settings: Settings) -> ForceGains:
    """Gains on λ, refused where the sampled loop would diverge."""
    gains = ForceGains(
        settings["force.proportional"],
        settings["force.integral"],
        settings["force.cutoff"] or None,
        settings["force.delay"],
        settings["force.integral_limit"],
        AntiWindup(settings["force.anti_windup"]),
        settings["force.tracking_time"],
    )
    gains.loop(1.0 / settings["rate"]).require_stable()
    return gains


def build_limits(settings: Settings, arm: Arm) -> Limits:
    """What the arm stands: the description's limits, or those of the settings."""
    return Limits.of(
        arm,
        effort=settings["limits.effort"] or None,
        effort_rate=settings["limits.effort_rate"],
        velocity=settings["limits.velocity"] or None,
        lower=settings["limits.lower"] or None,
        upper=settings["limits.upper"] or None,
        reference_jump=settings["limits.reference_jump"],
        hold_time=settings["limits.hold_time"],
        frozen_time=settings["limits.frozen_time"],
        stale_time=settings["limits.stale_time"],
    )


def build_controller(node: str, settings: Settings) -> Controller:
    """The controller of a node."""
    model, period = build_model(settings), 1.0 / settings["rate"]
    gains = build_gains(settings, model.k)
    if node == MOTION:
        return MotionController(model, gains, Law[settings["law"].upper()], period)
    if node == FORCE:
        return ForceController(model, gains, build_force_gains(settings), period)
    if node == PASSIVE:
        force = build_force_gains(settings) if settings["force.enabled"] else None
        return PassiveJointController(model, gains, force, period)
    raise InvalidValue(f"{node} is no controller")


def spread(settings: Settings, name: str, k: int, of: str = "coordinate") -> Array:
    """A list of one number, or of one a coordinate, as k numbers."""
    values = np.asarray(settings[name], dtype=np.float64)
    if values.size not in (1, k):
        raise InvalidValue(f"{name} must be one number or {k}, one a {of}, got {values.size}")
    return np.array(np.broadcast_to(values, (k,)))


def motion_limits(settings: Settings, k: int) -> MotionLimits:
    """What a set-point may ask for on the way."""
    return MotionLimits(
        spread(settings, "reference.max_rate", k),
        spread(settings, "reference.max_acceleration", k),
        spread(settings, "reference.max_jerk", k),
    )


class Approach(Reference):
    """A smooth way into another reference, with its rate on arrival, and then that reference."""

    def __init__(self, start: ReferencePoint, then: Reference, limits: MotionLimits, begin: float):
        value, rate, _ = then.at(0.0)
        self._way = SetPoint(start, value, limits, begin, arrival=rate)
        self._then = Shifted(then, self._way.end)
        self.size, self.end = then.size, self._then.end

    def at(self, time: float) -> ReferencePoint:
        return (self._way if time < self._way.end else self._then).at(time)


def build_sines(settings: Settings, k: int) -> Sines:
    """The sine of the settings, from time zero."""
    amplitude, frequency, phase = (
        spread(settings, f"reference.{name}", k) for name in ("amplitude", "frequency", "phase")
    )
    sines = [[Sine(*numbers)] for numbers in zip(amplitude, frequency, phase, strict=True)]
    return Sines(spread(settings, "reference.offset", k), sines)


def build_reference(settings: Settings, start: ReferencePoint, begin: float) -> Reference:
    """What a controller follows from a time on, starting from where its reference is."""
    k = start.value.size
    limits = motion_limits(settings, k)
    limits.array(k)
    if settings["reference.kind"] == "hold":
        if start.rate.any() or start.acceleration.any():
            return SetPoint(start, start.value, limits, begin)
        return Constant(start.value)
    sines = build_sines(settings, k)
    if settings["reference.approach"]:
        return Approach(start, sines, limits, begin)
    return Shifted(sines, begin)


def build_force_reference(settings: Settings, m: int) -> Constant | None:
    """λ_d, or None where it is not given for this constraint."""
    values = np.asarray(settings["force.reference"], dtype=np.float64)
    if values.size not in (1, m):
        raise InvalidValue(f"force.reference must have {m} numbers, one a row, got {values.size}")
    return Constant(np.broadcast_to(values, (m,)))


def build_loop(node: str, settings: Settings) -> ControlLoop:
    """Controller, guard and observer of a node, holding still until it is given a reference."""
    controller = build_controller(node, settings)
    model = controller.model
    guard = Guard(build_limits(settings, model.arm), model.k, controller.period)
    observer: ModelObserver | MomentumObserver | None = None
    force_reference = None
    if controller.force is not None:
        force_reference = build_force_reference(settings, model.m)
        if settings["force.source"] == "model":
            observer = ModelObserver(model)
        elif settings["force.source"] == "momentum":
            bandwidth = settings["force.observer_bandwidth"]
            observer = MomentumObserver(model, bandwidth, controller.period)
    return ControlLoop(controller, guard, Constant(np.zeros(model.k)), force_reference, observer)


def build_plant(settings: Settings) -> tuple[SimulatedArm, Constraint | None]:
    """The simulated arm, assembled at its start, and its constraint."""
    arm, constraint = build_arm(settings), build_constraint(settings)
    names = settings["simulation.coordinates"]
    coordinates = build_coordinates(names, arm, settings) if names else None
    values = np.asarray(settings["simulation.values"], dtype=np.float64) if names else None
    start = assemble(arm, constraint, settings["simulation.start"], coordinates, values)
    model = ConstrainedArm(arm, constraint, coordinates, tolerance=PLANT_SINGULAR_VALUE)
    velocity = np.zeros(arm.n)
    if settings["simulation.rates"]:
        if coordinates is None or len(settings["simulation.rates"]) != coordinates.size:
            raise InvalidValue("simulation.rates must be one number a simulation.coordinates")
        model.evaluate(start, velocity)
        along = model.J_theta @ model.P
        velocity = np.linalg.pinv(along) @ np.asarray(settings["simulation.rates"])
    friction = build_friction(settings, arm.n)
    plant = Plant(model, settings["simulation.step"], friction=friction)
    sensor = ForceSensor(settings["sensor.noise"], settings["sensor.delay"])
    hardware = SimulatedArm(plant, start, velocity, period=1.0 / settings["rate"], sensor=sensor)
    return hardware, constraint


def build_friction(settings: Settings, n: int) -> JointFriction:
    """Joint friction of a simulated arm with n joints."""
    coulomb, viscous = (
        spread(settings, f"friction.{kind}", n, "joint") for kind in ("coulomb", "viscous")
    )
    return JointFriction(coulomb, viscous)

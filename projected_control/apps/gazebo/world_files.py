"""The files of an arm in Gazebo: its model, assembled; its world; what the bridge must know."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from projected_control.apps.gazebo.chains import HoldingChains, holder_of
from projected_control.apps.gazebo.model import (
    SENSOR_JOINT,
    SENSOR_TOPIC,
    WELD_TOPIC,
    GazeboModel,
    build_model,
    plugin,
)
from projected_control.apps.gazebo.visuals import read_visuals
from projected_control.arrays import Array
from projected_control.declaration import is_given
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.friction import JointFriction
from projected_control.resources import share_file
from projected_control.settings import build
from projected_control.settings.files import ALL_NODES, parameter_text
from projected_control.settings.nodes import (
    ARM,
    ControllerSettings,
    SimulatedArmSettings,
    own_values,
)

PGS, DANTZIG = SOLVERS = ("pgs", "dantzig")  # DART's solvers, as SDF names them


class GazeboFiles(NamedTuple):
    """What was written."""

    world: Path  # for ``gz sim``
    model: Path  # the arm, which the world includes
    bridge: Path  # what `projected_control.ros.gazebo_system` reads, if the controller is in Gazebo
    parameters: Path  # parameters of the controller
    controllers: Path  # controllers of ros2_control, if the arm is behind it
    # URDF of the arm for ros2_control and robot_state_publisher; its joints count from the
    # start, as Gazebo's do.
    description: Path
    outcome: Path  # in which our system in Gazebo says what became of it (`ros.gazebo_stopwatch`)


@dataclass(frozen=True)
class WorldOptions:
    """The scene."""

    yaw: float = 0.0  # yaw angle of the arm in its world [rad]
    factor: float = 0.0  # speed of time against the clock; zero for as fast as it goes
    # Another world: a xacro file with the arguments of worlds/constrained_arm.sdf.xacro.
    world: Path | None = None
    # The compiled library that reads the physics' numbers in the same step; without it Python
    # reads them, and awaits the sensor's message.
    access: Path | None = None
    # Of DART: pgs or dantzig; empty for the one that suits the arm (see `solver_for`).
    solver: str = ""
    # Whether λ is measured where no law needs it, too; None for where that costs little.
    measure: bool | None = None
    bare: bool = False  # without our controller: the same physics with a stopwatch alone


PLAIN = WorldOptions()


class GazeboStart(NamedTuple):
    """An arm as it starts in Gazebo."""

    arm: Arm  # as it is simulated: with payload, and with masses that its controller does not know
    q: Array  # joint positions, on the constraint [rad or m]
    holder: HoldingChains | None  # what holds it; None for an arm that moves freely
    friction: JointFriction  # of its joints
    settings: SimulatedArmSettings  # of the simulated arm

    @property
    def positions(self) -> dict[str, float]:
        """By joint [rad or m]."""
        return dict(zip(self.arm.joint_names, self.q.tolist(), strict=True))


def start_in(settings: Mapping[str, Any]) -> GazeboStart:
    """The arm of some settings, assembled.

    Raises:
        InvalidValue: Where it cannot be in Gazebo, with the reason.
    """
    own = SimulatedArmSettings.of(own_values(ARM, settings))
    own = own.changed({"simulation.step": 1.0 / own.rate})  # our own simulation's, not Gazebo's
    _refuse(own)
    plant = build.build_plant(own).plant
    arm, q = plant.model.arm, plant.q.copy()
    if arm.mimics:
        raise InvalidValue(
            f"in Gazebo no joint follows another, and {', '.join(arm.mimics)} does: leave the "
            "joints that mimic others out of joints, which locks them"
        )
    arm.update(q, np.zeros(arm.n))
    holder = holder_of(own, arm)
    if own.friction.contact and (holder is None or not holder.slides):
        raise InvalidValue(
            "friction at the contact (friction.contact) needs a point that slides along a line, a "
            f"plane or a circle; here it does not ({own.constraint.kind})"
        )
    return GazeboStart(arm, q, holder, own.friction, own)


def _refuse(settings: SimulatedArmSettings) -> None:
    """What our own simulation has and Gazebo does not."""
    if any(settings.armature):
        raise InvalidValue(
            "Gazebo's joints have no rotors (armature): set armature: [] for it, so that the "
            "controller does not reckon with them either, or add the inertia to the links"
        )
    if settings.simulation.rates and any(settings.simulation.rates):
        raise InvalidValue("in Gazebo an arm starts at rest: leave simulation.rates empty")


def left_out(settings: SimulatedArmSettings) -> list[str]:
    """What the simulated arm of these settings has, and Gazebo goes without, in words."""
    found = []
    if np.any(settings.encoder.resolution) or settings.encoder.velocity != "exact":
        found.append("encoders are exact in Gazebo: encoder.* does nothing there")
    if np.any(settings.motor.noise) or settings.motor.delay:
        found.append("motors are exact in Gazebo: motor.* does nothing there")
    friction = settings.friction
    static = friction.static if is_given(friction.static) else friction.coulomb
    if not np.array_equal(np.asarray(static), np.asarray(friction.coulomb)):
        found.append("dry friction in Gazebo is Coulomb's: friction.static does nothing there")
    return found


def write_files(
    folder: Path,
    node: str,
    controller: ControllerSettings,
    settings: Mapping[str, Any],
    options: WorldOptions = PLAIN,
    *,
    summary: Path | None = None,
) -> GazeboFiles:
    """Write what ``gz sim`` needs for an arm with our controller in its physics step.

    Args:
        folder: Where to, an absolute path.
        node: Kind of the controller node.
        controller: Its settings, complete.
        settings: Settings of the arm and its start, as in the files in config/.
        options: The scene.
        summary: File for the numbers of the run, written when the world ends; none if not given.
    """
    files, start = files_in(folder), start_in(settings)
    files.parameters.write_text(parameter_text({ALL_NODES: controller.values()}), encoding="utf-8")
    access = "" if options.access is None else str(options.access)
    module = "gazebo_stopwatch" if options.bare else "gazebo_system"
    systems = [
        plugin(
            "gz-sim-python-system-loader-system",
            "gz::sim::systems::PythonSystemLoader",
            module_name=f"projected_control.ros.{module}",
            settings=str(files.bridge),
        )
    ]
    if access and not options.bare:
        systems.insert(0, plugin(access, "projected_control::ArmAccess"))
    model = write_scene(files, controller, start, options, systems)
    own = start.settings
    bridge = {
        "node": node,
        "parameters": str(files.parameters),
        "start": start.positions,
        "access": access,
        "sensor": "" if start.holder is None else SENSOR_TOPIC,
        "sensor_joint": "" if start.holder is None else SENSOR_JOINT,
        "sensor_noise": own.sensor.noise,
        "sensor_delay": own.sensor.delay,
        "measure": options.measure,
        "wrench_frame": wrench_frame(controller, start),
        "weld": WELD_TOPIC if start.holder is not None and start.holder.surface is None else "",
        "friction": _friction(start.friction),
        "contact": {
            "coefficient": own.friction.contact if model.slides else 0.0,
            "slides": model.slides,
            "frame": "" if start.holder is None else start.holder.frame,
        },
        "outcome": str(files.outcome),
        "summary": "" if summary is None else str(summary),
    }
    files.bridge.write_text(json.dumps(bridge, indent=2), encoding="utf-8")
    return files


def solver_for(holder: HoldingChains | None) -> str:
    """The solver of DART that suits what holds an arm.

    Dantzig's method solves for all forces at once, and fails where some of them are not unique, as
    across the plane of a planar arm. PGS (projected Gauss-Seidel) does not mind, but makes 30
    rounds only: where two directions of the force are strongly coupled, it leaves an error of some
    thousandths.
    """
    return PGS if holder is not None and holder.redundant else DANTZIG


def files_in(folder: Path) -> GazeboFiles:
    """Where the files of a folder are to be written."""
    names = ("world.sdf", "arm.sdf", "bridge.json", "controller.yaml", "controllers.yaml")
    return GazeboFiles(*(folder / name for name in (*names, "arm.urdf", "outcome.txt")))


def wrench_frame(controller: ControllerSettings, start: GazeboStart) -> str:
    """In whose axes the force is measured."""
    return controller.constraint.wrench_frame or (start.holder.frame if start.holder else "")


def _friction(friction: JointFriction) -> dict[str, Any]:
    """In the terms of `JointFriction`, for a file."""
    return {name: np.asarray(getattr(friction, name)).tolist() for name in ("coulomb", "viscous")}


def write_scene(
    files: GazeboFiles,
    controller: ControllerSettings,
    start: GazeboStart,
    options: WorldOptions,
    systems: Sequence[Element],
) -> GazeboModel:
    """The arm as Gazebo gets it, and the world around it."""
    model = build_model(
        start.arm,
        start.q,
        start.holder,
        friction=start.friction,
        contact_friction=start.settings.friction.contact,
        wrench_frame=wrench_frame(controller, start),
        yaw=options.yaw,
        visuals=read_visuals(start.arm),
        plugins=systems,
    )
    files.model.write_text(model.sdf, encoding="utf-8")
    carries = controller.effort_includes_gravity  # else the arm's firmware does, and it floats
    text = expand_world(
        options.world or share_file("worlds", "constrained_arm.sdf.xacro"),
        {
            "model": str(files.model),
            "step": repr(1.0 / controller.rate),
            "gravity": repr(controller.gravity if carries else 0.0),
            "factor": repr(options.factor),
            "solver": options.solver or solver_for(start.holder),
        },
    )
    files.world.write_text(text, encoding="utf-8")
    return model


def expand_world(path: Path, arguments: Mapping[str, str]) -> str:
    """A world from its xacro file."""
    import xacro

    try:
        document = xacro.process_file(str(path), mappings=dict(arguments))
    except Exception as error:  # xacro raises whatever an expression raises
        raise InvalidValue(f"the world {path} cannot be read: {error}") from None
    return str(document.toprettyxml(indent="  "))

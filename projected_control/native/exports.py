"""What is exported: the kernels of a tick and of the plant's step, and the layouts they work in."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np

from projected_control import __version__
from projected_control.compiled import kernel_digest, kernel_sources
from projected_control.control.controllers import ForceController
from projected_control.control.disturbance import DisturbanceKind
from projected_control.control.events import Action, Event
from projected_control.control.force import ForceGains
from projected_control.control.force_kernels import SourceKind
from projected_control.control.gains import MotionGains
from projected_control.control.law import Law
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant
from projected_control.control.silence import (
    SilenceAnswer,
    SilencePhase,
    answer_silence,
    silence_array,
)
from projected_control.control.tick import tick
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointOnLine
from projected_control.model.coordinates import Coordinates
from projected_control.native.header import AnyLayout, Enumeration
from projected_control.native.kernel_calls import INTEGER, Frame, frame_of
from projected_control.native.toolchain import PROCESSOR
from projected_control.runs.rows import Rows, put_tick
from projected_control.simulation.plant import Plant
from projected_control.simulation.plant_kernels import (
    Step,
    advance_step,
    begin_step,
    observe_plant,
)
from projected_control.simulation.plant_sensing import drive_motors, sense_force, sense_joints
from projected_control.tested_versions import LLVMLITE, NUMBA
from projected_control.workspace import Layout

VERSION = __version__
PACKAGE = Path(__file__).parents[1]

KERNEL_PACKAGES = ("model", "control", "simulation")
"""Whose kernels are exported."""

ENUMERATIONS: tuple[Enumeration, ...] = (
    Law,
    SourceKind,
    DisturbanceKind,
    Action,
    Event,
    Step,
    SilenceAnswer,
    SilencePhase,
)
"""Numbers that C has to know by name."""

_LINK = (
    '<link name="{name}"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>'
    '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
_JOINT = (
    '<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>'
    '<origin xyz="{x} 0 0"/><axis xyz="0 0 1"/><limit effort="1" velocity="1"/></joint>'
)
EXAMPLE = (
    '<robot name="example"><link name="base"/>'
    + _LINK.format(name="upper")
    + _LINK.format(name="lower")
    + _JOINT.format(name="one", parent="base", child="upper", x=0)
    + _JOINT.format(name="two", parent="upper", child="lower", x=1)
    + "</robot>"
)
"""An arm whose arguments have the types of every arm's."""


def example_loop() -> ControlLoop:
    """A loop whose arguments have the types of every loop's."""
    arm = Arm.from_urdf(EXAMPLE)
    constraint = PointOnLine(
        "lower", [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], plane_normal=[0.0, 0.0, 1.0]
    )
    model = ConstrainedArm(arm, constraint, Coordinates.of_joints(["one"]))
    controller = ForceController(model, MotionGains.from_bandwidth(1.0), ForceGains(), 1e-3)
    return ControlLoop(controller, Constant([0.0]))


@cache
def exported_frames() -> tuple[Frame, ...]:
    """The frames of all exported kernels."""
    loop = example_loop()
    n, model = loop.controller.model.n, loop.controller.model
    plant = Plant(ConstrainedArm(model.arm.twin(), model.constraint))
    work, arguments = (plant.sizes, plant.work), plant.model.arguments
    stepped = {"status": INTEGER}
    places = (arguments.spatial_jacobian, arguments.placements)
    told = loop.arguments
    references = (told.reference, told.force_reference)
    silent = silence_array(model.m, model.k, SilenceAnswer.STOP, 1.0, 1.0)
    silence = (0, 0.0, told.sizes, told.choices, *references, silent)
    sense = (*work, places[1], arguments.state, arguments.sizes, arguments.functions)
    begin = (True, *work, *places, arguments.state, arguments.sizes, arguments.work)
    rows, seen = Rows.of(loop, 1), (np.zeros(n), np.zeros(n), np.zeros(6))
    answer = (0, 0, 0, told.taken, loop.guard.sent, told.sizes, told.passive)
    row = (rows.counters, rows.numbers, 0, 0.0, 0, 0.0, *seen)
    put = (*row, *answer, told.model_work, told.control_work, np.zeros(0))
    return (
        frame_of(
            "tick",
            tick,
            (0.0, 0.0, np.zeros(n), np.zeros(n), np.zeros(6), *loop.arguments),
            results={"action": INTEGER, "events": INTEGER},
        ),
        frame_of("answer_silence", answer_silence, silence, results={"phase": INTEGER}),
        frame_of("observe_plant", observe_plant, (*work, *arguments)),
        frame_of("sense_force", sense_force, sense),
        frame_of("sense_joints", sense_joints, (*work, arguments.state, arguments.sizes)),
        frame_of("drive_motors", drive_motors, (*work, loop.guard.sent, arguments.sizes)),
        frame_of("begin_step", begin_step, begin, results=stepped),
        frame_of("advance_step", advance_step, (*work, *arguments), results=stepped),
        frame_of("put_tick", put_tick, put),
    )


@cache
def exported_layouts() -> tuple[AnyLayout, ...]:
    """All layouts that kernels unpack, by name."""
    found: dict[str, AnyLayout] = {}
    for path in kernel_sources():
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if parts[1] not in KERNEL_PACKAGES:
            continue
        module = import_module(".".join(parts))
        for thing in vars(module).values():
            if isinstance(thing, Layout):
                found[thing.parts.__name__] = thing
    return tuple(found[name] for name in sorted(found))


@cache
def digest() -> str:
    """Of all that the library is made of, as hexadecimal digits."""
    digest = hashlib.sha256(f"{VERSION} {NUMBA} {LLVMLITE} {PROCESSOR} {kernel_digest()}".encode())
    for name in (
        "exports",
        "kernel_calls",
        "header",
        "object_code",
        "toolchain",
        "updates",
        "updates_header",
        "worker",
    ):
        digest.update((PACKAGE / "native" / f"{name}.py").read_bytes())
    return digest.hexdigest()

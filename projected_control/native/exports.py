"""What is exported: the kernels of a tick and of the plant's step, and the layouts they work in."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from projected_control import __version__, kernel_library
from projected_control.compiled import KERNELS
from projected_control.control.disturbance import DisturbanceKind
from projected_control.control.events import Action, Event
from projected_control.control.force_kernels import SourceKind
from projected_control.control.law_kinds import Law
from projected_control.control.silence import SilenceAnswer, SilencePhase
from projected_control.native.header import AnyLayout, Enumeration
from projected_control.native.kernel_calls import Frame, frame_of
from projected_control.simulation.plant_kernels import Step
from projected_control.workspace import Layout

VERSION = __version__

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

C_KERNELS = {
    "control.tick.tick": ("action", "events"),
    "control.silence.answer_silence": ("phase",),
    "simulation.plant_kernels.observe_plant": (),
    "simulation.plant_sensing.sense_force": (),
    "simulation.plant_sensing.sense_joints": (),
    "simulation.plant_sensing.drive_motors": (),
    "simulation.plant_kernels.begin_step": ("status",),
    "simulation.plant_kernels.advance_step": ("status",),
    "runs.rows.put_tick": (),
    "model.floating_base.to_pinocchio": (),
}
"""Kernels that C calls, by their own names, and the names of their results."""


@cache
def exported_frames() -> tuple[Frame, ...]:
    """The frames of the kernels that C calls."""
    kernel_modules()
    return tuple(
        frame_of(
            name.rpartition(".")[2],
            KERNELS[f"projected_control.{name}"],
            results=results,
        )
        for name, results in C_KERNELS.items()
    )


@cache
def python_frames() -> dict[str, Frame]:
    """The frames of all kernels that Python calls, by module and name."""
    own = {frame.kernel: frame for frame in exported_frames()}
    return {
        name: own.get(function) or frame_of(name.partition(".")[2].replace(".", "_"), function)
        for name, function in sorted(KERNELS.items())
    }


@cache
def kernel_modules() -> tuple[Any, ...]:
    """All modules that declare kernels or layouts, imported."""
    root = kernel_library.PACKAGE.parent
    paths = [path.relative_to(root) for path in kernel_library.kernel_sources()]
    names = (".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in paths)
    return tuple(import_module(name) for name in names)


@cache
def exported_layouts() -> tuple[AnyLayout, ...]:
    """All layouts that kernels unpack, by name."""
    found: dict[str, AnyLayout] = {}
    for module in kernel_modules():
        for thing in vars(module).values():
            if isinstance(thing, Layout):
                found[thing.parts.__name__] = thing
    return tuple(found[name] for name in sorted(found))

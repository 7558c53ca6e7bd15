"""The live block: every number that may change while a loop runs, and how a tick takes it.

A live number is one line of `LiveBlock`, a `Slot`: name, length, unit, where it is in force, how it
gets there, whose parameter it is. What follows from that line: where it lies in the block, `post` of
the `Mailbox`, the kernel below that puts it into force, the message to a plugin and what that one
checks of it (``projected_control_live_block`` in the C header), what a recording keeps of a change,
and what `projected-control replay --set` leaves alone.

The deciding side writes a draft and copies it into the mailbox (`publish`); a tick takes the
mailbox whole at its beginning, or not at all (`take`). Each array has one writer: the deciding side
writes draft and mailbox, the tick writes what it has taken. Between the two stands a sequence
number, odd while the mailbox is being written: a tick that finds it odd, or changed when it has
finished copying, leaves the change to the next tick. Neither side ever waits for the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import Numbers, compiled, from_source, kernel, memory_fence
from projected_control.control.contact import RULES
from projected_control.control.force_kernels import SENSOR_NUMBERS
from projected_control.control.gains import BLEND, advance_blend, begin_blend
from projected_control.control.guard_kernels import GUARD_LIMITS
from projected_control.model.linalg import copy
from projected_control.workspace import Layout, Part

if TYPE_CHECKING:
    from projected_control.control.terms import ControlTerms

Array = NDArray[np.float64]

WRITTEN_BY_PYTHON = -1.0
"""In the place of a table's number of pieces: Python writes the table in force in every tick."""

PIECES_AT = 3
"""Where a table has its number of pieces."""


@dataclass(frozen=True)
class Slot(Part):
    """One live number, or several that change together.

    Attributes:
        into: Where it is in force: a part of the controller's terms ``c``, of the source of λ's
            ``s`` or of the guard's ``g``; empty for what is no kernel's (a table, the bodies).
        parameters: The group of parameters that it holds, or one parameter of a group.
        blended: Whether it comes into force over a time; at once where it is not.
        least: The smallest value of any of its numbers.
        finite: Whether all of them are; a limit may be infinite.
    """

    into: str = ""
    parameters: str = ""
    blended: bool = False
    least: float = -np.inf
    finite: bool = True


class LiveBlock(NamedTuple):
    """Every number that may change while a loop runs; n joints, m rows, k coordinates, two tables."""

    sequence: Annotated[Array, Part("1", "Number of the change; odd while it is being written.")]
    applied: Annotated[Array, Part("slots", "Versions of the slots in force; the tick's alone.")]
    lengths: Annotated[Array, Part("2", "Numbers in the two tables at the end.")]
    versions: Annotated[Array, Part("slots", "Version of each slot.")]
    seconds: Annotated[Array, Part("slots", "Time over which each comes into force [s].")]
    # fmt: off
    gains: Annotated[Array, Slot("3 * k", "G_P [1/s²], G_D [1/s] and null-space damping d [1/s], `MotionGains.array`.", into="c.all_gains", parameters="gains", blended=True, least=0.0)]
    force_gains: Annotated[Array, Slot("4", "G_F, G_I T, pole of the filter, limit of the integral [N or N·m], `ForceGains.array`.", into="c.force_gains", parameters="force", blended=True)]
    anti_windup: Annotated[Array, Slot("3", "Strategy, period over tracking time, limit of the integral [N or N·m].", into="c.anti_windup", parameters="force", least=0.0)]
    normal_damping: Annotated[Array, Slot("1", "d_n, damping along rows that are lengths [N·s/m].", into="c.normal_damping", parameters="force", blended=True, least=0.0)]
    force_derivative: Annotated[Array, Slot("1", "G_V, on the rate of the filtered e_λ [s].", into="c.force_derivative", parameters="force", blended=True, least=0.0)]
    force_rate: Annotated[Array, Slot("1", "By how much λ_d comes back after a stop, per tick [N or N·m], `ForceGains.rate_array`.", into="c.force_rate", parameters="force", least=0.0)]
    impedance: Annotated[Array, Slot("3 * k * k + 1", "K [N/m], D [N·s/m], Λ_d⁻¹ [1/kg] or of rotations, and ζ, `Impedance.array`.", into="c.impedance", parameters="impedance", blended=True)]
    limits: Annotated[Array, Slot(GUARD_LIMITS, "Limits of the guard, each with its unit in `GuardTerms`.", into="g.limits", parameters="limits", finite=False)]
    force_limits: Annotated[Array, Slot("m + 2", "Force ceiling of each row [N or N·m], what is preferred and how a force above it is answered, `Limits.force_numbers`.", into="c.force_limits", parameters="limits", least=0.0, finite=False)]
    contact_rules: Annotated[Array, Slot(f"{RULES}", "Thresholds, speed, distances and answers of contacts that come and go, `Contact.rules`.", into="c.contact_rules", parameters="contact", least=0.0)]
    contact_switches: Annotated[Array, Slot("m", "Of each one-sided contact, at its first row: how often it was switched, odd where it is to be made, even where it is to be left.", into="c.contact_switches", parameters="contacts", least=0.0)]
    sensor: Annotated[Array, Slot(f"{SENSOR_NUMBERS} + n", "Axes, bias [N, N·m], tool [kg, m], joint and tare [N·m or N] of a force sensor, `SourceTerms`.", into="s.sensor", parameters="force")]
    friction: Annotated[Array, Slot("5 * n + 2", "Friction of each joint [N·m or N, rad/s or m/s], µ at the contact and its width [m/s].", into="c.all_friction", parameters="compensation", blended=True, least=0.0)]
    disturbance: Annotated[Array, Slot("3 + k", "K_I [1/s³], limits of integral and effort, band of each coordinate, `Disturbance.array`.", into="c.disturbance_gains", parameters="disturbance", blended=True, least=0.0)]
    reference_acceleration: Annotated[Array, Slot("k", "Largest acceleration with which a path that has waited comes back to its rate [m/s² or rad/s²].", into="c.reference_acceleration", parameters="reference.max_acceleration", least=0.0)]
    bodies: Annotated[Array, Slot("13 * (n + 1)", "Masses [kg], centres [m], inertias [kg·m²] of all bodies; see `Arm.bodies`.", parameters="payload")]
    reference: Annotated[Array, Slot("motion", "θ_d(t), an array of `MotionTerms`.", parameters="reference", finite=False)]
    force_reference: Annotated[Array, Slot("force", "λ_d(t), an array of `MotionTerms`.", parameters="force.reference", finite=False)]
    # fmt: on


LIVE = Layout(LiveBlock, "n", "m", "k", "slots", "motion", "force")
_unpack = LIVE.unpack

SLOTS = {name: part for name, part in LIVE.declared.items() if isinstance(part, Slot)}
"""All slots by name, in order; their numbers are their places here."""

NUMBER = {name: number for number, name in enumerate(SLOTS)}
"""Places of the slots in `LiveBlock.versions`."""

TABLES = ("reference", "force_reference")
"""Those at the end, whose lengths change."""

_COUNT = len(SLOTS)
_REFERENCE, _FORCE_REFERENCE = NUMBER["reference"], NUMBER["force_reference"]
_LENGTHS_AT = 1 + _COUNT

CONTENT_AT = _LENGTHS_AT + 2
"""Where what is taken begins: after the sequence number, the tick's own part and the lengths."""


def live_sizes(n: int, m: int, k: int, motion: int, force: int) -> dict[str, int]:
    """The sizes of `LIVE`."""
    return {"n": n, "m": m, "k": k, "slots": _COUNT, "motion": motion, "force": force}


def view_block(block: Array, n: int, m: int, k: int) -> LiveBlock:
    """The parts of a block for so many joints, constraint rows and coordinates, for Python."""
    motion, force = (int(length) for length in block[_LENGTHS_AT:CONTENT_AT])
    return LIVE.view(block, **live_sizes(n, m, k, motion, force))


def slots_of(names: Iterable[str]) -> set[str]:
    """The slots in which these parameters are."""
    return {
        slot
        for slot, declared in SLOTS.items()
        for name in names
        if f"{name}.".startswith(f"{declared.parameters}.")
    }


# How far the blends have come: one array of `BlendTerms` for each slot that is blended.

_BLENDED = {name: slot for name, slot in SLOTS.items() if slot.blended}
Blends: Any = cast(Any, NamedTuple)(
    "Blends",
    [
        (name, Annotated[Array, Part(BLEND.length_with(size=slot.shape), "See `BlendTerms`.")])
        for name, slot in _BLENDED.items()
    ],
)
BLENDS: Layout[Any] = Layout(Blends, "n", "k")
_unpack_blends = BLENDS.unpack


@compiled
def unpack_block(block: Array, n: int, m: int, k: int) -> LiveBlock:
    """The parts of a block for so many joints, constraint rows and coordinates."""
    motion, force = int(block[_LENGTHS_AT]), int(block[_LENGTHS_AT + 1])
    return _unpack(block, n, m, k, _COUNT, motion, force)


@kernel
def publish(draft: Numbers, mailbox: Numbers) -> None:
    """Copy a draft into the mailbox, for the tick to take whole."""
    mailbox[0] += 1.0
    memory_fence()
    for i in range(CONTENT_AT, draft.size):
        mailbox[i] = draft[i]
    memory_fence()
    mailbox[0] += 1.0


@kernel
def take(mailbox: Numbers, taken: Numbers) -> bool:
    """Copy the mailbox where it holds a change; whether what was taken last is whole.

    One that was being written meanwhile is not, and is taken again by the next tick.
    """
    memory_fence()  # or a loop around it might look once and for all
    sequence = mailbox[0]
    if sequence != taken[0] and sequence % 2.0 == 0.0:
        memory_fence()
        for i in range(CONTENT_AT, taken.size):
            taken[i] = mailbox[i]
        memory_fence()
        taken[0] = sequence if mailbox[0] == sequence else np.nan
    return not np.isnan(taken[0])


@compiled
def is_new(slot: int, live: LiveBlock) -> bool:
    """Whether a slot has changed since it was last in force; from now on it is."""
    new = live.versions[slot] != live.applied[slot]
    live.applied[slot] = live.versions[slot]
    return new


def _taking(name: str, slot: Slot) -> str:
    """The lines of a kernel that put a slot into force."""
    number = NUMBER[name]
    begin = f"begin_blend(live.{name}, live.seconds[{number}], {slot.into}, blends.{name})"
    at_once = f"copy(live.{name}, {slot.into})"
    return f"    if is_new({number}, live):\n        {begin if slot.blended else at_once}\n"


def _source() -> str:
    """Python text of the kernels that take and blend all slots."""
    blends = "    blends = unpack_blends(c.blends, c.posture.size, c.topology.size)\n"
    kernels = []
    for whose, signature in (("c", "control"), ("s", "source"), ("g", "guard")):
        lines = [_taking(*each) for each in SLOTS.items() if each[1].into.startswith(f"{whose}.")]
        begin = blends if whose == "c" else ""
        kernels.append(f"def take_{signature}(live, {whose}):\n{begin}{''.join(lines)}")
    advance = (
        f"    advance_blend(c.period[0], {slot.into}, blends.{name})\n"
        for name, slot in _BLENDED.items()
    )
    return "\n".join([*kernels, f"def blend_slots(c):\n{blends}{''.join(advance)}"])


_kernels = from_source(
    _source(),
    __name__,
    copy=copy,
    is_new=is_new,
    begin_blend=begin_blend,
    advance_blend=advance_blend,
    unpack_blends=_unpack_blends,
)
take_control, take_source, take_guard = (
    _kernels[f"take_{terms}"] for terms in ("control", "source", "guard")
)
"""Put the slots of the controller, of the source of λ and of the guard into force, where new."""

blend_slots = _kernels["blend_slots"]
"""Move all slots that are coming into force one tick on."""


@kernel
def advance_slots(mailbox: Numbers, taken: Numbers, c: ControlTerms) -> None:
    """Take a controller's slots and blend them one tick on; c are its `ControlTerms`."""
    if take(mailbox, taken):
        take_control(unpack_block(taken, c.posture.size, c.controlled.size, c.topology.size), c)
    blend_slots(c)


@compiled
def take_table(slot: int, new: Array, live: LiveBlock, in_force: Array) -> bool:
    """A new reference takes the place of the one in force, unless Python writes that.

    Args:
        slot: Number of the table's slot.
        new: The block's table.
        live: All of the block.
        in_force: The table in force.

    Returns:
        Whether the reference is new.
    """
    if not is_new(slot, live):
        return False
    if new[PIECES_AT] != WRITTEN_BY_PYTHON:
        copy(new, in_force)
    return True


def is_blending(c: Any) -> bool:
    """Whether a slot is still coming into force; c are a controller's `ControlTerms`."""
    blends = BLENDS.view(c.blends, n=c.posture.size, k=c.topology.size)
    return any(work[2] != 0.0 for work in blends)

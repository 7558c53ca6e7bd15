"""A control loop that is prepared here and runs in a plugin: as messages, and back again.

The loop is built and checked in Python as ever. `begin_sections` is what the plugin needs to run
it; `change_sections` is the live block after a change (`control.live`); `RemoteTick` takes the
place of the loop's tick and puts what was computed there into the loop's own arrays, so that the
loop looks the same from outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control.control.live import NUMBER, TABLES, LiveBlock, view_block
from projected_control.control.loop import ControlLoop
from projected_control.model.arm import Arm
from projected_control.model.motion_tables import packed_table
from projected_control.native.cpp_arm import arm_numbers
from projected_control.native.engine import refuse_python_parts
from projected_control.native.updates import (
    ARM,
    Content,
    Message,
    RefusedUpdate,
    Report,
    Section,
    Status,
)
from projected_control.native.updates_header import LOOP, MIRRORED

Array = NDArray[np.float64]

PLUGIN = "plugin"  # the name of the engine

LONGEST_TABLE = 1 << 18
"""Numbers of the longest table of a reference that is sent: 2 MiB, which a cycle copies once."""


def begin_sections(
    loop: ControlLoop, silence: Array, state_period: float, offsets: ArrayLike = ()
) -> dict[Section, Content]:
    """All that a loop is, at this moment.

    Args:
        loop: Ready for its first tick (see `ControlLoop.begin`).
        silence: What is to be done in silence, an array of `SilenceTerms`.
        state_period: Time from one state that is sent back to the next [s].
        offsets: Added to the measured positions, one per joint; empty for none [rad or m].

    Raises:
        InvalidValue: Where something of it has to be computed in Python.
    """
    refuse_python_parts(loop)
    arm = loop.controller.model.arm
    loop.arguments.choices[1] = loop.force_source.number
    added = np.zeros(arm.n)
    if np.size(offsets):
        added[:] = offsets
    numbers = arm_numbers(arm)
    return {
        Section.JOINTS: "\0".join(arm.joint_names).encode(),
        Section.PERIOD: np.array([loop.controller.period]),
        Section.STATE_PERIOD: np.array([state_period]),
        Section.OFFSETS: added,
        Section.MIMIC: mimic_numbers(arm),
        Section.CHECK: check_numbers(arm),
        Section.SILENCE: silence,
        **{section: numbers[section.name.lower()].reshape(-1) for section in ARM},
        **{section: argument(loop, section).reshape(-1) for section in LOOP},
    }


def argument(loop: ControlLoop, section: Section) -> NDArray[Any]:
    """The array of a loop that a section holds."""
    array: NDArray[Any] = getattr(loop.arguments, section.name.lower())
    return array


def mimic_numbers(arm: Arm) -> Array:
    """Per joint: which one it follows or −1, ratio and offset; as one vector."""
    lines = np.zeros((arm.n, 3))
    lines[:, 0] = -1.0
    for name, mimic in arm.mimics.items():
        leader = arm.joint_index(mimic.leader)
        lines[arm.joint_index(name)] = leader, mimic.ratio, mimic.offset
    return lines.reshape(-1)


def check_numbers(arm: Arm) -> Array:
    """A state, and what Pinocchio gives there: q, q̇, M by columns, h."""
    twin, random = arm.twin(), np.random.default_rng(0)
    q, v = random.uniform(-1.0, 1.0, arm.n), random.uniform(-1.0, 1.0, arm.n)
    twin.update(q, v)
    return np.concatenate([q, v, np.array(twin.M).reshape(-1, order="F"), twin.h])


class ChangeMessages:
    """The messages that bring a loop's changes to a plugin, each whole.

    A message has all slots of the live block but the tables of references: these are long and
    seldom new, and go with the change that brings them and with those after it until one of them
    was acknowledged.
    """

    def __init__(self, loop: ControlLoop) -> None:
        self._loop, self._known = loop, versions_of(loop)
        self._sent: dict[int, Array] = {}

    def sections(self) -> dict[Section, Content]:
        """What the mailbox holds now."""
        return change_sections(self._loop, self._known)

    def sent(self, sequence: int) -> None:
        """It went with this sequence number."""
        self._sent[sequence] = versions_of(self._loop)

    def acknowledged(self, sequence: int, *, accepted: bool) -> None:
        """What became of an update; one that was no change may be told of too."""
        known = self._sent.pop(sequence, None)
        if known is not None and accepted:
            self._known = known


def versions_of(loop: ControlLoop) -> Array:
    """Which versions of its slots a loop's mailbox holds; what a plugin knows that has them all."""
    return _block_of(loop).versions.copy()


def change_sections(loop: ControlLoop, known: Array | None = None) -> dict[Section, Content]:
    """The live block in a loop's mailbox, for a plugin that knows these versions of it already.

    Args:
        loop: Whose mailbox.
        known: See `versions_of`; None to send all.
    """
    live, box = _block_of(loop), loop.mailbox.box
    new = np.full(live.versions.size, True) if known is None else live.versions != known
    head = box.size - live.reference.size - live.force_reference.size
    sections: dict[Section, Content] = {Section.MAILBOX: box[:head].copy()}
    for table in TABLES:
        if new[NUMBER[table]]:
            sections[Section[table.upper()]] = packed_table(getattr(live, table))
    if new[NUMBER["bodies"]]:
        sections[Section.CHECK] = check_numbers(loop.controller.model.arm)
    return sections


def _block_of(loop: ControlLoop) -> LiveBlock:
    model = loop.controller.model
    return view_block(loop.mailbox.box, model.n, model.m, model.k)


class RemoteTick:
    """In place of a loop's tick: takes what a state brought.

    Args:
        loop: Whose arrays are filled. From now on it makes no tick of its own and refuses what
            Python would have to compute in one, and references that are too long to be sent;
            `detach` ends that.

    Attributes:
        cycles: Stamps [s] and durations [ns] of the ticks that were made since the last call.
    """

    def __init__(self, loop: ControlLoop) -> None:
        self._loop, self._own = loop, (loop.tick, loop.engine, loop.without_python)
        loop.mailbox.longest = LONGEST_TABLE
        self._state: Message | None = None
        self._events = 0
        self._cycles: list[tuple[float, int]] = []
        self.cycles: Sequence[tuple[float, int]] = ()
        loop.tick, loop.engine, loop.without_python = self, PLUGIN, True

    def detach(self) -> None:
        """The loop makes its own ticks again."""
        loop = self._loop
        loop.tick, loop.engine, loop.without_python = self._own
        loop.mailbox.longest = np.inf

    def put(self, state: Message) -> None:
        """A state has come; of several before a call the last one counts, and all their events.

        Raises:
            RefusedUpdate: Where it is not one of this loop.
        """
        check_state(self._loop, state)
        report, instants = state.sections[Section.REPORT], state.sections[Section.INSTANTS]
        self._state = state
        self._events |= int(report[Report.EVENTS_SINCE]) | int(report[Report.EVENTS])
        pairs = instants.reshape(-1, 2).tolist()
        self._cycles += [(stamp, round(took)) for stamp, took in pairs]

    def __call__(
        self, stamp: float, age: float, q: Array, v: Array, wrench: Array, *arguments: Any
    ) -> tuple[int, int]:
        """Action, and the events since the last call."""
        loop, state = self._loop, self._state
        if state is None:
            return int(loop.report.action), 0
        loop.arguments.state[:] = q, v
        for section in MIRRORED:
            argument(loop, section)[:] = state.sections[section]
        applied = state.sections[Section.APPLIED]
        loop.arguments.taken[: applied.size] = applied
        self.cycles, self._cycles = self._cycles, []
        events, self._events = self._events, 0
        return int(state.sections[Section.REPORT][Report.ACTION]), events


def check_state(loop: ControlLoop, state: Message) -> None:
    """Raise where a state does not have what a loop's arrays hold."""
    n = loop.controller.model.n
    sizes = {
        Section.REPORT: len(Report),
        Section.STAMP_NS: 1,
        Section.NOW: 2,
        Section.Q: n,
        Section.V: n,
        Section.WRENCH: 6,
        **{section: argument(loop, section).size for section in MIRRORED},
    }
    for section, size in sizes.items():
        content = state.sections.get(section)
        if content is None or content.size != size:
            got = "none" if content is None else content.size
            raise RefusedUpdate(
                Status.SIZE, f"a state has {got} numbers of {section.name}, expected are {size}"
            )
    if state.sections.get(Section.INSTANTS, np.zeros(1)).size % 2:
        raise RefusedUpdate(Status.SIZE, "a state's INSTANTS come in pairs")
    if Section.APPLIED not in state.sections:
        raise RefusedUpdate(Status.SIZE, "a state has no section APPLIED")

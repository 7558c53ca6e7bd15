"""Messages between the nodes and a loop that runs in a plugin, as bytes; declared here, once.

The side that decides (Python) sends *updates* to the side that acts (a plugin in a controller
manager); that one answers with *acknowledgements* and *states*. All of them are one container,
little endian, every part a multiple of eight bytes long: a header of 64 bytes, then sections, each
with its number, type and count. The C header ``projected_control_updates.h`` is generated from
what is declared here (`updates_header`).

| bytes | type | header |
|---|---|---|
| 0 | char[8] | `MAGIC` |
| 8 | uint32 | `VERSION` |
| 12 | uint32 | kind, an `Update` |
| 16 | uint64 | digest of kernels, layouts and this declaration (`digest_number`) |
| 24 | uint64 | session: a random number, one for each activation |
| 32 | uint64 | sequence: increases within a session |
| 40 | uint64 | bytes after the header |
| 48 | uint32 | number of sections |
| 52 | uint32 | CRC-32 (as zlib has it) of the whole message, with this field zero |
| 56 | int64 | `Status` of an acknowledgement, else zero |

| bytes | type | section |
|---|---|---|
| 0 | uint32 | number, a `Section`; ascending within a message |
| 4 | uint32 | type: double 0, int64 1, bytes 2 |
| 8 | uint64 | count of elements |
| 16 | … | elements, padded with zeros to eight bytes |
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control import kernel_library
from projected_control.errors import ProjectedControlError

MAGIC, VERSION = b"PRJCTRL\0", 2

HEADER = struct.Struct("<8sIIQQQQIIq")
SECTION = struct.Struct("<IIQ")
_CRC_AT, _ALIGNMENT = 52, 8

LARGEST = 1 << 24
"""Bytes of the largest message that is looked at."""


class Update(IntEnum):
    """Kinds of messages."""

    BEGIN = 1
    """A session, with all that a loop is."""
    CHANGE = 2
    """New gains, limits, references, payload: the live block, see `session.change_sections`."""
    BEAT = 3
    """The deciding side lives."""
    END = 4
    """The session ends in order: zero effort."""
    ACK = 16
    """An update was accepted or refused."""
    STATE = 17
    """What the loop does."""
    PLANT = 32
    """A simulated arm, as a file."""


class Status(IntEnum):
    """What became of an update; the reason's text says more."""

    ACCEPTED = 0
    MALFORMED = 1
    """Magic, sections, checksum or length."""
    VERSION = 2
    DIGEST = 3
    """It was made from other sources."""
    SESSION = 4
    """It is of another session than the one in force."""
    ORDER = 5
    """Its sequence number is not larger than that of the last."""
    BUSY = 6
    """A session is in force and its heartbeat is heard."""
    SILENT = 7
    """The session has ended by silence."""
    SIZE = 8
    """A section has another length than the layouts say, is missing, or has no place there."""
    VALUE = 9
    """A number is not finite, out of range, or a table is inconsistent."""
    JOINTS = 10
    PERIOD = 11
    PINOCCHIO = 12
    """Pinocchio gives other numbers there."""


class Phase(IntEnum):
    """Of the acting side."""

    IDLE = 0
    """No session."""
    READY = 1
    """A session, and the controller is not active yet."""
    RUNNING = 2
    SILENT = 3
    """The heartbeat was missed, and is answered."""
    ENDED = 4


class Report(IntEnum):
    """Places in the section REPORT of a state."""

    PHASE = 0
    ACTION = 1
    """Of the last tick."""
    EVENTS = 2
    """Of the last tick."""
    EVENTS_SINCE = 3
    """Of all ticks since the last state, together."""
    CYCLES = 4
    """Of the session."""
    OVERRUNS = 5
    """Cycles that were due and did not come."""
    ACCEPTED = 6
    REFUSED = 7
    LAST_REFUSAL = 8
    """Its `Status`."""
    RATE = 9
    """Of the controller manager [Hz]."""


class Section(IntEnum):
    """Numbers of sections."""

    REASON = 1
    JOINTS = 2
    REPORT = 3
    STAMP_NS = 4
    INSTANTS = 5
    NOW = 6
    Q = 7
    V = 8
    WRENCH = 9
    EFFORT = 10
    APPLIED = 11
    PERIOD = 16
    STATE_PERIOD = 17
    OFFSETS = 18
    MIMIC = 19
    CHECK = 20
    SILENCE = 21
    KINDS = 32
    PARENTS = 33
    AXES = 34
    ROTATIONS = 35
    POSITIONS = 36
    MASSES = 37
    CENTRES = 38
    INERTIAS = 39
    ARMATURE = 40
    GRAVITY = 41
    STATE = 48
    SIZES = 49
    FUNCTIONS = 50
    TARGET = 51
    MODEL_WORK = 52
    CHOICES = 53
    PASSIVE = 54
    CONTROL_WORK = 55
    SOURCE_WORK = 56
    GUARD_WORK = 57
    COUNTERS = 58
    REFERENCE = 59
    FORCE_REFERENCE = 60
    MAILBOX = 61
    TAKEN = 62
    LIMITS_WORK = 63
    PLANT_SIZES = 64
    PLANT = 65
    SUBSTEPS = 66
    MEASURES = 67
    NOISE = 68


DOUBLE, INTEGER, BYTES = 0, 1, 2
"""Types of sections."""

_DTYPES: dict[int, Any] = {
    DOUBLE: np.dtype("<f8"),
    INTEGER: np.dtype("<i8"),
    BYTES: np.dtype("u1"),
}


@dataclass(frozen=True)
class Declared:
    """A section."""

    type: int  # `DOUBLE`, `INTEGER` or `BYTES`
    meaning: str  # what it holds, with its unit
    # How many elements, as an expression in n (joints), m (constraint rows), k (coordinates);
    # empty for any number, or where a layout says it.
    count: str = ""


def _doubles(meaning: str, count: str = "") -> Declared:
    return Declared(DOUBLE, meaning, count)


def _wholes(meaning: str, count: str = "") -> Declared:
    return Declared(INTEGER, meaning, count)


ARM: dict[Section, Declared] = {
    Section.KINDS: _wholes("Kinds of the joints, as native_loop.h numbers them.", "n"),
    Section.PARENTS: _wholes("Joint that carries each one, 0 for the world.", "n"),
    Section.AXES: _doubles("Axes, where the kind does not say them.", "3 * n"),
    Section.ROTATIONS: _doubles("Of the joints in their parents' axes, by rows.", "9 * n"),
    Section.POSITIONS: _doubles("Of the joints in their parents' axes [m].", "3 * n"),
    Section.MASSES: _doubles("Of the links, first what is fixed [kg].", "n + 1"),
    Section.CENTRES: _doubles("Centres of mass [m].", "3 * (n + 1)"),
    Section.INERTIAS: _doubles("About the centres of mass [kg·m²].", "9 * (n + 1)"),
    Section.ARMATURE: _doubles("Inertia of the rotors [kg·m² or kg].", "n"),
    Section.GRAVITY: _doubles("[m/s²].", "3"),
}
"""``struct projected_control_description``, member by member."""

SECTIONS: dict[Section, Declared] = {
    Section.REASON: Declared(BYTES, "Why an update was refused, in words (UTF-8)."),
    Section.JOINTS: Declared(BYTES, "Names of the joints in the arm's order, \\0 between them."),
    Section.REPORT: _wholes("See `Report`.", f"{len(Report)}"),
    Section.STAMP_NS: _wholes("Time of the last cycle by the manager's clock [ns].", "1"),
    Section.INSTANTS: _doubles(
        "Stamp [s] and duration [ns] of each cycle since the last state, at most 64 of them."
    ),
    Section.NOW: _doubles("Stamp of the last cycle and age of its wrench [s].", "2"),
    Section.Q: _doubles("Positions at the last cycle [rad or m].", "n"),
    Section.V: _doubles("Velocities [rad/s or m/s].", "n"),
    Section.WRENCH: _doubles("Measured wrench [N and N·m]; NaN where there is none.", "6"),
    Section.EFFORT: _doubles("Efforts sent [N·m or N].", "n"),
    Section.APPLIED: _doubles("`LiveBlock.sequence` and `applied`, as taken by the tick."),
    Section.PERIOD: _doubles("Period of the loop [s].", "1"),
    Section.STATE_PERIOD: _doubles("Time from one state to the next [s].", "1"),
    Section.OFFSETS: _doubles("Added to the measured positions [rad or m].", "n"),
    Section.MIMIC: _doubles("Per joint: which one it follows or −1, ratio, offset.", "3 * n"),
    Section.CHECK: _doubles("q, q̇, and what Pinocchio gives there: M, h.", "3 * n + n * n"),
    Section.SILENCE: _doubles("See `SilenceTerms`."),
    **ARM,
    **{
        section: _doubles(f"`TickArguments.{section.name.lower()}`.")
        for section in Section
        if Section.STATE <= section <= Section.LIMITS_WORK
    },
    Section.MAILBOX: _doubles("`TickArguments.mailbox`; in a change without the two tables."),
    Section.SIZES: _wholes("`TickArguments.sizes`.", "4"),
    Section.CHOICES: _wholes("`TickArguments.choices`.", "5"),
    Section.PASSIVE: _wholes("`TickArguments.passive`."),
    Section.PLANT_SIZES: _wholes("`Plant.sizes`: stages; delays of sensor and motors.", "3"),
    Section.PLANT: _doubles("`Plant.work`, see `PlantTerms`."),
    Section.SUBSTEPS: _wholes("Steps of the plant in a period.", "1"),
    Section.MEASURES: _wholes("1 where the plant's force is measured.", "1"),
    Section.NOISE: _doubles(
        "Standard deviation of the measured force [N], its seed, the motors' seed, and their "
        "standard deviations [N·m or N].",
        "3 + n",
    ),
}
"""Every section there is."""

Content = NDArray[Any] | bytes
Sections = Mapping[Section, Content]


class RefusedUpdate(ProjectedControlError):
    """A message that is not what it should be.

    Attributes:
        status: Why, for an acknowledgement.
    """

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Message(NamedTuple):
    """A message, decoded."""

    kind: Update  # what it is
    session: int  # of which session
    sequence: int  # which one of it
    sections: dict[Section, Any]  # what it holds; arrays of doubles or whole numbers, or bytes
    status: Status = Status.ACCEPTED  # of an acknowledgement

    @property
    def reason(self) -> str:
        """Why an update was refused, in words."""
        return bytes(self.sections.get(Section.REASON, b"")).decode(errors="replace")


@cache
def digest_number() -> int:
    """Of all that both sides must share: the beginning of the exported library's digest."""
    return int(kernel_library.digest()[:16], 16)


def encode(
    kind: Update,
    session: int,
    sequence: int,
    sections: Sections | None = None,
    status: Status = Status.ACCEPTED,
) -> bytes:
    """A message as bytes."""
    parts = []
    for section in sorted(sections or {}):
        content = (sections or {})[section]
        type_ = SECTIONS[section].type
        array = np.frombuffer(content, "u1") if isinstance(content, bytes) else content
        data = np.ascontiguousarray(array, dtype=_DTYPES[type_]).tobytes()
        count = len(data) // _DTYPES[type_].itemsize
        parts.append(SECTION.pack(section, type_, count) + data + bytes(-len(data) % _ALIGNMENT))
    body = b"".join(parts)
    digest = digest_number()

    def header(crc: int) -> bytes:
        size, count = len(body), len(parts)
        return HEADER.pack(
            MAGIC, VERSION, kind, digest, session, sequence, size, count, crc, status
        )

    return header(zlib.crc32(body, zlib.crc32(header(0)))) + body


def decode(data: bytes) -> Message:
    """A message from bytes.

    Raises:
        RefusedUpdate: Where they are no whole message of this version and these sources.
    """
    if not HEADER.size <= len(data) <= LARGEST:
        raise _malformed(f"a message has {HEADER.size} to {LARGEST} bytes, got {len(data)}")
    magic, version, kind, digest, session, sequence, size, count, crc, status = HEADER.unpack_from(
        data
    )
    if magic != MAGIC:
        raise _malformed("it does not begin as a message of projected_control does")
    if version != VERSION:
        raise RefusedUpdate(
            Status.VERSION, f"it is of version {version} of the protocol, expected is {VERSION}"
        )
    if size != len(data) - HEADER.size:
        raise _malformed(
            f"it says that {size} bytes follow its header, {len(data) - HEADER.size} do"
        )
    blank = data[:_CRC_AT] + bytes(4) + data[_CRC_AT + 4 :]
    if zlib.crc32(blank) != crc:
        raise _malformed("its checksum is wrong")
    if digest != digest_number():
        raise RefusedUpdate(
            Status.DIGEST,
            f"it was made from other sources ({digest:016x}) than this side's "
            f"({digest_number():016x}); install and build both anew",
        )
    if kind not in Update.__members__.values():
        raise _malformed(f"there is no kind {kind} of message")
    if status not in Status.__members__.values():
        raise _malformed(f"there is no status {status}")
    sections = _sections(data, count)
    return Message(Update(kind), session, sequence, sections, Status(status))


def _sections(data: bytes, count: int) -> dict[Section, Any]:
    found: dict[Section, Any] = {}
    at, last = HEADER.size, -1
    for _ in range(count):
        if at + SECTION.size > len(data):
            raise _malformed("it ends within a section's head")
        number, type_, elements = SECTION.unpack_from(data, at)
        at += SECTION.size
        if number not in Section.__members__.values() or number <= last:
            raise _malformed(f"there is a section {number} where none belongs")
        section, last = Section(number), number
        if type_ != SECTIONS[section].type:
            raise _malformed(f"the section {section.name} has the type {type_}")
        dtype = _DTYPES[type_]
        length = elements * dtype.itemsize
        if length > len(data) - at:
            raise _malformed(f"the section {section.name} is longer than the message")
        if type_ == BYTES:
            found[section] = data[at : at + length]
        else:
            found[section] = np.frombuffer(data, dtype, elements, at).copy()
        at += length + -length % _ALIGNMENT
    if at != len(data):
        raise _malformed("something follows its last section")
    return found


def _malformed(reason: str) -> RefusedUpdate:
    return RefusedUpdate(Status.MALFORMED, reason)

"""The C header of the messages of `updates`, and which sections belong to which struct's members.

What a decoder in C has to know comes as lists of the kind ``#define LIST(X) X(…) X(…)``: where one
is expanded stands what ``X`` does with a section's number, the member of the struct, its type,
dimensions and count. Counts are expressions in n, m, k, p, frames, stages, delay, motion and force;
that of a table of a motion is ``PROJECTED_CONTROL_TABLE``, as the table says its own, and one that
may be larger stands in ``PROJECTED_CONTROL_AT_LEAST``.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, get_type_hints

from projected_control.control.live import NUMBER, SLOTS, TABLES
from projected_control.control.silence import SILENCE
from projected_control.control.tick import Argument, TickArguments
from projected_control.model.constrained_arm import TERMS
from projected_control.model.motion_tables import MOTION
from projected_control.model.scalar_functions import TABLE
from projected_control.native import exports, updates
from projected_control.native.header import (
    PREFIX,
    comment,
    enumeration,
    in_c,
    snake_case,
)
from projected_control.native.updates import (
    ARM,
    INTEGER,
    Phase,
    Report,
    Section,
    Status,
    Update,
)
from projected_control.simulation.plant_terms import PLANT
from projected_control.workspace import Layout

FILE = "projected_control_updates.h"

LOOP = tuple(section for section in Section if Section.STATE <= section <= Section.LIMITS_WORK)
"""The arrays of a loop: `TickArguments` without Pinocchio's."""

MIRRORED = (
    Section.MODEL_WORK,
    Section.CONTROL_WORK,
    Section.SOURCE_WORK,
    Section.GUARD_WORK,
    Section.COUNTERS,
)
"""Those of them that come back with every state."""

TABLE_LENGTH = "PROJECTED_CONTROL_TABLE"

_FUNCTIONS = f"PROJECTED_CONTROL_AT_LEAST({PREFIX}table_terms_size(frames, m + k, n, 0))"

Line = tuple[Section, str, bool, int, str]
"""Section, member of the struct, whether it holds whole numbers, dimensions, count."""


def updates_header() -> str:
    """The whole file."""
    magic = int.from_bytes(updates.MAGIC, "little")
    parts = [
        f"/* Messages of projected_control {exports.VERSION}. Generated: do not edit. */",
        "#ifndef PROJECTED_CONTROL_UPDATES_H\n#define PROJECTED_CONTROL_UPDATES_H\n",
        '#include "projected_control_kernels.h"\n',
        f"#define PROJECTED_CONTROL_UPDATES_VERSION {updates.VERSION}",
        f"#define PROJECTED_CONTROL_UPDATES_MAGIC 0x{magic:016x}ULL",
        f"#define PROJECTED_CONTROL_UPDATES_DIGEST 0x{updates.digest_number():016x}ULL",
        f"#define PROJECTED_CONTROL_HEADER_BYTES {updates.HEADER.size}",
        f"#define PROJECTED_CONTROL_SECTION_COUNT {max(Section) + 1}",
        f"#define PROJECTED_CONTROL_SECTION_BYTES {updates.SECTION.size}",
        f"#define PROJECTED_CONTROL_LARGEST_BYTES {updates.LARGEST}\n",
        *(enumeration(kinds) for kinds in (Update, Status, Phase, Report, Section)),
        _slots(),
        "enum {\n  PROJECTED_CONTROL_TYPE_DOUBLE = 0,\n  PROJECTED_CONTROL_TYPE_INTEGER = 1,\n"
        "  PROJECTED_CONTROL_TYPE_BYTES = 2,\n};\n",
        _types(),
        _list("TICK_SECTIONS", "The loop: members of struct projected_control_tick.", _tick()),
        _list(
            "SILENCE_SECTIONS",
            "Members of struct projected_control_answer_silence.",
            [(Section.SILENCE, "silence", False, 1, _size(SILENCE))],
        ),
        _list("PLANT_SECTIONS", "Members of struct projected_control_observe_plant.", _plant()),
        _list("ARM_SECTIONS", "Members of struct projected_control_description.", _arm()),
        _mirrored(),
        "#endif\n",
    ]
    return "\n".join(parts)


def _slots() -> str:
    """Numbers of the live block's slots, and what is checked of each."""
    names = "".join(
        f"  PROJECTED_CONTROL_SLOT_{name.upper()} = {at},\n" for name, at in NUMBER.items()
    )
    entries = " \\\n".join(
        f"  X({name}, {in_c(slot.count, {})}, {_in_c(slot.least)}, {int(slot.finite)})"
        for name, slot in SLOTS.items()
        if name not in TABLES
    )
    meaning = comment(
        "Slots of struct projected_control_live_block but the tables: name, how many numbers, the "
        "least each may be, and whether all must be finite."
    )
    return (
        f"enum {{\n{names}  PROJECTED_CONTROL_SLOTS = {len(SLOTS)},\n}};\n\n"
        f"{meaning}\n#define PROJECTED_CONTROL_LIVE_SLOTS(X) \\\n{entries}\n"
    )


def _in_c(number: float) -> str:
    return f"{number!r}" if isfinite(number) else "-INFINITY" if number < 0.0 else "INFINITY"


def _types() -> str:
    """Type of a section by its number, and whether there is such a section."""
    cases = "".join(
        f"    case PROJECTED_CONTROL_SECTION_{section.name}: return {declared.type};\n"
        for section, declared in sorted(updates.SECTIONS.items())
    )
    return (
        f"{comment('Type of a section; -1 where there is none of this number.')}\n"
        "static inline int64_t projected_control_section_type(uint32_t section) {\n"
        f"  switch (section) {{\n{cases}    default: return -1;\n  }}\n}}\n"
    )


def _list(name: str, meaning: str, lines: list[Line]) -> str:
    entries = " \\\n".join(
        f"  X(PROJECTED_CONTROL_SECTION_{section.name}, {member}, "
        f"{'int64_t' if whole else 'double'}, {dimensions}, {count})"
        for section, member, whole, dimensions, count in lines
    )
    return f"{comment(meaning)}\n#define PROJECTED_CONTROL_{name}(X) \\\n{entries}\n"


def _mirrored() -> str:
    entries = " \\\n".join(
        f"  X(PROJECTED_CONTROL_SECTION_{s.name}, {s.name.lower()})" for s in MIRRORED
    )
    meaning = comment("Members of struct projected_control_tick that come back with every state.")
    return f"{meaning}\n#define PROJECTED_CONTROL_MIRRORED_SECTIONS(X) \\\n{entries}\n"


def _tick() -> list[Line]:
    hints = get_type_hints(TickArguments, include_extras=True)
    lines: list[Line] = []
    for section in LOOP:
        name = section.name.lower()
        declared: Argument = hints[name].__metadata__[0]
        if declared.layout is MOTION:
            count, dimensions = TABLE_LENGTH, 1
        elif declared.layout is TABLE:
            count, dimensions = _FUNCTIONS, 1
        elif declared.layout is not None:
            count, dimensions = _size(declared.layout), 1
        else:
            extents = [in_c(extent.strip(), {}) for extent in declared.shape.split(",")]
            count, dimensions = " * ".join(extents), len(extents)
        lines.append((section, name, declared.whole, dimensions, count))
    return lines


def _plant() -> list[Line]:
    return [
        (Section.PLANT_SIZES, "plant_sizes", True, 1, "3"),
        (Section.PLANT, "plant", False, 1, _size(PLANT)),
        (Section.STATE, "state", False, 2, "2 * n"),
        (Section.SIZES, "sizes", True, 1, "4"),
        (Section.FUNCTIONS, "functions", False, 1, _FUNCTIONS),
        (Section.TARGET, "target", False, 1, TABLE_LENGTH),
        (Section.MODEL_WORK, "work", False, 1, _size(TERMS)),
    ]


def _arm() -> list[Line]:
    return [
        (section, section.name.lower(), declared.type == INTEGER, 1, in_c(declared.count, {}))
        for section, declared in ARM.items()
        if section is not Section.GRAVITY  # which is no pointer in that struct
    ]


def _size(layout: Layout[Any]) -> str:
    sizes = ", ".join("PROJECTED_CONTROL_SLOTS" if s == "slots" else s for s in layout.sizes)
    return f"{PREFIX}{snake_case(layout.parts.__name__)}_size({sizes})"

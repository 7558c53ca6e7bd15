"""A loop's memory by the names of its parts, so that a recording outlives the version that made it.

The arrays of a loop (`control.loop.REMEMBERED`) lie as their layouts say, and layouts grow. A
recording therefore says where each part lay (`places_of`), and a loop takes from it what it has
under the same name (`as_here`). What is new since then stays as the loop was built.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control.arrays import Array
from projected_control.control.counters import COUNTERS
from projected_control.control.force_kernels import SOURCE
from projected_control.control.guard_kernels import GUARD
from projected_control.control.live import BLENDS, LIVE, NUMBER, TABLES, live_sizes
from projected_control.control.loop import REMEMBERED, ControlLoop
from projected_control.control.task_terms import TASK
from projected_control.control.terms import CONTROL
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import TERMS
from projected_control.runs.row_messages import Places
from projected_control.workspace import Layout

_BLOCK, _BLOCKS = "mailbox", ("mailbox", "taken")
_PER_SLOT: Places = {name: (number, (1,)) for name, number in NUMBER.items()}
"""Of the parts of a live block that have one number per slot."""

_FIRST_SLOTS = (
    "gains",
    "force_gains",
    "limits",
    "sensor",
    "reference",
    "force_reference",
    "friction",
    "disturbance",
    "impedance",
)
"""Whose versions a block had, in this order, before recordings said it; the last came later."""

_BLENDS_BEFORE = {
    "gains_blend": "blends.gains",
    "force_blend": "blends.force_gains",
    "impedance_blend": "blends.impedance",
    "friction_blend": "blends.friction",
    "disturbance_blend": "blends.disturbance",
}
"""What parts of a controller's array were called then."""


def places_of(loop: ControlLoop) -> dict[str, Places]:
    """Where the parts of a loop's arrays lie, by array."""
    model, controller = loop.controller.model, loop.controller
    n, m, k, p = model.n, model.m, model.k, controller.passive.size
    draft = loop.mailbox.draft
    block = _places(LIVE, **live_sizes(n, m, k, draft.reference.size, draft.force_reference.size))
    for part in ("applied", "versions", "seconds"):
        block = _with_inner(block, part, _PER_SLOT)
    guard = _places(GUARD, n=n, k=k)
    limits = {name: place for name, place in guard.items() if place[0] < draft.limits.size}
    control = _with_inner(_places(CONTROL, n=n, m=m, k=k, p=p), "task", _places(TASK, n=n, k=k))
    return {
        "model_work": _places(TERMS, n=n, m=m, k=k, frames=model.table.frames),
        "control_work": _with_inner(control, "blends", _places(BLENDS, n=n, k=k)),
        "source_work": _places(SOURCE, n=n, m=m),
        "guard_work": guard,
        "counters": _places(COUNTERS, k=k),
        _BLOCK: _with_inner(block, "limits", limits),
    }


def sizes_of(loop: ControlLoop) -> dict[str, int]:
    """What the shapes of these parts are made of: of another arm or task they are others."""
    model = loop.controller.model
    return {
        "n": model.n,
        "m": model.m,
        "k": model.k,
        "p": int(loop.controller.passive.size),
        "frames": model.table.frames,
    }


def described(loop: ControlLoop) -> str:
    """Both, as a recording keeps them."""
    return json.dumps({"sizes": sizes_of(loop), "places": places_of(loop)})


def as_here(
    loop: ControlLoop, memory: Mapping[str, NDArray[Any]], description: str
) -> dict[str, NDArray[Any]]:
    """The memory of a recording in the order that this loop's arrays have.

    Args:
        loop: As it was built.
        memory: The arrays of the recording.
        description: What `described` said of the loop that was recorded; empty for recordings that
            do not say it, of which the arrays must be the same.

    Raises:
        InvalidValue: Where it is the memory of a loop that was built differently.
    """
    if not description:
        return dict(memory)
    content = json.loads(description)
    if content["sizes"] != (sizes := sizes_of(loop)):
        raise InvalidValue(
            f"this is not the memory of such a loop: its sizes are {content['sizes']}, expected "
            f"are {sizes}; the arm, the constraint or the coordinates are others"
        )
    ours, moved = places_of(loop), dict(memory)
    for name in REMEMBERED:
        array = getattr(loop.arguments, name)
        if name not in memory:
            moved[name] = array.copy()
        elif name in _BLOCKS:
            moved[name] = block_as_here(loop, memory[name], description)
        elif name in ours:
            theirs = _read(content["places"][name])
            for before, now in _BLENDS_BEFORE.items():
                if before in theirs:
                    theirs[now] = theirs.pop(before)
            _require_whole(name, memory[name], theirs)
            moved[name] = _moved(memory[name], theirs, array.copy(), ours[name])
        elif name == "choices" and memory[name].size < array.size:
            moved[name] = np.concatenate([memory[name], array[memory[name].size :]])
    return moved


def block_as_here(loop: ControlLoop, block: Array, description: str) -> Array:
    """A recorded live block (see `control.live`) in the order in which this loop takes it.

    A slot that it does not have is as the loop has it now.
    """
    if not description:
        return block
    theirs, ours = block_places(description), places_of(loop)[_BLOCK]
    for name in set(theirs) & set(ours) - set(TABLES):
        if theirs[name][1] != ours[name][1]:
            raise InvalidValue(
                f"this recording is of a version in which {name} of a live block had the shape "
                f"{theirs[name][1]}, here it is {ours[name][1]}: replay it with that version"
            )
    lengths = theirs["lengths"][0]
    tables = [int(length) for length in block[lengths : lengths + 2]]
    model = loop.controller.model
    here = LIVE.new(**live_sizes(model.n, model.m, model.k, *tables))
    begin, from_begin = ours[TABLES[0]][0], theirs[TABLES[0]][0]
    here[:begin] = loop.mailbox.box[:begin]
    limits = loop.guard.numbers  # the box has none before the first that were changed
    first = min(at for name, (at, _) in ours.items() if name.startswith("limits."))
    here[first : first + limits.size] = limits
    fixed = {name: place for name, place in theirs.items() if name not in TABLES}
    _moved(block, fixed, here, ours)
    here[begin:] = block[from_begin : from_begin + sum(tables)]
    return here


def block_places(description: str) -> Places:
    """Where the parts of recorded live blocks lie, by the names that they have today."""
    places = _read(json.loads(description)["places"][_BLOCK]) if description else {}
    if "versions" not in places:
        return places
    for part in ("versions", "applied"):
        at, (count,) = places.pop(part)
        for number, slot in enumerate(_FIRST_SLOTS[:count]):
            places[f"{part}.{slot}"] = (at + number, (1,))
        places[f"{part}.anti_windup"] = places[f"{part}.force_gains"]
    places["seconds.gains"] = places.pop("gains_seconds")
    places["seconds.force_gains"] = places.pop("force_seconds")
    for slot in {"impedance", "friction", "disturbance"} & set(places):
        at, (count,) = places[slot]  # the time it takes was its last number
        places[slot], places[f"seconds.{slot}"] = (at, (count - 1,)), (at + count - 1, (1,))
    return places


def _moved(kept: Array, theirs: Places, here: Array, ours: Places) -> Array:
    """Fill an array with the parts that another one has under the same name."""
    for name in set(theirs) & set(ours):
        (old, old_shape), (new, shape) = theirs[name], ours[name]
        if old_shape == shape:
            here[new : new + prod(shape)] = kept[old : old + prod(shape)]
    return here


def _require_whole(name: str, kept: Array, places: Places) -> None:
    expected = max(begin + prod(shape) for begin, shape in places.values())
    if kept.shape != (expected,):
        raise InvalidValue(
            f"this is not the memory of such a loop: {name} has the shape {kept.shape}, expected "
            f"is ({expected},); the recording is damaged"
        )


def _places(layout: Layout[Any], **sizes: int) -> Places:
    """Of the parts that do not lie within others."""
    offsets, shapes = layout.offsets(**sizes), layout.shapes(**sizes)
    return {
        name: (int(offsets[name]), tuple(int(extent) for extent in shapes[name]))
        for name, part in layout.declared.items()
        if part.at is None
    }


def _with_inner(places: Places, name: str, inner: Places) -> Places:
    """With the parts of a part in its place."""
    begin, _ = places[name]
    within = {f"{name}.{part}": (begin + at, shape) for part, (at, shape) in inner.items()}
    return {**{part: place for part, place in places.items() if part != name}, **within}


def _read(content: Mapping[str, Any]) -> Places:
    return {name: (at, tuple(shape)) for name, (at, shape) in content.items()}

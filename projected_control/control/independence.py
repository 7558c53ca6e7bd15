"""Which coordinate keeps a set of them from describing the free directions, and what would do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.model.function_kinds import (
    AxisCosine,
    HeadingInPlane,
    OrientationAbout,
)

Array = NDArray[np.float64]

CONTROLLABILITY_TOLERANCE = 1e-3
"""Sine of the angle below which a passive joint counts as out of the motors' reach."""

INDEPENDENT = 1e-3
"""Smallest singular value of J_θ P, in the metric's coordinates, from which coordinates count as
independent of the constraint and of each other."""

SURELY = 1.0 + 1e-9  # by this factor one has to be better than those before: last bits do not count
CLEARLY = 0.05  # the same from which another coordinate is proposed: not one that hardly does

TAKES_PART = 0.3
"""Share of a coordinate in what is not independent, of the largest one, from which it is named."""


def explain_dependence(model: ConstrainedArm) -> str:
    """In words, which coordinates are at fault where the model was evaluated, and what would do.

    J_θ P has a left singular vector u with uᵀ J_θ P ≈ 0: the coordinates that take part in it, each
    row by its own length. An angle of an axis that points along the direction has no row at all.
    """
    assert model.coordinates is not None
    names, free = model.coordinates.names, model.J_theta @ model.P
    undefined = np.flatnonzero(~np.isfinite(free).all(axis=1))
    if undefined.size:
        guilty = undefined.tolist()
    else:
        lengths = np.linalg.norm(free, axis=1)
        rows = free / np.where(lengths > INDEPENDENT, lengths, 1.0)[:, None]
        least = np.abs(np.linalg.svd(rows)[0][:, len(names) - 1])
        guilty = [int(i) for i in np.flatnonzero(least >= TAKES_PART * least.max())]
    if undefined.size:
        fault = f"{', '.join(names[i] for i in guilty)} is not defined there"
    elif len(guilty) == 1:
        fault = f"nothing that the constraint leaves free moves {names[guilty[0]]}"
    else:
        fault = f"{', '.join(names[i] for i in guilty)} say the same there"
    return (
        "the coordinates do not describe what the constraint leaves free here: "
        f"{fault}; {_what_would_do(model, guilty)}"
    )


def _what_would_do(model: ConstrainedArm, guilty: Sequence[int]) -> str:
    assert model.coordinates is not None
    for i in reversed(guilty):
        members = list(model.coordinates.members)
        best, words = CLEARLY, ""
        for other, said in _instead_of(members[i], model):
            members[i] = other
            margin = _margin(model, Coordinates(members))
            if margin > SURELY * best:
                best, words = margin, said
        if words:
            return words
    if len(guilty) > 1:
        return "leave one of them out, or name a direction in which they differ"
    return "leave it out, or begin from another configuration"


def _instead_of(coordinate: Coordinate, model: ConstrainedArm) -> Iterator[tuple[Coordinate, str]]:
    """What might take the place of a coordinate, and how that is said."""
    function, name = coordinate.function, coordinate.name
    if isinstance(function, OrientationAbout):  # one of three that belong together
        return
    if isinstance(function, (HeadingInPlane, AxisCosine)):
        for axis in np.eye(3):
            if abs(axis @ function.axis) < 0.9:  # another one
                other = replace(coordinate, function=replace(function, axis=axis))
                yield (
                    other,
                    f"with {name}'s axis {axis.astype(int).tolist()} instead of "
                    f"{_numbers(function.axis)} it would do",
                )
    frame = getattr(function, "frame", None)
    taken = model.coordinates.names if model.coordinates is not None else ()
    if frame is not None:
        for letter in "xyz":
            if f"{frame}.{letter}" not in taken:
                place = Coordinate.position(frame, letter, name)
                yield place, f"{frame}.{letter} in place of {name} would do"
    for joint in model.arm.joint_names:
        if joint not in taken:
            yield Coordinate.joint(joint, name), f"the joint {joint} in place of {name} would do"


def _margin(model: ConstrainedArm, coordinates: Coordinates) -> float:
    """Smallest singular value of J_θ P with these coordinates, where the arm stands."""
    free = coordinates.jacobian(model.arm) / model.sqrt_metric @ model.P
    if not np.isfinite(free).all():
        return 0.0
    return float(np.linalg.svd(free, compute_uv=False)[-1])


def _numbers(axis: Array) -> str:
    return f"[{', '.join(f'{x:.4g}' for x in axis)}]"

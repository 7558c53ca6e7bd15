"""Kinds of reference that a parameter file can name: one record per kind.

A kind of another package is a record behind an entry point of ``projected_control.references``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from projected_control.arrays import Array
from projected_control.control.references import (
    Approach,
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
from projected_control.planning import paths
from projected_control.planning.paths import Strokes
from projected_control.registry import Registry
from projected_control.validate import spread

if TYPE_CHECKING:
    from projected_control.settings import groups


@dataclass(frozen=True)
class ReferenceKind:
    """A kind of reference."""

    name: str  # in YAML, as ``reference.kind``
    title: str  # what it is, in a few words
    # The reference of the settings of the group ``reference``, from a point at which the arm
    # is (or its old reference) and from a time on [s].
    build: Callable[[groups.Reference, ReferencePoint, float], Reference] | None = None
    # For a path, where it leads: the strokes in those coordinates that it moves, from the
    # settings, and from where these coordinates are. What is needed to time it is known to
    # `settings.build`, which makes the reference.
    strokes: Callable[[groups.Reference, Array], Strokes] | None = None


REFERENCES: Registry[ReferenceKind] = Registry("reference", "projected_control.references")
"""Every kind that can be named, ours and other packages'."""


def motion_limits(group: groups.Reference, k: int) -> MotionLimits:
    """What a set-point may ask for on the way, on k coordinates."""
    group.limits.array(k)
    return group.limits


def sines(group: groups.Reference, k: int) -> Sines:
    """The sine of the settings, from time zero."""
    amplitude = spread("reference.amplitude", group.amplitude, k)
    frequency = spread("reference.frequency", group.frequency, k)
    phase = spread("reference.phase", group.phase, k)
    waves = [[Sine(*numbers)] for numbers in zip(amplitude, frequency, phase, strict=True)]
    return Sines(spread("reference.offset", group.offset, k), waves)


def _hold(group: groups.Reference, start: ReferencePoint, begin: float) -> Reference:
    if start.rate.any() or start.acceleration.any():
        return SetPoint(start, start.value, motion_limits(group, start.value.size), begin)
    return Constant(start.value)


def _sine(group: groups.Reference, start: ReferencePoint, begin: float) -> Reference:
    wave = sines(group, start.value.size)
    if group.approach:
        return Approach(start, wave, motion_limits(group, start.value.size), begin)
    return Shifted(wave, begin)


REFERENCES.add(ReferenceKind("hold", "stay where the arm is", _hold))
REFERENCES.add(ReferenceKind("sine", "a sine per coordinate", _sine))


def _centre(group: groups.Reference, here: Array) -> Array:
    if not group.centre:
        return here
    return spread("reference.centre", group.centre, here.size, "coordinate of reference.along")


def _plane(kind: str, here: Array) -> None:
    if here.size != 2:
        raise InvalidValue(
            f"a {kind} moves two coordinates: reference.along must name two, and names {here.size}",
            key="reference.along",
        )


def _line(group: groups.Reference, here: Array) -> Strokes:
    if not group.size:
        raise InvalidValue(
            "reference.kind line needs reference.size, from end to end [m or rad]",
            key="reference.kind",
        )
    size = spread("reference.size", group.size, here.size, "coordinate of reference.along")
    return paths.line(_centre(group, here), size)


def _circle(group: groups.Reference, here: Array) -> Strokes:
    _plane("circle", here)
    return paths.circle(_centre(group, here), group.radius, group.turns, group.phase[0])


def _spiral(group: groups.Reference, here: Array) -> Strokes:
    _plane("spiral", here)
    return paths.spiral(_centre(group, here), group.radius, group.spacing, group.phase[0])


def _raster(group: groups.Reference, here: Array) -> Strokes:
    _plane("raster", here)
    if len(group.size) != 2:
        raise InvalidValue(
            f"reference.kind raster needs reference.size with two numbers, its length and width "
            f"[m or rad], got {len(group.size)}",
            key="reference.size" if group.size else "reference.kind",
        )
    return paths.raster(_centre(group, here), group.size, group.spacing, group.blend)


def _waypoints(group: groups.Reference, here: Array) -> Strokes:
    if group.file:
        return paths.through(paths.read_points(group.file).points, group.blend)
    if not group.points or len(group.points) % here.size:
        raise InvalidValue(
            f"reference.points must be points of {here.size} numbers each, one per coordinate of "
            f"reference.along, got {len(group.points)} numbers; or give reference.file",
            key="reference.points" if group.points else "reference.kind",
        )
    return paths.through(np.reshape(group.points, (-1, here.size)), group.blend)


REFERENCES.add(ReferenceKind("line", "straight from one place to another", strokes=_line))
REFERENCES.add(ReferenceKind("circle", "round a centre", strokes=_circle))
REFERENCES.add(ReferenceKind("spiral", "outwards round a centre", strokes=_spiral))
REFERENCES.add(ReferenceKind("raster", "to and fro over a rectangle", strokes=_raster))
REFERENCES.add(
    ReferenceKind(
        "waypoints", "points of a list or a file, one after the other", strokes=_waypoints
    )
)

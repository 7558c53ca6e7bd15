"""Coordinates that a bare name does not say: made from a group of settings under their own name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import pinocchio

from projected_control import validate
from projected_control.errors import InvalidValue, about
from projected_control.model.constraints.kinds import VECTORS, check_vector
from projected_control.model.coordinates.coordinate import CENTRE_OF_MASS, Coordinate
from projected_control.model.function_kinds import HeadingInPlane, ScalarFunction

ORIENTATION = "orientation"
WAY = "way"
OWN_COORDINATES = ("position", "angle", "tilt", "round", WAY, CENTRE_OF_MASS, ORIENTATION)
"""Kinds of coordinate that ``coordinate.<name>.kind`` can name."""


class CoordinateSettings(Protocol):
    """The settings of a coordinate that a bare name does not say; empty where not given."""

    @property
    def kind(self) -> str:
        """One of `OWN_COORDINATES`."""

    @property
    def frame(self) -> str:
        """Link whose origin or axis is followed."""

    @property
    def other_frame(self) -> str:
        """Link from which a position counts."""

    @property
    def direction(self) -> Sequence[float]:
        """Along or about which."""

    @property
    def point(self) -> Sequence[float]:
        """A point of an axis [m]."""

    @property
    def axis(self) -> Sequence[float]:
        """An axis of the link."""

    @property
    def constraint(self) -> str:
        """Name of the constraint along which a way is."""

    @property
    def zero(self) -> Sequence[float]:
        """Roll, pitch and yaw of the orientation from which an orientation counts [rad]."""


_NEEDED = {
    "position": ("frame", "direction"),
    "angle": ("frame", "direction"),
    "tilt": ("frame", "axis", "direction"),
    "round": ("frame", "point", "direction"),
    WAY: (),
    CENTRE_OF_MASS: ("direction",),
    ORIENTATION: ("frame",),
}
_TURNS = ("rx", "ry", "rz")


def own_group(name: str, groups: Iterable[str]) -> str:
    """Whose settings say what a coordinate is: its own, of ``turn.rx`` those of ``turn``; or none.

    Args:
        name: Of the coordinate.
        groups: Names of groups of settings.
    """
    group, _, axis = name.rpartition(".")
    known = set(groups)
    return name if name in known else group if group in known and axis in _TURNS else ""


def own_coordinate(
    name: str, settings: CoordinateSettings, way: Callable[[str, str], ScalarFunction]
) -> Coordinate:
    """The coordinate of a group of settings, under its own name.

    An orientation is three: ``name.rx``, ``name.ry`` and ``name.rz``.

    Args:
        name: Of the coordinate.
        settings: What it is.
        way: How far along a constraint the arm has come, from the names of the coordinate and of
            the constraint, which may be empty where there is only one.
    """
    group, _, turn = name.rpartition(".")
    if settings.kind == ORIENTATION or turn in _TURNS:
        if settings.kind != ORIENTATION or turn not in _TURNS:
            raise InvalidValue(
                f"coordinate {name!r}: of kind {ORIENTATION!r}, and of no other, there are three: "
                f"{', '.join(f'{group or name}.{each}' for each in _TURNS)}",
                key="coordinates",
            )
        return _own_orientation(group, settings)[_TURNS.index(turn)]
    kind = validate.one_of(f"coordinate.{name}.kind", settings.kind, OWN_COORDINATES)
    missing = [n for n in _NEEDED[kind] if not len(getattr(settings, n))]
    if missing:
        needs = " and ".join(f"coordinate.{name}.{n}" for n in missing)
        key = f"coordinate.{name}.kind"
        raise InvalidValue(f"{key} {kind!r} needs {needs}", key=key)
    for setting in VECTORS:
        check_vector(f"coordinate.{name}.{setting}", setting, getattr(settings, setting, ()))
    frame, direction = settings.frame, settings.direction
    if kind == WAY:
        function = way(name, settings.constraint)
        return Coordinate(name, function.unit, function, isinstance(function, HeadingInPlane))
    if kind == "position":
        return Coordinate.along(frame, direction, settings.other_frame or None, name)
    if kind == "angle":
        axis = settings.axis if len(settings.axis) else (1.0, 0.0, 0.0)
        return Coordinate.about(frame, direction, axis, name)
    if kind == "tilt":
        return Coordinate.tilt(frame, settings.axis, direction, name)
    if kind == "round":
        return Coordinate.round(frame, settings.point, direction, name)
    return Coordinate.centre_of_mass(direction, name)


def _own_orientation(
    name: str, settings: CoordinateSettings
) -> tuple[Coordinate, Coordinate, Coordinate]:
    if not settings.frame:
        key = f"coordinate.{name}.kind"
        raise InvalidValue(f"{key} {ORIENTATION!r} needs coordinate.{name}.frame", key=key)
    zero = None
    if len(settings.zero):
        with about(f"coordinate.{name}.zero"):
            angles = validate.finite_array(f"coordinate.{name}.zero", settings.zero, (3,))
        zero = pinocchio.rpy.rpyToMatrix(*angles)
    return Coordinate.orientation(settings.frame, zero, name)

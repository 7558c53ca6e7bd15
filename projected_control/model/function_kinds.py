"""The kinds of scalar function y(q) from which constraints and coordinates are made.

Each is a frozen record of what is given: frames by name, unit vectors, numbers. What a record looks
like as a line of the compiled table is written by its method `write`; the kernel that evaluates it
stands in `function_kernels`, the wrench behind it in `constraints.wrenches`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from projected_control.errors import InvalidValue

if TYPE_CHECKING:
    from projected_control.model.height_map import HeightMap

Array = NDArray[np.float64]

WORLD = -1  # stands for the world in the place of a frame's number


class FunctionKind(IntEnum):
    """Number of a kind in the first column of the table."""

    POSITION = 0
    HEADING = 1
    JOINT = 2
    TURNING_POSITION = 3
    COSINE = 4
    DISTANCE = 5
    HEIGHT = 6
    ROUND = 7
    CENTRE = 8
    ORIENTATION = 9
    MOMENTUM = 10


class Places(Protocol):
    """What a function asks of the table it is written into."""

    def frame(self, name: str | None) -> int:
        """Number of a frame; `WORLD` for None."""

    def turned(self, name: str | None, axis: Array) -> Array:
        """A vector of a frame in the axes of the joint that carries it; the world's as it is."""

    def moves(self, name: str) -> bool:
        """Whether any joint moves a frame."""

    def joint(self, name: str) -> int:
        """Number of a joint."""

    def store(self, numbers: Array) -> int:
        """Keep more numbers than a line holds; returns where they begin."""

    def bodies(self) -> tuple[int, Array]:
        """Number of the first frame at a body's centre of mass, and every body's share of mass."""

    def inertias(self, direction: Array) -> Array:
        """Mass and inertia, 10 numbers per body, over the whole's inertia about a direction."""


@dataclass(frozen=True)
class PositionAlong:
    """``y = directionᵀ (p − p_other) − offset`` [m], p the origin of a frame in the world."""

    frame: str  # name of the frame
    direction: Array  # unit vector in the world, or in `axes`
    offset: float = 0.0  # constant that is subtracted [m]
    other: str | None = None  # name of a second frame of the arm; None for the world's origin
    # Name of the frame with which the direction turns: one of the two, or one that no joint
    # moves; None for the world.
    axes: str | None = None

    unit = "m"

    @property
    def frames(self) -> tuple[str, ...]:
        """The frames it names."""
        return _named(self.frame, self.other, self.axes)

    def write(self, line: Array, places: Places) -> None:
        """Write the line of the table."""
        kind = FunctionKind.POSITION if self.axes is None else FunctionKind.TURNING_POSITION
        line[:4] = kind, places.frame(self.frame), places.frame(self.other), self.offset
        line[4:7], line[7] = places.turned(self.axes, self.direction), places.frame(self.axes)
        third = self.axes not in (None, self.frame, self.other)
        if third and places.moves(str(self.axes)):
            raise InvalidValue(
                f"a direction that turns with {self.axes!r} needs that frame to be one of "
                f"the two that are held ({self.frame!r}, {self.other!r}), or to stand still"
            )


@dataclass(frozen=True)
class HeadingInPlane:
    """``y = ψ − ψ_other − offset`` [rad], ψ = atan2(e₂ᵀ d, e₁ᵀ d), d an axis of a frame."""

    frame: str  # name of the frame
    axis: Array  # unit vector in the frame
    e1: Array  # unit vector in the world from which the angle counts
    e2: Array  # unit vector in the world at +90°
    offset: float = 0.0  # constant that is subtracted [rad]
    # Name of a second frame of the arm, the same axis of which is ψ_other; None for 0.
    other: str | None = None

    unit = "rad"

    @property
    def frames(self) -> tuple[str, ...]:
        """The frames it names."""
        return _named(self.frame, self.other)

    def write(self, line: Array, places: Places) -> None:
        """Write the line of the table."""
        line[0], line[3] = FunctionKind.HEADING, self.offset
        line[1:3] = places.frame(self.frame), places.frame(self.other)
        line[4:7] = places.turned(self.frame, self.axis)
        line[7:10], line[10:13] = self.e1, self.e2
        if self.other is not None:
            line[13:] = places.turned(self.other, self.axis)


@dataclass(frozen=True)
class JointPosition:
    """``y = q_joint − ratio · q_other − offset`` [rad or m]."""

    joint: str  # name of the joint
    offset: float = 0.0  # constant that is subtracted [rad or m]
    other: str | None = None  # name of a second joint, for a gear; None for a joint alone
    ratio: float = 1.0  # how far the joint goes for each unit of the other

    unit = "rad"

    @property
    def frames(self) -> tuple[str, ...]:
        """The frames it names: none."""
        return ()

    def write(self, line: Array, places: Places) -> None:
        """Write the line of the table."""
        other = WORLD if self.other is None else places.joint(self.other)
        line[:5] = FunctionKind.JOINT, places.joint(self.joint), other, self.offset, self.ratio


@dataclass(frozen=True)
class AxisCosine:
    """``y = aᵀ b − offset``, a an axis of a frame, b a direction in the world or in another frame.

    For unit vectors it is the cosine of the angle between them; about a right angle that is the
    angle itself [rad], with the sign turned.
    """

    frame: str  # name of the frame
    axis: Array  # a, in the frame
    direction: Array  # b, in the world or in `other`
    offset: float = 0.0  # constant that is subtracted
    other: str | None = None  # name of the second frame; None for the world
    # A direction like b with which a must agree, aᵀ side > `SIDE`: where it does not, y is ±1
    # and so far from zero. Tells parallel from antiparallel. None for no such side.
    side: Array | None = None

    unit = "rad"

    @property
    def frames(self) -> tuple[str, ...]:
        """The frames it names."""
        return _named(self.frame, self.other)

    def write(self, line: Array, places: Places) -> None:
        """Write the line of the table."""
        line[0], line[3] = FunctionKind.COSINE, self.offset
        line[1:3] = places.frame(self.frame), places.frame(self.other)
        line[4:7] = places.turned(self.frame, self.axis)
        line[7:10] = places.turned(self.other, self.direction)
        line[10:13] = 0.0 if self.side is None else places.turned(self.other, self.side)


@dataclass(frozen=True)
class DistanceTo:
    """``y = ‖S (p − p_other)‖ − offset`` [m], S = I, or I − a aᵀ for the distance from an axis."""

    frame: str  # name of the frame
    offset: float  # constant that is subtracted [m]
    # Name of the frame the distance is from; None for a point in the world.
    other: str | None = None
    point: Array | None = None  # that point [m]
    # Unit vector a in the world along which distance does not count; None for S = I.
    axis: Array | None = None

    unit = "m"

    @property
    def frames(self) -> tuple[str, ...]:
        """The frames it names."""
        return _named(self.frame, self.other)

    def write(self, line: Array, places: Places) -> None:
        """Write the line of the table."""
        line[0], line[3] = FunctionKind.DISTANCE, self.offset
        line[1:3] = places.frame(self.frame), places.frame(self.other)
        line[4:7] = 0.0 if self.point is None else self.point
        line[7:10] = 0.0 if self.axis is None else self.axis


@dataclass(frozen=True)
class HeightAbove:
    """``y = e₃ᵀ(p − origin) − height(e₁ᵀ(p − origin), e₂ᵀ(p − origin)) − offset`` [m]."""

    frame: str  # name of the frame
    surface: HeightMap  # the height map, twice continuously differentiable
    origin: Array  # where its corner lies in the world [m]
    # e1, e2: unit vectors of its sides in the world; heights count along e₁ × e₂.
    e1: Array
    e2: Array
    offset: float = 0.0  # constant that is subtracted [m]

    unit = "m"

    @property
    def frames(self) -> tuple[str, ...]:
        """The frames it names."""
        return (self.frame,)

    def write(self, line: Array, places: Places) -> None:
        """Write the line of the table."""
        line[:4] = FunctionKind.HEIGHT, places.frame(self.frame), WORLD, self.offset
        line[4:7], line[7:10], line[10:13] = self.origin, self.e1, self.e2
        line[13] = places.store(self.surface.numbers)


@dataclass(frozen=True)
class AngleAbout:
    """``y = atan2(e₂ᵀr, e₁ᵀr) − offset`` [rad], r = p − point: how far round a point has gone.

    Turns are counted: y goes on from its last value by the short way, and does not jump at ±π.
    """

    frame: str  # name of the frame whose origin goes round
    point: Array  # a point of the axis [m]
    # e1, e2: unit vectors in the world: from where the angle counts, and +90° from there.
    e1: Array
    e2: Array
    offset: float = 0.0  # constant that is subtracted [rad]

    unit = "rad"

    @property
    def frames(self) -> tuple[str, ...]:
        """The frames it names."""
        return (self.frame,)

    def write(self, line: Array, places: Places) -> None:
        """Write the line of the table."""
        line[:4] = FunctionKind.ROUND, places.frame(self.frame), WORLD, self.offset
        line[4:7], line[7:10], line[10:13] = self.point, self.e1, self.e2


@dataclass(frozen=True)
class CentreOfMassAlong:
    """``y = directionᵀ c − offset`` [m], c the arm's centre of mass in the world."""

    direction: Array  # unit vector in the world
    offset: float = 0.0  # constant that is subtracted [m]

    unit = "m"

    @property
    def frames(self) -> tuple[str, ...]:
        """The frames it names: none, it follows all bodies."""
        return ()

    def write(self, line: Array, places: Places) -> None:
        """Write the line of the table."""
        first, shares = places.bodies()
        line[:4] = FunctionKind.CENTRE, first, shares.size, self.offset
        line[4:7], line[7] = self.direction, places.store(shares)


@dataclass(frozen=True)
class AngularMomentumAbout:
    """``ẏ = directionᵀ L / I₀`` [rad/s], L the arm's angular momentum about its centre of mass.

    L is the rate of no function of q: y is always zero, and only its rate, Jacobian and bias mean
    anything. I₀ is the inertia of the whole about the direction where all joints are zero, so that
    ẏ is about as fast as the arm turns.
    """

    direction: Array  # unit vector in the world

    unit = "rad"

    @property
    def frames(self) -> tuple[str, ...]:
        """The frames it names: none, it follows all bodies."""
        return ()

    def write(self, line: Array, places: Places) -> None:
        """Write the line of the table."""
        first, shares = places.bodies()
        line[:4] = FunctionKind.MOMENTUM, first, shares.size, 0.0
        line[4:7], line[7] = self.direction, places.store(places.inertias(self.direction))


@dataclass(frozen=True)
class OrientationAbout:
    """One number of a frame's orientation: ``φ = log(R zeroᵀ)``, a rotation vector [rad].

    Three of these, in order, are an orientation. Their Jacobian is not ∂φ/∂q but that of the
    angular velocity ω in the world, and their bias that of ω̇: where an orientation is controlled,
    the error is a rotation and its rate an angular velocity (see `rotations`).
    """

    frame: str  # name of the frame
    number: int  # 0, 1 or 2: the world's axis
    # Orientation at which φ = 0, a rotation matrix, row by row; None for the world's axes.
    zero: tuple[float, ...] | None = None

    unit = "rad"

    @property
    def frames(self) -> tuple[str, ...]:
        """The frames it names."""
        return (self.frame,)

    def write(self, line: Array, places: Places) -> None:
        """Write the line of the table: the columns of R zeroᵀ, and which number."""
        line[:4] = FunctionKind.ORIENTATION, places.frame(self.frame), WORLD, 0.0
        zero = np.eye(3) if self.zero is None else np.reshape(self.zero, (3, 3))
        for j in range(3):
            line[4 + 3 * j : 7 + 3 * j] = places.turned(self.frame, zero[j])
        line[13] = self.number


ScalarFunction = (
    PositionAlong
    | HeadingInPlane
    | JointPosition
    | AxisCosine
    | DistanceTo
    | HeightAbove
    | AngleAbout
    | CentreOfMassAlong
    | AngularMomentumAbout
    | OrientationAbout
)


OF_MASSES = (CentreOfMassAlong, AngularMomentumAbout)
"""Functions that know the masses of the bodies, as they were when they were written."""


def frame_names(functions: Sequence[ScalarFunction]) -> list[str]:
    """The frames that functions name, each once."""
    return list(dict.fromkeys(name for function in functions for name in function.frames))


def _named(*frames: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in frames if name is not None))

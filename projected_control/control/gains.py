"""Gains, and how they change while an arm moves: never by a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.compiled import Numbers, kernel
from projected_control.declaration import (
    LARGE,
    SMALL,
    Group,
    OneOrMore,
    is_given,
    parameter,
    refused,
    spread,
)
from projected_control.errors import InvalidValue
from projected_control.model.linalg import copy
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]

HOLD_STIFFNESS = 100.0
"""Stiffness with which free motions that no coordinate describes are held where the arm stood at
the start, unless told otherwise [1/s²]. The weight of an arm that is 10 % heavier than described
pulls with at most some 4 rad/s² where a coordinate's is not felt: 0.04 rad."""

POSTURE_DRIFT = 0.1
"""Distance of a joint from a posture that is held, in the directions in which it is, from which on
it is an event [rad or m]."""

BLEND_SECONDS = 0.2
"""Default time over which new gains come into force [s]."""


@dataclass(frozen=True)
class MotionGains(Group):
    """Feedback on the coordinates: ë + G_D ė + G_P e = 0."""

    stiffness: OneOrMore = parameter(
        (100.0,),
        "G_P, one number or one per coordinate",
        "1/s²",
        minimum=SMALL,
        maximum=1e6,
        live=True,
    )
    damping: OneOrMore = parameter(
        (20.0,),
        "G_D, one number or one per coordinate",
        "1/s",
        minimum=SMALL,
        maximum=1e4,
        live=True,
    )
    null_damping: float = parameter(
        10.0,
        "Damping of free motions that no coordinate describes",
        "1/s",
        minimum=0.0,
        maximum=1e4,
        live=True,
    )

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping"):
            values = np.atleast_1d(np.asarray(getattr(self, name), dtype=np.float64))
            if values.ndim != 1 or not np.isfinite(values).all() or not (values > 0.0).all():
                raise InvalidValue(f"{name} must be positive and finite, got {values.tolist()}")
        validate.not_negative("null_damping", self.null_damping)

    @classmethod
    def from_bandwidth(cls, hertz: float, damping_ratio: float = 1.0) -> MotionGains:
        """Gains of a second-order error equation with this natural frequency [Hz]."""
        omega = 2.0 * np.pi * validate.positive("bandwidth", hertz)
        return cls(omega**2, 2.0 * validate.positive("damping ratio", damping_ratio) * omega)

    def array(self, k: int) -> Array:
        """Rows G_P, G_D and null damping for k coordinates, 3 × k."""
        rows = np.empty((3, k))
        rows[0], rows[1] = spread(self, "stiffness", k), spread(self, "damping", k)
        rows[2] = self.null_damping
        return rows


@dataclass(frozen=True)
class Posture(Group):
    """Where free motions that no coordinate describes are drawn to: a task below all others.

    What of q̈ = K₀ (q₀ − q) − D₀ q̇ moves neither constraint nor coordinates is asked for, on top of
    the null-space damping. The target is q₀; None as well as empty for where the arm stands when a
    controller takes it over. K₀ is the stiffness, D₀ the damping.
    """

    target: OneOrMore | None = parameter(
        (),
        "Joint positions to which motions that no coordinate describes are drawn, one per joint, "
        "without disturbing constraint and coordinates; empty for where the arm stands when the "
        "controller starts, see posture.hold",
        "rad or m",
        minimum=-LARGE,
        maximum=LARGE,
    )
    stiffness: float = parameter(
        25.0,
        "How strongly, where posture.target is given",
        "1/s²",
        minimum=SMALL,
        maximum=1e6,
    )
    damping: float = parameter(
        0.0,
        "Damping of these motions, on top of gains.null_damping, where posture.target is given",
        "1/s",
        minimum=0.0,
        maximum=1e4,
    )

    @property
    def has_target(self) -> bool:
        """Whether a place is given; else it is where the arm stands."""
        return is_given(self.target)

    @classmethod
    def held(cls, stiffness: float = HOLD_STIFFNESS, null_damping: float = 0.0) -> Posture:
        """Where the arm stands at the start, damped critically with what is damped already."""
        validate.positive("posture stiffness", stiffness)
        return cls(None, stiffness, max(2.0 * np.sqrt(stiffness) - null_damping, 0.0))

    def __post_init__(self) -> None:
        if self.target is not None:
            validate.finite_array("posture target", self.target, (None,))
        validate.positive("posture stiffness", self.stiffness)
        validate.not_negative("posture damping", self.damping)

    def array(self, n: int) -> Array:
        """q₀ of n joints, where it is given."""
        target = np.asarray(self.target, dtype=np.float64)
        if target.size != n:
            raise refused(
                self,
                "target",
                f"must have {n} numbers, one per joint, got {target.size}",
                "the target of a posture",
            )
        return target


class BlendTerms(NamedTuple):
    """How far a blend of some gains has come."""

    clock: Annotated[Array, Part("3", "Time since it began and time it takes [s]; 1 while active.")]
    start: Annotated[Array, Part("size", "The gains when it began.")]
    target: Annotated[Array, Part("size", "The gains when it ends.")]


BLEND = Layout(BlendTerms, "size")
unpack_blend = BLEND.unpack


@kernel
def begin_blend(target: Numbers, seconds: float, values: Numbers, work: Numbers) -> None:
    """Start moving gains to a target.

    Args:
        target: The gains in the end.
        seconds: Time it takes [s]; zero sets them at once.
        values: The gains in force, of one dimension.
        work: An array of `BlendTerms`.
    """
    b = unpack_blend(work, values.size)
    copy(values, b.start)
    copy(target, b.target)
    b.clock[0], b.clock[1], b.clock[2] = 0.0, seconds, 1.0
    if seconds == 0.0:
        advance_blend(0.0, values, work)


@kernel
def advance_blend(dt: float, values: Numbers, work: Numbers) -> None:
    """Move gains on by a time [s], along 3s² − 2s³, where a blend is active."""
    b = unpack_blend(work, values.size)
    if b.clock[2] == 0.0:
        return
    b.clock[0] += dt
    if b.clock[0] >= b.clock[1]:
        copy(b.target, values)
        b.clock[2] = 0.0
        return
    s = b.clock[0] / b.clock[1]
    weight = s * s * (3.0 - 2.0 * s)
    for i in range(values.size):
        values[i] = b.start[i] + weight * (b.target[i] - b.start[i])

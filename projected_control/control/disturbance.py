"""What is still wrong: integral action on the coordinates, or the momentum observer's tangent part.

One at a time, as both would answer the same error:

* ``integral``: a ← a + K_I ∫ e dt, each coordinate's share at most its limit.
* ``observer``: with r the observer's estimate of all that moves the arm besides effort, model and
  known friction (see `force_source`), f∥ ← f∥ − P r, no joint's share more than the limit. Its
  input is what the guard let through, so that it does not wind up; what it says along the
  constraint's normal is left to the force loop.

Either waits while the effort is limited, in a stop, and **while the reference rests and all errors
are within the band**: dry friction would otherwise have the arm hunt about its place for ever, as
both go on pushing while it sticks, and push it past its place when it slips.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.compiled import compiled
from projected_control.control.stability import MotionLoop
from projected_control.control.terms import ControlTerms
from projected_control.declaration import SMALL, Group, OneOrMore, parameter, spread
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import Terms
from projected_control.model.linalg import fill
from projected_control.model.on_constraint import free_part

Array = NDArray[np.float64]


class DisturbanceKind(IntEnum):
    """What answers what no model knows."""

    NONE = 0
    INTEGRAL = 1
    OBSERVER = 2


KINDS = tuple(kind.name.lower() for kind in DisturbanceKind)
_INTEGRAL, _OBSERVER = int(DisturbanceKind.INTEGRAL), int(DisturbanceKind.OBSERVER)


@dataclass(frozen=True)
class Disturbance(Group):
    """How a controller answers the disturbances that no model knows."""

    kind: str = parameter(
        "none",
        "Nothing, integral action on the coordinates, or the tangent part of a momentum "
        "observer's estimate; one at a time",
        choices=KINDS,
    )
    gain: float = parameter(
        500.0,
        "K_I of integral action",
        "1/s³",
        minimum=0.0,
        maximum=1e9,
        live=True,
        name="integral",
    )
    integral_limit: float = parameter(
        20.0,
        "Largest acceleration that the integral asks for",
        "m/s² or rad/s²",
        minimum=SMALL,
        maximum=1e6,
        live=True,
    )
    bandwidth: float = parameter(
        10.0, "Bandwidth of the observer", "Hz", minimum=SMALL, maximum=1e4
    )
    effort_limit: float = parameter(
        5.0,
        "Largest effort that the observer adds to any joint",
        "N·m or N",
        minimum=SMALL,
        maximum=1e6,
        live=True,
    )
    band: OneOrMore = parameter(
        (0.001,),
        "Error up to which either waits while the reference rests, so that dry friction does not "
        "have the arm hunt; one number or one per coordinate",
        "m or rad",
        minimum=0.0,
        maximum=10.0,
        live=True,
    )

    def __post_init__(self) -> None:
        validate.one_of("kind of disturbance rejection", self.kind, KINDS)
        validate.not_negative("integral gain", self.gain)
        validate.positive("limit of the integral", self.integral_limit)
        validate.positive("bandwidth of the disturbance observer", self.bandwidth)
        validate.positive("limit of the disturbance observer", self.effort_limit)
        values = np.atleast_1d(np.asarray(self.band, dtype=np.float64))
        if not (np.isfinite(values) & (values >= 0.0)).all():
            raise InvalidValue(f"band must not be negative, got {values.tolist()}")

    @property
    def number(self) -> DisturbanceKind:
        """For kernels."""
        return DisturbanceKind[self.kind.upper()]

    @property
    def observes(self) -> bool:
        """Whether the momentum has to be observed."""
        return self.number is DisturbanceKind.OBSERVER

    def loop(self, motion: MotionLoop) -> MotionLoop:
        """The motion loop of a coordinate with this in it."""
        return replace(
            motion,
            integral=self.gain if self.number is DisturbanceKind.INTEGRAL else 0.0,
            observer=self.bandwidth if self.observes else 0.0,
        )

    def array(self, k: int) -> Array:
        """`ControlTerms.disturbance_gains`: K_I, both limits, and the band of k coordinates."""
        numbers = [self.gain, self.integral_limit, self.effort_limit]
        return np.concatenate([numbers, spread(self, "band", k)])


NO_DISTURBANCE = Disturbance()


@compiled
def note_rest(stop: bool, t: Terms, c: ControlTerms) -> None:
    """waits = 1 while effort is limited, in a stop, and where reference and arm are at rest."""
    rests = True
    for i in range(t.theta.size):
        rate = c.error[1, i] + t.theta_rate[i]
        rests = rests and rate == 0.0 and abs(c.error[0, i]) <= c.disturbance_gains[3 + i]
    c.waits[0] = 1.0 if stop or rests or c.limited[0] != 0.0 else 0.0


@compiled
def integrate_error(t: Terms, c: ControlTerms) -> None:
    """integral ← K_I ∫ e dt, within its limit, where there is one and it does not wait."""
    if int(c.disturbance_kind[0]) != _INTEGRAL:
        fill(c.integral, 0.0)
        return
    step, most = c.disturbance_gains[0] * c.period[0], c.disturbance_gains[1]
    for i in range(t.theta.size):
        if c.waits[0] == 0.0 and np.isfinite(c.error[0, i]):
            c.integral[i] += step * c.error[0, i]
        c.integral[i] = min(max(c.integral[i], -most), most)


@compiled
def take_disturbance(t: Terms, c: ControlTerms) -> None:
    """h ← h − P r, scaled as a whole where a joint's share is beyond the limit."""
    if int(c.disturbance_kind[0]) != _OBSERVER:
        return
    for i in range(t.h.size):
        c.load[i] = c.disturbance[i] / t.sqrt_metric[i]
    free_part(t, c.load, c.net)
    largest = 0.0
    for i in range(t.h.size):
        largest = max(largest, abs(c.net[i] * t.sqrt_metric[i]))
    most = c.disturbance_gains[2]
    scale = most / largest if largest > most else 1.0
    if not np.isfinite(largest):
        return
    for i in range(t.h.size):
        c.h[i] -= scale * c.net[i]

"""References: what the coordinates (or the multipliers) are to do, as θ_d, θ̇_d, θ̈_d over time.

All kinds answer `at(time)` for any time and stand still before their start and after their end. A
reference for λ is the same thing with one number per constraint row; only its values are used.

All kinds here are also tables of numbers (`Reference.table`), which a compiled tick evaluates by
itself. A reference of your own needs no more than `at`; a loop in Python then asks it in every
tick, which takes longer, and a loop without Python cannot follow it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.control.hermite import cubic, quintic
from projected_control.declaration import SMALL, Group, OneOrMore, parameter, refused, spread
from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.model.motion_tables import MotionTable, evaluate_motion

if TYPE_CHECKING:
    import ruckig

Array = NDArray[np.float64]


class ReferencePoint(NamedTuple):
    """Where to be at one instant."""

    value: Array  # θ_d, k [m or rad]
    rate: Array  # θ̇_d
    acceleration: Array  # θ̈_d


class Reference(ABC):
    """A motion over time.

    Attributes:
        size: Number of coordinates.
        end: Time after which nothing moves any more [s]; infinite for periodic motions.
    """

    size: int
    end: float = 0.0

    @abstractmethod
    def at(self, time: float) -> ReferencePoint:
        """Value, rate and acceleration at a time [s]."""

    @property
    def table(self) -> MotionTable | None:
        """The same as numbers for a compiled tick; None for a reference that has none."""
        return None


class TabulatedReference(Reference):
    """A reference that is its table.

    Args:
        table: Where to be at any time.
        end: Time after which nothing moves any more [s].
    """

    def __init__(self, table: MotionTable, end: float) -> None:
        self._table, self.size, self.end = table, table.size, end
        self._array = table.array()

    @property
    def table(self) -> MotionTable:
        return self._table

    def at(self, time: float) -> ReferencePoint:
        motion = np.empty((3, self.size))
        evaluate_motion(float(time), self._array, motion)
        return ReferencePoint(*motion)


class Constant(TabulatedReference):
    """A place."""

    def __init__(self, value: ArrayLike) -> None:
        place = validate.finite_array("reference", np.atleast_1d(np.asarray(value)), (None,))
        super().__init__(MotionTable.constant(place), 0.0)


@dataclass(frozen=True)
class Sine:
    """One sine: amplitude · sin(2π frequency t + phase).

    Attributes:
        amplitude: [m or rad].
        frequency: [Hz].
        phase: [rad].
    """

    amplitude: float
    frequency: float
    phase: float = 0.0


class Sines(TabulatedReference):
    """offset + a sum of sines, each coordinate its own.

    Args:
        offset: One number per coordinate.
        sines: For each coordinate its sines, none for one that stands still.
    """

    def __init__(self, offset: ArrayLike, sines: Sequence[Sequence[Sine]]) -> None:
        place = validate.finite_array("offset", np.atleast_1d(np.asarray(offset)), (None,))
        if len(sines) != place.size:
            raise InvalidValue(
                f"sines must be given for {place.size} coordinates, got {len(sines)}"
            )
        lines = [
            (
                i,
                validate.finite("amplitude", s.amplitude),
                2.0 * np.pi * validate.not_negative("frequency", s.frequency),
                validate.finite("phase", s.phase),
            )
            for i, members in enumerate(sines)
            for s in members
        ]
        super().__init__(
            MotionTable.of_sines(place, np.array(lines).reshape((-1, 4))), float("inf")
        )


class Waypoints(TabulatedReference):
    """A trajectory through points: cubic (velocity continuous) or quintic (acceleration too).

    Args:
        times: Increasing [s].
        values: One row per time, one column per coordinate.
        rates: As values; unless given, zero at the ends and the neighbours' mean slope between.
        accelerations: As values, for quintic pieces; unless given, zero.
        order: 3 or 5.
    """

    def __init__(
        self,
        times: ArrayLike,
        values: ArrayLike,
        rates: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
        order: int = 5,
    ) -> None:
        clock = validate.finite_array("times", times, (None,))
        if clock.size < 2 or not (np.diff(clock) > 0.0).all():
            raise InvalidValue(f"times must be two or more and increase, got {clock.tolist()}")
        if order not in (3, 5):
            raise InvalidValue(f"order must be 3 (cubic) or 5 (quintic), got {order}")
        places = validate.finite_array("waypoints", values, (clock.size, None))
        if rates is None:
            slopes = np.zeros_like(places)
            slopes[1:-1] = (places[2:] - places[:-2]) / (clock[2:] - clock[:-2])[:, None]
        else:
            slopes = validate.finite_array("waypoint rates", rates, places.shape)
        if order == 3:
            coefficients = cubic(clock, places, slopes)
        else:
            curvature = np.zeros_like(places)
            if accelerations is not None:
                curvature = validate.finite_array(
                    "waypoint accelerations", accelerations, places.shape
                )
            coefficients = quintic(clock, places, slopes, curvature)
        self.start = float(clock[0])
        super().__init__(
            MotionTable.of_polynomials(clock, coefficients, places[-1]), float(clock[-1])
        )


@dataclass(frozen=True)
class MotionLimits(Group):
    """What a set-point may ask for on the way, one number for all or one per coordinate."""

    rate: OneOrMore = parameter(
        (0.5,),
        "Largest rate of a coordinate on the way to a set-point and along a path",
        "m/s or rad/s",
        minimum=SMALL,
        maximum=1e3,
        live=True,
        name="max_rate",
    )
    acceleration: OneOrMore = parameter(
        (2.0,),
        "Largest acceleration on the way to a set-point and along a path",
        "m/s² or rad/s²",
        minimum=SMALL,
        maximum=1e4,
        live=True,
        name="max_acceleration",
    )
    jerk: OneOrMore = parameter(
        (20.0,),
        "Largest jerk on the way to a set-point and along a path",
        "m/s³ or rad/s³",
        minimum=SMALL,
        maximum=1e6,
        live=True,
        name="max_jerk",
    )

    def array(self, size: int) -> Array:
        """Rows rate, acceleration, jerk, 3 × size."""
        rows = np.empty((3, size))
        for row, name in enumerate(("rate", "acceleration", "jerk")):
            values = np.asarray(getattr(self, name), dtype=np.float64)
            if not (np.isfinite(values).all() and (values > 0).all()):
                raise refused(
                    self,
                    name,
                    f"must be one positive number or one per coordinate, got {values.tolist()}",
                    f"{name} limit",
                )
            rows[row] = spread(self, name, size, words=f"{name} limit")
        return rows


JERK_SHARES = (1.0, 1.0 - 1e-6, 1.0 - 1e-4)
"""Shares of the largest jerk with which a motion is looked for, one after the other. Where two of
its phases have exactly no length Ruckig finds none: rate 0.1, acceleration 1 and jerk 10 for a way
of 0.02, for instance."""


class SetPoint(TabulatedReference):
    """A place, reached smoothly from where one is: jerk-limited, in the least time (Ruckig).

    Args:
        start: Where the reference is now; its rate and acceleration are taken up.
        goal: One number per coordinate.
        limits: Largest rate, acceleration and jerk on the way.
        begin: Time at which the motion starts [s].
        arrival: Rate on arrival, for a motion that goes on from there; at rest unless given.
    """

    def __init__(
        self,
        start: ReferencePoint,
        goal: ArrayLike,
        limits: MotionLimits | None = None,
        begin: float = 0.0,
        arrival: Array | None = None,
    ) -> None:
        try:
            import ruckig
        except ImportError:
            raise ProjectedControlError(RUCKIG_MISSING) from None

        size = start.value.size
        for name, values in start._asdict().items():
            validate.finite_array(f"{name} at the start of a set-point", values, (size,))
        self.goal = validate.finite_array("set-point", np.atleast_1d(np.asarray(goal)), (size,))
        bounds = (limits or MotionLimits()).array(size)
        problem = ruckig.InputParameter(size)
        problem.current_position = start.value.tolist()
        problem.current_velocity = start.rate.tolist()
        problem.current_acceleration = start.acceleration.tolist()
        problem.target_position = self.goal.tolist()
        rate = np.zeros(size) if arrival is None else arrival
        problem.target_velocity = rate.tolist()
        fastest = np.maximum(np.abs(start.rate), np.abs(rate))
        problem.max_velocity = np.maximum(bounds[0], fastest).tolist()
        problem.max_acceleration = np.maximum(bounds[1], np.abs(start.acceleration)).tolist()
        trajectory = ruckig.Trajectory(size)
        for share in JERK_SHARES:
            problem.max_jerk = (share * bounds[2]).tolist()
            try:
                result = ruckig.Ruckig(size).calculate(problem, trajectory)
                break
            except ruckig.RuckigError as error:
                result = str(error).strip()
        if result not in (ruckig.Result.Working, ruckig.Result.Finished):
            raise InvalidValue(f"no smooth motion to the set-point {self.goal.tolist()}: {result}")
        self.begin = validate.finite("begin", begin)
        times, coefficients = _cubic_pieces(trajectory)
        table = MotionTable.of_polynomials(times, coefficients, self.goal).shifted(self.begin)
        super().__init__(table, self.begin + float(trajectory.duration))


RUCKIG_MISSING = (
    "smooth ways to a set-point are found by ruckig, which is not installed: pip install ruckig "
    "(for the Python of Debian or Ubuntu: pip install --user --break-system-packages ruckig)"
)

SHORTEST_PIECE = 1e-9
"""Pieces of a set-point's motion that are shorter are left out [s]: in so short a time no jerk
within reason changes a place by as much as a rounding error."""


def _cubic_pieces(trajectory: ruckig.Trajectory) -> tuple[Array, Array]:
    """When the jerk of any coordinate changes, and the cubics between, c₀ to c₃ per coordinate."""
    steps = [profile.brake.t[:2] + profile.t for profile in trajectory.profiles[0]]
    changes = np.unique(np.concatenate([np.cumsum(each) for each in steps]))
    inner = changes[(changes > SHORTEST_PIECE) & (changes < trajectory.duration - SHORTEST_PIECE)]
    apart = inner[np.diff(inner, prepend=-1.0) > SHORTEST_PIECE]
    times = np.concatenate([[0.0], apart, [trajectory.duration]])
    if times[-1] <= 0.0:
        times[-1] = np.nextafter(0.0, 1.0)
    coefficients = []
    for begin, end in pairwise(times):
        middle = 0.5 * (end - begin)
        value, rate, acceleration = (np.array(x) for x in trajectory.at_time(begin))
        later = np.array(trajectory.at_time(begin + middle)[2])
        jerk = (later - acceleration) / middle if middle > SHORTEST_PIECE else 0.0 * later
        coefficients.append([value, rate, acceleration / 2.0, jerk / 6.0])
    return times, np.moveaxis(np.array(coefficients), 1, 2)


class Shifted(Reference):
    """Another reference, begun at a later time."""

    def __init__(self, reference: Reference, begin: float) -> None:
        self.reference, self.begin = reference, validate.finite("begin", begin)
        self.size, self.end = reference.size, reference.end + self.begin

    @property
    def table(self) -> MotionTable | None:
        table = self.reference.table
        return None if table is None else table.shifted(self.begin)

    def at(self, time: float) -> ReferencePoint:
        return self.reference.at(time - self.begin)


class Approach(Reference):
    """A smooth way into another reference, with its rate on arrival, and then that reference.

    Attributes:
        beginning: Where the other one begins, k.
    """

    def __init__(self, start: ReferencePoint, then: Reference, limits: MotionLimits, begin: float):
        value, rate, _ = then.at(0.0)
        self.beginning = value
        self._way = SetPoint(start, value, limits, begin, arrival=rate)
        self._then = Shifted(then, self._way.end)
        self.size, self.end = then.size, self._then.end

    @property
    def table(self) -> MotionTable | None:
        then = self._then.table
        return None if then is None else self._way.table.followed_by(then, self._way.end)

    def at(self, time: float) -> ReferencePoint:
        return (self._way if time < self._way.end else self._then).at(time)

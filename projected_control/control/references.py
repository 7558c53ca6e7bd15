"""References: what the coordinates (or the multipliers) are to do, as θ_d, θ̇_d, θ̈_d over time.

All kinds answer `at(time)` for any time and stand still before their start and after their end. A
reference for λ is the same thing with one number per constraint row; only its values are used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import BPoly

from projected_control import validate
from projected_control.compiled import compiled
from projected_control.errors import InvalidValue

Array = NDArray[np.float64]


class ReferencePoint(NamedTuple):
    """Where to be at one instant.

    Attributes:
        value: θ_d, k [m or rad].
        rate: θ̇_d.
        acceleration: θ̈_d.
    """

    value: Array
    rate: Array
    acceleration: Array


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


class Constant(Reference):
    """A place."""

    def __init__(self, value: ArrayLike) -> None:
        place = validate.finite_array("reference", np.atleast_1d(np.asarray(value)), (None,))
        self.size = place.size
        self._point = ReferencePoint(place, np.zeros(self.size), np.zeros(self.size))

    def at(self, time: float) -> ReferencePoint:
        return self._point


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


class Sines(Reference):
    """offset + a sum of sines, each coordinate its own.

    Args:
        offset: One number per coordinate.
        sines: For each coordinate its sines, none for one that stands still.
    """

    end = float("inf")

    def __init__(self, offset: ArrayLike, sines: Sequence[Sequence[Sine]]) -> None:
        self._offset = validate.finite_array("offset", np.atleast_1d(np.asarray(offset)), (None,))
        self.size = self._offset.size
        if len(sines) != self.size:
            raise InvalidValue(f"sines must be given for {self.size} coordinates, got {len(sines)}")
        parts = [(i, s) for i, members in enumerate(sines) for s in members]
        self._coordinate = np.array([i for i, _ in parts], dtype=np.int64)
        self._parts = np.array(
            [
                (
                    validate.finite("amplitude", s.amplitude),
                    2.0 * np.pi * validate.not_negative("frequency", s.frequency),
                    validate.finite("phase", s.phase),
                )
                for _, s in parts
            ]
        ).reshape((-1, 3))

    def at(self, time: float) -> ReferencePoint:
        result = np.empty((3, self.size))
        _sum_sines(time, self._offset, self._coordinate, self._parts, result)
        return ReferencePoint(*result)


@compiled
def _sum_sines(
    time: float, offset: Array, coordinate: NDArray[np.int64], parts: Array, result: Array
) -> None:
    """Value, rate and acceleration of each coordinate: offset + Σ a sin(ωt + φ)."""
    for i in range(offset.size):
        result[0, i], result[1, i], result[2, i] = offset[i], 0.0, 0.0
    for s in range(coordinate.size):
        i, amplitude, omega = coordinate[s], parts[s, 0], parts[s, 1]
        angle = omega * time + parts[s, 2]
        result[0, i] += amplitude * np.sin(angle)
        result[1, i] += amplitude * omega * np.cos(angle)
        result[2, i] -= amplitude * omega * omega * np.sin(angle)


class Waypoints(Reference):
    """A trajectory through points: cubic (velocity continuous) or quintic (acceleration too).

    Args:
        times: Increasing [s].
        values: One row per time, one column per coordinate.
        rates: Likewise; unless given, zero at the ends and the neighbours' mean slope between.
        accelerations: Likewise, for quintic pieces; unless given, zero.
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
        derivatives = [places, slopes]
        if order == 5:
            curvature = np.zeros_like(places)
            if accelerations is not None:
                curvature = validate.finite_array(
                    "waypoint accelerations", accelerations, places.shape
                )
            derivatives.append(curvature)
        self.size, self.start, self.end = places.shape[1], float(clock[0]), float(clock[-1])
        self._curve = BPoly.from_derivatives(clock, np.stack(derivatives, axis=1))
        self._rate, self._acceleration = self._curve.derivative(), self._curve.derivative(2)
        self._rest = np.zeros(self.size)

    def at(self, time: float) -> ReferencePoint:
        moment = min(max(time, self.start), self.end)
        value = self._curve(moment)
        if moment != time:
            return ReferencePoint(value, self._rest, self._rest)
        return ReferencePoint(value, self._rate(moment), self._acceleration(moment))


@dataclass(frozen=True)
class MotionLimits:
    """What a set-point may ask for on the way, one number for all or one per coordinate.

    Attributes:
        rate: [m/s or rad/s].
        acceleration: [m/s² or rad/s²].
        jerk: [m/s³ or rad/s³].
    """

    rate: float | ArrayLike = 0.5
    acceleration: float | ArrayLike = 2.0
    jerk: float | ArrayLike = 20.0

    def array(self, size: int) -> Array:
        """Rows rate, acceleration, jerk, 3 × size."""
        rows = np.empty((3, size))
        for row, name in enumerate(("rate", "acceleration", "jerk")):
            values = np.asarray(getattr(self, name), dtype=np.float64)
            if values.size not in (1, size) or not (
                np.isfinite(values).all() and (values > 0).all()
            ):
                raise InvalidValue(
                    f"{name} limit must be one positive number or {size}, got {values.tolist()}"
                )
            rows[row] = values
        return rows


class SetPoint(Reference):
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
        import ruckig

        self.size = start.value.size
        for name, values in start._asdict().items():
            validate.finite_array(f"{name} at the start of a set-point", values, (self.size,))
        self.goal = validate.finite_array(
            "set-point", np.atleast_1d(np.asarray(goal)), (self.size,)
        )
        bounds = (limits or MotionLimits()).array(self.size)
        problem = ruckig.InputParameter(self.size)
        problem.current_position = start.value.tolist()
        problem.current_velocity = start.rate.tolist()
        problem.current_acceleration = start.acceleration.tolist()
        problem.target_position = self.goal.tolist()
        rate = np.zeros(self.size) if arrival is None else arrival
        problem.target_velocity = rate.tolist()
        fastest = np.maximum(np.abs(start.rate), np.abs(rate))
        problem.max_velocity = np.maximum(bounds[0], fastest).tolist()
        problem.max_acceleration = np.maximum(bounds[1], np.abs(start.acceleration)).tolist()
        problem.max_jerk = bounds[2].tolist()
        self._trajectory = ruckig.Trajectory(self.size)
        try:
            result = ruckig.Ruckig(self.size).calculate(problem, self._trajectory)
        except ruckig.RuckigError as error:
            result = str(error).strip()
        if result not in (ruckig.Result.Working, ruckig.Result.Finished):
            raise InvalidValue(f"no smooth motion to the set-point {self.goal.tolist()}: {result}")
        self.begin = validate.finite("begin", begin)
        self.end = self.begin + float(self._trajectory.duration)
        self._start, self._rest = start.value.copy(), np.zeros(self.size)

    def at(self, time: float) -> ReferencePoint:
        if not time >= self.begin:  # nor a time that is not a number, on which Ruckig crashes
            return ReferencePoint(self._start, self._rest, self._rest)
        if time > self.end:
            return ReferencePoint(self.goal, self._rest, self._rest)
        value, rate, acceleration = self._trajectory.at_time(time - self.begin)
        return ReferencePoint(np.array(value), np.array(rate), np.array(acceleration))


class Shifted(Reference):
    """Another reference, begun at a later time."""

    def __init__(self, reference: Reference, begin: float) -> None:
        self.reference, self.begin = reference, validate.finite("begin", begin)
        self.size, self.end = reference.size, reference.end + self.begin

    def at(self, time: float) -> ReferencePoint:
        return self.reference.at(time - self.begin)

"""Gains, and how they change while an arm moves: never by a step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue

Array = NDArray[np.float64]

BLEND_SECONDS = 0.2
"""Default time over which new gains come into force [s]."""


@dataclass(frozen=True)
class MotionGains:
    """Feedback on the coordinates: ë + G_D ė + G_P e = 0.

    Attributes:
        stiffness: G_P, one number for all coordinates or one each [1/s²].
        damping: G_D, likewise [1/s].
        null_damping: Damping of free motions that no coordinate describes [1/s].
    """

    stiffness: ArrayLike
    damping: ArrayLike
    null_damping: float = 10.0

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
        for row, name in enumerate(("stiffness", "damping")):
            values = np.asarray(getattr(self, name), dtype=np.float64)
            if values.size not in (1, k):
                raise InvalidValue(
                    f"{name} must be one number or {k}, one per coordinate, got {values.size}"
                )
            rows[row] = values
        rows[2] = self.null_damping
        return rows


class Blend:
    """Moves an array of gains to new values along a smooth curve, so that no torque steps.

    Args:
        values: The live array, changed in place.
    """

    def __init__(self, values: Array) -> None:
        self.values = values
        self._start = values.copy()
        self._target = values.copy()
        self._elapsed = self._duration = 0.0
        self.active = False

    def towards(self, target: Array, seconds: float = BLEND_SECONDS) -> None:
        """Start moving to a target; zero seconds sets it at once."""
        self._elapsed, self._duration = 0.0, validate.not_negative("blend time", seconds)
        self._start, self._target = self.values.copy(), target.copy()
        self.active = True
        if self._duration == 0.0:
            self.advance(0.0)

    def advance(self, dt: float) -> None:
        """One tick on."""
        self._elapsed += dt
        if self._elapsed >= self._duration:
            self.values[...] = self._target
            self.active = False
            return
        s = self._elapsed / self._duration
        weight = s * s * (3.0 - 2.0 * s)
        self.values[...] = self._start + weight * (self._target - self._start)

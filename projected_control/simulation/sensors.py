"""Motors, encoders and force sensor of a simulated arm: noise, delay and resolution."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.errors import InvalidValue

Array = NDArray[np.float64]


@dataclass
class ForceSensor:
    """Reports λ late and with white noise.

    Attributes:
        noise: Standard deviation [N or N·m].
        delay: In samples, on top of the one that sampling itself brings.
        seed: Seed of the noise.
    """

    noise: float = 0.0
    delay: int = 0
    seed: int = 0
    _late: deque[Array] = field(default_factory=deque, init=False, repr=False)
    _random: np.random.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        validate.not_negative("force sensor noise", self.noise)
        if self.delay != int(self.delay) or self.delay < 0:
            raise InvalidValue(
                f"force sensor delay must be a whole number of samples, got {self.delay}"
            )
        self._random = np.random.default_rng(self.seed)

    def reset(self) -> None:
        """Forget what is on its way; start the noise anew."""
        self._late.clear()
        self._random = np.random.default_rng(self.seed)

    def read(self, multipliers: Array) -> Array:
        """What the sensor measures where the true multipliers are these."""
        if self.delay == 0 and self.noise == 0.0:
            return multipliers.copy()
        self._late.append(multipliers.copy())
        while len(self._late) > self.delay + 1:
            self._late.popleft()
        reading = self._late[0].copy()
        if self.noise > 0.0:
            reading += self._random.normal(0.0, self.noise, reading.shape)
        return reading

    def draw(self, readings: int, size: int) -> Array:
        """The noise of the next readings, one line each, for the C++ plant."""
        return self._random.normal(0.0, self.noise, (readings, size))


@dataclass
class Motors:
    """Give the commanded effort late and with white noise.

    Attributes:
        noise: Standard deviation, one number or one per joint [N·m or N].
        delay: In samples, on top of the one that sampling itself brings.
        seed: Seed of the noise.
    """

    noise: float | ArrayLike = 0.0
    delay: int = 0
    seed: int = 1
    _random: np.random.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.noise = np.atleast_1d(np.asarray(self.noise, dtype=np.float64))
        if not (np.isfinite(self.noise).all() and (self.noise >= 0.0).all()):
            raise InvalidValue(f"motor noise must not be negative, got {self.noise.tolist()}")
        if self.delay != int(self.delay) or self.delay < 0:
            raise InvalidValue(f"motor delay must be a whole number of samples, got {self.delay}")
        self.reset()

    @property
    def noisy(self) -> bool:
        """Whether there is any noise."""
        return bool(np.any(self.noise))

    def reset(self) -> None:
        """Start the noise anew."""
        self._random = np.random.default_rng(self.seed)

    def draw(self, commands: int, joints: int) -> Array:
        """The noise of the next efforts, one line each."""
        return np.asarray(self.noise) * self._random.normal(0.0, 1.0, (commands, joints))


EXACT, DIFFERENCED, FILTERED = "exact", "differenced", "filtered"
VELOCITIES = (EXACT, DIFFERENCED, FILTERED)
"""Where the velocity of a simulated arm comes from."""


@dataclass(frozen=True)
class Encoders:
    """Read positions in steps, and make the velocity of them.

    Attributes:
        resolution: Step, one number or one per joint; zero for exact ones [rad or m].
        velocity: One of `VELOCITIES`: exact, the difference of two readings, or that through a
            low-pass of first order.
        cutoff: Of that low-pass [Hz].
    """

    resolution: float | ArrayLike = 0.0
    velocity: str = EXACT
    cutoff: float = 50.0

    def __post_init__(self) -> None:
        steps = np.atleast_1d(np.asarray(self.resolution, dtype=np.float64))
        if not (np.isfinite(steps).all() and (steps >= 0.0).all()):
            raise InvalidValue(f"encoder resolution must not be negative, got {steps.tolist()}")
        validate.one_of("velocity of the encoders", self.velocity, VELOCITIES)
        validate.positive("cut-off of the encoders' velocity", self.cutoff)

    def rate_filter(self, period: float) -> Array:
        """`PlantTerms.rate_filter`: whether it is differenced, the pole, the period."""
        pole = np.exp(-2.0 * np.pi * self.cutoff * period) if self.velocity == FILTERED else 0.0
        return np.array([float(self.velocity != EXACT), pole, period])

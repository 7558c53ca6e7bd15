"""What a force sensor makes of the constraint force: noise and delay."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

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
        """The noise of the next readings, one line each, for whoever adds it elsewhere."""
        return self._random.normal(0.0, self.noise, (readings, size))

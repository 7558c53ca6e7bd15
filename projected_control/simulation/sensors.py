"""Motors, encoders and force sensor of a simulated arm: noise, delay and resolution."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.declaration import Group, OneOrMore, parameter, spread
from projected_control.errors import InvalidValue

Array = NDArray[np.float64]

FAULTS = ("none", "silent", "frozen", "nan", "back", "reordered", "no_wrench")
"""What may be wrong with what a simulated arm tells: nothing; nothing comes; old contents with new
stamps; positions that are NaN; stamps that go back; joints in another order, which needs a topic
that names them; no wrench."""


@dataclass(frozen=True)
class ForceSensor(Group):
    """Reports λ late and with white noise, whose seed may be chosen.

    The delay is on top of the one that sampling itself brings. The noise goes on from draw to draw:
    of the sensor in settings, a simulated arm gets a copy (`dataclasses.replace`). There the kernel
    `sense_force` delays and adds; where there is no plant of ours, as in Gazebo, `read` does. A
    sensor with errors of its own overrides `disturbed` and `draw`.
    """

    noise: float = parameter(
        0.0, "Standard deviation of the measured force", "N", minimum=0.0, maximum=1e6, live=True
    )
    delay: int = parameter(
        0, "Extra delay of the measured force", "samples", minimum=0, maximum=100, live=True
    )
    seed: int = 0
    _late: deque[Array] = field(default_factory=deque, init=False, repr=False, compare=False)
    _random: np.random.Generator = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        validate.not_negative("force sensor noise", self.noise)
        if self.delay != int(self.delay) or self.delay < 0:
            raise InvalidValue(
                f"force sensor delay must be a whole number of samples, got {self.delay}"
            )
        object.__setattr__(self, "_random", np.random.default_rng(self.seed))

    def reset(self) -> None:
        """Forget what is on its way; start the noise anew."""
        self._late.clear()
        object.__setattr__(self, "_random", np.random.default_rng(self.seed))

    @property
    def disturbed(self) -> bool:
        """Whether anything is added to what it measures."""
        return self.noise > 0.0

    def read(self, multipliers: Array) -> Array:
        """What the sensor measures where these numbers are true: λ, or a wrench."""
        if self.delay == 0 and not self.disturbed:
            return multipliers.copy()
        self._late.append(multipliers.copy())
        while len(self._late) > self.delay + 1:
            self._late.popleft()
        reading = self._late[0].copy()
        if self.disturbed:
            reading += self.draw(1, reading.size)[0].reshape(reading.shape)
        return reading

    def draw(self, readings: int, size: int) -> Array:
        """What is added to the next readings, one line each."""
        return self._random.normal(0.0, self.noise, (readings, size))


@dataclass(frozen=True)
class Motors(Group):
    """Give the commanded effort late, with white noise, whose seed may be chosen, and limited.

    The delay is on top of the one that sampling itself brings. What they give beyond the limit is
    cut off, joint by joint, without a word to the controller, as weak motors do. The noise goes on
    from draw to draw: of the motors in settings, a simulated arm gets a copy
    (`dataclasses.replace`).
    """

    noise: OneOrMore = parameter(
        (0.0,),
        "Standard deviation of the effort they give, one number or one per joint",
        "N·m or N",
        minimum=0.0,
        maximum=1e6,
        live=True,
    )
    delay: int = parameter(
        0, "Extra delay of the effort", "samples", minimum=0, maximum=100, live=True
    )
    limit: OneOrMore = parameter(
        (0.0,),
        "Most that they give, whatever is commanded, one number or one per joint; 0 for no limit",
        "N·m or N",
        minimum=0.0,
        maximum=1e6,
        live=True,
    )
    seed: int = 1
    _random: np.random.Generator = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        noise = np.atleast_1d(np.asarray(self.noise, dtype=np.float64))
        if not (np.isfinite(noise).all() and (noise >= 0.0).all()):
            raise InvalidValue(f"motor noise must not be negative, got {noise.tolist()}")
        limit = np.atleast_1d(np.asarray(self.limit, dtype=np.float64))
        if not (np.isfinite(limit).all() and (limit >= 0.0).all()):
            raise InvalidValue(f"motor limit must not be negative, got {limit.tolist()}")
        if self.delay != int(self.delay) or self.delay < 0:
            raise InvalidValue(f"motor delay must be a whole number of samples, got {self.delay}")
        self.reset()

    def of_joints(self, n: int) -> Array:
        """Standard deviation and limit of each of n joints, 2 × n [N·m or N]."""
        return np.array(
            [spread(self, name, n, "joint", f"motor {name}") for name in ("noise", "limit")]
        )

    @cached_property
    def noisy(self) -> bool:
        """Whether there is any noise."""
        return bool(np.any(self.noise))

    def reset(self) -> None:
        """Start the noise anew."""
        object.__setattr__(self, "_random", np.random.default_rng(self.seed))

    def draw(self, commands: int, joints: int) -> Array:
        """The noise of the next efforts, one line each."""
        return np.asarray(self.noise) * self._random.normal(0.0, 1.0, (commands, joints))


EXACT, DIFFERENCED, FILTERED = "exact", "differenced", "filtered"
VELOCITIES = (EXACT, DIFFERENCED, FILTERED)  # where the velocity of a simulated arm comes from


@dataclass(frozen=True)
class Encoders(Group):
    """Read positions in steps, and make the velocity of them."""

    resolution: OneOrMore = parameter(
        (0.0,),
        "Step of the measured positions, one number or one per joint; 0 for exact ones",
        "rad or m",
        minimum=0.0,
        maximum=1.0,
        live=True,
    )
    velocity: str = parameter(
        EXACT,
        "What is measured as velocity: the exact one, the difference of two positions, or that "
        "through a low-pass",
        choices=VELOCITIES,
        live=True,
    )
    cutoff: float = parameter(
        50.0, "Cut-off of that low-pass", "Hz", minimum=1e-3, maximum=1e5, live=True
    )

    def __post_init__(self) -> None:
        steps = np.atleast_1d(np.asarray(self.resolution, dtype=np.float64))
        if not (np.isfinite(steps).all() and (steps >= 0.0).all()):
            raise InvalidValue(f"encoder resolution must not be negative, got {steps.tolist()}")
        validate.one_of("velocity of the encoders", self.velocity, VELOCITIES)
        validate.positive("cut-off of the encoders' velocity", self.cutoff)

    def of_joints(self, n: int) -> Array:
        """Resolution of each of n joints [rad or m]."""
        return spread(self, "resolution", n, "joint", "encoder resolution")

    def rate_filter(self, period: float) -> Array:
        """`PlantTerms.rate_filter`: whether it is differenced, the pole, the period."""
        pole = np.exp(-2.0 * np.pi * self.cutoff * period) if self.velocity == FILTERED else 0.0
        return np.array([float(self.velocity != EXACT), pole, period])

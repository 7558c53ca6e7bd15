"""What a control loop asks of an arm."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class ArmState(NamedTuple):
    """One reading of an arm.

    Attributes:
        q, v: Joint positions and velocities, n [rad or m, and per second].
        multipliers: Measured λ, m [N or N·m]; None where nothing measures it.
        stamp: When it was true [s].
    """

    q: Array
    v: Array
    multipliers: Array | None
    stamp: float


class Hardware(ABC):
    """An arm that can be read and moved.

    A loop calls `configure` and `activate` once, then `read` and `write` in turn, and `deactivate`
    in the end, also after an error.
    """

    def configure(self) -> None:
        """Find the arm and check that it is the expected one."""

    def activate(self) -> None:
        """Take control of it."""

    @abstractmethod
    def read(self) -> ArmState | None:
        """The newest state, or None where there is none."""

    @abstractmethod
    def write(self, effort: Array) -> None:
        """Command joint efforts [N·m or N]."""

    def deactivate(self) -> None:
        """Leave the arm without torque, and give it back."""

"""What a control loop asks of an arm."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from projected_control.control.force_source import WORLD
from projected_control.control.state import RawState

Array = NDArray[np.float64]


class Port(ABC):
    """The way to an arm: `open` it, `engage` it, `read` and `write` in turn, `close` it.

    A `Runner` does this for every kind of port. `close` is called in the end whatever happens.

    Attributes:
        waits: Whether `read` waits for the arm. A port that does not gives the state of this very
            period, or None where there is none: a simulated arm, or one whose simulator calls us.
        heard: When the arm was last heard of, by `time.monotonic`, where `read` waits [s].
        delay: Samples from an effort to its effect in the state, at least; zero where it is not
            known. Known once the port is open.
        stamp_ns: Time of the last state by the arm's own clock [ns].
        wrench_frame: In whose axes the wrench of a state is; `WORLD` for the world's.
    """

    waits: bool = False
    heard: float = 0.0
    delay: int = 0
    stamp_ns: int = 0
    wrench_frame: str = WORLD

    @abstractmethod
    def open(self) -> RawState:
        """Find the arm; a state to start from. Nothing moves yet.

        Raises:
            ProjectedControlError: Where it cannot be had, with the reason.
        """

    def engage(self) -> None:
        """Take control: efforts count from now on."""

    @abstractmethod
    def read(self) -> RawState | None:
        """The next state, or None where none has come."""

    @abstractmethod
    def write(self, effort: Array) -> None:
        """Command joint efforts, n [N·m or N]."""

    def interrupt(self) -> None:
        """Make a `read` that waits come back; from any thread."""

    def counters(self) -> dict[str, int]:
        """What only this port can count, by name, for summaries."""
        return {}

    def check(self) -> None:
        """Raise where the arm takes efforts no longer. Asked a few times a second."""

    @abstractmethod
    def close(self) -> None:
        """Leave the arm without torque, and give it back."""

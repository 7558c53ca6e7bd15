"""The raw state of an arm, as a port reads it: nothing is computed from it yet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class RawState(NamedTuple):
    """One reading of an arm.

    Attributes:
        q, v: Joint positions and velocities, n [rad or m, and per second].
        stamp: When this was true, since the arm was opened [s].
        wrench: What the constraint takes at the sensor: force above moment, 6 [N, N·m], in the axes
            that the port names (`Port.wrench_frame`); None where nothing measures it.
        wrench_age: How old the wrench is [s]. The port says it, and no kernel works it out: which
            clock counts is known there alone. A sensor may have another clock than the joints, so
            that the difference of two stamps means nothing; time may stand still (lockstep,
            Gazebo), so that arrival means nothing; inside a controller manager both come in one
            reading. What an age means (``limits.force_time``) is the tick's to decide.
        received: When the state reached this process, by `time.perf_counter_ns`; zero for now.
    """

    q: Array
    v: Array
    stamp: float
    wrench: Array | None = None
    wrench_age: float = 0.0
    received: int = 0

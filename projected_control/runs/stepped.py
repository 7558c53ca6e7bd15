"""An arm whose simulator calls us, once per step: Gazebo today, another engine tomorrow."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from projected_control import validate
from projected_control.arrays import Array
from projected_control.control.force_source import WORLD
from projected_control.control.state import RawState
from projected_control.errors import ProjectedControlError
from projected_control.runs.port import Port


class SteppedArm(Port):
    """States are put in, a runner is stepped, efforts are taken out.

    Args:
        joints: Number of joints, n.
        wrench_frame: In whose axes the engine's sensor measures.

    Attributes:
        effort: What was written last, n; zero once closed.
    """

    def __init__(self, joints: int, wrench_frame: str = WORLD) -> None:
        self.wrench_frame = wrench_frame
        self.effort: Array = np.zeros(joints)
        self._state: RawState | None = None
        self._time = self._origin = 0.0

    def put(self, q: ArrayLike, v: ArrayLike, time: float, wrench: ArrayLike | None = None) -> None:
        """The state of this step, at the engine's time [s]."""
        n = self.effort.size
        q, v = validate.vector("q", q, n), validate.vector("v", v, n)
        wrench = None if wrench is None else np.asarray(wrench, dtype=np.float64)
        self._time, self.stamp_ns = time, round(1e9 * time)
        self._state = RawState(q, v, time - self._origin, wrench)

    def open(self) -> RawState:
        if self._state is None:
            raise ProjectedControlError("the simulator has not made a step yet")
        self._origin = self._time
        self._state = self._state._replace(stamp=0.0)
        return self._state

    def read(self) -> RawState | None:
        state, self._state = self._state, None
        return state

    def write(self, effort: Array) -> None:
        self.effort[:] = effort

    def close(self) -> None:
        self.effort[:] = 0.0

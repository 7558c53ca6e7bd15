"""Taring a force sensor: what it shows of itself, measured where nothing is in contact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.control.force_source import WORLD, ForceSource
from projected_control.control.loop import ControlLoop
from projected_control.control.state import RawState
from projected_control.errors import ProjectedControlError
from projected_control.ports.port import Port

Array = NDArray[np.float64]

SAMPLES = 200
"""Wrenches that are averaged."""

STILL = 0.05
"""Fastest joint velocity at which a sensor is tared [rad/s or m/s]."""


def measure_tare(loop: ControlLoop, port: Port, samples: int = SAMPLES) -> Array:
    """The wrench a sensor shows without contact and without its tool, in its own axes, 6.

    Args:
        loop: Whose arm and force source they are; the source knows the tool's weight.
        port: Not open yet; nothing is sent. Closed afterwards.
        samples: Wrenches that are averaged.

    Raises:
        ProjectedControlError: Where the arm moves, or too few wrenches come.
    """
    wrenches: list[Array] = []
    try:
        state: RawState | None = port.open()
        for _ in range(10 * samples):
            if state is not None and state.wrench is not None:
                if np.abs(state.v).max() > STILL:
                    raise ProjectedControlError(
                        f"the arm moves at {np.abs(state.v).max():.3g}, and a sensor is tared at "
                        f"rest (below {STILL:g} rad/s or m/s) and out of contact"
                    )
                wrenches.append(state.wrench.copy())
                q = state.q.copy()
            if len(wrenches) >= samples:
                break
            state = port.read()
        else:
            raise ProjectedControlError(
                f"only {len(wrenches)} of {samples} wrenches came; is the sensor's driver running?"
            )
        axes = port.wrench_frame
    finally:
        port.close()
    return np.asarray(np.mean(wrenches, axis=0) - tool_wrench(loop, q, axes))


def tool_wrench(loop: ControlLoop, q: Array, axes: str) -> Array:
    """What the tool's weight alone shows at rest at q, in the axes of a frame, 6 [N, N·m]."""
    source: ForceSource = loop.force_source
    arm = loop.controller.model.arm.twin().update(q, np.zeros(q.size))
    R = np.eye(3) if axes == WORLD else arm.frame(axes).rotation
    carried = -source.tool_mass * arm.gravity  # the sensor holds the tool up
    moment = np.cross(R @ source.tool_centre, carried)
    return np.concatenate([R.T @ carried, R.T @ moment])

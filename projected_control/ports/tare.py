"""Taring: what a sensor, or an observer in its place, shows where nothing is in contact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.control.force_source import WORLD, ForceSource
from projected_control.control.loop import ControlLoop, Tick
from projected_control.control.state import RawState
from projected_control.errors import ProjectedControlError
from projected_control.ports.port import Port
from projected_control.ports.runner import Runner

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


def measure_effort_tare(loop: ControlLoop, port: Port, seconds: float = 4.0) -> Array:
    """F₀: joint efforts that a momentum observer takes for a force without contact, n [N·m or N].

    Wrong masses and friction make them. The arm moves as the loop has it: near the contact, without
    touching it, slowly to and fro, so that friction shows both its signs and has no mean.

    Args:
        loop: Moves the arm freely; its force source is the momentum.
        port: Not open yet; closed afterwards.
        seconds: How long; the first quarter does not count [s].

    Raises:
        ProjectedControlError: Where the loop does not observe the momentum, or the arm is lost.
    """
    source = loop.force_source
    if source.name != "momentum" and not source.observes:
        raise ProjectedControlError(
            "efforts are tared with the momentum observer: give the loop the force source momentum"
        )
    estimate = source.estimate if source.name == "momentum" else source.terms.disturbance
    ticks, seen = round(seconds / loop.controller.period), list[Array]()

    def observe(tick: int, _: Tick) -> None:
        if tick >= ticks // 4:
            seen.append(estimate.copy())

    statistics = Runner(loop, port).run(ticks, observe)
    if not seen or statistics.lost:
        raise ProjectedControlError(f"the arm was lost while it was tared: {statistics.lost}")
    return np.asarray(-np.mean(seen, axis=0))


def tool_wrench(loop: ControlLoop, q: Array, axes: str) -> Array:
    """What the tool's weight alone shows at rest at q, in the axes of a frame, 6 [N, N·m]."""
    source: ForceSource = loop.force_source
    arm = loop.controller.model.arm.twin().update(q, np.zeros(q.size))
    R = np.eye(3) if axes == WORLD else arm.frame(axes).rotation
    carried = -source.tool_mass * arm.gravity  # the sensor holds the tool up
    moment = np.cross(R @ source.tool_centre, carried)
    return np.concatenate([R.T @ carried, R.T @ moment])

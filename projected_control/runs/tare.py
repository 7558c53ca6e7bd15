"""Taring: what a sensor, or an observer in its place, shows where nothing is in contact."""

from __future__ import annotations

import numpy as np

from projected_control.arrays import Array
from projected_control.control.events import Event
from projected_control.control.force_source import WORLD, ForceSource
from projected_control.control.loop import ControlLoop, Tick
from projected_control.control.state import RawState
from projected_control.errors import ProjectedControlError
from projected_control.runs.port import Port
from projected_control.runs.runner import Runner

SAMPLES = 200  # wrenches that are averaged
STILL = 0.05  # Fastest joint velocity at which a sensor is tared [rad/s or m/s]
SECONDS = 4.0  # how long efforts are tared [s]
MOST_LIMITED = 0.1  # share of ticks in which efforts may be limited while they are tared

_LIMITED = int(Event.EFFORT_LIMITED | Event.RATE_LIMITED)

BOTH_WAYS = 0.005
"""Joint velocity either way with which friction shows both its signs [rad/s or m/s]."""


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
    sign = loop.force_source.sign
    return np.asarray(np.mean(wrenches, axis=0) - sign * tool_wrench(loop, q, axes))


class EffortTare:
    """Averages what a momentum observer takes for a force while an arm moves without contact.

    Wrong masses and friction make it. The arm is to move near the contact without touching it,
    slowly to and fro, so that friction shows both its signs and has no mean. It is a `Listener`.

    Args:
        loop: Moves the arm, which nothing holds; it observes the momentum.
        seconds: How long; the first quarter does not count [s].

    Raises:
        ProjectedControlError: Where the loop does not observe the momentum, or where it controls an
            arm that something holds, whose force would be tared away with the rest.
    """

    def __init__(self, loop: ControlLoop, seconds: float = SECONDS) -> None:
        source, model = loop.force_source, loop.controller.model
        if source.name != "momentum" and not source.observes:
            raise ProjectedControlError(
                "efforts are tared with a momentum observer, and this controller has none: set "
                "force.source to momentum or disturbance.kind to observer"
            )
        if model.m > len(model.arm.mimics):
            raise ProjectedControlError(
                "efforts are tared while nothing holds the arm, and this controller has it on a "
                "constraint, whose force would be tared away: move the arm near the contact with "
                "constraint.kind none, and tare there"
            )
        momentum = source.name == "momentum"
        self._estimate = source.estimate if momentum else source.terms.disturbance
        self._joints = model.arm.joint_names
        self._all = self._left = max(round(seconds / loop.controller.period), 4)
        self._sum, self._count, self._limited = np.zeros(model.n), 0, 0
        self._slowest, self._fastest = np.full(model.n, np.inf), np.full(model.n, -np.inf)

    def ticked(self, tick: Tick) -> None:
        if self._left <= 0:
            return
        self._left -= 1
        if self._left < 3 * self._all // 4:
            self._sum += self._estimate
            self._count += 1
            self._limited += bool(tick.report.events & _LIMITED)
            np.minimum(self._slowest, tick.state.v, out=self._slowest)
            np.maximum(self._fastest, tick.state.v, out=self._fastest)

    def waited(self) -> None:
        """Silence tells nothing."""

    @property
    def done(self) -> bool:
        return self._left <= 0

    @property
    def efforts(self) -> Array:
        """F₀, n [N·m or N].

        Raises:
            ProjectedControlError: Where efforts were limited too often: the observer waits then.
        """
        if self._limited > MOST_LIMITED * self._count:
            raise ProjectedControlError(
                f"in {self._limited} of {self._count} ticks the guard limited an effort, so that "
                "the observer did not see what the arm needs: move more slowly, or raise "
                "limits.effort and limits.effort_rate"
            )
        return np.asarray(-self._sum / max(self._count, 1))

    @property
    def remark(self) -> str:
        """In words, which joints did not go both ways, so that friction is part of F₀; or none."""
        both = (self._slowest < -BOTH_WAYS) & (self._fastest > BOTH_WAYS)
        names = [name for name, moved in zip(self._joints, both, strict=True) if not moved]
        if not names:
            return ""
        return f"{', '.join(names)} did not move both ways, so that their friction is in it"


def measure_effort_tare(loop: ControlLoop, port: Port, seconds: float = SECONDS) -> Array:
    """F₀: joint efforts that a momentum observer takes for a force without contact, n [N·m or N].

    Args:
        loop: Moves the arm freely; see `EffortTare`.
        port: Not open yet; closed afterwards.
        seconds: How long; the first quarter does not count [s].

    Raises:
        ProjectedControlError: Where the loop does not observe the momentum, or the arm is lost.
    """
    tare = EffortTare(loop, seconds)
    statistics = Runner(loop, port, [tare]).run(round(seconds / loop.controller.period))
    if not tare.done or statistics.lost:
        raise ProjectedControlError(f"the arm was lost while it was tared: {statistics.lost}")
    return tare.efforts


def tool_wrench(loop: ControlLoop, q: Array, axes: str) -> Array:
    """What the tool's weight alone shows at rest at q, in the axes of a frame, 6 [N, N·m]."""
    source: ForceSource = loop.force_source
    arm = loop.controller.model.arm.twin().update(q, np.zeros(q.size))
    R = np.eye(3) if axes == WORLD else arm.frame(axes).rotation
    carried = -source.tool_mass * arm.gravity  # the sensor holds the tool up
    moment = np.cross(R @ source.tool_centre, carried)
    return np.concatenate([R.T @ carried, R.T @ moment])

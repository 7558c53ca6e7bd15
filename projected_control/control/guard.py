"""What may be sent to an arm.

The guard stands between every controller and every arm. It clips what is too large or too sudden,
answers what should not be, and says in its report what it did. It never raises.

| what happens | answer |
|---|---|
| effort or effort rate over the limit | clipped (what a law asks for never is: `keep_limits`) |
| position or velocity limit passed | damped stop, until back inside |
| state not finite, or its time goes back | last effort held, zero after the hold time |
| no new state for too long | zero |
| state frozen | zero, until positions change; after a while one more try, then for good |
| reference jumps | damped stop, until the reference is back or replaced |
| measured force missing where it is needed | damped stop, until it is back |
| the deciding side silent, its references at rest | damped stop |
| controllability of passive joints lost | zero, until it is regained |
| the arm has left its constraint | zero, until it is back |
| effort not finite | zero |
| the measured force is far from the model's, or has its sign reversed | damped stop |
| the measured force above its ceiling, where `limits.force_answer` is stop | damped stop |
| any of these answers for longer than the latch time | it lasts: see `Guard.latched` |
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.control.events import (
    Action,
    GuardReport,
)
from projected_control.control.guard_kernels import (
    DEAD,
    GUARD,
    RETURN_NOISE,
    inspect_tick,
    release_effort,
)
from projected_control.control.law_kinds import EFFORT, VELOCITY
from projected_control.control.limits import Limits

Array = NDArray[np.float64]


def limit_numbers(limits: Limits, period: float, sends: str = EFFORT) -> Array:
    """`GuardTerms.limits` for a loop of this period [s] that sends efforts, or velocities.

    A velocity is sent within those of the joints, and may step as it likes: a drive smooths it.
    """
    numbers = [
        limits.reference_jump,
        period,
        limits.hold_time,
        limits.frozen_time,
        limits.stale_time,
        limits.residual,
        limits.force_time,
        limits.force_difference,
        limits.force_stop,
        limits.latch_time,
    ]
    most, steps = limits.effort, limits.effort_rate * period
    if sends == VELOCITY:
        most, steps = limits.velocity, np.full(steps.shape, np.inf)
    joints = (most, steps, limits.velocity, limits.lower, limits.upper)
    return np.concatenate([numbers, *joints])


class Guard:
    """The last word before an arm.

    Args:
        limits: What the arm may be asked for.
        coordinates: Number of coordinates of the reference.
        period: Period of the loop [s].
        rows: Number of constraint rows, which may have a force ceiling.
        sends: What is sent, as `LawKind.commands` says.

    Attributes:
        sent: The effort last released, n; a live array.
        work: The guard's array, for compiled loops.
        post: How new limits reach the tick; None where nothing ticks, and they are in force at
            once.
    """

    def __init__(
        self,
        limits: Limits,
        coordinates: int,
        period: float,
        rows: int = 0,
        sends: str = EFFORT,
    ) -> None:
        n, self._sends = limits.effort.size, sends
        self.period, self._rows = validate.positive("period", period), rows
        self.work: Array = GUARD.new(n=n, k=coordinates)
        self._terms = GUARD.view(self.work, n=n, k=coordinates)
        self.sent: Array = self._terms.sent
        self.post: Callable[[str, Array], None] | None = None
        self.set_limits(limits)
        self.reset()

    def set_limits(self, limits: Limits) -> None:
        """Change what the arm is held to, from the next tick on."""
        numbers, force = (
            limit_numbers(limits, self.period, self._sends),
            limits.force_numbers(self._rows),
        )
        if self.post is None:
            self._terms.limits[:] = numbers
        else:
            self.post("limits", numbers)
            self.post("force_limits", force)
        self.limits = limits

    def reset(self) -> None:
        """Start anew: nothing was sent, no state was seen."""
        g = self._terms
        g.sent[:] = 0.0
        g.theta[:] = g.stamp[0] = g.rank[0] = np.nan
        g.unchanged[0] = g.held[0] = g.waited[0] = g.missing[0] = 0.0
        g.frozen[0] = g.frozen_for[0] = 0.0
        g.stopped[0] = g.lost[0] = g.latched[0] = 0.0
        g.slack[:] = 0.0

    def without_rate(self) -> None:
        """Let efforts step as far as they like: for one state, before which nothing was sent."""
        self._terms.step[:] = np.inf

    def allow_return(self, q: Array) -> None:
        """Let joints that are out of their range by the return margin at most come back in.

        From here on each may be no further out than it has been, and once inside it stays there.
        """
        limits = self.limits
        for slack, out in zip(self._terms.slack, (limits.lower - q, q - limits.upper), strict=True):
            returns = (out > 0.0) & (out <= limits.return_margin)
            slack[:] = np.where(returns, out + RETURN_NOISE, 0.0)

    @property
    def latched(self) -> Action:
        """The answer that does not end by itself any more; FOLLOW where there is none.

        A damped stop ends with a reference that begins at the arm, zero when the loop begins anew.
        """
        return Action(int(self._terms.latched[0]))

    @property
    def numbers(self) -> Array:
        """The limits in force, as a live block has them (see `GuardTerms.limits`); a new array."""
        return self._terms.limits.copy()

    @property
    def arm_is_dead(self) -> bool:
        """Whether the arm stayed frozen when it was tried once more: nothing is sent any more."""
        return bool(self._terms.frozen[0] == DEAD)

    def start_from(self, effort: Array) -> None:
        """Start anew from an effort that the arm needs, so that the first one sent is no bump."""
        self.reset()
        if np.isfinite(effort).all():
            bound = self._terms.effort
            self._terms.sent[:] = np.clip(effort, -bound, bound)

    def inspect(self, q: Array, v: Array, stamp: float, motion: Array) -> int:
        """What is wrong with a state (at its stamp [s]) and a reference, 3 × k: `Event`s."""
        return int(inspect_tick(q, v, stamp, motion, self._terms))

    def release(self, effort: Array, events: int = 0) -> GuardReport:
        """What to send, given what the controller asks for and what is wrong."""
        action, events = release_effort(effort, int(events), self._terms)
        return GuardReport(self.sent, Action(action), events)

"""What may be sent to an arm.

The guard stands between every controller and every arm. It clips what is too large or too sudden,
answers what should not be, and says in its report what it did. It never raises.

| what happens | answer |
|---|---|
| effort or effort rate over the limit | clipped |
| position or velocity limit passed | damped stop, until back inside |
| state not finite, or its time goes back | last effort held, zero after the hold time |
| state frozen, or none for too long | zero |
| reference jumps | damped stop, until the reference is back or replaced |
| controllability of passive joints lost | zero, until it is back |
| effort not finite | zero |
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import check
from projected_control.arm import Arm
from projected_control.compiled import compiled
from projected_control.errors import InvalidValue

Array = NDArray[np.float64]


class Event(IntFlag):
    """What the guard noticed in a tick."""

    NONE = 0
    EFFORT_LIMITED = 1
    RATE_LIMITED = 2
    POSITION_LIMIT = 4
    VELOCITY_LIMIT = 8
    STATE_NOT_FINITE = 16
    EFFORT_NOT_FINITE = 32
    TIME_WENT_BACK = 64
    STATE_FROZEN = 128
    STATE_STALE = 256
    REFERENCE_JUMPED = 512
    CONTROL_LOST = 1024
    RANK_CHANGED = 2048


class Action(IntEnum):
    """What was sent, in order of severity."""

    FOLLOW = 0
    """What the controller asked for, clipped where needed."""
    STOP = 1
    """Efforts that brake and carry the arm's weight."""
    HOLD = 2
    """The last effort."""
    ZERO = 3
    """Nothing."""


_STOP = int(Event.POSITION_LIMIT | Event.VELOCITY_LIMIT | Event.REFERENCE_JUMPED)
_HOLD = int(Event.STATE_NOT_FINITE | Event.TIME_WENT_BACK)
_ZERO = int(Event.STATE_FROZEN | Event.STATE_STALE | Event.EFFORT_NOT_FINITE | Event.CONTROL_LOST)


def answer_to(events: int) -> Action:
    """The severest answer that any of the events calls for."""
    if not events:
        return Action.FOLLOW
    if events & _ZERO:
        return Action.ZERO
    if events & _HOLD:
        return Action.HOLD
    return Action.STOP if events & _STOP else Action.FOLLOW


@dataclass(frozen=True)
class Limits:
    """What an arm stands, one number a joint (or one for all), in its joints' units.

    Attributes:
        effort: Largest magnitude [N·m or N].
        effort_rate: Largest change [N·m/s or N/s].
        velocity: Largest magnitude [rad/s or m/s].
        lower, upper: Positions [rad or m].
        reference_jump: Largest step of the reference from tick to tick, in multiples of what its
            own rate explains, plus this [m or rad].
        hold_time: For which the last effort is held on bad states [s].
        frozen_time: After which a state that does not change while it should is frozen [s].
        stale_time: After which a missing state is stale [s].
    """

    effort: Array
    effort_rate: Array
    velocity: Array
    lower: Array
    upper: Array
    reference_jump: float = 0.05
    hold_time: float = 0.01
    frozen_time: float = 0.05
    stale_time: float = 0.02

    @classmethod
    def of(
        cls,
        arm: Arm,
        *,
        effort: ArrayLike | None = None,
        effort_rate: ArrayLike = 1000.0,
        velocity: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        reference_jump: float = 0.05,
        hold_time: float = 0.01,
        frozen_time: float = 0.05,
        stale_time: float = 0.02,
    ) -> Limits:
        """The description's limits, each replaced by what is given here if anything is."""
        described = arm.limits

        def each(name: str, value: ArrayLike | None, default: Array | None) -> Array:
            chosen = default if value is None else np.asarray(value, dtype=np.float64)
            array = (
                np.broadcast_to(np.asarray(chosen), (arm.n,))
                if np.size(chosen) in (1, arm.n)
                else None
            )
            if array is None or np.isnan(array).any():
                raise InvalidValue(
                    f"{name} must be one number or {arm.n}, one a joint, got {value!r}"
                )
            return np.array(array, dtype=np.float64)

        limits = cls(
            each("effort limit", effort, described.effort),
            each("effort rate limit", effort_rate, None),
            each("velocity limit", velocity, described.velocity),
            each("lower position limit", lower, described.lower),
            each("upper position limit", upper, described.upper),
            check.positive("reference jump", reference_jump),
            check.not_negative("hold time", hold_time),
            check.positive("frozen time", frozen_time),
            check.positive("stale time", stale_time),
        )
        for name in ("effort", "effort_rate", "velocity"):
            if not (getattr(limits, name) > 0.0).all():
                raise InvalidValue(
                    f"{name} limits must be positive, got {getattr(limits, name).tolist()}"
                )
        if not (limits.lower < limits.upper).all():
            raise InvalidValue(
                f"position limits are inconsistent: lower {limits.lower.tolist()} is not below "
                f"upper {limits.upper.tolist()}"
            )
        return limits


class GuardReport(NamedTuple):
    """What the guard let through.

    Attributes:
        effort: To be sent, n; a live array [N·m or N].
        action: What it is.
        events: Why, a sum of `Event`s.
    """

    effort: Array
    action: Action
    events: int

    @property
    def reasons(self) -> list[str]:
        """The events in words."""
        return [event.name.lower().replace("_", " ") for event in Event(self.events) if event.name]


# Events as the kernels know them.
_EFFORT, _RATE, _POSITION, _VELOCITY = 1, 2, 4, 8
_BAD_STATE, _BAD_EFFORT, _BACK, _FROZEN, _JUMP = 16, 32, 64, 128, 512
# Rows of the guard's bounds, and places in its memory.
_MAX_EFFORT, _MAX_STEP, _MAX_VELOCITY, _LOWER, _UPPER = 0, 1, 2, 3, 4
_STAMP, _UNCHANGED, _FROZEN_TIME, _JUMP_LIMIT, _PERIOD, _PLACES = 0, 1, 2, 3, 4, 5


@compiled
def inspect_tick(
    q: Array, v: Array, stamp: float, motion: Array, bounds: Array, memory: Array, last: Array
) -> int:
    """Events of a state and of a reference, against those of the tick before.

    Args:
        q, v: Positions and velocities, n.
        stamp: Of the state [s].
        motion: Rows θ_d, θ̇_d, θ̈_d, 3 × k.
        bounds: Rows effort, effort step, velocity, lower, upper, 5 × n.
        memory: Last stamp (NaN before the first), time without change, and three limits.
        last: The last tick's q, then its θ_d, then its θ̇_d; n + 2k.
    """
    n, k = q.size, motion.shape[1]
    for i in range(n):
        if not (np.isfinite(q[i]) and np.isfinite(v[i])):
            return _BAD_STATE
    if stamp < memory[_STAMP]:
        return _BACK
    first = np.isnan(memory[_STAMP])
    events, changed, moving = 0, first, False
    for i in range(n):
        if q[i] < bounds[_LOWER, i] or q[i] > bounds[_UPPER, i]:
            events |= _POSITION
        if abs(v[i]) > bounds[_MAX_VELOCITY, i]:
            events |= _VELOCITY
        changed = changed or q[i] != last[i]
        moving = moving or v[i] != 0.0
        last[i] = q[i]
    jumped = False
    for c in range(k):
        rate = max(abs(motion[1, c]), abs(last[n + k + c]))
        allowed = memory[_JUMP_LIMIT] + 2.0 * memory[_PERIOD] * rate
        finite = (
            np.isfinite(motion[0, c]) and np.isfinite(motion[1, c]) and np.isfinite(motion[2, c])
        )
        jumped = jumped or not finite or (not first and abs(motion[0, c] - last[n + c]) > allowed)
        moving = moving or motion[1, c] != 0.0
    if jumped:
        events |= _JUMP
    else:
        for c in range(k):
            last[n + c] = motion[0, c]
            last[n + k + c] = motion[1, c]
    if changed or not moving:
        memory[_UNCHANGED] = 0.0
    else:
        memory[_UNCHANGED] += stamp - memory[_STAMP]
        if memory[_UNCHANGED] > memory[_FROZEN_TIME]:
            events |= _FROZEN
    memory[_STAMP] = stamp
    return events


@compiled
def limit_effort(asked: Array, bounds: Array, sent: Array) -> int:
    """Move `sent` towards `asked` within the bounds; events of the effort.

    An effort that is not finite makes all zero.
    """
    for i in range(asked.size):
        if not np.isfinite(asked[i]):
            sent[:] = 0.0
            return _BAD_EFFORT
    events = 0
    for i in range(asked.size):
        wanted = asked[i]
        if abs(wanted) > bounds[_MAX_EFFORT, i]:
            wanted = bounds[_MAX_EFFORT, i] if wanted > 0.0 else -bounds[_MAX_EFFORT, i]
            events |= _EFFORT
        step = wanted - sent[i]
        if abs(step) > bounds[_MAX_STEP, i]:
            step = bounds[_MAX_STEP, i] if step > 0.0 else -bounds[_MAX_STEP, i]
            events |= _RATE
            sent[i] += step
        else:
            sent[i] = wanted
    return events


class Guard:
    """The last word before an arm.

    Args:
        limits: What the arm stands.
        coordinates: Number of coordinates of the reference.
        period: Of the loop [s].
    """

    def __init__(self, limits: Limits, coordinates: int, period: float) -> None:
        self.limits = limits
        self.period = check.positive("period", period)
        self.sent: Array = np.zeros(limits.effort.size)
        self._bounds = np.array(
            [
                limits.effort,
                limits.effort_rate * period,
                limits.velocity,
                limits.lower,
                limits.upper,
            ]
        )
        self._memory = np.zeros(_PLACES)
        self._memory[_FROZEN_TIME] = limits.frozen_time
        self._memory[_JUMP_LIMIT], self._memory[_PERIOD] = limits.reference_jump, period
        self._last = np.zeros(limits.effort.size + 2 * coordinates)
        self.reset()

    def reset(self) -> None:
        """Start anew: nothing was sent, no state was seen."""
        self.sent[:] = 0.0
        self._held = 0.0
        self._memory[_STAMP] = np.nan
        self._memory[_UNCHANGED] = 0.0

    def forget_reference(self, motion: Array) -> None:
        """Accept a new reference, however far from the last."""
        n, k = self.sent.size, motion.shape[1]
        self._last[n : n + k], self._last[n + k :] = motion[0], motion[1]

    def inspect(self, q: Array, v: Array, stamp: float, motion: Array) -> int:
        """What is wrong with a state (at its stamp [s]) and a reference, 3 × k: `Event`s."""
        return int(inspect_tick(q, v, stamp, motion, self._bounds, self._memory, self._last))

    def release(self, effort: Array, events: int = 0) -> GuardReport:
        """What to send, given what the controller asks for and what is wrong."""
        action = answer_to(events) if events else Action.FOLLOW
        if action is Action.HOLD:
            self._held += self.period
            if self._held <= self.limits.hold_time:
                return GuardReport(self.sent, action, events)
            action = Action.ZERO
        elif self._held:
            self._held = 0.0
        if action is Action.ZERO:
            self.sent[:] = 0.0
            return GuardReport(self.sent, action, events)
        found = limit_effort(effort, self._bounds, self.sent)
        if found:
            events |= found
            if found & _BAD_EFFORT:
                action = Action.ZERO
        return GuardReport(self.sent, action, events)

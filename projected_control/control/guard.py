"""What may be sent to an arm.

The guard stands between every controller and every arm. It clips what is too large or too sudden,
answers what should not be, and says in its report what it did. It never raises.

| what happens | answer |
|---|---|
| effort or effort rate over the limit | clipped |
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
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum, IntFlag
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.compiled import compiled
from projected_control.control.limits import Limits
from projected_control.model.kinematics import inner, vector, wrap
from projected_control.model.linalg import copy
from projected_control.model.rotations import Topology, turn_between
from projected_control.workspace import Layout, Part

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
    FORCE_STALE = 4096
    LEFT_CONSTRAINT = 8192
    FORCE_DISAGREES = 16384
    COMMANDER_SILENT = 32768

    @property
    def phrase(self) -> str:
        """The event's name in words."""
        return str(self.name).lower().replace("_", " ")


def events_in(events: int) -> list[Event]:
    """The single events that a sum of events is made of."""
    return [event for event in Event if event and events & event]


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


_STOP_EVENTS = int(
    Event.POSITION_LIMIT
    | Event.VELOCITY_LIMIT
    | Event.REFERENCE_JUMPED
    | Event.FORCE_STALE
    | Event.COMMANDER_SILENT
)
_HOLD_EVENTS = int(Event.STATE_NOT_FINITE | Event.TIME_WENT_BACK)
_ZERO_EVENTS = int(
    Event.STATE_FROZEN
    | Event.STATE_STALE
    | Event.EFFORT_NOT_FINITE
    | Event.CONTROL_LOST
    | Event.LEFT_CONSTRAINT
)
_ANSWER_FOLLOW, _ANSWER_STOP, _ANSWER_HOLD, _ANSWER_ZERO = (int(action) for action in Action)


def answer_to(events: int) -> Action:
    """The severest answer that any of the events calls for."""
    return Action(severity(int(events)))


class GuardReport(NamedTuple):
    """What the guard let through.

    Attributes:
        effort: The effort to be sent, n; a live array [N·m or N].
        action: What kind of effort this is.
        events: The reasons for it, a sum of `Event`s.
    """

    effort: Array
    action: Action
    events: int

    @property
    def reasons(self) -> list[str]:
        """The events in words."""
        return [event.phrase for event in events_in(self.events)]


FROZEN_DISTANCE = 5e-3
"""Distance that velocity or reference must imply before positions that do not change at all count
as frozen [rad or m]. A smaller one would also catch an arm that stands still or sticks."""

RETRY_AFTER = 10.0
"""How many frozen times pass before an arm that seemed frozen is tried once more. It may have been
a stall: an arm that gets no torque does not move, and would seem frozen for ever."""

_MOVING, _FROZEN_ONCE, _TRIED_AGAIN, _DEAD = 0.0, 1.0, 2.0, 3.0

# The values of the events as plain integers, which kernels can use.
_EFFORT, _RATE, _POSITION, _VELOCITY = 1, 2, 4, 8
_LINE, _CIRCLE, _ROTATION, _ = (int(t) for t in Topology)
_BAD_STATE, _BAD_EFFORT, _BACK, _FROZEN, _STALE, _JUMP = 16, 32, 64, 128, 256, 512


GUARD_LIMITS = "8 + 5 * n"
"""How many numbers the limits of n joints are."""


class GuardTerms(NamedTuple):
    """What the guard knows and remembers: n joints, k coordinates (see `Limits` for the bounds)."""

    jump: Annotated[Array, Part("1", "Largest step of the reference [rad or m].")]
    period: Annotated[Array, Part("1", "Period of the loop [s].")]
    hold_time: Annotated[Array, Part("1", "How long an effort is held [s].")]
    frozen_time: Annotated[Array, Part("1", "How long positions may stay the same [s].")]
    stale_time: Annotated[Array, Part("1", "How long the stamp may stay the same [s].")]
    residual: Annotated[Array, Part("1", "Largest ‖Φ − x‖.")]
    force_time: Annotated[Array, Part("1", "How old a measured wrench may be [s].")]
    force_difference: Annotated[Array, Part("1", "Largest difference of λ from the model's [N].")]
    effort: Annotated[Array, Part("n", "Largest effort [N·m or N].")]
    step: Annotated[Array, Part("n", "Largest change of the effort in one tick [N·m or N].")]
    velocity: Annotated[Array, Part("n", "Largest velocity [rad/s or m/s].")]
    lower: Annotated[Array, Part("n", "Lowest position [rad or m].")]
    upper: Annotated[Array, Part("n", "Highest position [rad or m].")]
    limits: Annotated[Array, Part(GUARD_LIMITS, "All of the above.", at="jump")]
    stamp: Annotated[Array, Part("1", "Stamp of the last state, NaN before the first [s].")]
    unchanged: Annotated[Array, Part("1", "How long the positions have been the same [s].")]
    held: Annotated[Array, Part("1", "How long the effort has been held [s].")]
    waited: Annotated[Array, Part("1", "How long the stamp has been the same [s].")]
    missing: Annotated[
        Array,
        Part("1", "Distance implied by velocity or reference since positions last changed."),
    ]
    frozen: Annotated[Array, Part("1", "0 moving, 1 frozen, 2 tried again, 3 frozen for good.")]
    frozen_for: Annotated[Array, Part("1", "How long the arm has been frozen [s].")]
    rank: Annotated[Array, Part("1", "Rank of A at the last tick, NaN before the first.")]
    replaced: Annotated[Array, Part("1", "1 where the reference is another one since last tick.")]
    q: Annotated[Array, Part("n", "Positions at the last tick [rad or m].")]
    sent: Annotated[Array, Part("n", "The effort last released [N·m or N].")]
    theta: Annotated[Array, Part("k", "Reference at the last tick, NaN before the first.")]
    theta_rate: Annotated[Array, Part("k", "Rate of the reference at the last tick.")]


GUARD = Layout(GuardTerms, "n", "k")
unpack_guard = GUARD.unpack


@compiled
def inspect_tick(
    q: Array, v: Array, stamp: float, motion: Array, g: GuardTerms, noticed: int = 0
) -> int:
    """Events of a state and of a reference (rows θ_d, θ̇_d, θ̈_d), against those of the last tick.

    An arm that is being stopped need not follow its reference: standing still is then not frozen.
    """
    for i in range(q.size):
        if not (np.isfinite(q[i]) and np.isfinite(v[i])):
            return _BAD_STATE
    if not np.isfinite(stamp):
        return _BAD_STATE
    if stamp < g.stamp[0]:
        return _BACK
    first = np.isnan(g.stamp[0])
    elapsed = 0.0 if first else stamp - g.stamp[0]
    g.waited[0] = 0.0 if first or elapsed > 0.0 else g.waited[0] + g.period[0]
    events, changed, fastest, planned, jumped = noticed, first, 0.0, 0.0, False
    if g.waited[0] > g.stale_time[0]:
        events |= _STALE
    for i in range(q.size):
        if q[i] < g.lower[i] or q[i] > g.upper[i]:
            events |= _POSITION
        if abs(v[i]) > g.velocity[i]:
            events |= _VELOCITY
        changed = changed or q[i] != g.q[i]
        fastest = max(fastest, abs(v[i]))
        g.q[i] = q[i]
    for c in range(motion.shape[1]):
        rate = max(abs(motion[1, c]), abs(g.theta_rate[c]))
        explained = 2.0 * max(elapsed, g.period[0]) * rate
        finite = np.isfinite(motion[0, c] + motion[1, c] + motion[2, c])
        step = 0.0 if first else abs(motion[0, c] - g.theta[c])
        jumped = jumped or not finite or step > g.jump[0] + explained
        planned = max(planned, abs(motion[1, c]))
    if jumped:
        events |= _JUMP
    else:
        copy(motion[0], g.theta)
        copy(motion[1], g.theta_rate)
    following = not events & _STOP_EVENTS and effort_acts(g)
    seen = min(elapsed, 2.0 * g.period[0])  # time without states says nothing about motion
    implied = seen * (max(fastest, planned) if following else fastest)
    if is_frozen(changed, seen, implied, g):
        events |= _FROZEN
    g.stamp[0] = stamp
    return events


@compiled
def accept_replaced(motion: Array, theta: Array, topology: Array, g: GuardTerms) -> None:
    """A reference that was just replaced is no jump where it begins near the arm, at θ."""
    if g.replaced[0] == 0.0:
        return
    near = True
    for c in range(theta.size):
        away = motion[0, c] - theta[c]
        if not np.isfinite(away):
            return
        kind = int(topology[c])
        if kind == _ROTATION:
            turn = turn_between(vector(motion[0], c), vector(theta, c))
            away = np.sqrt(inner(turn, turn))
        elif kind != _LINE:
            away = wrap(away) if kind == _CIRCLE else 0.0
        near = near and abs(away) <= g.jump[0]
    g.replaced[0] = 0.0
    if near:
        copy(motion[0], g.theta)
        copy(motion[1], g.theta_rate)


@compiled
def effort_acts(g: GuardTerms) -> bool:
    """Whether the effort last released could have moved anything."""
    acts = False
    for i in range(g.sent.size):
        acts = acts or g.sent[i] != 0.0
    return acts


@compiled
def is_frozen(changed: bool, seen: float, implied: float, g: GuardTerms) -> bool:
    """Whether positions stay the same though they should not.

    Args:
        changed: Whether they differ from those of the last tick.
        seen: Time since the last tick that received states account for [s].
        implied: Distance that velocity or reference imply in this time [rad or m].
        g: What the guard remembers.
    """
    if changed:
        g.unchanged[0] = g.missing[0] = 0.0
        g.frozen[0] = _MOVING
        return False
    if g.frozen[0] == _DEAD:
        return True
    if g.frozen[0] == _FROZEN_ONCE:
        g.frozen_for[0] += seen
        if g.frozen_for[0] <= RETRY_AFTER * g.frozen_time[0]:
            return True
        g.frozen[0] = _TRIED_AGAIN
        g.unchanged[0] = g.missing[0] = 0.0
        return False
    g.unchanged[0] += seen
    g.missing[0] += implied
    if g.unchanged[0] <= g.frozen_time[0] or g.missing[0] <= FROZEN_DISTANCE:
        return False
    g.frozen[0] = _FROZEN_ONCE if g.frozen[0] == _MOVING else _DEAD
    g.frozen_for[0] = 0.0
    return True


@compiled
def limit_effort(asked: Array, g: GuardTerms) -> int:
    """Move what is sent towards what is asked, within the bounds; return the effort's events.

    Where any effort is not finite, all become zero.
    """
    for i in range(asked.size):
        if not np.isfinite(asked[i]):
            g.sent[:] = 0.0
            return _BAD_EFFORT
    events = 0
    for i in range(asked.size):
        limited = asked[i]
        if abs(limited) > g.effort[i]:
            limited = g.effort[i] if limited > 0.0 else -g.effort[i]
            events |= _EFFORT
        if limited - g.sent[i] > g.step[i]:
            limited = g.sent[i] + g.step[i]
            events |= _RATE
        elif limited - g.sent[i] < -g.step[i]:
            limited = g.sent[i] - g.step[i]
            events |= _RATE
        g.sent[i] = limited
    return events


@compiled
def severity(events: int) -> int:
    """The severest action that any of the events calls for, as a number for kernels."""
    if events & _ZERO_EVENTS:
        return _ANSWER_ZERO
    if events & _HOLD_EVENTS:
        return _ANSWER_HOLD
    return _ANSWER_STOP if events & _STOP_EVENTS else _ANSWER_FOLLOW


@compiled
def release_effort(asked: Array, events: int, g: GuardTerms) -> tuple[int, int]:
    """Action and events, with what may be sent left in ``g.sent``."""
    action = severity(events)
    if action == _ANSWER_HOLD:
        g.held[0] += g.period[0]
        if g.held[0] <= g.hold_time[0]:
            return action, events
        action = _ANSWER_ZERO
    else:
        g.held[0] = 0.0
    if action == _ANSWER_ZERO:
        g.sent[:] = 0.0
        return action, events
    events |= limit_effort(asked, g)
    return (_ANSWER_ZERO if events & _BAD_EFFORT else action), events


def limit_numbers(limits: Limits, period: float) -> Array:
    """`GuardTerms.limits` for a loop of this period [s]."""
    numbers = [
        limits.reference_jump,
        period,
        limits.hold_time,
        limits.frozen_time,
        limits.stale_time,
        limits.residual,
        limits.force_time,
        limits.force_difference,
    ]
    steps = limits.effort_rate * period
    joints = (limits.effort, steps, limits.velocity, limits.lower, limits.upper)
    return np.concatenate([numbers, *joints])


class Guard:
    """The last word before an arm.

    Args:
        limits: What the arm may be asked for.
        coordinates: Number of coordinates of the reference.
        period: Period of the loop [s].

    Attributes:
        sent: The effort last released, n; a live array.
        work: The guard's array, for compiled loops.
        post: How new limits reach the tick; None where nothing ticks, and they are in force at
            once.
    """

    def __init__(self, limits: Limits, coordinates: int, period: float) -> None:
        n = limits.effort.size
        self.period = validate.positive("period", period)
        self.work: Array = GUARD.new(n=n, k=coordinates)
        self._terms = GUARD.view(self.work, n=n, k=coordinates)
        self.sent: Array = self._terms.sent
        self.post: Callable[[Array], None] | None = None
        self.set_limits(limits)
        self.reset()

    def set_limits(self, limits: Limits) -> None:
        """Change what the arm is held to, from the next tick on."""
        numbers = limit_numbers(limits, self.period)
        if self.post is None:
            self._terms.limits[:] = numbers
        else:
            self.post(numbers)
        self.limits = limits

    def reset(self) -> None:
        """Start anew: nothing was sent, no state was seen."""
        g = self._terms
        g.sent[:] = 0.0
        g.theta[:] = g.stamp[0] = g.rank[0] = np.nan
        g.unchanged[0] = g.held[0] = g.waited[0] = g.missing[0] = 0.0
        g.frozen[0] = g.frozen_for[0] = 0.0

    @property
    def arm_is_dead(self) -> bool:
        """Whether the arm stayed frozen when it was tried once more: nothing is sent any more."""
        return bool(self._terms.frozen[0] == _DEAD)

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

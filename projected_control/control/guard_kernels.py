"""The guard as kernels: what is wrong with a tick, and what may be sent in it (see `guard`)."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import Matrix, Numbers, compiled, kernel
from projected_control.control.events import (
    ANSWER_FOLLOW,
    ANSWER_HOLD,
    ANSWER_STOP,
    ANSWER_ZERO,
    STOP_EVENTS,
    Event,
    severity,
)
from projected_control.model.kinematics import inner, vector, wrap
from projected_control.model.linalg import copy
from projected_control.model.rotations import Topology, turn_between
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]

FROZEN_DISTANCE = 5e-3
"""Distance that velocity or reference must imply before positions that do not change at all count
as frozen [rad or m]. A smaller one would also catch an arm that stands still or sticks."""

RETRY_AFTER = 10.0
"""How many frozen times pass before an arm that seemed frozen is tried once more. It may have been
a stall: an arm that gets no torque does not move, and would seem frozen for ever."""

RETURN_NOISE = 1e-3
"""How far a joint that is led back into its range may go out again: noise of its encoder
[rad or m]."""

_MOVING, _FROZEN_ONCE, _TRIED_AGAIN, DEAD = 0.0, 1.0, 2.0, 3.0

# The values of the events as plain integers, which kernels can use.
_EFFORT, _RATE, _POSITION, _VELOCITY = 1, 2, 4, 8
_LINE, _CIRCLE, _ROTATION, _ = (int(t) for t in Topology)
_BAD_STATE, _BAD_EFFORT, _BACK, _FROZEN, _STALE, _JUMP = 16, 32, 64, 128, 256, 512
_LATCHED = int(Event.LATCHED)


RECOVERY = 10.0
"""How many bad ticks a good one makes up for."""

GUARD_LIMITS = "10 + 5 * n"
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
    force_stop: Annotated[Array, Part("1", "The same, at which the arm is stopped [N].")]
    latch_time: Annotated[Array, Part("1", "How long a stop may last that ends by itself [s].")]
    effort: Annotated[Array, Part("n", "Largest effort [N·m or N].")]
    step: Annotated[Array, Part("n", "Largest change of the effort in one tick [N·m or N].")]
    velocity: Annotated[Array, Part("n", "Largest velocity [rad/s or m/s].")]
    lower: Annotated[Array, Part("n", "Lowest position [rad or m].")]
    upper: Annotated[Array, Part("n", "Highest position [rad or m].")]
    limits: Annotated[Array, Part(GUARD_LIMITS, "All of the above.", at="jump")]
    stopped: Annotated[Array, Part("1", "How long the arm has been stopped, or worse [s].")]
    lost: Annotated[Array, Part("1", "How long efforts have been held or zero [s].")]
    latched: Annotated[Array, Part("1", "`Action` that lasts until it is ended; 0 for none.")]
    slack: Annotated[
        Array, Part("2, n", "How far below and above its range a joint may still be [rad or m].")
    ]
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


@kernel
def inspect_tick(
    q: Numbers, v: Numbers, stamp: float, motion: Matrix, g: GuardTerms, noticed: int = 0
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
        if is_outside(q[i], i, g):
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
    following = not events & STOP_EVENTS and effort_acts(g)
    seen = min(elapsed, 2.0 * g.period[0])  # time without states says nothing about motion
    implied = seen * (max(fastest, planned) if following else fastest)
    if is_frozen(changed, seen, implied, g):
        events |= _FROZEN
    g.stamp[0] = stamp
    return events


@compiled
def is_outside(q: float, i: int, g: GuardTerms) -> bool:
    """Whether a joint is out of its range, or further out than a way back in allows.

    A joint that began out of its range (`Guard.allow_return`) may be no further out than it has
    been so far; once inside, it has to stay there.
    """
    below, above = g.lower[i] - q, q - g.upper[i]
    outside = below > g.slack[0, i] or above > g.slack[1, i]
    g.slack[0, i] = min(g.slack[0, i], below + RETURN_NOISE) if below > 0.0 else 0.0
    g.slack[1, i] = min(g.slack[1, i], above + RETURN_NOISE) if above > 0.0 else 0.0
    return outside


@compiled
def accept_replaced(motion: Array, theta: Array, topology: Array, g: GuardTerms) -> bool:
    """A reference that was just replaced is no jump where it begins near the arm, at θ.

    It also ends a damped stop that had lasted for so long that it does not end by itself. A joint
    that rests beyond its range is let back in then.

    Returns:
        Whether it has ended one.
    """
    if g.replaced[0] == 0.0:
        return False
    near = True
    for c in range(theta.size):
        away = motion[0, c] - theta[c]
        if not np.isfinite(away):
            return False
        kind = int(topology[c])
        if kind == _ROTATION:
            turn = turn_between(vector(motion[0], c), vector(theta, c))
            away = np.sqrt(inner(turn, turn))
        elif kind != _LINE:
            away = wrap(away) if kind == _CIRCLE else 0.0
        near = near and abs(away) <= g.jump[0]
    g.replaced[0] = 0.0
    if not near:
        return False
    copy(motion[0], g.theta)
    copy(motion[1], g.theta_rate)
    if g.latched[0] != ANSWER_STOP:
        return False
    g.latched[0] = g.stopped[0] = 0.0
    for i in range(g.q.size):
        let_return(g.q[i], i, g)
    return True


@compiled
def let_return(q: float, i: int, g: GuardTerms) -> None:
    """A joint that rests beyond its range may come back in, and go no further out than it is."""
    g.slack[0, i] = max(g.lower[i] - q + RETURN_NOISE, 0.0) if q < g.lower[i] else 0.0
    g.slack[1, i] = max(q - g.upper[i] + RETURN_NOISE, 0.0) if q > g.upper[i] else 0.0


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
    if g.frozen[0] == DEAD:
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
    g.frozen[0] = _FROZEN_ONCE if g.frozen[0] == _MOVING else DEAD
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
        # Where a limit was lowered below what was sent, it comes before the rate.
        g.sent[i] = min(max(limited, -g.effort[i]), g.effort[i])
    return events


@compiled
def latch(action: int, g: GuardTerms) -> int:
    """Have an answer last that has gone on for too long to end by itself; the event for it.

    A good tick takes away what `RECOVERY` bad ones add: one in between does not begin anew.
    """
    period, good = g.period[0], RECOVERY * g.period[0]
    g.stopped[0] = max(g.stopped[0] + (period if action > ANSWER_FOLLOW else -good), 0.0)
    g.lost[0] = max(g.lost[0] + (period if action >= ANSWER_HOLD else -good), 0.0)
    if g.lost[0] > g.latch_time[0]:
        g.latched[0] = ANSWER_ZERO
    elif g.stopped[0] > g.latch_time[0]:
        g.latched[0] = max(g.latched[0], float(ANSWER_STOP))
    return _LATCHED if g.latched[0] != 0.0 else 0


@kernel
def release_effort(asked: Numbers, events: int, g: GuardTerms) -> tuple[int, int]:
    """Action and events, with what may be sent left in ``g.sent``."""
    action = max(severity(events), int(g.latched[0]))
    g.held[0] = g.held[0] + g.period[0] if action == ANSWER_HOLD else 0.0
    if action == ANSWER_HOLD and g.held[0] > g.hold_time[0]:
        action = ANSWER_ZERO
    if action < ANSWER_HOLD:
        events |= limit_effort(asked, g)
        if events & _BAD_EFFORT:
            action = ANSWER_ZERO
    if action == ANSWER_ZERO:
        g.sent[:] = 0.0
    return action, events | latch(action, g)

"""Accelerations of joints that leave room to stop inside their ranges.

One joint that can brake with a, at period T, q̇⁺ its next velocity:

    q̇⁺ ≤ a (−T/2 + √(T²/4 + 2 (q_max − q − T q̇/2)/a)),    q̈_max = (q̇⁺ − q̇)/T

exact in discrete time. Under a constraint joints do not brake one by one: a slider-crank whose
joints have 10 rad/s² each stops in 0.40 rad, where its first joint alone would in 0.20. So all
joints brake together along the motion,

    q̈_b = A⁺b − q̇/t_b,

with the shortest t_b whose effort on top of what holds the arm lies within `SHARE` of what motors
have left, and joint i has a = |q̇ᵢ|/t_b, at least `LEAST_BRAKING`. No formula per tick *proves* that
a coupled arm can stop: its inertia may grow on the way. No joint may move so that the others brake
too slowly for the first that has to stop (what motors would have to take away of M q̇,
`most_pull`), and a margin is kept (`MARGIN`). That is tried with random stops, and the guard's own
stop at the edge of the range stands behind it.

The effort needs its time t_r to get there, at its largest step per tick: from accelerating with a
to braking with it the arm goes on by q̇ t_r + a t_r²/6, as it does in the samples that a state is
old. Braking less takes less time to begin: the share √(t_b/2 t_r) of it stops in the least room.
Meanwhile no bound asks for more than the first step of the hardest stop (`first_braking`): a joint
would have more of it at once by what the others are driven to.

A joint beyond its range that moves outwards brakes with a; one that rests there may move inwards.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled, kernel
from projected_control.control.guard_kernels import GuardTerms
from projected_control.control.laws.passive import passive_span
from projected_control.control.limit_terms import LimitTerms
from projected_control.control.terms import ControlTerms
from projected_control.model.constrained_arm import Terms
from projected_control.model.linalg import axpy, copy, fill, matvec, matvec_add
from projected_control.model.on_constraint import find_acceleration, free_part, least_motion
from projected_control.model.span import invert_add

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

MARGIN = 1e-3
"""How far inside its range a joint is kept [rad or m]."""

SHARE = 0.8
"""Share of what a motor has left beside holding the arm that braking counts on."""

LEAST_BRAKING = 0.5
"""Braking that every joint is thought to have [rad/s² or m/s²]."""

SPEED_SHARE = 0.99
"""Share of the largest velocity that is asked for: the guard stops an arm beyond all of it."""


@kernel
def largest_acceleration(room: float, rate: float, a: float, T: float) -> float:
    """q̈ with which a joint that is so far from its bound can still stop there [rad/s²].

    Not viable any more (NaN): even a is not enough.
    """
    radicand = 0.25 * T * T + 2.0 * (room - 0.5 * T * rate) / a
    if radicand < 0.0:
        return -rate / T if rate <= 0.0 else np.nan
    return (a * (np.sqrt(radicand) - 0.5 * T) - rate) / T


@compiled
def is_far(room: float, rate: float, acceleration: float, T: float) -> bool:
    """Whether a joint could stop with the least braking, so that nothing else has to be known."""
    y = rate + T * acceleration
    return (y <= 0.0 and room > 0.0) or y * y / LEAST_BRAKING + y * T <= 2.0 * room - T * rate


@compiled
def motor_effort(passive: Whole, load: Array, t: Terms, c: ControlTerms, effort: Array) -> None:
    """P load, in joint units, and for passive joints (I + H) P load."""
    free_part(t, load, c.net)
    if passive.size:
        for r in range(passive.size):
            c.refused[r] = c.net[passive[r]]
        invert_add(passive_span(t, c), c.refused, c.net, -1.0)
    for i in range(effort.size):
        effort[i] = c.net[i] * t.sqrt_metric[i]


@compiled
def fastest_stop(passive: Whole, t: Terms, c: ControlTerms, g: GuardTerms, w: LimitTerms) -> float:
    """1/t_b of the shortest stop along the motion; zero where there is none.

    The effort h + M A⁺b − (M q̇)/t_b is that of least size, f∥, within what motors may give.
    """
    least_motion(t, t.b, c.acceleration)
    copy(c.h, c.load)
    matvec_add(t.M, c.acceleration, c.load)
    motor_effort(passive, c.load, t, c, w.held)
    matvec(t.M, t.v, c.load)
    motor_effort(passive, c.load, t, c, w.pull)
    fastest = np.inf
    for i in range(t.v.size):
        if w.pull[i] != 0.0:
            held = w.held[i] if w.pull[i] < 0.0 else -w.held[i]
            fastest = min(fastest, SHARE * (g.effort[i] - held) / abs(w.pull[i]))
    return max(fastest, 0.0) if fastest < np.inf else 0.0


@compiled
def effort_lag(stopping: float, g: GuardTerms, w: LimitTerms) -> float:
    """How long the effort takes to become that of the stop, from what was last sent [s]."""
    longest = 0.0
    for i in range(g.sent.size):
        away = abs(w.held[i] - stopping * w.pull[i] - g.sent[i])
        longest = max(longest, away / g.step[i])
    return longest * g.period[0]


@compiled
def find_ranges(passive: Whole, t: Terms, c: ControlTerms, g: GuardTerms, w: LimitTerms) -> bool:
    """q̈ bounds of all joints; whether one of them cannot stop in its range any more."""
    n, T, lost, left = t.v.size, g.period[0], False, np.inf
    stopping = fastest_stop(passive, t, c, g, w)
    hardest_stop, ramp = min(stopping / SHARE, 1.0 / T), 0.0
    if stopping > 0.0:  # gentler, where the effort would take too long to get there
        ramp = effort_lag(stopping, g, w) + T
        stopping *= min(1.0, np.sqrt(0.5 / (stopping * ramp)))
        ramp = effort_lag(stopping, g, w) + T
    lag = max(c.delay[0] - 1.0, 0.0) * T + ramp
    for i in range(n):
        rate = t.v[i] / t.sqrt_metric[i]
        a = max(abs(rate) * stopping, LEAST_BRAKING)
        hardest = a / SHARE
        ahead = t.q[i] + lag * rate
        for side in range(2):
            sign = 1.0 if side else -1.0
            bound = g.upper[i] if side else g.lower[i]
            w.ranges[side, i] = sign * np.inf
            if not np.isfinite(bound):
                continue
            room = sign * (bound - ahead) - MARGIN - a * ramp * ramp / 6.0
            if sign * rate > 0.0:
                left = min(left, 2.0 * max(room, 0.0) / (sign * rate))
            most = largest_acceleration(room, sign * rate, a, T)
            if np.isnan(most):
                most, lost = -hardest, True
            w.ranges[side, i] = sign * max(most, -hardest)
    w.brakes[0] = max(left, 1.0 / stopping - T / SHARE) if stopping > 0.0 else np.inf
    if stopping > 0.0:
        first_braking(hardest_stop, t, c, g, w)
        for i in range(n):
            a = (w.acceleration[i] + c.acceleration[i]) / t.sqrt_metric[i]
            if t.v[i] < 0.0:
                w.ranges[0, i] = min(w.ranges[0, i], a)
            else:
                w.ranges[1, i] = max(w.ranges[1, i], a)
    return lost


@compiled
def first_braking(stopping: float, t: Terms, c: ControlTerms, g: GuardTerms, w: LimitTerms) -> None:
    """What of the stop can be sent in this tick, the same share of it by all motors.

    Fills `LimitTerms.reach` with what it adds to the closed form, and c.acceleration with what that
    adds to q̈.
    """
    share = 1.0
    for i in range(g.sent.size):
        away = w.held[i] - stopping * w.pull[i] - g.sent[i]
        if abs(away) > g.step[i]:
            share = min(share, g.step[i] / abs(away))
    for i in range(g.sent.size):
        f = g.sent[i] + share * (w.held[i] - stopping * w.pull[i] - g.sent[i])
        f = min(max(f, w.lower[i]), w.upper[i])
        w.reach[i] = (f - c.effort[2, i]) / t.sqrt_metric[i]
    free_part(t, w.reach, c.load)
    fill(w.kept, 0.0)
    find_acceleration(t, c.load, w.kept, c.acceleration)


@compiled
def next_pull(passive: Whole, t: Terms, c: ControlTerms, g: GuardTerms, w: LimitTerms) -> None:
    """pull of the velocity after this tick, as the closed form has it."""
    copy(t.v, c.acceleration)
    axpy(g.period[0], w.acceleration, c.acceleration)
    matvec(t.M, c.acceleration, c.load)
    motor_effort(passive, c.load, t, c, w.pull)


@compiled
def breaks_range(passive: Whole, t: Terms, c: ControlTerms, g: GuardTerms, w: LimitTerms) -> bool:
    """Whether what the law asks for leaves no room to stop."""
    broken = False
    for i in range(t.v.size):
        a = w.acceleration[i] / t.sqrt_metric[i]
        broken = broken or a < w.ranges[0, i] or a > w.ranges[1, i]
    if broken or w.brakes[0] == np.inf:
        return broken
    next_pull(passive, t, c, g, w)
    for i in range(t.v.size):
        pull = w.pull[i]
        broken = broken or pull > most_pull(i, True, g, w) or pull < -most_pull(i, False, g, w)
    return broken


@compiled
def most_pull(i: int, pulls: bool, g: GuardTerms, w: LimitTerms) -> float:
    """How much of M q̇ a motor can take away before the first joint is at its edge [N·m·s]."""
    held = -w.held[i] if pulls else w.held[i]
    return max(SHARE * (g.effort[i] - held), 0.0) * w.brakes[0]

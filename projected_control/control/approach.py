"""How the arm moves along the normal of a contact that is lost: looked for, left alone, left.

Nothing presses there, and its rows are as free as the coordinates' (see `holding`). A goal g_d for
the gap g is led at a speed that goes smoothly to what is wanted, within `RAMP` seconds to
`contact.approach_speed`, and the arm follows it with the gains of the first coordinate,

    a = v̇ + G_D (v − ġ) + G_P (g_d − g),    A q̈ = b + a,

where ġ is left out while it is not to be trusted. Looked for: onwards, until `contact.travel`
beyond where the surface should be, or beyond where it was lost; then back as far, and again. The
goal is never more than `AHEAD` ahead of the arm. One that is held up there presses, besides, with
up to `MOST` times λ_on, so that a light arm is felt as well. So what it presses on without noticing
it, as with a sensor that shows nothing, takes no more than m_n (G_P `AHEAD` + G_D v) and that. Held
up for `BLOCKED` seconds, it goes back too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.contact import (
    ON_LOSS,
    RETREAT,
    SPEED,
    TRAVEL,
    ContactState,
    OnLoss,
)
from projected_control.control.holding import is_free, is_head, least_force
from projected_control.control.one_sided_terms import OneSidedTerms
from projected_control.control.terms import ControlTerms
from projected_control.model.constrained_arm import Terms
from projected_control.model.linalg import dot

Array = NDArray[np.float64]

RAMP = 0.05
"""Time within which the approach has its speed [s]."""

NEAR = 0.1
"""Time constant with which a goal that is a place is gone to [s]."""

AHEAD = 0.002
"""How far a goal may be ahead of the arm [m or rad]."""

MOST = 2.0
"""Largest force of an arm that is held up, over λ_on."""

BLOCKED = 0.5
"""After which an arm that is held up goes back [s]."""

_RELEASED = float(ContactState.RELEASED)
_HOLD = tuple(OnLoss).index(OnLoss.HOLD)


@compiled
def wanted_speed(r: int, c: ControlTerms, o: OneSidedTerms) -> float:
    """How fast the goal is to go on along the normal; positive towards the surface."""
    rules = c.contact_rules
    speed, place = o.haste[r] * rules[SPEED], o.lost_at[r]
    if o.state[r] == _RELEASED:
        place = min(-rules[RETREAT], o.lost_at[r])  # never nearer
    elif int(rules[ON_LOSS]) != _HOLD or o.lost_at[r] == 0.0:
        bottom = max(o.lost_at[r], 0.0) + rules[TRAVEL]
        bottom -= 0.5 * max(o.speed[r], 0.0) ** 2 * RAMP / rules[SPEED]  # to come to rest in
        if o.goal[r] >= bottom or o.blocked_for[r] > BLOCKED:
            o.back[r], o.missed[r], o.blocked_for[r] = 1.0, 1.0, 0.0
        elif o.goal[r] <= -rules[TRAVEL]:
            o.back[r] = 0.0
        return -speed if o.back[r] != 0.0 else speed
    return min(max((place - o.goal[r]) / NEAR, -speed), speed)


@compiled
def lead_goal(r: int, c: ControlTerms, o: OneSidedTerms) -> float:
    """The goal one tick on; a."""
    T, before = c.period[0], o.speed[r]
    step = c.contact_rules[SPEED] * T / RAMP
    o.speed[r] += min(max(wanted_speed(r, c, o) - before, -step), step)
    blind = o.blind_for[r] > 0.0
    if not blind:
        o.goal[r] += T * o.speed[r]
    blocked = o.goal[r] > o.gap[r] + AHEAD
    o.blocked_for[r] = o.blocked_for[r] + T if blocked else 0.0
    if blocked:
        o.press[r] = min(o.press[r] + c.force_rate[0], MOST * least_force(c, o))
    elif not blind:
        o.press[r] = max(o.press[r] - c.force_rate[0], 0.0)
    o.goal[r] = min(max(o.goal[r], o.gap[r] - AHEAD), o.gap[r] + AHEAD)
    a = c.gains[0, 0] * (o.goal[r] - o.gap[r])
    if not blind:
        a += (o.speed[r] - before) / T + c.gains[1, 0] * (o.speed[r] - o.rate[r])
    return a


@compiled
def drive_contacts(stop: bool, t: Terms, c: ControlTerms, o: OneSidedTerms) -> None:
    """b ← b + a in the rows of contacts that are lost; in a stop, which brakes, b stays."""
    for r in range(t.b.size):
        if not is_head(r, o) or not is_free(r, o):
            continue
        if stop:
            o.goal[r], o.speed[r] = o.gap[r], 0.0
            continue
        a, speed = lead_goal(r, c, o), c.contact_rules[SPEED]
        for j in range(r, t.b.size):
            if o.head[j] != r + 1.0 or o.unanswered[j] != 0.0:
                continue
            beside = o.away[j] - o.normal[j] * o.gap[r]
            rate = dot(t.A[j], t.v) - t.target[1, j] - o.normal[j] * o.rate[r]
            sideways = min(max(-beside / NEAR, -speed), speed)
            t.b[j] += o.normal[j] * a + c.gains[1, 0] * (sideways - rate)

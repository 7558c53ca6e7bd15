"""Which one-sided contacts hold: decided here, once per tick, and nowhere else.

Allowed is Φ ≤ 0; the normal points into the surface, λ_n ≥ 0. From the measured force, unfiltered:

    HOLDS → LOST     where λ_n < λ_off for three ticks, or no effort kept it in its cone for three
    LOST  → HOLDS    where λ_n > λ_on = 2 λ_off for three, and −A q̇ < v_on

A tick in which λ is not known changes nothing. What is released, also by `on_loss` retreat, stays
so until it is attached, over resets too. **A contact that is lost** has no force, λ = 0, and
nothing says how the arm moves along it but we: f = h + M u_p, and A u_p = b + a in its rows, with
the acceleration a of `approach`. So its rows stay in A, as those of a surface that moves and takes
no force, and projector, rank, coordinates and posture are the same before and after: all that
changes is u_λ, from zero, and a, to zero. A lost row that depends on those of others is left out of
A (`leave_out`): where they hold, it moves as they do.

**Made** it begins at the force that is measured: the integral is empty, the filter begins there,
and what is asked for goes on to λ_d at `force.max_rate`. Where it is lost again within `SOON`, it
has bounced, and is approached at half the speed. The rate along the normal is not trusted
for `BLIND` ticks after the force first crosses λ_on, and is not fed back meanwhile: the damping d_n
begins with the rate at which it came (`damped_rate`), as efforts take time to change, until the
surface presses with more than is asked for. What is pressed with until it is made is a little more
than λ_on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.contact import (
    AT_START,
    ON_LOSS,
    SPEED,
    THRESHOLD,
    WAITS,
    ContactState,
    OnLoss,
)
from projected_control.control.events import ANSWER_STOP, Event
from projected_control.control.guard_kernels import GuardTerms
from projected_control.control.one_sided_terms import OneSidedTerms
from projected_control.control.terms import ControlTerms
from projected_control.model.constrained_arm import Terms, keep_rows
from projected_control.model.linalg import dot, fill

Array = NDArray[np.float64]

TICKS = 3.0
"""For how many a force has to say so."""

PRESS = 1.5
"""Pressed with meanwhile, over λ_on, so that it stays above."""

SOON, LESS = 0.3, 0.5
"""A contact that is lost so soon [s] has bounced: it is approached by so much more slowly."""

BLIND = 3.0
"""Ticks after a touch in which the rate along the normal is not trusted."""

MADE_AT = 2.0
"""λ_on over λ_off; no contact is asked for less."""

_HELD, _RELEASED, _LOST, _HOLDS, _SLIPS = (float(state) for state in ContactState)
_STOP, _RETREAT = tuple(OnLoss).index(OnLoss.STOP), tuple(OnLoss).index(OnLoss.RETREAT)
_CONTACT_LOST, _CONTACT_STOPS = int(Event.CONTACT_LOST), int(Event.CONTACT_STOPS)
_CONTACT_MISSED = int(Event.CONTACT_MISSED)


@compiled
def least_force(c: ControlTerms, o: OneSidedTerms) -> float:
    """What a contact that holds is asked for at least [N or N·m]; zero where it is not felt."""
    return o.feels[0] * MADE_AT * c.contact_rules[THRESHOLD]


@compiled
def along_normal(r: int, values: Array, o: OneSidedTerms) -> float:
    """Of one number per row, the part along the normal of the contact that begins at row r."""
    part = 0.0
    for j in range(r, values.size):
        if o.head[j] == r + 1.0:
            part += o.normal[j] * values[j]
    return part


@compiled
def is_head(r: int, o: OneSidedTerms) -> bool:
    """Whether a one-sided contact begins at this row."""
    return o.head[r] == r + 1.0


@compiled
def is_free(r: int, o: OneSidedTerms) -> bool:
    """Whether the contact that begins at this row carries nothing."""
    return o.state[r] == _LOST or o.state[r] == _RELEASED


@compiled
def damped_rate(r: int, o: OneSidedTerms) -> float:
    """What d_n damps of the contact that begins at row r: its rate, or that with which it came."""
    if o.blind_for[r] > 0.0:
        return max(o.came[r], 0.0)
    return 0.0 if is_free(r, o) else o.rate[r]


@compiled
def see_contacts(t: Terms, c: ControlTerms, o: OneSidedTerms) -> None:
    """Gaps and rates; of the residual, depth alone counts. After `evaluate_model`."""
    for j in range(t.b.size):
        o.away[j] = t.residual[j]
    for r in range(t.b.size):
        if not is_head(r, o):
            continue
        o.gap[r] = along_normal(r, o.away, o)
        o.rate[r] = 0.0
        free = is_free(r, o)
        for j in range(r, t.b.size):
            if o.head[j] == r + 1.0:
                o.rate[r] += o.normal[j] * (dot(t.A[j], t.v) - t.target[1, j])
                t.residual[j] = 0.0 if free else o.away[j] - o.normal[j] * o.gap[r]
                t.residual[j] += o.normal[j] * max(o.gap[r], 0.0)
        if o.blind_for[r] == 0.0:
            o.came[r] = o.rate[r]
    leave_out(t, c, o)


@compiled
def leave_out(t: Terms, c: ControlTerms, o: OneSidedTerms) -> None:
    """Take lost rows out of the decomposition that depend on others, one after the other."""
    fill(o.unanswered, 0.0)
    free = 0.0
    for j in range(t.b.size):
        free += c.unpressed[j]
    if free == 0.0 or t.rank[0] == t.b.size:
        return
    rank = t.rank[0]
    for j in range(t.b.size):
        if o.head[j] == 0.0 or c.unpressed[j] == 0.0:
            continue
        fill(c.pressed, 1.0)
        for i in range(t.b.size):
            c.pressed[i] -= o.unanswered[i]
        c.pressed[j] = 0.0
        keep_rows(c.pressed, t)
        o.unanswered[j] = 1.0 if t.rank[0] == rank else 0.0
    for i in range(t.b.size):
        c.pressed[i] = 1.0 - o.unanswered[i]
    keep_rows(c.pressed, t)


@compiled
def put_state(r: int, state: float, c: ControlTerms, o: OneSidedTerms) -> None:
    """Every row of a contact is in this state."""
    for j in range(r, o.head.size):
        if o.head[j] == r + 1.0:
            o.state[j] = state
    free = 1.0 if is_free(r, o) else 0.0
    for j in range(r, o.head.size):
        if o.head[j] == r + 1.0:
            c.unpressed[j] = free


@compiled
def lose(r: int, state: float, c: ControlTerms, o: OneSidedTerms) -> None:
    """A contact carries nothing from now on; along its normal the arm goes on from where it is."""
    put_state(r, state, c, o)
    o.above_for[r] = o.below_for[r] = o.not_yet[r] = 0.0
    o.back[r] = o.missed[r] = o.blocked_for[r] = o.press[r] = 0.0
    o.goal[r] = o.lost_at[r] = o.gap[r]
    o.haste[r] = LESS * o.haste[r] if 0.0 < o.made_for[r] < SOON else 1.0
    o.made_for[r] = 0.0
    speed = c.contact_rules[SPEED]
    o.speed[r] = min(max(o.rate[r], -speed), speed)
    for j in range(r, o.head.size):
        if o.head[j] == r + 1.0:
            c.force_state[1, j] = c.force_state[2, j] = c.not_asked[j] = 0.0


@compiled
def make(r: int, c: ControlTerms, o: OneSidedTerms) -> None:
    """A contact holds from now on, at the force that is measured."""
    put_state(r, _HOLDS, c, o)
    o.above_for[r] = o.below_for[r] = o.missed[r] = o.lost_at[r] = o.press[r] = 0.0
    asked = along_normal(r, c.lambda_desired, o)
    begin = min(max(o.force[r], least_force(c, o)), max(asked, least_force(c, o)))
    o.not_yet[r] = asked - begin
    for j in range(r, o.head.size):
        if o.head[j] == r + 1.0:
            c.force_state[0, j] = c.lambda_measured[j]
            c.force_state[1, j] = c.force_state[2, j] = 0.0


@compiled
def watch_force(r: int, c: ControlTerms, o: OneSidedTerms) -> None:
    """For how long a force has been above λ_on, or below λ_off."""
    force, off = o.force[r], c.contact_rules[THRESHOLD]
    if o.blind_for[r] > 0.0:
        o.blind_for[r] -= 1.0
    if not np.isfinite(force):
        return
    if force > max(along_normal(r, c.lambda_desired, o), least_force(c, o)):
        o.came[r] = 0.0  # the surface stops it
    if is_free(r, o):
        pressing = force > MADE_AT * off
        if pressing and o.above_for[r] == 0.0:
            o.blind_for[r] = BLIND
            o.press[r] = max(o.press[r], PRESS * least_force(c, o))
        stays = -o.rate[r] < c.contact_rules[SPEED]
        o.above_for[r] = o.above_for[r] + 1.0 if pressing and stays else 0.0
    else:
        fades = force < off or o.given_up[r] != 0.0
        o.below_for[r] = o.below_for[r] + 1.0 if fades else 0.0


@compiled
def lead_asked(r: int, c: ControlTerms, o: OneSidedTerms) -> None:
    """λ_d of a contact goes to what is asked for, or to its least where it is to be released.

    Along the surface it is asked for as much of it as along the normal.
    """
    asked, step = along_normal(r, c.lambda_desired, o), c.force_rate[0]
    least = least_force(c, o)
    target = 0.0 if o.wanted[r] != 0.0 else max(asked - least, 0.0)
    o.not_yet[r] += min(max(target - o.not_yet[r], -step), step)
    share = o.not_yet[r] / asked if o.not_yet[r] > 0.0 else 0.0
    for j in range(r, o.head.size):
        if o.head[j] == r + 1.0:
            along = o.normal[j] * asked
            c.not_asked[j] = o.normal[j] * o.not_yet[r] + share * (c.lambda_desired[j] - along)
    if o.wanted[r] == 0.0 and asked - o.not_yet[r] <= least:
        lose(r, _RELEASED, c, o)
        o.press[r] = least  # what is left goes at `force.max_rate` too


@compiled
def follow_contact(r: int, c: ControlTerms, o: OneSidedTerms) -> bool:
    """Move one contact's state on by what is measured; whether the answer to its loss is a stop."""
    watch_force(r, c, o)
    if c.contact_switches[r] != o.switched[r]:
        o.switched[r] = c.contact_switches[r]
        o.wanted[r] = o.switched[r] % 2.0
    wanted, state = o.wanted[r] != 0.0, o.state[r]
    if o.begins[r] != 0.0:
        o.goal[r] = o.gap[r]
        o.lost_at[r] = o.gap[r] if state == _RELEASED else 0.0
    if o.begins[r] != 0.0 and np.isfinite(o.force[r]):
        o.begins[r] = 0.0
        if wanted and o.force[r] > least_force(c, o):
            make(r, c, o)  # as a controller found it that takes over
        elif wanted and c.contact_rules[AT_START] != 0.0:
            o.wanted[r] = 0.0
            lose(r, _RELEASED, c, o)
    elif state == _RELEASED and wanted:
        lose(r, _LOST, c, o)
        o.lost_at[r] = 0.0
    elif state == _LOST and not wanted:
        lose(r, _RELEASED, c, o)
    elif state == _LOST and o.above_for[r] >= TICKS:
        make(r, c, o)
    elif not is_free(r, o) and o.below_for[r] >= TICKS:
        answer = int(c.contact_rules[ON_LOSS])
        if wanted and answer == _STOP:
            lose(r, _LOST, c, o)
            return True
        if answer == _RETREAT:
            o.wanted[r] = 0.0
        lose(r, _LOST if o.wanted[r] != 0.0 else _RELEASED, c, o)
    if not is_free(r, o):
        o.made_for[r] += c.period[0]
        put_state(r, _SLIPS if o.given_up[r] != 0.0 else _HOLDS, c, o)
        lead_asked(r, c, o)
    return False


@compiled
def follow_contacts(c: ControlTerms, o: OneSidedTerms, g: GuardTerms) -> int:
    """All contacts by this tick's λ; their events. Fills what waits, and where rates count."""
    events = 0
    for r in range(o.head.size):
        if not is_head(r, o):
            continue
        o.force[r] = along_normal(r, c.lambda_measured, o)
        if o.feels[0] != 0.0 and follow_contact(r, c, o):
            g.latched[0] = max(g.latched[0], float(ANSWER_STOP))
            events |= _CONTACT_STOPS
        if is_free(r, o) and o.switched[r] % 2.0 != 0.0:
            events |= _CONTACT_LOST
            events |= _CONTACT_MISSED if o.missed[r] != 0.0 else 0
            c.path_waits[0] = max(c.path_waits[0], c.contact_rules[WAITS])
        blind = 1.0 if o.blind_for[r] > 0.0 else 0.0
        o.given_up[r] = 0.0
        for j in range(r, o.head.size):
            if o.head[j] == r + 1.0:
                c.unseen[j] = blind
    return events


@compiled
def is_settled(o: OneSidedTerms) -> bool:
    """Whether no contact is lost, begins, or has just been touched: the model knows λ."""
    settled = True
    for r in range(o.head.size):
        if is_head(r, o):
            settled = settled and not is_free(r, o) and o.blind_for[r] == 0.0
    return settled

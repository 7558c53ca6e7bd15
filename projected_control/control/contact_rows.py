"""Level 1 of the solver of limits: what forces of one-sided contacts may be (see `keep_limits`).

λ_n ≥ λ_min                                    where it holds; λ_min less what damps a touch
cos φ λ_t1 + sin φ λ_t2 ≤ µ cos(π/F) λ_n       where it sticks, F facets (`model.friction_cone`)
λ as it is approached with, zero nearly always where it is lost
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.contact import FACETS_AT, FRICTION, MAX_FACETS
from projected_control.control.events import Event
from projected_control.control.holding import is_free, is_head, least_force
from projected_control.control.limit_terms import LimitTerms
from projected_control.control.one_sided_terms import OneSidedTerms
from projected_control.control.terms import ControlTerms
from projected_control.model.constrained_arm import Terms
from projected_control.model.level_step import LevelTerms
from projected_control.model.linalg import axpy, copy, fill

Array = NDArray[np.float64]

SLACK = 1e-6
"""How much of a force may be missing without a word [N or N·m], beside its own share `TIGHT`."""

TIGHT = 1e-7
"""Share of a force that is rounding."""

_BOUNDED, _GIVEN_UP = int(Event.CONTACT_BOUNDED), int(Event.CONTACT_GIVEN_UP)


@compiled
def facets_of(r: int, c: ControlTerms, o: OneSidedTerms) -> int:
    """How many facets the cone of the contact that begins at row r has; none where it slides."""
    if c.contact_rules[FRICTION] == 0.0:
        return 0
    along, beside = 0.0, 0.0
    for j in range(r, o.head.size):
        if o.head[j] == r + 1.0:
            along += abs(o.tangents[0, j])
            beside += abs(o.tangents[1, j])
    if along == 0.0:
        return 0
    return 2 if beside == 0.0 else min(int(c.contact_rules[FACETS_AT]), MAX_FACETS)


@compiled
def bound_of(r: int, number: int, c: ControlTerms, o: OneSidedTerms, bound: Array) -> float:
    """Fill a bound of a contact as a sum of its rows, number zero λ_n ≥ …; what it is at least."""
    fill(bound, 0.0)
    if number == 0:
        for j in range(r, bound.size):
            if o.head[j] == r + 1.0:
                bound[j] = o.normal[j]
        damped = c.normal_damping[0] * (1.0 - c.unseen[r]) * max(o.rate[r], 0.0)
        return least_force(c, o) - damped
    facets = facets_of(r, c, o)
    share, angle = 1.0, np.pi * (number - 1.0)
    if facets > 2:
        share, angle = np.cos(np.pi / facets), (2.0 * number - 1.0) * np.pi / facets
    for j in range(r, bound.size):
        if o.head[j] == r + 1.0:
            bound[j] = share * c.contact_rules[FRICTION] * o.normal[j]
            bound[j] -= np.cos(angle) * o.tangents[0, j]
            if facets > 2:
                bound[j] -= np.sin(angle) * o.tangents[1, j]
    return 0.0


@compiled
def is_off(value: float, least: float) -> bool:
    """Whether a force is below its bound by more than rounding."""
    return value < least - SLACK - TIGHT * abs(least)


@compiled
def breaks_contact(multipliers: Array, c: ControlTerms, o: OneSidedTerms) -> bool:
    """Whether these λ break a bound of a contact that holds."""
    broken = False
    for r in range(multipliers.size):
        if is_head(r, o) and not is_free(r, o):
            for number in range(1 + facets_of(r, c, o)):
                least, value = bound_of(r, number, c, o, c.pressed), 0.0
                for j in range(r, multipliers.size):
                    value += c.pressed[j] * multipliers[j]
                broken = broken or is_off(value, least)
    return broken


@compiled
def contact_rows(
    at: int, t: Terms, c: ControlTerms, o: OneSidedTerms, w: LimitTerms, s: LevelTerms
) -> int:
    """The rows of level 1; the place behind them."""
    for r in range(t.b.size):
        if not is_head(r, o):
            continue
        if is_free(r, o):
            for j in range(r, t.b.size):
                if o.head[j] == r + 1.0 and o.unanswered[j] == 0.0:
                    copy(w.to_force[j], s.C[at])
                    s.lower[at] = s.upper[at] = 0.0
                    at += 1
            continue
        for number in range(1 + facets_of(r, c, o)):
            least, value = bound_of(r, number, c, o, c.pressed), 0.0
            fill(s.C[at], 0.0)
            for j in range(r, t.b.size):
                value += c.pressed[j] * w.multipliers[j]
                axpy(c.pressed[j], w.to_force[j], s.C[at])
            s.lower[at], s.upper[at] = least - value, np.inf
            at += 1
    return at


@compiled
def name_contacts(c: ControlTerms, o: OneSidedTerms, w: LimitTerms) -> int:
    """The events of a solution: forces that were bounded, and contacts that no effort keeps."""
    events, kept = 0, w.kept
    for j in range(kept.size):
        kept[j] = w.multipliers[j] + c.force_given_up[j]
    for r in range(kept.size):
        if not is_head(r, o) or is_free(r, o):
            continue
        for number in range(1 + facets_of(r, c, o)):
            least, value, before = bound_of(r, number, c, o, c.pressed), 0.0, 0.0
            for j in range(r, kept.size):
                value += c.pressed[j] * kept[j]
                before += c.pressed[j] * w.multipliers[j]
            if is_off(value, least):
                o.given_up[r] = 1.0
                events |= _GIVEN_UP
            elif is_off(before, least):
                events |= _BOUNDED
    return events

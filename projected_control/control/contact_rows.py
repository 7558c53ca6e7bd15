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
from projected_control.control.holding import damped_rate, is_free, is_head, least_force
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
def lay_facets(c: ControlTerms, o: OneSidedTerms) -> None:
    """cos φ and sin φ of the facets, found anew where their number is another one."""
    facets = min(int(c.contact_rules[FACETS_AT]), MAX_FACETS)
    if o.facets[0] != facets:
        o.facets[0], o.facets[1] = facets, np.cos(np.pi / facets)
        for k in range(facets):
            angle = (2.0 * k + 1.0) * np.pi / facets
            o.directions[0, k], o.directions[1, k] = np.cos(angle), np.sin(angle)


@compiled
def bound_of(
    number: int, facets: int, c: ControlTerms, o: OneSidedTerms
) -> tuple[float, float, float]:
    """A bound of a contact as a sum of λ_n, λ_t1 and λ_t2; number zero is that of λ_n itself."""
    if number == 0:
        return 1.0, 0.0, 0.0
    friction = c.contact_rules[FRICTION]
    if facets == 2:
        return friction, 1.0 if number == 2 else -1.0, 0.0
    k = number - 1
    return o.facets[1] * friction, -o.directions[0, k], -o.directions[1, k]


@compiled
def least_of(r: int, number: int, c: ControlTerms, o: OneSidedTerms) -> float:
    """What this sum is at least, for the contact that begins at row r."""
    if number > 0:
        return 0.0
    return least_force(c, o) - c.normal_damping[0] * max(damped_rate(r, o), 0.0)


@compiled
def parts_of(r: int, multipliers: Array, o: OneSidedTerms) -> tuple[float, float, float]:
    """λ_n, λ_t1 and λ_t2 of the contact that begins at row r."""
    along, first, second = 0.0, 0.0, 0.0
    for j in range(r, multipliers.size):
        if o.head[j] == r + 1.0:
            along += o.normal[j] * multipliers[j]
            first += o.tangents[0, j] * multipliers[j]
            second += o.tangents[1, j] * multipliers[j]
    return along, first, second


@compiled
def is_off(value: float, least: float) -> bool:
    """Whether a force is below its bound by more than rounding."""
    return value < least - SLACK - TIGHT * abs(least)


@compiled
def breaks_contact(multipliers: Array, c: ControlTerms, o: OneSidedTerms) -> bool:
    """Whether these λ break a bound of a contact that holds."""
    broken = False
    lay_facets(c, o)
    for r in range(multipliers.size):
        if is_head(r, o) and not is_free(r, o):
            facets = facets_of(r, c, o)
            n, t1, t2 = parts_of(r, multipliers, o)
            for number in range(1 + facets):
                along, first, second = bound_of(number, facets, c, o)
                value = along * n + first * t1 + second * t2
                broken = broken or is_off(value, least_of(r, number, c, o))
    return broken


@compiled
def contact_rows(
    at: int, t: Terms, c: ControlTerms, o: OneSidedTerms, w: LimitTerms, s: LevelTerms
) -> int:
    """The rows of level 1; the place behind them."""
    lay_facets(c, o)
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
        facets = facets_of(r, c, o)
        normal, beside, across = c.load, c.net, c.acceleration
        fill(normal, 0.0)
        fill(beside, 0.0)
        fill(across, 0.0)
        for j in range(r, t.b.size):
            if o.head[j] == r + 1.0:
                axpy(o.normal[j], w.to_force[j], normal)
                axpy(o.tangents[0, j], w.to_force[j], beside)
                axpy(o.tangents[1, j], w.to_force[j], across)
        n, t1, t2 = parts_of(r, w.multipliers, o)
        for number in range(1 + facets):
            along, first, second = bound_of(number, facets, c, o)
            row = s.C[at]
            for i in range(row.size):
                row[i] = along * normal[i] + first * beside[i] + second * across[i]
            value = along * n + first * t1 + second * t2
            s.lower[at], s.upper[at] = least_of(r, number, c, o) - value, np.inf
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
        facets = facets_of(r, c, o)
        n, t1, t2 = parts_of(r, kept, o)
        asked_n, asked_t1, asked_t2 = parts_of(r, w.multipliers, o)
        for number in range(1 + facets):
            along, first, second = bound_of(number, facets, c, o)
            least = least_of(r, number, c, o)
            if is_off(along * n + first * t1 + second * t2, least):
                o.given_up[r] = 1.0
                events |= _GIVEN_UP
            elif is_off(along * asked_n + first * asked_t1 + second * asked_t2, least):
                events |= _BOUNDED
    return events

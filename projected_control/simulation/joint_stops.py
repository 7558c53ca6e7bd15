"""Stops of the joints in a plant's step: stiff, damped, and only ever pushing back.

Beyond its stop at q_s a joint is under

    τ = −(ω² (q − q_s) + 2 ω q̇) / K_ii,   ω = RATE / T,

cut off at zero where it would pull. K_ii is what an impulse at the joint does to its velocity, on
the constraint, so that a joint alone swings back with ω, critically damped,
whatever it carries; and ω follows the integration step T, so that a step never is too long for it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.model.constrained_arm import Terms
from projected_control.model.linalg import copy, matmul, solve
from projected_control.simulation.plant_terms import PlantTerms

Array = NDArray[np.float64]

RATE = 0.2
"""ω T. Where all of seven joints meet their stops and move together, 2 ω T is at most 2.8 as one,
which is what the classical Runge-Kutta method still bears."""

INSIDE, MOST_INSIDE = 0.01, 0.01
"""Stops stand inside of a joint's range, so that an arm that rests at one is within its limits: by
this share of the range, and no more than this [rad or m]."""

IMMOBILE = 1e-9
"""K_ii from which on the constraint lets a joint move, so that something has to hold it."""


def stops_within(lower: Array, upper: Array) -> Array:
    """Where the stops of joints with these ranges stand, lower above upper, as (2, n)."""
    inside = np.minimum(INSIDE * (upper - lower), MOST_INSIDE)
    return np.array([lower + inside, upper - inside])


@compiled
def find_mobility(p: PlantTerms, t: Terms) -> None:
    """K = M_c⁻¹ P, symmetric; line j is what a unit impulse at joint j does."""
    n = p.effort.size
    matmul(t.P, t.M, p.PM)
    for j in range(n):
        for r in range(n):
            for s in range(n):
                p.M_c[r, s] = t.M[r, s] + p.PM[r, s] - p.PM[s, r]
        copy(t.P[j], p.mobility[j])
        solve(p.M_c, p.mobility[j])


@compiled
def push_back(q_v: Array, p: PlantTerms, t: Terms) -> None:
    """Add to the load what the stops do at an evaluated state."""
    n, omega, known = p.effort.size, RATE / p.step[0], False
    for i in range(n):
        beyond = max(q_v[i] - p.stops[1, i], 0.0) + min(q_v[i] - p.stops[0, i], 0.0)
        if beyond == 0.0:
            continue
        if not known:
            find_mobility(p, t)
            known = True
        if p.mobility[i, i] <= IMMOBILE:
            continue
        push = -(omega * omega * beyond + 2.0 * omega * q_v[n + i]) / p.mobility[i, i]
        if push * beyond < 0.0:
            p.load[i] += push

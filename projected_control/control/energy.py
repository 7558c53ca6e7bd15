"""The ledger of what a controller's force gives to what it presses on, so that it stays passive.

Across the constraint the arm moves at A q̇ = v + ẋ, where ẋ is how a driven row is led; what acts
there beside weight and inertia is u_λ, and F_c = A⁺ᵀτ_c of friction and disturbance τ_c that are
compensated. With u_λ = λ_d + (G_F e_λ + ∫) − d_n v that is worth

    Ė = d_n v²  −  λ_d v  −  (G_F e_λ + ∫) v  −  F_c v  −  (u_λ + F_c) ẋ,    E ≤ E₀
        dissipated  reference     integral    compensation   moving rows

summed over all rows; λ_d is what is asked for in this tick, with what limits took of it. E begins
at E₀ and is never more, so that between any two instants the force gives at most E₀ more than it
was given, as long as E is not negative. A rigid surface at rest takes nothing. On one that is
pulled away, that is crooked, or where the reference pumps, E falls; **at zero the path waits**,
until a tenth of E₀ is back, or a new reference begins the ledger anew. What is owed meanwhile is
not forgotten: λ_d does not wait, as an arm that let go would be no safer.

The effort of one tick acts until the next: its work counts with the mean rate of the two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.contact import ENERGY
from projected_control.control.events import Event
from projected_control.control.terms import LEDGER_NUMBERS, ControlTerms
from projected_control.model.constrained_arm import Terms
from projected_control.model.linalg import dot, fill
from projected_control.model.on_constraint import multipliers_of

Array = NDArray[np.float64]

SPENT, DISSIPATED, REFERENCE, INTEGRAL, COMPENSATION, MOVING, WAITING = range(LEDGER_NUMBERS)
"""Places in `ControlTerms.ledger`: E₀ − E, the five totals [J], and 1 while the path waits."""

BACK = 0.1
"""Share of E₀ from which on a path that waited goes on."""

_ENERGY_SPENT = int(Event.ENERGY_SPENT)


class Ledger(NamedTuple):
    """What the force of a controller has given and taken since its start [J].

    Attributes:
        left: E; E₀ where no ledger is kept, zero then.
        dissipated: By the damping along the normal.
        reference, integral, compensation, moving: What these injected.
    """

    left: float
    dissipated: float
    reference: float
    integral: float
    compensation: float
    moving: float

    @classmethod
    def of(cls, energy: float, ledger: Array) -> Ledger:
        """From E₀ and `ControlTerms.ledger`."""
        return cls(energy - float(ledger[SPENT]), *ledger[DISSIPATED:WAITING].tolist())


@compiled
def begin_ledger(c: ControlTerms) -> None:
    """E is E₀ again; totals stay."""
    c.ledger[SPENT] = c.ledger[WAITING] = 0.0


@compiled
def close_tick(t: Terms, c: ControlTerms) -> None:
    """The work of the last tick's forces until now."""
    half, spent = 0.5 * c.period[0], 0.0
    for j in range(t.b.size):
        rate = dot(t.A[j], t.v) - t.target[1, j]
        along = half * (rate + c.ledger_rates[0, j])
        led = half * (t.target[1, j] + c.ledger_rates[1, j])
        f = c.ledger_forces
        work = f[2, j] * along
        c.ledger[DISSIPATED] -= f[0, j] * along
        c.ledger[REFERENCE] += work
        c.ledger[INTEGRAL] += f[1, j] * along
        c.ledger[COMPENSATION] += f[3, j] * along
        total = f[0, j] + f[1, j] + f[2, j] + f[3, j]
        c.ledger[MOVING] += total * led
        spent += total * (along + led)
        c.ledger_rates[0, j], c.ledger_rates[1, j] = rate, t.target[1, j]
    c.ledger[SPENT] = max(c.ledger[SPENT] + spent, 0.0)


@compiled
def open_tick(t: Terms, c: ControlTerms) -> None:
    """Of what acts from now on: damping, feedback, reference and compensation, by row."""
    f, G_F, asked = c.ledger_forces, c.force_gains[0], 1.0 - c.withheld[0]
    for i in range(t.v.size):
        c.load[i] = c.h[i] - t.h[i]
    multipliers_of(t, c.load, c.pressed)
    for j in range(t.b.size):
        held = c.controlled[j] * (1.0 - c.unpressed[j])
        damped = held * (1.0 - c.unseen[j]) * c.lengths[j] * c.normal_damping[0]
        f[0, j] = -damped * c.ledger_rates[0, j]
        f[1, j] = held * (G_F * c.force_state[2, j] + asked * c.force_state[1, j])
        f[2, j] = c.u_lambda[j] + c.force_given_up[j] - f[0, j] - f[1, j]
        f[3, j] = (1.0 - c.unpressed[j]) * c.pressed[j]


@compiled
def keep_ledger(follows: bool, t: Terms, c: ControlTerms) -> int:
    """One tick of the ledger, after the law and its limits; the event while the path waits.

    Args:
        follows: Whether what the law asks for is sent; a stop gives nothing.
        t, c: Model and controller.
    """
    close_tick(t, c)
    if follows and c.force_loop[0] != 0.0:
        open_tick(t, c)
    else:
        fill(c.ledger_forces[0], 0.0)
        fill(c.ledger_forces[1], 0.0)
        fill(c.ledger_forces[2], 0.0)
        fill(c.ledger_forces[3], 0.0)
    least = BACK * c.contact_rules[ENERGY] if c.ledger[WAITING] != 0.0 else 0.0
    waits = c.contact_rules[ENERGY] - c.ledger[SPENT] <= least
    c.ledger[WAITING] = 1.0 if waits else 0.0
    if waits:
        c.path_waits[0] = 1.0
    return _ENERGY_SPENT if waits else 0

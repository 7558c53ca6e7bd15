"""Contacts that nobody declared, as a wall or a person: felt by the momentum, told from friction.

What changes the momentum besides effort, model and the friction that is known is the observer's
innovation. Its part across the constraint is what holds the arm; the part r along it, P r, is
friction that is not known, masses that are off, or something that is pushed. The first two change
slowly, the last within milliseconds. So what counts is how far r through a fast low-pass is from r
through a slow one,

    |r_fast − r_slow| > contact.unexpected   in any joint, for three ticks,

which has to be more than what friction changes by where a joint turns round: twice the Coulomb
friction that `compensation` does not know.
"""

from __future__ import annotations

import numpy as np

from projected_control.compiled import compiled
from projected_control.control.events import ANSWER_STOP, Event
from projected_control.control.force_kernels import SourceTerms
from projected_control.control.guard_kernels import GuardTerms
from projected_control.control.terms import ControlTerms
from projected_control.model.constrained_arm import Terms
from projected_control.model.on_constraint import free_part

FAST, SLOW = 30.0, 1.0
"""Bandwidth of the two low-passes [Hz]."""

SETTLES = 0.1
"""How long it has to run before it tells anything [s]: what acted before a start is not known."""

TICKS = 3.0
"""For how many it has to last."""

_UNEXPECTED = int(Event.UNEXPECTED_CONTACT)


@compiled
def watch_collision(followed: int, t: Terms, c: ControlTerms, s: SourceTerms, g: GuardTerms) -> int:
    """The event of a contact that nobody declared; a damped stop that lasts, where that is asked.

    Args:
        followed: What `follow_momentum` said.
        t: The model.
        c, s, g: Threshold and memory; the innovation; the guard, which stops.
    """
    if followed != 2:
        return 0
    turn, most = 2.0 * np.pi * c.period[0], 0.0
    settles = c.watched_for[0] < SETTLES
    c.watched_for[0] += c.period[0] if settles else 0.0
    for i in range(t.v.size):
        c.load[i] = s.innovation[i] / t.sqrt_metric[i]
    free_part(t, c.load, c.net)
    for i in range(t.v.size):
        value = c.net[i] * t.sqrt_metric[i]
        c.sudden[0, i] += min(FAST * turn, 1.0) * (value - c.sudden[0, i])
        if settles:
            c.sudden[1, i] = c.sudden[0, i]
        c.sudden[1, i] += min(SLOW * turn, 1.0) * (value - c.sudden[1, i])
        most = max(most, abs(c.sudden[0, i] - c.sudden[1, i]))
    c.collided_for[0] = c.collided_for[0] + 1.0 if most > c.collision[0] else 0.0
    if c.collided_for[0] < TICKS:
        return 0
    if c.collision[1] != 0.0:
        g.latched[0] = max(g.latched[0], float(ANSWER_STOP))
    return _UNEXPECTED

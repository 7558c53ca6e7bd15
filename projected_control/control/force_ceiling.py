"""The force ceiling where it is measured: what is asked for is not all that acts.

The solver keeps |λ| of the model below `limits.force` (`keep_limits`). What is measured may still
be above it, as masses, friction or the surface are not what the model says. For three ticks in a
row that is answered, as `limits.force_answer` says: *hold_back* lowers the ceiling of what is asked
for by what is too much, within `SETTLING` seconds; *stop* is a damped stop that lasts.
"""

from __future__ import annotations

import numpy as np

from projected_control.compiled import compiled
from projected_control.control.events import ANSWER_STOP, Event
from projected_control.control.guard_kernels import GuardTerms
from projected_control.control.terms import ControlTerms

TICKS = 3.0
"""For how many a force has to be above its ceiling."""

SETTLING = 0.05
"""Time within which the ceiling is lowered by what is too much [s]."""

_HELD_BACK, _TOO_LARGE = int(Event.FORCE_HELD_BACK), int(Event.FORCE_TOO_LARGE)


@compiled
def watch_ceiling(c: ControlTerms, g: GuardTerms) -> int:
    """The event of a measured force above its ceiling; fills how much is held back."""
    above = False
    step = min(g.period[0] / SETTLING, 1.0)
    for j in range(c.lambda_measured.size):
        most, measured = c.force_limits[j], abs(c.lambda_measured[j])
        if most == np.inf or not np.isfinite(measured):
            c.above_for[j] = c.held_back[j] = 0.0
            continue
        c.above_for[j] = c.above_for[j] + 1.0 if measured > most else 0.0
        above = above or c.above_for[j] >= TICKS
        if c.above_for[j] >= TICKS or c.held_back[j] > 0.0:
            held = c.held_back[j] + step * (measured - most)
            c.held_back[j] = min(max(held, 0.0), most)
    if not above:
        return 0
    if c.force_limits[c.lambda_measured.size + 1] == 0.0:
        return _HELD_BACK
    g.latched[0] = max(g.latched[0], float(ANSWER_STOP))
    return _TOO_LARGE

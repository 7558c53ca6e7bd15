"""What a loop counts in every tick: actions, events, errors, forces and torques."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled, kernel
from projected_control.control.events import Action, Event
from projected_control.control.terms import ControlTerms
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]

_EVENTS = len([event for event in Event if event])


class CounterTerms(NamedTuple):
    """Counts and sums over the ticks since the beginning, k coordinates."""

    ticks: Annotated[Array, Part("1", "States answered.")]
    actions: Annotated[Array, Part(f"{len(Action)}", "How often each `Action` was taken.")]
    events: Annotated[Array, Part(f"{_EVENTS}", "How often each `Event` was noticed.")]
    squares: Annotated[Array, Part("k", "Sum of e², per coordinate.")]
    largest_error: Annotated[Array, Part("1", "Largest |e| of any coordinate.")]
    force_squares: Annotated[Array, Part("1", "Sum of λᵀλ, where it is known.")]
    effort_squares: Annotated[Array, Part("1", "Sum of fᵀf, as sent.")]
    full_squares: Annotated[Array, Part("1", "Sum of fᵀf, as IDC would have it.")]
    largest_effort: Annotated[Array, Part("1", "Largest |f| of any joint, as sent.")]


COUNTERS = Layout(CounterTerms, "k")
unpack_counters = COUNTERS.unpack


@kernel
def count_answer(action: int, events: int, n: CounterTerms) -> None:
    """Count what the guard did."""
    n.actions[action] += 1.0
    if events:
        for bit in range(n.events.size):
            if events & (1 << bit):
                n.events[bit] += 1.0


@compiled
def count_tick(
    action: int, events: int, sent: Array, sqrt_metric: Array, c: ControlTerms, n: CounterTerms
) -> None:
    """Add a tick, after which this effort was sent [N·m or N]."""
    n.ticks[0] += 1.0
    count_answer(action, events, n)
    for i in range(n.squares.size):
        error = c.error[0, i]
        n.squares[i] += error * error
        n.largest_error[0] = max(n.largest_error[0], abs(error))
    for j in range(c.lambda_measured.size):
        if np.isfinite(c.lambda_measured[j]):
            n.force_squares[0] += c.lambda_measured[j] * c.lambda_measured[j]
    for i in range(sent.size):
        n.effort_squares[0] += sent[i] * sent[i]
        n.full_squares[0] += (c.full[i] * sqrt_metric[i]) ** 2
        n.largest_effort[0] = max(n.largest_effort[0], abs(sent[i]))

"""What is kept of one tick, as one row of numbers: raw inputs, the answer, and what it is made of.

Rows are written into a ring (see `ring`) by the thread that ticks. That takes one call
of a kernel, which allocates nothing and waits for nobody; who reads the ring finds out by itself
which rows were overwritten before it came.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled, memory_fence
from projected_control.control.terms import unpack_control
from projected_control.model.constrained_arm import unpack_terms
from projected_control.model.linalg import copy
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

TICK, SILENCE = 0, 1
"""Kinds of rows: a state was answered; none came, and the guard answered that."""


class RowTerms(NamedTuple):
    """One tick: n joints, m constraint rows, k coordinates."""

    kind: Annotated[Array, Part("1", "`TICK` or `SILENCE`.")]
    stamp: Annotated[Array, Part("1", "Time of the state since the arm was opened [s].")]
    clock: Annotated[Array, Part("2", "The same by the arm's clock: seconds and nanoseconds.")]
    wrench_age: Annotated[Array, Part("1", "Age of the wrench [s]; infinite where there is none.")]
    q: Annotated[Array, Part("n", "Measured positions [rad or m].")]
    v: Annotated[Array, Part("n", "Measured velocities [rad/s or m/s].")]
    wrench: Annotated[Array, Part("6", "As measured [N, N·m]; NaN where there is none.")]
    effort: Annotated[Array, Part("n", "What was sent [N·m or N].")]
    action: Annotated[Array, Part("1", "The guard's `Action`.")]
    events: Annotated[Array, Part("1", "A sum of `Event`s.")]
    took: Annotated[Array, Part("1", "From the arrival of the state to its answer [ns].")]
    letter: Annotated[Array, Part("1", "Number of the letter in force (see `mailbox`).")]
    motion: Annotated[Array, Part("3, k", "θ_d, θ̇_d, θ̈_d.")]
    force_motion: Annotated[Array, Part("3, m", "λ_d and its derivatives, by the reference.")]
    lambda_desired: Annotated[Array, Part("m", "λ_d [N or N·m].")]
    lambda_measured: Annotated[Array, Part("m", "λ, NaN where it is unknown.")]
    theta: Annotated[Array, Part("k", "θ [m or rad].")]
    error: Annotated[Array, Part("k", "e = θ_d − θ.")]
    tangent: Annotated[Array, Part("n", "f∥ [N·m or N].")]
    normal: Annotated[Array, Part("n", "f⊥ [N·m or N].")]
    residual: Annotated[Array, Part("1", "‖Φ‖.")]
    inverse_dynamics: Annotated[Array, Part("1", "‖f‖ of what IDC would send.")]


ROW = Layout(RowTerms, "n", "m", "k")
_unpack = ROW.unpack

BEGUN, DONE = 0, 1
"""Places of a ring's counters: rows that were begun, rows that are complete."""


@compiled
def put_tick(
    counters: Whole,
    ring: Array,
    kind: int,
    stamp: float,
    seconds: float,
    nanoseconds: float,
    wrench_age: float,
    q: Array,
    v: Array,
    wrench: Array,
    action: int,
    events: int,
    took: int,
    taken: Array,
    sent: Array,
    sizes: Whole,
    passive: Whole,
    model_work: Array,
    control_work: Array,
) -> None:
    """Write one row into a ring, over the oldest one.

    Args:
        counters: Of the ring.
        ring: Rows, each an array of `RowTerms`.
        kind, …, took: See `RowTerms`.
        taken: The letter in force.
        sent: What was sent, n.
        sizes, …, control_work: See `TickArguments`.
    """
    t = unpack_terms(model_work, q.size, sizes[1], sizes[2], sizes[3])
    c = unpack_control(control_work, t, passive.size)
    number = counters[BEGUN]
    counters[BEGUN] = number + 1
    memory_fence()
    r = _unpack(ring[number % ring.shape[0]], q.size, t.b.size, t.theta.size)
    r.kind[0], r.stamp[0], r.wrench_age[0] = kind, stamp, wrench_age
    r.clock[0], r.clock[1] = seconds, nanoseconds
    copy(q, r.q)
    copy(v, r.v)
    copy(wrench, r.wrench)
    copy(sent, r.effort)
    r.action[0], r.events[0], r.took[0], r.letter[0] = action, events, took, taken[0]
    for i in range(3):
        copy(c.motion[i], r.motion[i])
        copy(c.lambda_motion[i], r.force_motion[i])
    copy(c.lambda_desired, r.lambda_desired)
    copy(c.lambda_measured, r.lambda_measured)
    copy(t.theta, r.theta)
    copy(c.error[0], r.error)
    copy(c.effort[0], r.tangent)
    copy(c.effort[1], r.normal)
    squares = 0.0
    for i in range(t.residual.size):
        squares += t.residual[i] * t.residual[i]
    r.residual[0] = np.sqrt(squares)
    squares = 0.0
    for i in range(sent.size):
        squares += (c.full[i] * t.sqrt_metric[i]) ** 2
    r.inverse_dynamics[0] = np.sqrt(squares)
    memory_fence()
    counters[DONE] = number + 1

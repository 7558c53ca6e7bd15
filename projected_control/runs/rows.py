"""What a tick did, as one row of numbers: raw inputs, the answer, and what it is made of.

There is one layout (`RowTerms`) and one kernel that writes it (`put_tick`), in process, in a node,
in Gazebo, behind the plugin and in runs in C++. Rows go into a ring that another process empties
into a file (`recorder`), or into memory (`Rows`). What reads them (reports, comparisons, tuning,
films, experiments) asks for a part by its name.

Writing takes one call, which allocates nothing and waits for nothing; who reads a ring finds out
by itself which rows were overwritten before it came.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Annotated, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from projected_control.arrays import Array
from projected_control.compiled import Integers, Matrix, Numbers, kernel, memory_fence
from projected_control.control.contact import ENERGY
from projected_control.control.energy import SPENT
from projected_control.control.loop import ControlLoop, Tick
from projected_control.control.one_sided_terms import unpack_one_sided
from projected_control.control.path_clock import LAG, SLOW
from projected_control.control.terms import unpack_control
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import unpack_terms
from projected_control.model.linalg import copy
from projected_control.runs.port import Port
from projected_control.runs.ring import BEGUN, DONE
from projected_control.runs.row_messages import Places, column
from projected_control.simulation.plant import PlantState
from projected_control.simulation.plant_terms import TRUTH
from projected_control.workspace import Layout, Part

Whole = NDArray[np.int64]

TICK, SILENCE = 0, 1
"""Kinds of rows: a state was answered; none came, and the guard answered that."""


class RowTerms(NamedTuple):
    """One tick: n joints, m constraint rows, k coordinates, t numbers of a simulated arm."""

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
    letter: Annotated[Array, Part("1", "Number of the live block in force (see `mailbox`).")]
    motion: Annotated[Array, Part("3, k", "θ_d, θ̇_d, θ̈_d.")]
    force_motion: Annotated[Array, Part("3, m", "λ_d and its derivatives, by the reference.")]
    path_rate: Annotated[Array, Part("1", "Rate of the path's clock, 0 to 1.")]
    path_lag: Annotated[Array, Part("1", "How much later the path is than asked for [s].")]
    lambda_desired: Annotated[Array, Part("m", "λ_d [N or N·m].")]
    lambda_measured: Annotated[Array, Part("m", "λ, NaN where it is unknown.")]
    theta: Annotated[Array, Part("k", "θ [m or rad].")]
    error: Annotated[Array, Part("k", "e = θ_d − θ.")]
    tangent: Annotated[Array, Part("n", "f∥ [N·m or N].")]
    normal: Annotated[Array, Part("n", "f⊥ [N·m or N].")]
    residual: Annotated[Array, Part("1", "‖Φ‖.")]
    inverse_dynamics: Annotated[Array, Part("1", "‖f‖ of what IDC would send.")]
    motion_share: Annotated[Array, Part("1", "Share of the motion that limits left.")]
    given_up: Annotated[Array, Part("k", "What limits changed of θ̈ [m/s² or rad/s²].")]
    force_given_up: Annotated[Array, Part("m", "What limits changed of λ [N or N·m].")]
    binds: Annotated[Array, Part("n", "What limits each joint: a sum of `Binding`s.")]
    ceiling_binds: Annotated[Array, Part("m", "1 where λ is at its ceiling, else 0.")]
    solver_steps: Annotated[Array, Part("1", "Steps of the solver; 0 where it was not needed.")]
    contact_state: Annotated[Array, Part("m", "`ContactState` of each row.")]
    contact_gap: Annotated[
        Array, Part("m", "At a one-sided contact's first row: Φ along its normal [m or rad].")
    ]
    contact_force: Annotated[Array, Part("m", "There λ along it, as measured [N or N·m].")]
    ledger: Annotated[
        Array,
        Part("6", "E [J], dissipated, injected by reference, integral, compensation, moving rows."),
    ]
    truth: Annotated[
        Array,
        Part("t", "`TruthTerms` of a simulated arm: ``true_q`` and so on."),
    ]


ROW = Layout(RowTerms, "n", "m", "k", "t")
_unpack = ROW.unpack


def row_places(n: int, m: int, k: int, arm: Sequence[int] | None = None) -> Places:
    """Where each part of a row begins, and its shape.

    Args:
        n, m, k: Joints, constraint rows and coordinates of the loop.
        arm: Joints and constraint rows of the simulated arm; None where rows do not have its truth.
    """
    sizes = {"n": n, "m": m, "k": k, "t": 0}
    begins, shapes = ROW.offsets(**sizes), ROW.shapes(**sizes)
    places = {name: (begins[name], shapes[name]) for name in RowTerms._fields}
    begin, _ = places.pop("truth")
    if arm is not None:
        true = dict(zip(TRUTH.sizes, arm, strict=True))
        inner, shapes = TRUTH.offsets(**true), TRUTH.shapes(**true)
        places |= {f"true_{name}": (begin + inner[name], shapes[name]) for name in inner}
    return places


def _truth_size(arm: Sequence[int] | None) -> int:
    return 0 if arm is None else TRUTH.size(**dict(zip(TRUTH.sizes, arm, strict=True)))


def _sizes_of(port: Port | None) -> tuple[int, int] | None:
    """Joints and constraint rows of a simulated arm."""
    truth = None if port is None else port.truth
    return None if truth is None else (truth.q.size, truth.multipliers.size)


@kernel
def put_tick(
    counters: Integers,
    ring: Matrix,
    kind: int,
    stamp: float,
    clock: int,
    wrench_age: float,
    q: Numbers,
    v: Numbers,
    wrench: Numbers,
    action: int,
    events: int,
    took: int,
    taken: Numbers,
    sent: Numbers,
    sizes: Integers,
    passive: Integers,
    model_work: Numbers,
    control_work: Numbers,
    truth: Numbers,
) -> None:
    """Write one row into a ring, over the oldest one.

    Args:
        counters: Of the ring.
        ring: Rows, each an array of `RowTerms`.
        kind, …, took: See `RowTerms`; the clock in nanoseconds.
        taken: The live block in force.
        sent: What was sent, n.
        sizes, …, control_work: See `TickArguments`.
        truth: An array of `TruthTerms`; empty where it is not known.
    """
    t = unpack_terms(model_work, q.size, sizes[1], sizes[2], sizes[3])
    c = unpack_control(control_work, t, passive.size)
    number = counters[BEGUN]
    counters[BEGUN] = number + 1
    memory_fence()
    r = _unpack(ring[number % ring.shape[0]], q.size, t.b.size, t.theta.size, truth.size)
    r.kind[0], r.stamp[0], r.wrench_age[0] = kind, stamp, wrench_age
    r.clock[0], r.clock[1] = clock // 1_000_000_000, clock % 1_000_000_000
    copy(q, r.q)
    copy(v, r.v)
    copy(wrench, r.wrench)
    copy(sent, r.effort)
    r.action[0], r.events[0], r.took[0], r.letter[0] = action, events, took, taken[0]
    for i in range(3):
        copy(c.motion[i], r.motion[i])
        copy(c.lambda_motion[i], r.force_motion[i])
    r.path_rate[0], r.path_lag[0] = 1.0 - c.path_clock[SLOW], c.path_clock[LAG]
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
    r.motion_share[0], r.solver_steps[0] = c.motion_share[0], c.solver_steps[0]
    copy(c.given_up, r.given_up)
    copy(c.force_given_up, r.force_given_up)
    copy(c.binds, r.binds)
    copy(c.ceiling_binds, r.ceiling_binds)
    o = unpack_one_sided(c.one_sided, t.b.size)
    copy(o.state, r.contact_state)
    copy(o.gap, r.contact_gap)
    copy(o.force, r.contact_force)
    r.ledger[0] = c.contact_rules[ENERGY] - c.ledger[SPENT]
    for i in range(1, 6):
        r.ledger[i] = c.ledger[i]
    copy(truth, r.truth)
    memory_fence()
    counters[DONE] = number + 1


class KeepsTicks(Protocol):
    """What a runner tells of every tick, in its own thread: be quick."""

    def put(self, tick: Tick, took_ns: int, stamp_ns: int) -> None:
        """A state was answered, in this time, at this time of the arm's clock."""

    def put_silence(self, action: int, events: int) -> None:
        """No state came, and the guard answered that."""


class Rows:
    """So many rows in memory, and what was kept in them by the names of its parts.

    Args:
        most: How many rows.
        n, m, k, arm: See `row_places`.

    Attributes:
        counters: Rows begun and completed.
        numbers: The memory, most × width.
        places: Where each part of a row begins, and its shape.
    """

    def __init__(self, most: int, n: int, m: int, k: int, arm: Sequence[int] | None = None) -> None:
        self.places = row_places(n, m, k, arm)
        self.counters: Whole = np.zeros(2, dtype=np.int64)
        self.numbers: Array = np.zeros((most, ROW.size(n=n, m=m, k=k, t=_truth_size(arm))))

    @classmethod
    def of(cls, loop: ControlLoop, most: int, port: Port | None = None) -> Rows:
        """For ticks of a loop; of a simulated arm with what it really does, where it is given."""
        model = loop.controller.model
        return cls(most, model.n, model.m, model.k, _sizes_of(port))

    @property
    def kept(self) -> Array:
        """What was kept, in order, N × width.

        Raises:
            InvalidValue: Where more came than there is room for, so that the first are gone.
        """
        done, most = int(self.counters[DONE]), len(self.numbers)
        if done > most:
            raise InvalidValue(f"{done} rows came where {most} were expected: keep more of them")
        return self.numbers[:done]

    def column(self, name: str) -> Array:
        """A part of all that was kept, N × its shape; a number per row where it is one number."""
        return column(self.kept, self.places, name).copy()

    def put_effort(self, state: PlantState, effort: Array) -> None:
        """Keep what was sent to a simulated arm, and what it did, where no loop answers."""
        row = self.numbers[int(self.counters[DONE])]
        row[:] = np.nan
        for name, value in (("kind", TICK), ("stamp", state.time), ("effort", effort)):
            begin, shape = self.places[name]
            row[begin : begin + shape[0]] = value
        for name in ("action", "events"):
            row[self.places[name][0]] = 0.0
        state.put(row[self.places["true_q"][0] :])
        self.counters += 1


class RowWriter:
    """Writes each tick as one row into memory that is given; over the oldest one where it is full.

    Args:
        loop: Whose ticks.
        counters: Rows begun and completed, see `put_tick`.
        rows: The memory, capacity × width.
        port: A simulated arm whose truth belongs to the rows; None for rows without it.
        every: Ticks per row: of so many, the last one is kept.
    """

    def __init__(
        self,
        loop: ControlLoop,
        counters: Whole,
        rows: Array,
        port: Port | None = None,
        every: int = 1,
    ) -> None:
        self._loop, self._counters, self._rows = loop, counters, rows
        self._unknown = np.full(loop.controller.model.n, np.nan)
        self._no_wrench = np.full(6, np.nan)
        self._port, self._truth = port, np.zeros(_truth_size(_sizes_of(port)))
        self._every, self._ticks, self._clock = every, 0, 0

    def put(self, tick: Tick, took_ns: int, stamp_ns: int) -> None:
        self._ticks += 1
        if self._ticks % self._every:
            return
        q, v, stamp, wrench, age, _ = tick.state
        if wrench is None:
            wrench, age = self._no_wrench, float("inf")
        if stamp_ns > 0:
            self._clock = stamp_ns
        elif isfinite(stamp) and stamp >= 0.0:
            self._clock = round(1e9 * stamp)
        report = tick.report
        self._put(TICK, stamp, age, (q, v, wrench), report.action, report.events, took_ns)

    def put_silence(self, action: int, events: int) -> None:
        self._ticks += 1
        if self._ticks % self._every:
            return
        nan, unknown = float("nan"), self._unknown
        self._put(SILENCE, nan, nan, (unknown, unknown, self._no_wrench), action, events, 0)

    def _put(
        self,
        kind: int,
        stamp: float,
        age: float,
        state: tuple[Array, Array, Array],
        action: int,
        events: int,
        took: int,
    ) -> None:
        if self._port is not None and (truth := self._port.truth) is not None:
            truth.put(self._truth)
        arguments, (q, v, wrench) = self._loop.arguments, state
        put_tick(
            self._counters,
            self._rows,
            kind,
            stamp,
            self._clock,
            age,
            q,
            v,
            wrench,
            int(action),
            int(events),
            took,
            arguments.taken,
            self._loop.guard.sent,
            arguments.sizes,
            arguments.passive,
            arguments.model_work,
            arguments.control_work,
            self._truth,
        )

"""Operational space control under a constraint: tasks by priority, dynamically consistent.

Level i asks for θ̈_i = J_i q̈ + J̇_i q̇. Constraint and levels before it leave the motions R(N_i₋₁),
N₀ = P; of these the level takes what it needs, and hands on the rest:

    u_p ← A⁺b
    u_p ← u_p + (J_i N)⁺ (a_i − J_i u_p),    N ← N − V_i V_iᵀ,    V_i = R((J_i N)ᵀ)     i = 1, 2, …
    u_p ← u_p + Φ_N M (w − u_p),    Φ_N = M_c⁻¹ N,    M_c = M + N M − (N M)ᵀ
    f∥  = P (h + M u_p)

The last step makes it operational space control. What the levels leave free gets the motion w asks
for (damping, and a posture), and of all accelerations that serve the levels u_p is then the one for
which no effort is spent within R(N): N M (u_p − w) = 0. With N_i₋₁ and Φ_i₋₁ of the levels before,
that is what Khatib's formulas say, written with partial dynamically consistent inverses,

    J̄_i = Φ_i₋₁ J_iᵀ Λ_i,    Λ_i = (J_i Φ_i₋₁ J_iᵀ)⁺,    Φ_i = (I − J̄_i J_i) Φ_i₋₁,    Φ₀ = M_c⁻¹ P,

under Moura's equivalence of constraint and task (V): a task is a constraint that the motors
enforce. The projected form needs one decomposition per level and one solution in the end, and
neither M⁻¹ nor Λ, so that it holds with rows that repeat each other, in the constraint, within a
task or between tasks, where Moura's (28), (29) do not.

**Near a singular pose** of a level it is damped as in every law (see `motion`); higher levels do
not notice, as u_p changes within R(N).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.compiled import compiled
from projected_control.control.controllers import Controller
from projected_control.control.force import ForceGains
from projected_control.control.gains import MotionGains
from projected_control.control.law_kinds import (
    FORCE,
    LAWS,
    MOTION,
    PASSIVE,
    Law,
    LawKind,
    LawRequest,
)
from projected_control.control.laws.passive import press
from projected_control.control.motion import (
    INDEPENDENCE_TOLERANCE,
    SINGULAR_RANGE,
    asked_acceleration,
    brake,
    find_effort,
    free_span,
    posture_motion,
    prepare_motion,
)
from projected_control.control.task_terms import TaskTerms, unpack_task
from projected_control.control.terms import ControlTerms
from projected_control.declaration import Group, Numbers, parameter
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import ConstrainedArm, Terms
from projected_control.model.dynamics import acceleration_kernel
from projected_control.model.inertia_factor import factor_inertia, respond, unpack_inertia
from projected_control.model.linalg import (
    axpy,
    copy,
    dot,
    fill,
    matvec,
    matvec_add,
    matvec_transposed_add,
)
from projected_control.model.on_constraint import free_part, is_whole, least_motion_add, span_of
from projected_control.model.rotations import Topology
from projected_control.model.span import (
    SpanTerms,
    decompose,
    invert_add,
    subtract_span,
    unpack_span,
)

Array = NDArray[np.float64]

NOTHING_LEFT = 1e-9
"""Trace of N, which is the number of directions that the levels leave, below which it is none."""


@compiled
def begin_levels(t: Terms, c: ControlTerms, s: TaskTerms) -> None:
    """N = P and u_p = A⁺b; N = I and u_p = 0 for a law that does not know of the constraint."""
    fill(c.u_p, 0.0)
    s.taken_rows[0] = 0.0
    if s.projected[0] != 0.0:
        least_motion_add(t, t.b, c.u_p)


@compiled
def leave_to_level(t: Terms, s: TaskTerms, x: Array, y: Array) -> None:
    """y ← N x: without what constraint and higher levels take."""
    if s.projected[0] != 0.0:
        free_part(t, x, y)
    else:
        copy(x, y)
    taken = s.taken[: int(s.taken_rows[0])]
    matvec(taken, y, s.share)
    matvec_transposed_add(taken, s.share, y, -1.0)


@compiled
def follow_level(level: SpanTerms, t: Terms, c: ControlTerms, s: TaskTerms) -> None:
    """u_p ← u_p + (J_i N)⁺ missing, N ← N − Vᵀ V; J_i N is decomposed."""
    for r in range(level.share.size):
        if level.share[r] != 0.0:  # what rounding left outside R(N) would move higher levels
            leave_to_level(t, s, level.V[r], s.wanted)
            size = np.sqrt(dot(s.wanted, s.wanted))
            for i in range(t.v.size):
                level.V[r, i] = s.wanted[i] / size
    invert_add(level, s.missing, c.u_p)
    for r in range(level.share.size):
        if level.share[r] != 0.0:
            copy(level.V[r], s.taken[int(s.taken_rows[0])])
            s.taken_rows[0] += 1.0


@compiled
def follow_levels(t: Terms, c: ControlTerms, s: TaskTerms) -> None:
    """u_p for a, level by level, and what is left for the posture."""
    begin_levels(t, c, s)
    meet_levels(t, c, s)
    share_the_rest(t, c, s)


@compiled
def meet_levels(t: Terms, c: ControlTerms, s: TaskTerms) -> None:
    """u_p ← u_p + what each level still misses of a, one after the other.

    A level that is the only one was decomposed by `motion.invert_motion`.
    """
    last = 0.0
    for i in range(c.a.size):
        last = max(last, s.level[i])
    if last == 1.0:
        for i in range(c.a.size):
            s.missing[i] = c.a[i] - dot(t.J_theta[i], c.u_p)
        follow_level(free_span(t, c), t, c, s)
        return
    for level in range(1, int(last) + 1):
        rows = 0
        for i in range(c.a.size):
            rows += 1 if int(s.level[i]) == level else 0
        span = unpack_span(s.level_span, rows, t.v.size)
        rows = 0
        for i in range(c.a.size):
            if int(s.level[i]) == level:
                leave_to_level(t, s, t.J_theta[i], span.V[rows])
                s.missing[rows] = c.a[i] - dot(t.J_theta[i], c.u_p)
                rows += 1
        edge = INDEPENDENCE_TOLERANCE
        decompose(edge, edge, s.singular_range[0], span, t.scratch)
        follow_level(span, t, c, s)


@compiled
def directions_left(t: Terms, s: TaskTerms) -> float:
    """Trace of N."""
    left = t.v.size - s.taken_rows[0]
    if s.projected[0] == 0.0:
        return left
    span = span_of(t)
    for i in range(t.v.size if t.held[0] != 0.0 else 0):
        left += t.held_P[i, i] - 1.0
    for r in range(t.b.size if t.held[0] == 0.0 else 0):
        left -= span.share[r]
    return left


@compiled
def collect_rows(t: Terms, s: TaskTerms) -> int:
    """Fill the first rows of N with what constraint and levels take, orthonormal; how many."""
    rows, span = 0, span_of(t)
    for r in range(t.b.size if s.projected[0] != 0.0 else 0):
        if span.share[r] != 0.0:
            copy(span.V[r], s.N[rows])
            rows += 1
    for r in range(int(s.taken_rows[0])):
        copy(s.taken[r], s.N[rows])
        rows += 1
    return rows


@compiled
def form_rest(t: Terms, s: TaskTerms) -> None:
    """N as a matrix."""
    for i in range(t.v.size):
        fill(s.N[i], 0.0)
        s.N[i, i] = 1.0
    if s.projected[0] != 0.0 and t.held[0] != 0.0:
        for i in range(t.v.size):
            copy(t.held_P[i], s.N[i])
    elif s.projected[0] != 0.0:
        subtract_span(span_of(t), s.N)
    for r in range(int(s.taken_rows[0])):
        for i in range(t.v.size):
            axpy(-s.taken[r, i], s.taken[r], s.N[i])


@compiled
def share_the_rest(t: Terms, c: ControlTerms, s: TaskTerms) -> None:
    """u_p ← u_p + Φ_N M (w − u_p); nothing where the levels leave nothing."""
    if directions_left(t, s) < NOTHING_LEFT:
        return
    posture_motion(c.gains[2, 0], t, c, s.wanted)
    axpy(-1.0, c.u_p, s.wanted)
    matvec(t.M, s.wanted, c.load)
    if is_whole(t) or s.projected[0] == 0.0:
        rows = collect_rows(t, s)
        B, d = s.N[:rows], unpack_inertia(s.inertia, t.v.size, rows)
        fill(s.zeros, 1.0)
        if factor_inertia(t.M, B, s.zeros[:rows], d):
            fill(s.zeros, 0.0)
            respond(s.zeros[:rows], d, c.load)
            matvec(B, c.load, d.y)  # what rounding has left of it
            matvec_transposed_add(B, d.y, c.load, -1.0)
            axpy(1.0, c.load, c.u_p)
            return
    form_rest(t, s)
    matvec(s.N, c.load, c.net)
    fill(s.wanted, 0.0)
    acceleration_kernel(t.M, s.N, c.net, s.wanted, c.acceleration, t.PM, t.M_c)
    matvec_add(s.N, c.acceleration, c.u_p)


@compiled
def operational_space_law(
    stop: bool, passive: NDArray[np.int64], t: Terms, c: ControlTerms
) -> None:
    """f∥ = P (h + M u_p), u_p by levels; f⊥ as force loop and passive joints ask for it."""
    prepare_motion(stop, True, t, c)
    if stop:
        brake(t, c)
    else:
        asked_acceleration(t, c)
        follow_levels(t, c, unpack_task(c.task, t.v.size, t.theta.size))
        find_effort(t, c)
    press(stop, passive, t, c)


@dataclass(frozen=True)
class OperationalSpace(Group):
    """Task levels of the laws operational_space and resolved_rate."""

    priority: Numbers = parameter(
        (),
        "Level of each coordinate, 1 the highest: a lower level never moves a higher one; empty "
        "for all on one level",
        minimum=1.0,
        maximum=100.0,
    )
    singular_range: float = parameter(
        0.01,
        "Singular values of a level's Jacobian, in what higher levels leave, from which on it is "
        "damped",
        minimum=1e-5,
        maximum=1.0,
    )


class OperationalSpaceController(Controller):
    """Tasks by priority under the constraint, the force held across it where gains are given.

    Args:
        model: The arm, its constraint and its coordinates; some joints may be passive.
        gains: On the coordinates.
        priority: Level of each coordinate, 1 is the highest; all on one level unless given.
        force_gains: On λ, or None for motion only.
        period: Period of the loop [s].
        singular_range: Singular values of a level's J_i N from which on it is damped.
    """

    needs_independence = False

    def __init__(
        self,
        model: ConstrainedArm,
        gains: MotionGains,
        priority: Sequence[int] = (),
        force_gains: ForceGains | None = None,
        period: float = 1e-3,
        *,
        singular_range: float = SINGULAR_RANGE,
    ) -> None:
        super().__init__(model, gains, period, Law.OPERATIONAL_SPACE)
        self.task.level[:] = check_priority(model, priority)
        self.task.singular_range[0] = validate.positive("singular range", singular_range)
        self._close_force_loop(force_gains)


def check_priority(model: ConstrainedArm, priority: Sequence[int]) -> Array:
    """Levels 1, 2, …, one per coordinate; raises where they make none."""
    k, names = model.k, model.coordinates.names if model.coordinates else ()
    if len(priority) == 0:
        return np.ones(k)
    levels = np.asarray(priority, dtype=np.float64)
    if levels.shape != (k,):
        raise InvalidValue(
            f"priority must have {k} numbers, one per coordinate ({', '.join(names)}), got "
            f"{levels.size}",
            key="operational_space.priority",
        )
    if set(levels.tolist()) != set(range(1, int(max(levels, default=0)) + 1)):
        raise InvalidValue(
            f"priority must be levels 1, 2, … without a gap, 1 the highest, got {list(priority)}",
            key="operational_space.priority",
        )
    if model.coordinates is not None:
        for i in np.flatnonzero(model.coordinates.topology == Topology.ROTATION):
            if len(set(levels[i : i + 3])) > 1:
                raise InvalidValue(
                    f"{', '.join(names[i : i + 3])} are one orientation and must have one "
                    f"priority, got {levels[i : i + 3].tolist()}",
                    key="operational_space.priority",
                )
    return levels


def whole_levels(group: OperationalSpace) -> list[int]:
    """The priorities of parameters, which are not whole by themselves."""
    if any(number != int(number) for number in group.priority):
        name = "operational_space.priority"
        raise InvalidValue(f"{name} must be whole numbers, got {list(group.priority)}", key=name)
    return [int(number) for number in group.priority]


def make_controller(asked: LawRequest) -> OperationalSpaceController:
    """As parameters say."""
    group: OperationalSpace = asked.settings.operational_space
    return OperationalSpaceController(
        asked.model,
        asked.gains,
        whole_levels(group),
        asked.force_gains,
        asked.period,
        singular_range=group.singular_range,
    )


LAWS.add(
    LawKind(
        "operational_space",
        "tasks by priority under the constraint, dynamically consistent",
        Law.OPERATIONAL_SPACE,
        (MOTION, FORCE, PASSIVE),
        kernel=operational_space_law,
        make=make_controller,
    )
)

"""The rows of the problem that `keep_limits` solves, level by level."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.contact_rows import contact_rows
from projected_control.control.guard_kernels import GuardTerms
from projected_control.control.joint_ranges import (
    SPEED_SHARE,
    most_pull,
    next_pull,
)
from projected_control.control.law_kinds import Law
from projected_control.control.laws.passive import passive_span
from projected_control.control.limit_terms import LimitTerms
from projected_control.control.motion import free_span
from projected_control.control.one_sided_terms import unpack_one_sided
from projected_control.control.task_terms import unpack_task
from projected_control.control.terms import ControlTerms
from projected_control.model.constrained_arm import Terms
from projected_control.model.level_step import LevelTerms
from projected_control.model.linalg import (
    axpy,
    cholesky,
    copy,
    dot,
    fill,
    matmul,
    matvec_transposed,
    solve_columns,
)
from projected_control.model.on_constraint import form_projector, span_of
from projected_control.model.span import fill_inverse, invert_add, take_span_out

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_IDC, _IMPEDANCE, _OPERATIONAL = int(Law.IDC), int(Law.IMPEDANCE), int(Law.OPERATIONAL_SPACE)
_LEAST_FORCE = int(Law.LEAST_CONTACT_FORCE)
_SELECTION, _COMPUTED, _GRAVITY = int(Law.SELECTION), int(Law.COMPUTED_TORQUE), int(Law.GRAVITY)
_ADMITTANCE = int(Law.ADMITTANCE)

THROWN = 20.0
"""By how much accelerations that no coordinate describes may change for those that one does
[rad/s² or m/s²]."""


@compiled
def chooses_normal(law: int, t: Terms, c: ControlTerms) -> bool:
    """Whether a law says itself what acts across the constraint, and without a force loop."""
    if law == _IMPEDANCE:
        return unpack_task(c.task, t.v.size, t.theta.size).projected[0] == 0.0
    return law in (_IDC, _SELECTION, _COMPUTED, _GRAVITY, _LEAST_FORCE, _ADMITTANCE)


@compiled
def ceiling_of(j: int, c: ControlTerms) -> float:
    """λ_max of a row, less what is held back as the measured force was above it."""
    return max(c.force_limits[j] - c.held_back[j], 0.0)


@compiled
def find_answers(t: Terms, c: ControlTerms, w: LimitTerms) -> None:
    """Φ, M Φ and A⁺ᵀ(I − M Φ): how q̈ and λ follow an effort."""
    n = t.v.size
    form_projector(t, w.P)
    if t.held[0] != 0.0:
        for i in range(n):
            copy(t.held_P[i], w.P[i])
    fill_inverse(span_of(t), w.A_pinv)
    matmul(w.P, t.M, t.PM)
    for i in range(n):
        for j in range(n):
            t.M_c[i, j] = t.M[i, j] + t.PM[i, j] - t.PM[j, i]
        copy(w.P[i], w.Phi[i])
    solve_columns(t.M_c, w.Phi)
    matmul(t.M, w.Phi, w.MPhi)
    for j in range(t.b.size):
        for i in range(n):
            w.to_force[j, i] = w.A_pinv[i, j]
        for i in range(n):
            axpy(-w.A_pinv[i, j], w.MPhi[i], w.to_force[j])


@compiled
def put_row(at: int, answer: Array, scale: float, lower: float, upper: float, s: LevelTerms) -> int:
    """A row of the problem, how something follows y; the place of the next."""
    for j in range(s.x.size):
        s.C[at, j] = scale * answer[j]
    s.lower[at], s.upper[at] = scale * lower, scale * upper
    return at + 1


@compiled
def brake_rows(
    at: int, passive: Whole, t: Terms, c: ControlTerms, g: GuardTerms, w: LimitTerms, s: LevelTerms
) -> int:
    """What motors would have to take away of M q̇ after this tick, P M (q̇ + T q̈), is not too much.

    P M Φ = P; of passive joints (I + H) P.
    """
    n, T = t.v.size, g.period[0]
    next_pull(passive, t, c, g, w)
    for r in range(passive.size):
        fill(c.refused, 0.0)
        c.refused[r] = 1.0
        fill(w.MPhi[r], 0.0)
        invert_add(passive_span(t, c), c.refused, w.MPhi[r])
    for i in range(n):
        copy(w.P[i], c.load)
        for r in range(passive.size):
            axpy(-w.MPhi[r, i], w.P[passive[r]], c.load)
        scale = 1.0 / t.sqrt_metric[i]
        lower, upper = -most_pull(i, False, g, w), most_pull(i, True, g, w)
        if g.effort[i] > 0.0:
            lower, upper = scale * (lower - w.pull[i]) / T, scale * (upper - w.pull[i]) / T
            braked = dot(c.load, w.reach)
            at = put_row(at, c.load, 1.0, min(lower, braked), max(upper, braked), s)
    return at


@compiled
def bound_rows(
    stops: bool,
    passive: Whole,
    t: Terms,
    c: ControlTerms,
    g: GuardTerms,
    w: LimitTerms,
    s: LevelTerms,
) -> int:
    """Levels 1 to 4: what must not be passed, in a stop ranges alone; the place behind them."""
    n, m, T, at = t.v.size, t.b.size, g.period[0], 0
    s.first[0] = 0.0
    o = unpack_one_sided(c.one_sided, m)
    if o.total[0] != 0.0 and not stops:
        at = contact_rows(at, t, c, o, w, s)
    s.first[1] = at
    for i in range(n):
        lower, upper = w.ranges[0, i], w.ranges[1, i]
        if lower > -np.inf or upper < np.inf:
            a = w.acceleration[i] / t.sqrt_metric[i]
            lower, upper = min(lower, upper), max(lower, upper)
            at = put_row(
                at,
                w.Phi[i],
                1.0,
                t.sqrt_metric[i] * (lower - a),
                t.sqrt_metric[i] * (upper - a),
                s,
            )
    if w.brakes[0] < np.inf:
        at = brake_rows(at, passive, t, c, g, w, s)
    s.first[2] = at
    for i in range(n):
        rate, scale = t.v[i] / t.sqrt_metric[i], t.sqrt_metric[i]
        most, a = SPEED_SHARE * g.velocity[i], w.acceleration[i]
        if most < np.inf and not stops:
            lower, upper = scale * (-most - rate) / T - a, scale * (most - rate) / T - a
            at = put_row(at, w.Phi[i], 1.0, lower, upper, s)
    s.first[3] = at
    for j in range(m):
        most = ceiling_of(j, c)
        if most < np.inf and not stops:
            lower, upper = -most - w.multipliers[j], most - w.multipliers[j]
            at = put_row(at, w.to_force[j], 1.0 / t.row_scale[j], lower, upper, s)
    s.first[4] = at
    at = free_rows(at, t, c, w, s)
    s.first[5] = at
    return at


@compiled
def free_rows(at: int, t: Terms, c: ControlTerms, w: LimitTerms, s: LevelTerms) -> int:
    """What the coordinates leave free is not thrown about to keep them: |N Φ y| ≤ `THROWN`.

    N = P − (J P)⁺ J P; no rows where nothing is left.
    """
    n, left = t.v.size, 0.0
    for i in range(n):
        copy(w.P[i], w.root[i])
        take_span_out(free_span(t, c), w.root[i])
        left += w.root[i, i]
    if left < 0.5:
        return at
    for i in range(n):
        matvec_transposed(w.Phi, w.root[i], c.load)
        most = THROWN * t.sqrt_metric[i]
        at = put_row(at, c.load, 1.0, -most, most, s)
    return at


@compiled
def force_rows(
    at: int, every: bool, t: Terms, c: ControlTerms, w: LimitTerms, s: LevelTerms
) -> int:
    """λ as the closed form has it: of the controlled rows, or of every one."""
    for j in range(t.b.size):
        if every or (c.force_loop[0] != 0.0 and c.controlled[j] != 0.0):
            at = put_row(at, w.to_force[j], 1.0 / t.row_scale[j], 0.0, 0.0, s)
    return at


@compiled
def wish_rows(law: int, at: int, t: Terms, c: ControlTerms, w: LimitTerms, s: LevelTerms) -> None:
    """The levels below: motion by priority, force, what motion is left, the least effort."""
    n, k, level = t.v.size, t.theta.size, 5
    every = chooses_normal(law, t, c)
    first_force = c.force_limits[t.b.size] != 0.0
    if first_force:
        at = force_rows(at, every, t, c, w, s)
        level += 1
        s.first[level] = at
    task = unpack_task(c.task, n, k)
    for priority in range(1, k + 1):
        for r in range(k):
            if law != _GRAVITY and int(task.level[r]) == priority:
                matvec_transposed(w.Phi, t.J_theta[r], c.load)
                at = put_row(at, c.load, c.scale[r], 0.0, 0.0, s)
        level += 1
        s.first[level] = at
    if not first_force:
        at = force_rows(at, every, t, c, w, s)
        level += 1
        s.first[level] = at
    if law in (_OPERATIONAL, _IMPEDANCE):
        cholesky(t.M, w.root)
        for i in range(n):
            fill(c.load, 0.0)
            for j in range(i, n):
                axpy(w.root[j, i], w.Phi[j], c.load)
            at = put_row(at, c.load, 1.0, 0.0, 0.0, s)
    else:
        for i in range(n):
            at = put_row(at, w.Phi[i], 1.0, 0.0, 0.0, s)
    s.first[level + 1] = at
    least_norm = not every and c.force_loop[0] == 0.0
    for i in range(n):
        fill(s.C[at], 0.0)
        s.C[at, i] = 1.0
        s.lower[at] = s.upper[at] = -c.tangent[i] - c.normal[i] if least_norm else 0.0
        at += 1
    s.first[level + 2] = at


@compiled
def put_box(passive: Whole, t: Terms, c: ControlTerms, w: LimitTerms, s: LevelTerms) -> None:
    """How much each effort may be changed, and where to begin: where the tick before has ended.

    What was at a bound begins at it; after a tick without a solution with nothing.
    """
    for i in range(t.v.size):
        s.least[i] = (w.lower[i] - c.effort[2, i]) / t.sqrt_metric[i]
        s.most[i] = (w.upper[i] - c.effort[2, i]) / t.sqrt_metric[i]
        if w.warm[0] == 0.0:
            s.x[i] = 0.0
        elif s.side[i] != 0.0:
            s.x[i] = s.most[i] if s.side[i] > 0.0 else s.least[i]
    for r in range(passive.size):
        s.least[passive[r]] = s.most[passive[r]] = 0.0

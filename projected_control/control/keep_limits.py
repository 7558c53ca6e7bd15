"""Limits that are kept: the closed form first, a solver where it breaks one.

What a law asks for is looked at (`breaks_limit`): motors' efforts and their steps, room to stop in
the joints' ranges, velocities, the force ceiling. Nothing broken, as nearly always: it is sent to
the last bit. Else y is sought, what the motors add to the closed form x_cf, with

    q̈ = q̈_cf + Φ y,    λ = λ_cf + A⁺ᵀ(I − M Φ) y,    Φ = M_c⁻¹P,

by levels (`model.lexicographic`), so that what gives way is what stands lowest:

| level | rows |
|---|---|
| box, always | lower ≤ x ≤ upper: effort and, within it, its step per tick |
| 1 | λ ≥ λ_min of one-sided contacts, and λ in their cones (`contact_rows`) |
| 2 | q̈ leaves room to stop in the joints' ranges (`joint_ranges`) |
| 3 | q̈ keeps the velocity |
| 4 | |λ| ≤ λ_max, the force ceiling |
| 5 | what the coordinates leave free is not thrown about for what follows |
| 6 … | J_i Φ y = 0: motion, by the law's priorities |
| then | λ of the controlled rows as asked; before motion where `limits.prefer` is force |
| then | Φ y = 0: what motion is left; for operational space and impedance in the norm of M |
| last | the least ‖f‖; of laws that choose f⊥ themselves the least ‖y‖ |

Targets are what the closed form reaches, not what it wished for: near singular poses, with rows
that depend on each other and with any law the two agree where nothing binds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.contact_rows import breaks_contact, name_contacts
from projected_control.control.events import Event
from projected_control.control.guard_kernels import GuardTerms
from projected_control.control.joint_ranges import (
    MARGIN,
    SPEED_SHARE,
    breaks_range,
    find_ranges,
    is_far,
)
from projected_control.control.keep_rates import keep_rates
from projected_control.control.law_kinds import Law
from projected_control.control.limit_rows import (
    bound_rows,
    ceiling_of,
    chooses_normal,
    find_answers,
    put_box,
    wish_rows,
)
from projected_control.control.limit_terms import Binding, LimitTerms, problem_of
from projected_control.control.one_sided_terms import unpack_one_sided
from projected_control.control.task_terms import unpack_task
from projected_control.control.terms import ControlTerms
from projected_control.model.active_set import solve_levels
from projected_control.model.constrained_arm import Terms
from projected_control.model.level_step import LevelTerms
from projected_control.model.lexicographic import ITERATIONS
from projected_control.model.linalg import (
    axpy,
    copy,
    dot,
    fill,
    matvec,
    matvec_add,
)
from projected_control.model.on_constraint import (
    find_acceleration,
    free_part,
    is_whole,
    multipliers_of,
)

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

TIGHT = 1e-7
"""How near to a bound a number is that is at it, as a share."""

NOTHING = 1e-9
"""Share of a motion, or force [N], below which none was given up."""

STEPS_PER_JOINT = 5
"""Cap on the solver's steps with more joints than `ITERATIONS` is for."""

RESTS = 0.01
"""Velocity below which a joint all but rests in a stop [rad/s or m/s]."""

_IMPEDANCE, _RESOLVED_RATE = int(Law.IMPEDANCE), int(Law.RESOLVED_RATE)
_TORQUE, _RATE, _RANGE, _VELOCITY = (float(kind) for kind in Binding)
_EFFORT_LIMITED, _RATE_LIMITED = int(Event.EFFORT_LIMITED), int(Event.RATE_LIMITED)
_RANGE_HELD, _VELOCITY_HELD = int(Event.RANGE_HELD), int(Event.VELOCITY_HELD)
_CEILING_HELD, _MOTION_GIVEN_UP = int(Event.CEILING_HELD), int(Event.MOTION_GIVEN_UP)
_LIMIT_GIVEN_UP, _CAPPED = int(Event.LIMIT_GIVEN_UP), int(Event.SOLVER_CAPPED)


@compiled
def closed_form(law: int, t: Terms, c: ControlTerms, w: LimitTerms) -> None:
    """q̈ of what the law asks for: u_p where it is that."""
    n = t.v.size
    copy(c.u_p, w.acceleration)
    s = unpack_task(c.task, n, t.theta.size)
    natural = law == _IMPEDANCE and s.shaped[0] == 0.0
    if natural and c.impedance[3 * s.level.size * s.level.size] > 0.0 and s.projected[0] != 0.0:
        matvec_add(s.answer, s.force, w.acceleration)  # u_p + Φ Jᵀ(K e + D ė)
    elif natural or (t.b.size > 0 and chooses_normal(law, t, c)):
        answer_of_effort(t, c, w)


@compiled
def answer_of_effort(t: Terms, c: ControlTerms, w: LimitTerms) -> None:
    """q̈ of what is asked for, by the equation of motion."""
    copy(c.tangent, c.net)
    axpy(1.0, c.normal, c.net)
    axpy(-1.0, c.h, c.net)
    free_part(t, c.net, c.load)
    find_acceleration(t, c.load, t.b, w.acceleration)


@compiled
def all_finite(values: Array) -> bool:
    """Whether none of them is NaN or infinite."""
    finite = True
    for value in values:
        finite = finite and bool(np.isfinite(value))
    return finite


@compiled
def closed_form_force(t: Terms, c: ControlTerms, w: LimitTerms) -> None:
    """λ = A⁺ᵀ(f − h − M q̈) of what the law asks for."""
    copy(c.tangent, c.load)
    axpy(1.0, c.normal, c.load)
    axpy(-1.0, c.h, c.load)
    matvec_add(t.M, w.acceleration, c.load, -1.0)
    multipliers_of(t, c.load, w.multipliers)


@compiled
def effort_bounds(g: GuardTerms, w: LimitTerms) -> None:
    """What may be sent: within the motors' limits and one step; of the two the first wins."""
    for i in range(g.sent.size):
        most, sent, step = g.effort[i], g.sent[i], g.step[i]
        w.lower[i] = min(max(-most, sent - step), most)
        w.upper[i] = max(min(most, sent + step), -most)


@compiled
def breaks_limit(t: Terms, c: ControlTerms, g: GuardTerms, w: LimitTerms) -> bool:
    """Whether what the law asks for is more than efforts, velocities or forces may be."""
    T, broken = g.period[0], False
    for i in range(t.v.size):
        f = c.effort[2, i]
        broken = broken or f < w.lower[i] or f > w.upper[i]
        y = (t.v[i] + T * w.acceleration[i]) / t.sqrt_metric[i]
        broken = broken or abs(y) > SPEED_SHARE * g.velocity[i]
    bounded = False
    for j in range(t.b.size):
        bounded = bounded or c.force_limits[j] < np.inf
    o = unpack_one_sided(c.one_sided, t.b.size)
    if o.total[0] != 0.0 and not broken and not bounded and is_as_pressed(t, c):
        return breaks_contact(c.u_lambda, c, o)
    return broken or ((bounded or o.total[0] != 0.0) and breaks_force(t, c, w))


@compiled
def is_as_pressed(t: Terms, c: ControlTerms) -> bool:
    """Whether λ of the closed form is u_λ: rows independent, all controlled, all motors there."""
    alone = c.refused.size == 0 and c.uncontrolled[0] == 0.0 and t.rank[0] == t.b.size
    return alone and c.force_loop[0] != 0.0 and c.as_asked[0] != 0.0 and is_whole(t)


@compiled
def nears_range(t: Terms, c: ControlTerms, g: GuardTerms, w: LimitTerms) -> bool:
    """Whether a joint is so near to an edge of its range that its braking has to be known."""
    T, near = g.period[0], False
    lag = max(c.delay[0] - 1.0, 0.0) * T
    for i in range(t.v.size):
        rate, a = t.v[i] / t.sqrt_metric[i], w.acceleration[i] / t.sqrt_metric[i]
        ahead = t.q[i] + lag * rate
        near = near or not (
            is_far(g.upper[i] - ahead - MARGIN, rate, a, T)
            and is_far(ahead - g.lower[i] - MARGIN, -rate, -a, T)
        )
    return near


@compiled
def breaks_force(t: Terms, c: ControlTerms, w: LimitTerms) -> bool:
    """The same of λ, where it has bounds."""
    closed_form_force(t, c, w)
    broken = False
    for j in range(t.b.size):
        broken = broken or abs(w.multipliers[j]) > ceiling_of(j, c)
    o = unpack_one_sided(c.one_sided, t.b.size)
    return broken or (o.total[0] != 0.0 and breaks_contact(w.multipliers, c, o))


@compiled
def take_solution(t: Terms, c: ControlTerms, w: LimitTerms, s: LevelTerms) -> None:
    """What is sent, within its bounds to the last bit; q̈, λ and what was given up of them."""
    for i in range(t.v.size):
        f = c.effort[2, i] + s.x[i] * t.sqrt_metric[i]
        c.solved[i] = min(max(f, w.lower[i]), w.upper[i])
        if s.least[i] == s.most[i]:
            c.solved[i] = c.effort[2, i] if s.x[i] == 0.0 else w.lower[i]
        elif s.x[i] == s.least[i]:
            c.solved[i] = w.lower[i]
        elif s.x[i] == s.most[i]:
            c.solved[i] = w.upper[i]
    matvec(w.Phi, s.x, c.acceleration)
    for r in range(t.theta.size):
        c.given_up[r] = dot(t.J_theta[r], c.acceleration)
    for j in range(t.b.size):
        c.force_given_up[j] = dot(w.to_force[j], s.x)
    lost, asked = 0.0, 0.0
    for r in range(t.theta.size):
        wanted = dot(t.J_theta[r], w.acceleration) + t.theta_bias[r]
        c.motion_reached[r] = wanted + c.given_up[r]
        lost += (c.scale[r] * c.given_up[r]) ** 2
        asked += (c.scale[r] * wanted) ** 2
    lost, asked = np.sqrt(lost), np.sqrt(asked)
    c.motion_share[0] = 1.0 if lost <= NOTHING * (1.0 + asked) else max(0.0, 1.0 - lost / asked)


@compiled
def is_at(value: float, bound: float) -> bool:
    """Whether a number is at its bound, or beyond."""
    return abs(bound) < np.inf and abs(value - bound) <= TIGHT * (1.0 + abs(bound))


@compiled
def is_beyond(value: float, lower: float, upper: float) -> bool:
    """Whether a number is outside its bounds by more than rounding."""
    return value > upper + TIGHT * (1.0 + abs(upper)) or value < lower - TIGHT * (1.0 + abs(lower))


@compiled
def name_binding(t: Terms, c: ControlTerms, g: GuardTerms, w: LimitTerms) -> int:
    """Which limits hold the solution, by joint and row, and the events of that."""
    events, T = 0, g.period[0]
    for i in range(t.v.size):
        scale = t.sqrt_metric[i]
        rate, a = t.v[i] / scale, (w.acceleration[i] + c.acceleration[i]) / scale
        f, kinds = c.solved[i], 0.0
        if f != c.effort[2, i] and (f == w.lower[i] or f == w.upper[i]):
            if abs(f) == g.effort[i]:
                kinds += _TORQUE
                events |= _EFFORT_LIMITED
            else:
                kinds += _RATE
                events |= _RATE_LIMITED
        lower, upper = w.ranges[0, i], w.ranges[1, i]
        if is_at(a, lower) or is_at(a, upper) or is_beyond(a, lower, upper):
            kinds += _RANGE
            events |= _RANGE_HELD
            events |= _LIMIT_GIVEN_UP if is_beyond(a, lower, upper) else 0
        most = SPEED_SHARE * g.velocity[i]
        if is_at(rate + T * a, -most) or is_at(rate + T * a, most):
            kinds += _VELOCITY
            events |= _VELOCITY_HELD
        elif is_beyond(rate + T * a, -most, most):
            kinds += _VELOCITY
            events |= _VELOCITY_HELD | _LIMIT_GIVEN_UP
        c.binds[i] = kinds
    for j in range(t.b.size):
        asked, most = w.multipliers[j] + c.force_given_up[j], ceiling_of(j, c)
        beyond = is_beyond(asked, -most, most)
        c.ceiling_binds[j] = 1.0 if beyond or is_at(abs(asked), most) else 0.0
        events |= _CEILING_HELD if c.ceiling_binds[j] != 0.0 else 0
        events |= _LIMIT_GIVEN_UP if beyond else 0
    return events | (_MOTION_GIVEN_UP if c.motion_share[0] < 1.0 else 0)


@compiled
def keep_nothing(c: ControlTerms) -> None:
    """What a tick says in which nothing was given up."""
    copy(c.effort[2], c.solved)
    fill(c.given_up, 0.0)
    fill(c.force_given_up, 0.0)
    fill(c.binds, 0.0)
    fill(c.ceiling_binds, 0.0)
    c.motion_share[0], c.solver_steps[0] = 1.0, 0.0


@compiled
def keep_limits(
    law: int, forced: bool, passive: Whole, t: Terms, c: ControlTerms, g: GuardTerms, w: LimitTerms
) -> int:
    """Fill ``solved`` with what may be sent of what a law asks for; events of what was in its way.

    Args:
        law: Its number.
        forced: Whether the solver is to run where nothing is broken, too.
        passive: Joints without a motor.
        t, c: Model and controller, after the law.
        g: Limits, and what was last sent.
        w: For intermediate results.
    """
    keep_nothing(c)
    warm, w.warm[0] = w.warm[0], 0.0
    if not all_finite(c.effort[2]):
        return 0  # the guard's own answer
    if law == _RESOLVED_RATE:
        return keep_rates(False, t, c, g)
    effort_bounds(g, w)
    closed_form(law, t, c, w)
    broken = forced or breaks_limit(t, c, g, w)
    if not broken and not nears_range(t, c, g, w):
        return 0
    lost = find_ranges(passive, t, c, g, w)
    if not broken and not breaks_range(passive, t, c, g, w):
        return 0
    w.warm[0] = warm
    whole = solve_limits(law, False, passive, t, c, g, w)
    events = name_binding(t, c, g, w)
    o = unpack_one_sided(c.one_sided, t.b.size)
    if o.total[0] != 0.0:
        events |= name_contacts(c, o, w)
    return events | (_LIMIT_GIVEN_UP if lost else 0) | (0 if whole else _CAPPED)


@compiled
def stop_in_range(
    law: int, passive: Whole, t: Terms, c: ControlTerms, g: GuardTerms, w: LimitTerms
) -> int:
    """The same in a stop, which may be too gentle for a joint that nears the edge of its range.

    Nothing else is kept then; joints that all but rest, or are outside, are left to the stop.
    """
    keep_nothing(c)
    w.warm[0] = 0.0
    if not all_finite(c.effort[2]):
        return 0
    effort_bounds(g, w)
    answer_of_effort(t, c, w)
    if not nears_range(t, c, g, w):
        return 0
    find_ranges(passive, t, c, g, w)
    for i in range(t.v.size):
        inside = g.lower[i] < t.q[i] < g.upper[i]
        if not inside or abs(t.v[i]) < RESTS * t.sqrt_metric[i]:
            w.ranges[0, i], w.ranges[1, i] = -np.inf, np.inf
    if not breaks_range(passive, t, c, g, w):
        return 0
    solve_limits(law, True, passive, t, c, g, w)
    c.motion_share[0] = 1.0
    return name_binding(t, c, g, w) & (_RANGE_HELD | _EFFORT_LIMITED | _RATE_LIMITED)


@compiled
def solve_limits(
    law: int, stops: bool, passive: Whole, t: Terms, c: ControlTerms, g: GuardTerms, w: LimitTerms
) -> bool:
    """Put the problem, solve it and take the solution; False at the cap on steps."""
    closed_form_force(t, c, w)
    find_answers(t, c, w)
    s = problem_of(w, t.theta.size)
    put_box(passive, t, c, w, s)
    at = bound_rows(stops, passive, t, c, g, w, s)
    wish_rows(law, at, t, c, w, s)
    whole = solve_levels(max(ITERATIONS, STEPS_PER_JOINT * t.v.size), s)
    take_solution(t, c, w, s)
    c.solver_steps[0], w.warm[0] = s.steps[0], 1.0
    return whole

"""Rigid one-sided contacts of a plant: touch, impact, slide and loss, as events in time.

With the separation u = −(A q̇ − ẋ) of the rows that touch and G = A K Aᵀ, K = M_c⁻¹P being what an
impulse does to an arm on the rows that are always held (M⁻¹ where there are none), an **impact** is

    p ≥ 0,    u⁺ = u⁻ + G p ≥ 0,    pᵀu⁺ = 0,    that is min ½ pᵀG p + pᵀu⁻ over p ≥ 0,

which Lawson and Hanson's method solves (`press_apart`); where rows depend on each other p is not
unique, Aᵀp is. Restitution is Moreau's, one e for all: q̇⁺ = (1 + e) q̇_proj − e q̇⁻, with
q̇_proj = q̇⁻ − K Aᵀp; again where some u⁺ is negative still. It never gains energy. Below a speed
that counts as rest e is zero, or a ball that bounces would do so without end (Zeno). Nor does a row
hop that is thrown off more slowly than that by what others do, and that the load brings back within
the step: two rows that press would throw each other off thousands of times a second. There is no
friction in an impact.

**Loss** is the same with accelerations: λ ≥ 0, u̇ = u̇₀ + G λ ≥ 0, λᵀu̇ = 0 for the rows that touch
and do not separate, at the beginning of every step, which is where efforts change. Friction of the
joints and the rows that hold answer to each other, and are settled together (`_wrong_row`).

**Touch** is found within the step: where a row is beyond its surface at the end, the step is made
again and shortened until it ends on it to `TOUCHED`; after the impact the rest of the step follows.

**Friction** of a sliding contact is µ λ, with λ of the same instant, not of the step before: λ
answers µ N along a straight line, whose slope two values of N show. A slope of one or more is
Painlevé's case, A M⁻¹B ≤ 0 with B = (A + µ t̂ᵀJ)ᵀ: no λ, or two, fit. It is counted, and
friction keeps the force of the step before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.compiled import Matrix, Numbers, compiled, kernel
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import Terms
from projected_control.model.linalg import axpy, copy, dot, fill, matvec, matvec_add, solve
from projected_control.model.on_constraint import (
    find_acceleration,
    free_part,
    least_motion,
    multipliers_of,
)
from projected_control.simulation.dry_friction import (
    accelerate,
    find_dry_friction,
    find_load,
    find_mobility,
    find_pressing,
)
from projected_control.simulation.plant_terms import PlantTerms
from projected_control.simulation.surfaces import (
    CONTACTS,
    TOUCHING,
    ContactTerms,
    Row,
    hold_rows,
    is_there,
    separation,
    unpack_contacts,
)

Array = NDArray[np.float64]

_HELD, _ONE_SIDED = float(Row.HELD), float(Row.ONE_SIDED)

ROUNDING = 1e-12
"""Share of what a separation is the sum of up to which an approach is rounding."""

LEAST = 1e-14
"""Share of it that is added to G's diagonal: rows that repeat each other have an answer, too."""

TOUCHED = 1e-10
"""How deep beyond its surface a row is where a step ends on it [m or rad]."""

SLOW = 1e-9
"""Separation that counts as none [m/s or rad/s]."""

MAX_TRIALS = 60
"""How often a step is shortened; five are usual."""

SHORTEST_BOUNCE = 1e-3
"""Share of a step below which a bounce is none."""

MAX_BLOWS = 5
"""How often an impact is applied again where a row still approaches; then without restitution."""

MAX_PAIRS = 8
"""Values of N that are tried for the friction of a sliding contact; three are usual."""

MAX_CHOICES = 64
"""How often a row that contradicts friction is turned over; one or two are usual, where any is."""

PULLS = 1e-9
"""How fast a row may be torn off, or driven in, by a choice that counts as right [m/s²]."""

NOTHING, AGAIN, STRUCK = 0, 1, 2
"""What `look_for_touch` found: no touch; a shorter step is to be made; the part ends here, mostly
with an impact, and what is left of the step follows."""


@kernel
def press_apart(
    G: Matrix,
    u: Numbers,
    touches: Numbers,
    p: Numbers,
    after: Numbers,
    active: Numbers,
    trial: Numbers,
    H: Matrix,
) -> int:
    """min ½ pᵀG p + pᵀu over p ≥ 0, in the rows that touch (Lawson and Hanson, 1974).

    Args:
        G: Symmetric, not negative, m × m.
        u: Separation before, m.
        touches: 1 for each row that may press, m; p of the others is zero.
        p: Result, m.
        after: Result: u + G p, m.
        active, trial, H: For intermediate results; active is 1 for each row that presses.

    Returns:
        How often a row was taken in.
    """
    m = u.size
    fill(p, 0.0)
    fill(active, 0.0)
    copy(u, after)
    for taken in range(3 * m + 1):
        first, least = -1, 0.0
        for r in range(m):
            if touches[r] != 0.0 and active[r] == 0.0 and after[r] < least:
                size = abs(u[r])
                for s in range(m):
                    size += abs(G[r, s]) * p[s]
                if after[r] < -ROUNDING * size:
                    first, least = r, after[r]
        if first < 0:
            return taken
        active[first] = 1.0
        for _ in range(m):
            _solve_active(G, u, active, trial, H)
            share, leaves = 1.0, -1
            for r in range(m):
                if active[r] != 0.0 and trial[r] <= 0.0:
                    part = p[r] / (p[r] - trial[r]) if p[r] > trial[r] else 0.0
                    if part < share or leaves < 0:
                        share, leaves = min(part, share), r
            for r in range(m):
                if active[r] != 0.0:
                    p[r] += share * (trial[r] - p[r])
            if leaves < 0:
                break
            p[leaves] = active[leaves] = 0.0
        matvec(G, p, after)
        axpy(1.0, u, after)
        if active[first] == 0.0:  # it left at once: a row that others carry already
            return taken
    return 3 * m + 1


@compiled
def _solve_active(G: Array, u: Array, active: Array, trial: Array, H: Array) -> None:
    """G p = −u in the active rows."""
    m = u.size
    for r in range(m):
        trial[r] = -u[r] if active[r] != 0.0 else 0.0
        for s in range(m):
            H[r, s] = G[r, s] if active[r] != 0.0 and active[s] != 0.0 else 0.0
        H[r, r] = 1.0 if active[r] == 0.0 else (1.0 + LEAST) * G[r, r]
    solve(H, trial)


@compiled
def find_G(A: Array, K: Array, G: Array, answer: Array) -> None:
    """G = A K Aᵀ."""
    for r in range(G.shape[0]):
        matvec(K, A[r], answer)
        for s in range(G.shape[0]):
            G[r, s] = dot(A[s], answer)


@compiled
def strike(K: Array, A: Array, e: float, c: ContactTerms, v: Array, answer: Array) -> None:
    """An impact by Moreau's law: v ← q̇⁺ and impulse ← impulse + p, from u and G of the rows.

    Args:
        K: What an impulse does, n × n.
        A: Rows, m × n.
        e: Restitution.
        c: With touches, u and G; u⁺ is left in u.
        v: q̇⁻, n.
        answer: For intermediate results, n.
    """
    m = c.u.size
    for blow in range(MAX_BLOWS + 1):
        bounce = e if blow < MAX_BLOWS else 0.0
        press_apart(c.G, c.u, c.touches, c.p, c.after, c.active, c.trial, c.H)
        for r in range(m):
            if c.p[r] > 0.0:
                c.impulse[r] += (1.0 + bounce) * c.p[r]
                matvec(K, A[r], answer)
                axpy(-(1.0 + bounce) * c.p[r], answer, v)
        closing = False
        for r in range(m):
            c.u[r] = (1.0 + bounce) * c.after[r] - bounce * c.u[r]
            closing = closing or (c.touches[r] != 0.0 and c.u[r] < -SLOW)
        if not closing:
            return


@compiled
def hold_always(c: ContactTerms, t: Terms) -> None:
    """Hold what is held for ever, and nothing else."""
    for r in range(c.law.size):
        c.holds[r] = 1.0 if c.law[r] == _HELD else 0.0
    hold_rows(c, t)


@compiled
def find_touching(v: Array, c: ContactTerms, t: Terms) -> int:
    """touches: one-sided rows at their surfaces that do not bounce. How many there are."""
    count = 0
    slowest = c.surface[3] * c.surface[4] if c.surface[3] > 0.0 else c.surface[4]
    for r in range(c.law.size):
        at_surface = c.law[r] == _ONE_SIDED and c.gap[r] >= -TOUCHING and is_there(r, c)
        touches = at_surface and separation(r, v, c, t) < slowest
        c.touches[r] = 1.0 if touches else 0.0
        count += 1 if touches else 0
    return count


@compiled
def _rising(r: int, v: Array, p: PlantTerms, c: ContactTerms, t: Terms) -> float:
    """How fast a row separates at the end of this part of a step, over its length [m/s²]."""
    rate = c.side[r] * t.b[r] - dot(c.rows[r], p.next_rate)
    return rate + max(separation(r, v, c, t), 0.0) / p.span[0]


@compiled
def stop_rows(p: PlantTerms, t: Terms) -> bool:
    """Whether a row that holds from here on still moved, which it may not.

    One that was thrown off holds where it would be back within this part of the step; one that is
    about to touch may be at its surface already, and strikes it. Else its speed is lost, by an
    impulse of the rows that hold: v ← v_x + K M (v − v_x), v_x = A⁺ẋ. So energy never is gained.
    """
    n = p.effort.size
    c = unpack_contacts(p.contacts, n, p.noise.size)
    v, moves, strikes = p.y[n : 2 * n], False, False
    for r in range(c.law.size):
        if c.law[r] == _ONE_SIDED and c.holds[r] != 0.0:
            rate = separation(r, v, c, t)
            moves, strikes = moves or abs(rate) > SLOW, strikes or rate < -c.surface[4]
    if not moves:
        return False
    if strikes:
        _hit(c.surface[3], p, c, t)
    else:
        _stop(v, p, t)
    copy(p.y, p.at)
    copy(p.y, c.begin)
    return True


@compiled
def _stop(v: Array, p: PlantTerms, t: Terms) -> None:
    """v ← v_x + K M (v − v_x), and the work of it."""
    before = _kinetic(v, t, p.net)
    least_motion(t, t.target[1], p.normal_rate)
    axpy(-1.0, p.normal_rate, v)
    matvec(t.M, v, p.net)
    free_part(t, p.net, p.tangent)
    find_acceleration(t, p.tangent, p.no_rates, v)
    axpy(1.0, p.normal_rate, v)
    p.y[2 * v.size] += _kinetic(v, t, p.net) - before


@compiled
def choose_rows(v: Array, p: PlantTerms, c: ContactTerms, t: Terms) -> None:
    """holds: the rows that press under the load, by complementarity of λ and separation.

    The load is what motors, friction and surfaces give; next_rate is overwritten.
    """
    count = find_touching(v, c, t)
    hold_always(c, t)
    if count == 0:
        return
    find_mobility(p, t)
    accelerate(p, t, p.next_rate)
    for r in range(c.u.size):
        c.u[r] = _rising(r, v, p, c, t)
    find_G(c.rows, p.mobility, c.G, p.next_rate)
    press_apart(c.G, c.u, c.touches, c.p, c.after, c.active, c.trial, c.H)
    for r in range(c.u.size):
        if c.law[r] == _ONE_SIDED and c.p[r] > 0.0:
            c.holds[r] = 1.0
    hold_rows(c, t)


@compiled
def settle_contacts(
    q_v: Array, spatial_jacobian: Array, placements: Array, p: PlantTerms, t: Terms
) -> None:
    """Which rows hold from here on under the effort, and friction there; after an evaluation."""
    n = p.effort.size
    c = unpack_contacts(p.contacts, n, p.noise.size)
    v = q_v[n : 2 * n]
    copy(c.gap, c.begin_gap)
    losses = 0.0
    for r in range(c.law.size):
        losses += c.holds[r]
    for _ in range(2):
        rub_with_force(q_v, spatial_jacobian, placements, p, c, t)
        find_load(q_v, p, t)
        choose_rows(v, p, c, t)
    rub_with_force(q_v, spatial_jacobian, placements, p, c, t)
    for _ in range(MAX_CHOICES):
        row = _wrong_row(q_v, v, p, c, t)
        if row < 0:
            break
        c.holds[row] = 1.0 - c.holds[row]
        hold_rows(c, t)
        rub_with_force(q_v, spatial_jacobian, placements, p, c, t)
    for r in range(c.law.size):
        losses -= c.holds[r]
    c.counts[1] += max(losses, 0.0)


@compiled
def _wrong_row(q_v: Array, v: Array, p: PlantTerms, c: ContactTerms, t: Terms) -> int:
    """The first row that touches and is pulled by its surface, or driven into it; −1 for none.

    Friction of the joints answers to which rows hold, and these to friction. Both together are one
    convex problem, whose map from λ to u̇, friction found, is monotone; there turning over the
    first wrong row comes to an end (Murty, 1974).
    """
    find_load(q_v, p, t)
    accelerate(p, t, p.next_rate)
    matvec_add(t.M, p.next_rate, p.net, -1.0)
    multipliers_of(t, p.net, c.trial)
    for r in range(c.law.size):
        if c.touches[r] == 0.0:
            continue
        if c.holds[r] != 0.0 and c.side[r] * c.trial[r] * c.G[r, r] < -PULLS:
            return r
        if c.holds[r] == 0.0 and _rising(r, v, p, c, t) < -PULLS:
            return r
    return -1


@compiled
def rub_with_force(
    q_v: Array,
    spatial_jacobian: Array,
    placements: Array,
    p: PlantTerms,
    c: ContactTerms,
    t: Terms,
) -> None:
    """Dry friction, with N of the contact as it is under that friction: N = λ(µ N)."""
    find_dry_friction(q_v, spatial_jacobian, placements, p, t)
    if p.contact[0] == 0.0:
        return
    before, answered = 0.0, 0.0
    for pair in range(MAX_PAIRS):
        N = p.pressing[0]
        found = _force_under(q_v, p, t)
        if abs(found - N) <= 1e-12 * (1.0 + found):
            break
        if pair > 0:
            slope = (found - answered) / (N - before)
            if slope >= 1.0:  # Painlevé
                c.counts[2] += 1.0
                p.pressing[0] = before
                break
            p.pressing[0] = max((found - slope * N) / (1.0 - slope), 0.0)
        before, answered = N, found
        find_dry_friction(q_v, spatial_jacobian, placements, p, t)


@compiled
def _force_under(q_v: Array, p: PlantTerms, t: Terms) -> float:
    """N at the contact under the friction found; it is left in pressing."""
    find_load(q_v, p, t)
    accelerate(p, t, p.next_rate)
    matvec_add(t.M, p.next_rate, p.net, -1.0)
    find_pressing(p, t)
    return p.pressing[0]


@compiled
def begin_part(length: float, p: PlantTerms, c: ContactTerms) -> None:
    """Remember where a part of a step begins; it is to be so long [s]."""
    copy(p.y, c.begin)
    c.begin_time[0], c.left[0] = p.time[0], length
    c.bracket[4] = 0.0
    go_from_begin(length, p, c)


@compiled
def go_from_begin(length: float, p: PlantTerms, c: ContactTerms) -> None:
    """Have the stages made from there, over this time [s]."""
    copy(c.begin, p.y)
    copy(c.begin, p.at)
    p.time[0] = p.at_time[0] = c.begin_time[0]
    p.span[0], p.phase[0] = length, 0.0


@compiled
def look_for_touch(p: PlantTerms, t: Terms) -> int:
    """At the end of a part of a step, on an evaluated model: has a free row passed its surface?

    Returns:
        NOTHING; AGAIN, where the part is to be made again, shorter; STRUCK, where it ended on the
        surface, and an impact has been worked out.
    """
    n = p.effort.size
    c = unpack_contacts(p.contacts, n, p.noise.size)
    first = c.bracket[4] == 0.0
    row, nearest = -1, -np.inf
    for r in range(c.law.size):
        free = c.law[r] == _ONE_SIDED and c.holds[r] == 0.0 and c.beyond[r] == 0.0
        depth = c.gap[r] - max(c.begin_gap[r], 0.0)  # rounding may have left it a little inside
        if free and depth > nearest and not (first and c.outside[r] != 0.0):
            row, nearest = r, depth
    if row < 0 and not first:  # with friction of a shorter part, what had been passed holds
        return STRUCK
    if c.left[0] == 0.0:  # at the start of a run, which may begin with an impact
        if row >= 0 and nearest >= -TOUCHING:
            _hit(c.surface[3], p, c, t)
        return NOTHING
    if first and nearest <= TOUCHED:
        return NOTHING
    if first:
        c.bracket[0], c.bracket[1] = 0.0, min(c.begin_gap[row], 0.0)
    # A row that began at its surface left it and came back: a bounce, if a short one.
    short = c.bracket[1] >= -TOUCHING and p.span[0] <= SHORTEST_BOUNCE * p.step[0]
    if short or abs(nearest) <= TOUCHED or c.bracket[4] >= MAX_TRIALS:
        _hit(0.0 if short else c.surface[3], p, c, t)
        return STRUCK
    if nearest > 0.0:
        c.bracket[2], c.bracket[3] = p.span[0], nearest
    else:
        c.bracket[0], c.bracket[1] = p.span[0], nearest
    c.bracket[4] += 1.0
    go_from_begin(_next_length(c), p, c)
    return AGAIN


@compiled
def _next_length(c: ContactTerms) -> float:
    """Between the two by the straight line, in every third trial by halves.

    By halves, too, while all that is known is that the row began at its surface.
    """
    short, above, long, below = c.bracket[0], c.bracket[1], c.bracket[2], c.bracket[3]
    share = -above / (below - above)
    if c.bracket[4] % 3.0 == 0.0 or above >= -TOUCHING:
        share = 0.5
    return short + min(max(share, 1e-3), 1.0 - 1e-3) * (long - short)


@compiled
def _hit(e: float, p: PlantTerms, c: ContactTerms, t: Terms) -> None:
    """The impact of all rows at their surfaces; the work of it is what the arm loses."""
    n, m = p.effort.size, c.law.size
    v = p.y[n : 2 * n]
    before = _kinetic(v, t, p.net)
    hold_always(c, t)
    find_mobility(p, t)
    find_G(c.rows, p.mobility, c.G, p.next_rate)
    fastest = 0.0
    for r in range(m):
        at_surface = c.law[r] == _ONE_SIDED and c.gap[r] >= -TOUCHING and is_there(r, c)
        c.touches[r] = 1.0 if at_surface else 0.0
        c.u[r] = separation(r, v, c, t)
        if at_surface:
            fastest = max(fastest, -c.u[r])
    strike(p.mobility, c.rows, e if fastest > c.surface[4] else 0.0, c, v, p.next_rate)
    for r in range(m):
        if c.touches[r] != 0.0:
            c.holds[r] = 1.0 if c.u[r] <= SLOW else 0.0
    c.counts[0] += 1.0 if fastest > SLOW else 0.0
    p.y[2 * n] += _kinetic(v, t, p.net) - before
    hold_rows(c, t)


@compiled
def _kinetic(v: Array, t: Terms, momentum: Array) -> float:
    matvec(t.M, v, momentum)
    return 0.5 * dot(v, momentum)


@kernel
def moreau(
    K: Matrix,
    A: Matrix,
    e: float,
    v: Numbers,
    work: Numbers,
    answer: Numbers,
) -> None:
    """An impact in which all rows touch, from q̇⁻ in v to q̇⁺; work is an array of `ContactTerms`."""
    c = unpack_contacts(work, v.size, A.shape[0])
    fill(c.touches, 1.0)
    fill(c.impulse, 0.0)
    find_G(A, K, c.G, answer)
    for r in range(A.shape[0]):
        c.u[r] = -dot(A[r], v)
    strike(K, A, e, c, v, answer)


class Impact(NamedTuple):
    """What an impact did.

    Attributes:
        impulse: p of each row [N·s or N·m·s].
        velocity: q̇⁺, n.
        energy_before, energy_after: Kinetic energy [J].
    """

    impulse: Array
    velocity: Array
    energy_before: float
    energy_after: float


def impact(M: ArrayLike, A: ArrayLike, v: ArrayLike, restitution: float = 0.0) -> Impact:
    """An impact of rigid surfaces without friction, by Moreau's law, at one configuration.

    Args:
        M: Inertia matrix, n × n.
        A: Rows that touch, each into its surface, m × n.
        v: q̇⁻, n.
        restitution: e, from 0 to 1.
    """
    mass = np.ascontiguousarray(M, dtype=np.float64)
    n = mass.shape[0]
    rows = np.ascontiguousarray(validate.finite_array("rows A", A, (None, n)))
    velocity = validate.finite_array("velocity", v, (n,)).copy()
    if not 0.0 <= restitution <= 1.0:
        raise InvalidValue(f"restitution must lie between 0 and 1, got {restitution:g}")
    before = 0.5 * float(velocity @ mass @ velocity)
    sizes = {"n": n, "m": rows.shape[0]}
    work = CONTACTS.new(**sizes)
    mobility: Array = np.ascontiguousarray(np.linalg.inv(mass), dtype=np.float64)
    moreau(mobility, rows, float(restitution), velocity, work, np.zeros(n))
    after = 0.5 * float(velocity @ mass @ velocity)
    return Impact(CONTACTS.view(work, **sizes).impulse.copy(), velocity, before, after)

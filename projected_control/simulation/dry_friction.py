"""Friction and stops in a plant's step: smooth friction, or set-valued, so that the arm sticks.

Set-valued dry friction τ opposes the velocity with its full size b while a joint slides, and holds
it with whatever is needed up to b while it stands. The step is Moreau's: τ is constant during a
step and such that the velocity *at its end*, q̇⁺ = q̇ + T q̈(f + τ), fits it,

    q̇⁺ = u + T K τ,   |τ_i| ≤ b_i,   τ_i = −b_i sign(q̇⁺_i)  where  q̇⁺_i ≠ 0,

with u the velocity without dry friction and K = M_c⁻¹ P what an impulse does to an arm on its
constraint. That is min ½ τᵀ T K τ + τᵀ u over a box: Gauss and Seidel's sweeps, each τ_i cut off at
its bound, find which joints stand, and one system of equations then what holds these. b falls from
the static to the Coulomb value with Stribeck's curve. An arm that stands with q̇⁺ = 0 has q̈ = 0 in
all stages of the step: it does not creep.

A contact that rubs on its surface is one block more: a force of at most µ N against the velocity of
the contact point, N being the normal force of the last step; of this instant on a surface that
gives (`surfaces`), and on one that can be left (`impacts`).

**Stops of the joints** are stiff, damped, and only ever push back. Beyond a stop at q_s a joint has

    τ = −(ω² (q − q_s) + 2 ω q̇) / K_ii,   ω = RATE / T,

cut off at zero where it would pull. K_ii is what an impulse at the joint does to its velocity, on
the constraint, so that a joint alone swings back with ω, critically damped,
whatever it carries; and ω follows the integration step T, so that a step never is too long for it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.model.constrained_arm import Terms
from projected_control.model.kinematics import frame_motion
from projected_control.model.linalg import (
    axpy,
    copy,
    dot,
    fill,
    matvec,
    matvec_add,
    solve,
)
from projected_control.model.on_constraint import (
    can_respond,
    find_acceleration,
    free_part,
    multipliers_of,
)
from projected_control.simulation.plant_terms import PlantTerms
from projected_control.simulation.surfaces import (
    add_pressed,
    give_way,
    take_normal_out,
    unpack_contacts,
)

Array = NDArray[np.float64]

MAX_ROUNDS = 50
"""Rounds of sweeps in a step; one or two are usual, as they begin at the last step's friction."""

SETTLED = 1e-15
"""Change of a velocity in a sweep from which on it counts as found [rad/s or m/s]."""

DAMPING = 1e-10
"""Added to K of the joints that stand, as a share of its trace: the constraint may leave it
singular, friction in a stuck loop being shared in many ways."""


@compiled
def dry_level(v: float, coulomb: float, static: float, stribeck: float) -> float:
    """Size of dry friction at a velocity: F_c + (F_s − F_c) exp(−(v/v_s)²)."""
    if static > coulomb:
        return coulomb + (static - coulomb) * np.exp(-((v / stribeck) ** 2))
    return coulomb


@compiled
def apply_friction(v: Array, p: PlantTerms) -> None:
    """load = f, the effort of motors and friction, at a velocity."""
    coulomb, viscous, blend = p.friction[0], p.friction[1], p.friction[2]
    static, stribeck = p.friction[3], p.friction[4]
    for i in range(p.effort.size):
        if p.sticks[0] == 0.0:
            p.load[i] = p.effort[i] - viscous[i] * v[i]
            if static[i] > 0.0 or coulomb[i] > 0.0:  # a tanh per joint and stage costs
                dry = dry_level(v[i], coulomb[i], static[i], stribeck[i])
                p.load[i] = p.effort[i] - dry * np.tanh(v[i] / blend[i]) - viscous[i] * v[i]
        else:
            p.load[i] = p.effort[i] + p.rubbing[i] - viscous[i] * v[i]
    if p.contact[1] != 0.0:
        for j in range(3):
            axpy(p.contact_force[j], p.contact_jacobian[j], p.load)


@compiled
def accelerate(p: PlantTerms, t: Terms, acceleration: Array) -> None:
    """net = f − h, and q̈ under the load."""
    copy(p.load, p.net)
    axpy(-1.0, t.h, p.net)
    if can_respond(t):
        copy(p.net, p.tangent)
    else:
        free_part(t, p.net, p.tangent)
    find_acceleration(t, p.tangent, t.b, acceleration)


@compiled
def find_load(q_v: Array, p: PlantTerms, t: Terms) -> None:
    """load = f, the effort of motors, friction, stops and surfaces that give, where evaluated.

    Drives of bandwidth D that are to move with u know what they carry: f = h + M D (u − q̇).
    """
    apply_friction(q_v[p.effort.size :], p)
    if p.drive[0] > 0.0:
        for i in range(p.effort.size):
            p.tangent[i] = p.drive[0] * (p.effort[i] - q_v[p.effort.size + i])
            p.load[i] += t.h[i] - p.effort[i]
        matvec_add(t.M, p.tangent, p.load)
    push_back(q_v, p, t)
    c = unpack_contacts(p.contacts, p.effort.size, p.noise.size)
    if c.kinds[1] != 0.0:
        give_way(c, t, p.load)


@compiled
def find_contact(q_v: Array, spatial_jacobian: Array, placements: Array, p: PlantTerms) -> float:
    """J of the contact and J K; the largest friction there, µ N."""
    n = p.effort.size
    if p.contact[1] == 0.0:
        return 0.0
    frame_motion(
        spatial_jacobian,
        q_v[n : 2 * n],
        placements[int(p.contact[1])],
        p.contact[2:],
        p.contact_support,
        p.contact_jacobian,
    )
    c = unpack_contacts(p.contacts, n, p.noise.size)
    if c.kinds[1] != 0.0:
        take_normal_out(c, p.contact_jacobian)
    for j in range(3):
        matvec(p.mobility, p.contact_jacobian[j], p.contact_mobility[j])
    return p.contact[0] * p.pressing[0]


@compiled
def _sweep_joints(T: float, p: PlantTerms) -> float:
    """One sweep over the joints; the largest change of a velocity."""
    change = 0.0
    for i in range(p.bound.size):
        answer = T * p.mobility[i, i]
        if p.bound[i] == 0.0 or answer <= IMMOBILE * T:
            continue
        new = p.rubbing[i] - p.next_rate[i] / answer
        new = min(max(new, -p.bound[i]), p.bound[i])
        step = new - p.rubbing[i]
        if step != 0.0:
            p.rubbing[i] = new
            axpy(T * step, p.mobility[i], p.next_rate)
            change = max(change, abs(step) * answer)
    return change


@compiled
def _hold_standing(T: float, p: PlantTerms) -> None:
    """Change friction of the joints that stand so that they do, as far as the bounds allow.

    T K_SS δ = −q̇⁺_S for the joints S strictly within their bounds; net is overwritten.
    """
    n, trace = p.bound.size, 0.0
    for i in range(n):
        trace += p.mobility[i, i]
    for i in range(n):
        stands = abs(p.rubbing[i]) < p.bound[i]
        for j in range(n):
            both = stands and abs(p.rubbing[j]) < p.bound[j]
            p.standing[i, j] = T * p.mobility[i, j] if both else 0.0
        p.standing[i, i] = p.standing[i, i] + T * DAMPING * trace if stands else 1.0
        p.net[i] = -p.next_rate[i] if stands else 0.0
    solve(p.standing, p.net)
    share = 1.0
    for i in range(n):
        if p.net[i] > 0.0:
            share = min(share, (p.bound[i] - p.rubbing[i]) / p.net[i])
        elif p.net[i] < 0.0:
            share = min(share, (-p.bound[i] - p.rubbing[i]) / p.net[i])
    for i in range(n):
        step = share * p.net[i]
        if step != 0.0:
            p.rubbing[i] = min(max(p.rubbing[i] + step, -p.bound[i]), p.bound[i])
            axpy(T * step, p.mobility[i], p.next_rate)


@compiled
def _sweep_contact(T: float, most: float, p: PlantTerms) -> float:
    """The same for the force at the contact, which lies in a ball of radius µ N."""
    answer = 0.0
    for j in range(3):
        answer += T * dot(p.contact_jacobian[j], p.contact_mobility[j])
    if most == 0.0 or answer <= IMMOBILE * T:
        return 0.0
    F, J = p.contact_force, p.contact_jacobian
    x = F[0] - dot(J[0], p.next_rate) / answer
    y = F[1] - dot(J[1], p.next_rate) / answer
    z = F[2] - dot(J[2], p.next_rate) / answer
    size = np.sqrt(x * x + y * y + z * z)
    scale = most / size if size > most else 1.0
    change = 0.0
    for j in range(3):
        new = scale * (x if j == 0 else (y if j == 1 else z))
        step = new - F[j]
        F[j] = new
        axpy(T * step, p.contact_mobility[j], p.next_rate)
        change = max(change, abs(step) * answer)
    return change


@compiled
def find_dry_friction(
    q_v: Array, spatial_jacobian: Array, placements: Array, p: PlantTerms, t: Terms
) -> None:
    """rubbing and contact_force: dry friction during a step from this state under the effort.

    It begins at the friction of the last step (dry), which only a step changes.
    """
    n, T = p.effort.size, p.span[0]
    if p.sticks[0] == 0.0 and p.contact[1] == 0.0:
        return
    v = q_v[n : 2 * n]
    find_mobility(p, t)
    c = unpack_contacts(p.contacts, n, p.noise.size)
    if c.kinds[1] != 0.0:
        give_way(c, t, p.next_rate)
        add_pressed(c, p.multipliers)
        press_on(p)
    most = find_contact(q_v, spatial_jacobian, placements, p)
    fill(p.rubbing, 0.0)
    fill(p.contact_force, 0.0)
    find_load(q_v, p, t)
    accelerate(p, t, p.next_rate)
    for i in range(n):
        p.next_rate[i] = v[i] + T * p.next_rate[i]
    for i in range(n):
        b = dry_level(v[i], p.friction[0, i], p.friction[3, i], p.friction[4, i])
        p.bound[i] = b if p.sticks[0] != 0.0 else 0.0
        p.rubbing[i] = min(max(p.dry[i], -p.bound[i]), p.bound[i])
    matvec_add(p.mobility, p.rubbing, p.next_rate, T)
    for _ in range(MAX_ROUNDS):
        change = _sweep_joints(T, p)
        if p.contact[1] != 0.0:
            change = max(change, _sweep_contact(T, most, p))
        if change <= SETTLED:
            break
        if p.sticks[0] != 0.0:
            _hold_standing(T, p)


@compiled
def find_pressing(p: PlantTerms, t: Terms) -> None:
    """N at the contact: ‖λ‖ over its rows, after `_slope` has left f − h − M q̈ in net."""
    if p.contact[1] == 0.0:
        return
    multipliers_of(t, p.net, p.multipliers)
    add_pressed(unpack_contacts(p.contacts, p.effort.size, p.noise.size), p.multipliers)
    press_on(p)


@compiled
def press_on(p: PlantTerms) -> None:
    """N at the contact from λ."""
    total = 0.0
    for r in range(p.multipliers.size):
        total += p.contact_rows[r] * p.multipliers[r] * p.multipliers[r]
    p.pressing[0] = np.sqrt(total)


RATE = 0.2
"""ω T. Where all of seven joints meet their stops and move together, 2 ω T is at most 2.8 as one,
which is what the classical Runge-Kutta method still bears."""

INSIDE, MOST_INSIDE = 0.01, 0.01
"""Stops stand inside of a joint's range, so that an arm that rests at one is within its limits: by
this share of the range, and no more than this [rad or m]."""

IMMOBILE = 1e-9
"""K_ii from which on the constraint lets a joint move, so that something has to hold it."""


def stops_within(lower: Array, upper: Array) -> Array:
    """Where the stops of joints with these ranges stand, lower above upper, as (2, n)."""
    inside = np.minimum(INSIDE * (upper - lower), MOST_INSIDE)
    return np.array([lower + inside, upper - inside])


@compiled
def find_mobility(p: PlantTerms, t: Terms) -> None:
    """K = M_c⁻¹ P, symmetric; line j is what a unit impulse at joint j does."""
    fill(p.no_rates, 0.0)
    for j in range(p.effort.size):
        fill(p.net, 0.0)
        p.net[j] = 1.0
        free_part(t, p.net, p.tangent)
        find_acceleration(t, p.tangent, p.no_rates, p.mobility[j])


@compiled
def push_back(q_v: Array, p: PlantTerms, t: Terms) -> None:
    """Add to the load what the stops do at an evaluated state."""
    n, omega, known = p.effort.size, RATE / p.step[0], False
    for i in range(n):
        beyond = max(q_v[i] - p.stops[1, i], 0.0) + min(q_v[i] - p.stops[0, i], 0.0)
        if beyond == 0.0:
            continue
        if not known:
            find_mobility(p, t)
            known = True
        if p.mobility[i, i] <= IMMOBILE:
            continue
        push = -(omega * omega * beyond + 2.0 * omega * q_v[n + i]) / p.mobility[i, i]
        if push * beyond < 0.0:
            p.load[i] += push

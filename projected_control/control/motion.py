"""Motion control: inverse dynamics (IDC), projected inverse dynamics (PIDC), and the damped stop.

    u_p solves [J_θ; A] u_p = [θ̈_d + G_D ė + G_P e − J̇_θ q̇; b]

    IDC:   f  = h + M u_p
    PIDC:  f∥ = P (h + M u_p)                                                (Aghili 43, 44)

Both give ë + G_D ė + G_P e = 0. PIDC does it with the least torque: what IDC has on top lies in
R(Aᵀ), moves nothing and only presses on the constraint.

**Near a singular pose** of the coordinates, where the constraint all but forbids one of them, 1/σ
of J_θ P is replaced by σ/(σ² + δ²), δ² = ¼ (ε² − σ²) for σ < ε (`span.damped`), in every law:
u_p stays below 1.16 a/ε, and the error of that one coordinate no longer obeys its equation.

**The damped stop** stands here, beside what it is made of: it is PIDC without a reference, the same
for every law: w = K (q_s − q) − d q̇ in place of what the coordinates ask (`brake`, `note_stop`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.compensation import compensate_friction
from projected_control.control.disturbance import integrate_error, note_rest, take_disturbance
from projected_control.control.rejoining import followed_error
from projected_control.control.task_terms import unpack_task
from projected_control.control.terms import ControlTerms
from projected_control.model.constrained_arm import Terms
from projected_control.model.floating_base import SIZE, add_to_base, base_between
from projected_control.model.kinematics import add, cross, vector
from projected_control.model.linalg import axpy, copy, fill, matvec, matvec_add
from projected_control.model.on_constraint import free_part, least_motion_add, normal_part
from projected_control.model.rotations import (
    Topology,
    angular_motion,
    difference_rate,
    subtract,
)
from projected_control.model.span import SpanTerms, decompose, invert_add, unpack_span

Array = NDArray[np.float64]

_ROTATION = int(Topology.ROTATION)

INDEPENDENCE_TOLERANCE = 1e-6
"""Singular values of J_θ P below this: a coordinate the constraint does not let move."""

SINGULAR_RANGE = 0.01
"""Singular values of J_θ P from which on it is damped [m or rad, per rad or m]."""

STOP_DAMPING = 10.0
"""Damping of all motion in a stop, unless the gains damp more [1/s]."""

STOP_STIFFNESS = 100.0
"""With which an arm that has come to rest in a stop is held there [1/s²]."""

STOP_SETTLING = 0.2
"""After which an arm in a stop has come to rest: it is held where it is then [s]."""

STOP_GIVE = 0.1
"""How far a joint in a stop is pushed away before it gives way [rad or m]."""


@compiled
def turning_error(i: int, t: Terms, c: ControlTerms) -> None:
    """ė and θ̈_d of the orientation that begins at i, whose e = log(R_d Rᵀ) is known.

        what stands for ė:    ω_d − ω + ω_d × e
        what stands for θ̈_d:  ω̇_d + ω̇_d × e + ω_d × ė

    The terms in ω_d × and ω̇_d × are the turning of the axes in which e is seen: with them small
    errors obey ë + G_D ė + G_P e = 0 however the reference turns (docs/equations.md).
    """
    e, omega = vector(c.error[0], i), vector(t.theta_rate, i)
    omega_d, alpha_d = angular_motion(
        vector(c.motion[0], i), vector(c.motion[1], i), vector(c.motion[2], i)
    )
    rate = add(add(omega_d, omega, -1.0), cross(omega_d, e))
    turned = cross(omega_d, difference_rate(e, omega_d, omega))
    feedforward = add(add(alpha_d, cross(alpha_d, e)), turned)
    for j in range(3):
        c.error[1, i + j] = rate[j]
        c.feedforward[i + j] = feedforward[j]


@compiled
def tracking_error(t: Terms, c: ControlTerms) -> None:
    """e = θ_d − θ, angles by the short way round, ė, and θ̈_d.

    Of an orientation see `turning_error`: θ̇ and J_θ are those of the angular velocity.
    """
    subtract(c.motion[0], t.theta, c.topology, c.error[0])
    for i in range(t.theta.size):
        if int(c.topology[i]) < _ROTATION:
            c.error[1, i] = c.motion[1, i] - t.theta_rate[i]
            c.feedforward[i] = c.motion[2, i]
        elif int(c.topology[i]) == _ROTATION:
            turning_error(i, t, c)


@compiled
def stop_damping(c: ControlTerms) -> float:
    """d of a damped stop [1/s]."""
    return max(c.gains[2, 0], STOP_DAMPING)


@compiled
def stiff_constraint(t: Terms, c: ControlTerms) -> None:
    """b_d = b − G_D (A q̇ − ẋ) − G_P Φ: IDC is as stiff against the constraint as along it."""
    G_P, G_D = c.gains[0, 0], c.gains[1, 0]
    matvec_add(t.A, t.v, c.b_desired, -G_D)
    axpy(G_D, t.target[1], c.b_desired)
    axpy(-G_P, t.residual, c.b_desired)


@compiled
def way_to(place: Array, t: Terms, way: Array) -> None:
    """way = place ⊖ q, in joint units."""
    for i in range(t.q.size):
        way[i] = place[i] - t.q[i]
    if t.floats[0] != 0.0:
        base_between(t.q, place, way)


@compiled
def posture_motion(d: float, t: Terms, c: ControlTerms, wanted: Array) -> None:
    """wanted = K₀ (q₀ − q) − (d + D₀) q̇, in the metric's coordinates; K₀ s after a stop."""
    K_0, D_0 = c.posture_gains[0] * (1.0 - c.rejoin[2]), c.posture_gains[1]
    way_to(c.posture, t, wanted)
    for i in range(t.v.size):
        wanted[i] = K_0 * (t.sqrt_metric[i] * wanted[i]) - (d + D_0) * t.v[i]


@compiled
def free_motion(d: float, t: Terms, c: ControlTerms) -> None:
    """u_p = w = P (K₀ (q₀ − q) − (d + D₀) q̇), in the metric's coordinates."""
    if c.posture_gains[0] == 0.0 and c.posture_gains[1] == 0.0:
        for i in range(t.v.size):
            c.full[i] = -d * t.v[i]
    else:
        posture_motion(d, t, c, c.full)
    free_part(t, c.full, c.u_p)


@compiled
def posture_distance(t: Terms, c: ControlTerms) -> float:
    """How far the arm is from its posture where that draws it [rad or m]: of any joint.

    That is the largest of |(P − (J_θ P)⁺ J_θ P) (q₀ − q)|: what moves constraint or coordinates
    does not count. After a law, which has found (J_θ P)⁺.
    """
    way_to(c.posture, t, c.load)
    for i in range(t.v.size):
        c.load[i] *= t.sqrt_metric[i]
    free_part(t, c.load, c.net)
    matvec(t.J_theta, c.net, c.a)
    invert_add(free_span(t, c), c.a, c.net, -1.0)
    farthest = 0.0
    for i in range(t.v.size):
        farthest = max(farthest, abs(c.net[i]) / t.sqrt_metric[i])
    return farthest


@compiled
def free_span(t: Terms, c: ControlTerms) -> SpanTerms:
    """J_θ P as `invert_motion` has decomposed it."""
    return unpack_span(c.free_span, t.theta.size, t.v.size)


@compiled
def invert_motion(projected: bool, t: Terms, c: ControlTerms) -> None:
    """(J_θ P)⁺, or J_θ⁺ for a law that does not know of the constraint, damped near singular poses.

    It is left decomposed (`free_span`): no row is orthogonalised twice, those of A are already.
    """
    s = free_span(t, c)
    for i in range(t.theta.size):
        if projected:
            free_part(t, t.J_theta[i], s.V[i])
        else:
            copy(t.J_theta[i], s.V[i])
    task = unpack_task(c.task, t.v.size, t.theta.size)
    _, c.margins[0] = decompose(
        INDEPENDENCE_TOLERANCE, INDEPENDENCE_TOLERANCE, task.singular_range[0], s, t.scratch
    )


@compiled
def prepare_motion(stop: bool, projected: bool, t: Terms, c: ControlTerms) -> None:
    """What a law begins with: errors, (J_θ P)⁺, and h with all that is known to act beside it.

    Args:
        stop: Leave the reference aside.
        projected: Whether the law knows of the constraint.
        t: The evaluated model.
        c: Reference and gains, and what is computed.
    """
    tracking_error(t, c)
    followed_error(stop_damping(c), t, c)
    invert_motion(projected, t, c)
    compensate_friction(stop, t, c)
    if c.disturbance_kind[0] == 0.0:
        fill(c.integral, 0.0)
    else:
        take_disturbance(t, c)
        note_rest(stop, t, c)
        integrate_error(t, c)


@compiled
def asked_acceleration(t: Terms, c: ControlTerms) -> None:
    """a = θ̈_d + G_D ė + G_P e + K_I ∫ e − J̇_θ q̇."""
    a, e, e_rate = c.a, c.error[0], c.error[1]
    for i in range(a.size):
        a[i] = c.feedforward[i] + c.gains[1, i] * e_rate[i] + c.gains[0, i] * e[i]
        a[i] -= t.theta_bias[i]
        a[i] += c.integral[i]


@compiled
def find_effort(t: Terms, c: ControlTerms) -> None:
    """full = h + M u_p and tangent = P full."""
    copy(c.h, c.full)
    matvec_add(t.M, c.u_p, c.full)
    free_part(t, c.full, c.tangent)
    c.as_asked[0] = 1.0


@compiled
def note_stop(stop: bool, t: Terms, c: ControlTerms) -> None:
    """How long a stop has lasted, and where the arm is held in it: where it came to rest.

    Who pushes it further than `STOP_GIVE` moves that place along.
    """
    if not stop:
        c.stop_for[0] = 0.0
        return
    c.stop_for[0] += c.period[0]
    give = STOP_GIVE if c.stop_for[0] > STOP_SETTLING else 0.0
    if t.floats[0] != 0.0:
        way_to(c.anchor, t, c.load)
        for i in range(SIZE):
            c.load[i] = min(max(c.load[i], -give), give)
            c.anchor[i] = t.q[i]
        add_to_base(c.load, 1.0, c.anchor)
    for i in range(SIZE if t.floats[0] != 0.0 else 0, t.q.size):
        c.anchor[i] = min(max(c.anchor[i], t.q[i] - give), t.q[i] + give)


@compiled
def braking(t: Terms, c: ControlTerms, w: Array) -> None:
    """w = K (q_s − q) − d q̇, in the metric's coordinates: at q_s the arm came to rest."""
    d = stop_damping(c)
    K = STOP_STIFFNESS if c.stop_for[0] > STOP_SETTLING else 0.0
    way_to(c.anchor, t, w)
    for i in range(t.v.size):
        w[i] = K * t.sqrt_metric[i] * w[i] - d * t.v[i]


@compiled
def brake(t: Terms, c: ControlTerms) -> None:
    """The effort of a stop, whatever the law: u_p = A⁺b + P w, f∥ = P (h + M u_p)."""
    braking(t, c, c.full)
    free_part(t, c.full, c.u_p)
    least_motion_add(t, t.b, c.u_p)
    find_effort(t, c)


@compiled
def carry_all(t: Terms, c: ControlTerms) -> None:
    """normal of a stop that leans on nothing: (I − P)(h + M (u_p + (I − P) w)), after `brake`.

    λ is zero then; where there is no contact, the arm is braked and held across it, too.
    """
    braking(t, c, c.load)
    normal_part(t, c.load, c.net)
    copy(c.full, c.load)
    matvec_add(t.M, c.net, c.load)
    normal_part(t, c.load, c.normal)


@compiled
def keep_all(t: Terms, c: ControlTerms) -> None:
    """normal = full − tangent: a law that does not know of the constraint sends all of f."""
    copy(c.full, c.normal)
    axpy(-1.0, c.tangent, c.normal)


@compiled
def motion_effort(stop: bool, stiff: bool, t: Terms, c: ControlTerms) -> None:
    """u_p, full = h + M u_p and tangent = P full, in the metric's coordinates; error and margins.

        u_p = w + A⁺b + (J_θ P)⁺ a,   w = P (K₀ (q₀ − q) − (d + D₀) q̇),
        a   = θ̈_d + G_D ė + G_P e − J̇_θ q̇ − J_θ (w + A⁺b)

    h has friction and disturbance that are known in it (see `compensation`, `disturbance`), a the
    integral. w damps what motion the coordinates leave free, and draws it to the posture q₀: a
    takes away again what of w moves the coordinates. (J_θ P)⁺ = P (J_θ P)⁺ keeps A u_p = b.

    Args:
        stop: Leave the reference aside and brake all motion instead.
        stiff: Add feedback on Φ to b, as IDC does.
        t: The evaluated model.
        c: Reference and gains, and what is computed.
    """
    prepare_motion(stop, True, t, c)
    if stop:
        brake(t, c)
        return
    u_p, a, b = c.u_p, c.a, c.b_desired
    copy(t.b, b)
    if stiff:
        stiff_constraint(t, c)
    free_motion(c.gains[2, 0], t, c)
    least_motion_add(t, b, u_p)
    asked_acceleration(t, c)
    matvec_add(t.J_theta, u_p, a, -1.0)
    invert_add(free_span(t, c), a, u_p)
    find_effort(t, c)
    if stiff:
        c.as_asked[0] = 0.0

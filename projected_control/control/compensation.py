"""Friction that a controller knows, compensated together with h.

    τ_i = [F_c + (F_s − F_c) exp(−(q̇_d/v_s)²)] tanh(q̇_d/w) + F_v q̇_d,     q̇_d of joint i,
    τ  += J_cᵀ µ N_d tanh(|v_c|/w_c) v_c/|v_c|,     v_c = J_c q̇_d, N_d = ‖λ_d‖ at the contact.

**It follows the desired joint velocity**, q̇_d = A⁺ẋ + (J_θ P)⁺ (θ̇_d − J_θ A⁺ẋ), not the measured
one: of that one it would be positive feedback, and an arm at rest would hunt about its place.

**Its slope is bounded.** What is asked for acts d samples after the state it answers, and is held
for one more. While q̇_d passes through zero with q̈_d, a sign that changed within that time would
push the wrong way: so the width is never less than what q̇_d gains meanwhile,

    w ← max(w, (d + 1) T |q̈_d|),    slope F_c/w ≤ F_c / ((d + 1) T |q̈_d|),

and the torque changes by no more than F_c/(d + 1) from tick to tick.

**A contact that slides** is no known load: its friction is µ times a force that the effort itself
makes. Where `contact.friction` says µ of a one-sided contact that holds and does not stick, the
force of the contact has the direction B = (A + µ t̂ᵀJ_c)ᵀ, t̂ = v_c/|v_c|, and what is sent is

    f = h + M u_p + B u_λ,    so that λ = u_λ and q̈ = u_p whatever µ is:

τ is then Jᵀ_c µ ‖u_λ‖ tanh(|v_c|/w_c) t̂, with u_λ of the last tick, instead of N_d.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.compiled import compiled
from projected_control.control.contact import FRICTION, ContactState
from projected_control.control.one_sided_terms import unpack_one_sided
from projected_control.control.terms import ControlTerms
from projected_control.declaration import OneOrMore, is_given, parameter, spread
from projected_control.model.constrained_arm import ConstrainedArm, Terms
from projected_control.model.friction import FrictionNumbers
from projected_control.model.kinematics import frame_motion
from projected_control.model.linalg import axpy, copy, dot, fill, matvec_add
from projected_control.model.on_constraint import least_motion
from projected_control.model.span import invert_add, unpack_span

Array = NDArray[np.float64]

_COULOMB, _STATIC, _STRIBECK, _VISCOUS, _WIDTH = 0, 1, 2, 3, 4
_HOLDS = float(ContactState.HOLDS)


@dataclass(frozen=True)
class FrictionCompensation(FrictionNumbers):
    """Friction that a controller knows and compensates, following the desired joint velocity.

    In the equations above w is width, µ contact and w_c contact_width; the rest is of the joints.
    """

    _: KW_ONLY
    width: OneOrMore = parameter(
        (0.02,),
        "Desired velocity at which three quarters of the dry friction are compensated, one "
        "number or one per joint; the loop widens it where the desired velocity changes sign so "
        "fast that period and delay ask for it",
        "rad/s or m/s",
        minimum=1e-6,
        maximum=1e3,
        live=True,
    )
    contact: float = parameter(
        0.0,
        "Coefficient of friction µ at the contact: µ times the wanted force is compensated, "
        "against the motion along the surface",
        minimum=0.0,
        maximum=10.0,
        live=True,
    )
    contact_width: float = parameter(
        0.005,
        "Wanted speed of the contact point at which three quarters of it are",
        "m/s",
        minimum=1e-6,
        maximum=10.0,
        live=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_positive("width")
        validate.not_negative("friction at the contact", self.contact)
        validate.positive("contact width", self.contact_width)

    def array(self, n: int) -> Array:
        """`ControlTerms.all_friction` of n joints."""

        def each(name: str) -> Array:
            return spread(self, name, n, "joint", f"{name} of the friction compensation")

        coulomb = each("coulomb")
        static = np.maximum(each("static"), coulomb) if is_given(self.static) else coulomb
        rows = [coulomb, static, each("stribeck"), each("viscous"), each("width")]
        return np.concatenate([*rows, [self.contact, self.contact_width]])


NO_COMPENSATION = FrictionCompensation()


def write_contact(model: ConstrainedArm, c: ControlTerms) -> bool:
    """Tell a controller where its contact is; False where its constraint has no frame."""
    c.contact[:] = 0.0
    constraint = model.constraint
    if constraint is None or constraint.frame is None:
        return False
    place = model.arm.attachment(constraint.frame)
    c.contact[:] = place.joint, *place.translation
    c.contact_support[:] = place.support
    c.contact_rows[:] = [float(unit == "m") for unit in constraint.row_units]
    return True


@compiled
def sliding_friction(c: ControlTerms) -> float:
    """µ of a one-sided contact that holds and cannot stick; zero for none."""
    mu, holds = c.contact_rules[FRICTION], False
    if mu == 0.0 or c.contact[0] == 0.0:
        return 0.0
    o = unpack_one_sided(c.one_sided, c.unpressed.size)
    for r in range(o.head.size):
        if o.head[r] != 0.0:
            holds = holds or o.state[r] == _HOLDS
            mu = 0.0 if o.tangents[0, r] != 0.0 else mu
    return mu if holds else 0.0


@compiled
def locate_contact(v: Array, spatial_jacobian: Array, placements: Array, c: ControlTerms) -> None:
    """J_c, where friction at the contact is compensated."""
    if c.contact[0] == 0.0 or (c.contact_gains[0] == 0.0 and sliding_friction(c) == 0.0):
        return
    frame_motion(
        spatial_jacobian,
        v,
        placements[int(c.contact[0])],
        c.contact[1:],
        c.contact_support,
        c.contact_jacobian,
    )


@compiled
def desired_velocity(t: Terms, c: ControlTerms) -> None:
    """q̇_d = A⁺ẋ + (J_θ P)⁺ (θ̇_d − J_θ A⁺ẋ) and (J_θ P)⁺ θ̈_d, in joint units.

    θ̇_d is what ė counts from, of an orientation ω_d + ω_d × e. The vector a is overwritten.
    """
    least_motion(t, t.target[1], c.v_desired)
    for i in range(c.a.size):
        c.a[i] = c.error[1, i] + t.theta_rate[i]
    matvec_add(t.J_theta, c.v_desired, c.a, -1.0)
    free = unpack_span(c.free_span, t.theta.size, t.v.size)
    invert_add(free, c.a, c.v_desired)
    fill(c.a_desired, 0.0)
    invert_add(free, c.feedforward, c.a_desired)
    for i in range(c.v_desired.size):
        c.v_desired[i] /= t.sqrt_metric[i]
        c.a_desired[i] /= t.sqrt_metric[i]


@compiled
def joint_friction(c: ControlTerms) -> None:
    """friction = τ of the joints at q̇_d, with the width bounded for period and delay."""
    f, late = c.friction_gains, (c.delay[0] + 1.0) * c.period[0]
    for i in range(c.friction.size):
        v, level = c.v_desired[i], f[_COULOMB, i]
        if f[_STATIC, i] > level:
            away = v / f[_STRIBECK, i]
            level += (f[_STATIC, i] - level) * np.exp(-away * away)
        width = max(f[_WIDTH, i], late * abs(c.a_desired[i]))
        c.friction[i] = level * np.tanh(v / width) + f[_VISCOUS, i] * v


@compiled
def contact_friction(c: ControlTerms) -> None:
    """friction += J_cᵀ µ N_d tanh(|v_c|/w_c) v_c/|v_c|."""
    total, slides = 0.0, sliding_friction(c)
    for r in range(c.lambda_desired.size):
        force = c.u_lambda[r] if slides != 0.0 else (1.0 - c.withheld[0]) * c.lambda_desired[r]
        total += c.contact_rows[r] * force * force
    J, late = c.contact_jacobian, (c.delay[0] + 1.0) * c.period[0]
    speed = gained = 0.0
    for j in range(3):
        along, more = dot(J[j], c.v_desired), dot(J[j], c.a_desired)
        speed += along * along
        gained += more * more
    speed = np.sqrt(speed)
    if speed == 0.0 or total == 0.0:
        return
    width = max(c.contact_gains[1], late * np.sqrt(gained))
    mu = slides if slides != 0.0 else c.contact_gains[0]
    size = mu * np.sqrt(total) * np.tanh(speed / width) / speed
    for j in range(3):
        axpy(size * dot(J[j], c.v_desired), J[j], c.friction)


@compiled
def compensate_friction(stop: bool, t: Terms, c: ControlTerms) -> None:
    """h ← h + τ, in the metric's coordinates; none in a stop, which desires no velocity."""
    copy(t.h, c.h)
    fill(c.friction, 0.0)
    rubs = c.contact[0] != 0.0 and (c.contact_gains[0] != 0.0 or sliding_friction(c) != 0.0)
    known = rubs
    for i in range(c.friction.size):
        known = known or c.friction_gains[_COULOMB, i] != 0.0
        known = known or c.friction_gains[_STATIC, i] != 0.0
        known = known or c.friction_gains[_VISCOUS, i] != 0.0
    if stop or not known:
        return
    desired_velocity(t, c)
    joint_friction(c)
    if rubs:
        contact_friction(c)
    for i in range(c.friction.size):
        c.h[i] += c.friction[i] / t.sqrt_metric[i]

"""Motion control of arms with passive joints: f = (I + H) f∥ (Aghili 60).

f∥ may ask a joint without a motor for torque. Adding f⊥ = H f∥ ∈ R(Aᵀ), which moves nothing, takes
that part away: with B the projector on the joints with a motor,

    Q = (I − B)(I − P),    H = −(I − P) Q⁺ (I − B),    f = (I + H) f∥,

the solution of least norm. Only the rows of I − P that belong to passive joints matter in Q; they
are called Q_p here. Their smallest singular value is the sine of the smallest angle between a
motion of passive joints alone and the motions the constraint permits. Where it is zero, some free
motion is out of the motors' reach (Aghili 62): that is reported, and no torque is commanded.

The freedom that is left in f⊥ serves a force reference: of the desired normal effort g, the part
((I − P) − Q_p⁺ Q_p) g can be given without torque at a passive joint.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.controllers import Controller
from projected_control.control.force import (
    ForceGains,
    force_feedback,
    hold_force,
    normal_effort,
)
from projected_control.control.gains import MotionGains
from projected_control.control.independence import CONTROLLABILITY_TOLERANCE
from projected_control.control.law_kinds import LAWS, Law, LawKind, LawRequest
from projected_control.control.motion import carry_all, motion_effort
from projected_control.control.rank_change import is_projector
from projected_control.control.terms import ControlTerms
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import ConstrainedArm, Terms
from projected_control.model.linalg import (
    axpy,
    copy,
    fill,
    matvec,
    matvec_add,
    matvec_transposed,
)
from projected_control.model.on_constraint import multipliers_of, normal_part, span_of
from projected_control.model.span import SpanTerms, decompose, invert_add, unpack_span

Array = NDArray[np.float64]


@compiled
def passive_rows(P: Array, passive: NDArray[np.int64], Q_p: Array) -> None:
    """Fill Q_p: the rows of I − P that belong to passive joints, of a P that is a matrix."""
    for r in range(passive.size):
        fill(Q_p[r], 0.0)
        axpy(-1.0, P[passive[r]], Q_p[r])
        Q_p[r, passive[r]] += 1.0


@compiled
def rows_of_passive(passive: NDArray[np.int64], t: Terms, Q_p: Array) -> None:
    """Fill Q_p with those of the law's P."""
    if t.held[0] != 0.0:
        passive_rows(t.held_P, passive, Q_p)
        return
    s = span_of(t)
    for r in range(passive.size):
        for i in range(t.b.size):
            s.along[i] = s.share[i] * s.V[i, passive[r]]
        matvec_transposed(s.V, s.along, Q_p[r])


@compiled
def passive_span(t: Terms, c: ControlTerms) -> SpanTerms:
    """Q_p as `reach_with_motors` has decomposed it."""
    return unpack_span(c.passive_span, c.refused.size, t.v.size)


@compiled
def drop_refused_integral(t: Terms, c: ControlTerms) -> None:
    """Remove from the integral what would need passive joints: y ← y − A⁺ᵀ Q_p⁺ Q_p Aᵀ y.

    That part could only grow, and would act at once where the arm reaches other directions.
    """
    integral, pressed = c.force_state[1], c.load
    matvec_transposed(t.A, integral, pressed)
    matvec(c.Q_p, pressed, c.refused)
    fill(pressed, 0.0)
    invert_add(passive_span(t, c), c.refused, pressed)
    multipliers_of(t, pressed, c.pressed)
    axpy(-1.0, c.pressed, integral)


@compiled
def spare_passive_joints(passive: NDArray[np.int64], t: Terms, c: ControlTerms) -> None:
    """normal ← g − Q_p⁺ (f∥_p + Q_p g), with g the normal effort so far and f∥_p = (I − B) f∥.

    For g = 0 this is H f∥. The factor I − P of H = −(I − P) Q⁺ (I − B) is not needed, because
    (I − P) Q_p⁺ = Q_p⁺: the columns of Q_p⁺ lie in the span of Q_p's rows, which are rows of the
    symmetric I − P. While a direction fades (see `rank_change`) this is not so, and g_p is not
    Q_p g.
    """
    if is_projector(t, c):
        for r in range(passive.size):
            c.refused[r] = c.tangent[passive[r]]
        matvec_add(c.Q_p, c.normal, c.refused)
        invert_add(passive_span(t, c), c.refused, c.normal, -1.0)
        return
    for r in range(passive.size):
        c.refused[r] = c.tangent[passive[r]] + c.normal[passive[r]]
    fill(c.net, 0.0)
    invert_add(passive_span(t, c), c.refused, c.net)
    normal_part(t, c.net, c.load)
    axpy(-1.0, c.load, c.normal)


@compiled
def passive_law(
    stop: bool, with_force: bool, passive: NDArray[np.int64], t: Terms, c: ControlTerms
) -> None:
    """tangent = f∥ and normal = H f∥, with what is left for a force; zero where control is lost."""
    motion_effort(stop, False, t, c)
    reach_with_motors(stop, with_force, passive, t, c)


@compiled
def reach_with_motors(
    stop: bool, with_force: bool, passive: NDArray[np.int64], t: Terms, c: ControlTerms
) -> None:
    """normal for a tangent that some law has found: H f∥, and what is left for a force."""
    c.margins[1] = np.inf
    for last in range(1 if is_projector(t, c) else 0, 2):
        # What is on its way out of P is no help to passive joints: what A says now counts too.
        if last:
            rows_of_passive(passive, t, c.Q_p)
        else:
            passive_rows(c.cut_P, passive, c.Q_p)
        s = passive_span(t, c)
        for r in range(passive.size):
            copy(c.Q_p[r], s.V[r])
        edge = CONTROLLABILITY_TOLERANCE
        _, reach = decompose(edge, edge, 0.0, s, t.scratch)
        c.margins[1] = min(c.margins[1], reach)
    lost = c.margins[1] <= CONTROLLABILITY_TOLERANCE
    if with_force:
        force_feedback(stop or lost, t, c)
    fill(c.normal, 0.0)
    if lost:
        fill(c.tangent, 0.0)
        return
    if with_force and stop:
        carry_all(t, c)
    elif with_force:
        drop_refused_integral(t, c)
        normal_effort(t, c)
    spare_passive_joints(passive, t, c)


@compiled
def press(stop: bool, passive: NDArray[np.int64], t: Terms, c: ControlTerms) -> None:
    """normal for any law's tangent: from the force loop, for passive joints, or nothing."""
    if passive.size:
        reach_with_motors(stop, c.force_loop[0] != 0.0, passive, t, c)
    elif c.force_loop[0] != 0.0:
        hold_force(stop, t, c)
    else:
        fill(c.normal, 0.0)


@compiled
def passive_motion_law(stop: bool, passive: NDArray[np.int64], t: Terms, c: ControlTerms) -> None:
    """(I + H) f∥."""
    passive_law(stop, False, passive, t, c)


@compiled
def passive_force_law(stop: bool, passive: NDArray[np.int64], t: Terms, c: ControlTerms) -> None:
    """The same, with the force loop."""
    passive_law(stop, True, passive, t, c)


def achievable_force_directions(model: ConstrainedArm) -> int:
    """How many directions of λ the motors can still choose: rank − number of passive joints."""
    passive = np.flatnonzero(model.arm.actuated == 0.0)
    normal = np.eye(model.n) - model.P
    Q = normal[passive]
    free = normal - np.linalg.pinv(Q) @ Q
    return max(round(float(np.trace(free))), 0)


class PassiveJointController(Controller):
    """(I + H) f∥, and a force loop on what is left where gains for one are given.

    Args:
        model: The arm with passive joints, its constraint and its coordinates.
        gains: On the coordinates.
        force_gains: On λ, or None for motion only.
        period: Period of the loop [s].
        law: Another that chooses f⊥ by itself.
    """

    def __init__(
        self,
        model: ConstrainedArm,
        gains: MotionGains,
        force_gains: ForceGains | None = None,
        period: float = 1e-3,
        law: Law | None = None,
    ) -> None:
        if not model.arm.passive:
            raise InvalidValue(
                "no joint is passive; use a motion or force controller, or name passive joints"
            )
        own = Law.PASSIVE if force_gains is None else Law.PASSIVE_FORCE
        super().__init__(model, gains, period, own if law is None else law)
        self._close_force_loop(force_gains)


def make_controller(asked: LawRequest) -> PassiveJointController:
    """As parameters say."""
    return PassiveJointController(asked.model, asked.gains, asked.force_gains, asked.period)


LAWS.add(
    LawKind(
        "passive", "(I + H) f∥", Law.PASSIVE, (), kernel=passive_motion_law, make=make_controller
    )
)
LAWS.add(
    LawKind(
        "passive_force",
        "(I + H) f∥, and the force where freedom is left",
        Law.PASSIVE_FORCE,
        (),
        kernel=passive_force_law,
        make=make_controller,
    )
)

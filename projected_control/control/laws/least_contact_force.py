"""Motion of robots with passive joints by the least contact force (Righetti et al. 2013).

Of all efforts that give the motion of `motion`, h + M u_p = f + Aᵀλ with f zero at passive joints
p, `passive` takes those of least ‖f‖. Here it is λ that is least, what the ground exerts on feet:

    λ = (A_pᵀ)⁺ (h + M u_p)_p,    f = h + M u_p − Aᵀλ.

The base of a robot with legs is p: its weight and motion are shared among the feet, and the motors
bear what that takes. Forces and moments compare by the length of a row, ‖D⁻¹λ‖ being least.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.gains import MotionGains
from projected_control.control.independence import CONTROLLABILITY_TOLERANCE
from projected_control.control.law_kinds import LAWS, PASSIVE, Law, LawKind, LawRequest
from projected_control.control.laws.passive import PassiveJointController, passive_law
from projected_control.control.terms import ControlTerms
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import ConstrainedArm, Terms
from projected_control.model.linalg import axpy, copy, fill
from projected_control.model.span import decompose, invert_add, unpack_span


@compiled
def least_contact_force_law(
    stop: bool, passive: NDArray[np.int64], t: Terms, c: ControlTerms
) -> None:
    """tangent = f∥ and normal = f − f∥ of the least λ; zero where control is lost."""
    passive_law(stop, False, passive, t, c)
    if c.margins[1] <= CONTROLLABILITY_TOLERANCE:
        return
    m, edge = t.b.size, CONTROLLABILITY_TOLERANCE
    s = unpack_span(c.contact_span, passive.size, m)
    for r in range(passive.size):
        for j in range(m):
            s.V[r, j] = t.row_scale[j] * t.A[j, passive[r]]
        c.refused[r] = c.full[passive[r]]
    decompose(edge, edge, 0.0, s, t.scratch)
    fill(c.pressed, 0.0)
    invert_add(s, c.refused, c.pressed)
    copy(c.full, c.normal)
    axpy(-1.0, c.tangent, c.normal)
    for j in range(m):
        axpy(-t.row_scale[j] * c.pressed[j], t.A[j], c.normal)


class LeastContactForceController(PassiveJointController):
    """Motion by the least contact force.

    Args:
        model: The arm with passive joints, its constraint and its coordinates.
        gains: On the coordinates.
        period: Period of the loop [s].
    """

    def __init__(self, model: ConstrainedArm, gains: MotionGains, period: float = 1e-3) -> None:
        super().__init__(model, gains, None, period, Law.LEAST_CONTACT_FORCE)


def make_controller(asked: LawRequest) -> LeastContactForceController:
    """As parameters say."""
    if asked.force_gains is not None:
        raise InvalidValue(
            "least_contact_force leaves no force to choose: set force.enabled to false, or take "
            "another law",
            key="law",
        )
    return LeastContactForceController(asked.model, asked.gains, asked.period)


LAWS.add(
    LawKind(
        "least_contact_force",
        "the motion with the least λ instead of the least torque",
        Law.LEAST_CONTACT_FORCE,
        (PASSIVE,),
        kernel=least_contact_force_law,
        make=make_controller,
    )
)

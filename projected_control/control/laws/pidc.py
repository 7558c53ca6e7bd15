"""Projected inverse dynamics (PIDC), and inverse dynamics (IDC) for comparison.

    f = h + M u_p,    f∥ = P f    (Aghili 37)

`motion` has u_p. PIDC sends f∥ alone: the least effort for the motion; across the constraint, that
carries what it can. IDC sends all of f, with feedback on Φ.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.controllers import Controller, refuse_passive
from projected_control.control.gains import MotionGains
from projected_control.control.law_kinds import LAWS, MOTION, PASSIVE, Law, LawKind, LawRequest
from projected_control.control.motion import carry_all, keep_all, motion_effort
from projected_control.control.terms import ControlTerms
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import ConstrainedArm, Terms
from projected_control.model.linalg import fill


@compiled
def pidc_law(stop: bool, passive: NDArray[np.int64], t: Terms, c: ControlTerms) -> None:
    """The tangent part of h + M u_p."""
    motion_effort(stop, False, t, c)
    fill(c.normal, 0.0)


@compiled
def idc_law(stop: bool, passive: NDArray[np.int64], t: Terms, c: ControlTerms) -> None:
    """All of h + M u_p."""
    motion_effort(stop, not stop, t, c)
    if stop:
        carry_all(t, c)
    else:
        keep_all(t, c)


class MotionController(Controller):
    """PIDC, or IDC for comparison.

    Args:
        model: The arm, its constraint and its coordinates.
        gains: On the coordinates.
        law: `Law.PIDC` or `Law.IDC`.
        period: Period of the loop [s].
    """

    def __init__(
        self,
        model: ConstrainedArm,
        gains: MotionGains,
        law: Law = Law.PIDC,
        period: float = 1e-3,
    ) -> None:
        if law not in (Law.PIDC, Law.IDC):
            raise InvalidValue(f"a motion controller has the law PIDC or IDC, got {law.name}")
        refuse_passive(model)
        super().__init__(model, gains, period, law)


def make_controller(asked: LawRequest) -> MotionController:
    """As parameters say."""
    return MotionController(asked.model, asked.gains, asked.kind.number, asked.period)


LAWS.add(
    LawKind(
        "pidc",
        "projected inverse dynamics, the least torque for the motion",
        Law.PIDC,
        (MOTION, PASSIVE),
        kernel=pidc_law,
        make=make_controller,
    )
)
LAWS.add(
    LawKind(
        "idc",
        "inverse dynamics, for comparison",
        Law.IDC,
        (MOTION,),
        kernel=idc_law,
        make=make_controller,
        projected=False,
    )
)

"""Hybrid control of motion and force: PIDC along the constraint, a PI loop on λ across it.

    f = f∥ + f⊥    (Aghili 52)

`motion` has f∥, `force` the loop on λ and f⊥.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.controllers import Controller, refuse_passive
from projected_control.control.force import ForceGains, ForceLoopState, hold_force
from projected_control.control.gains import MotionGains
from projected_control.control.law_kinds import FORCE, LAWS, Law, LawKind, LawRequest
from projected_control.control.motion import motion_effort
from projected_control.control.terms import ControlTerms
from projected_control.model.constrained_arm import ConstrainedArm, Terms


@compiled
def hybrid_law(stop: bool, passive: NDArray[np.int64], t: Terms, c: ControlTerms) -> None:
    """f = f∥ + f⊥."""
    motion_effort(stop, False, t, c)
    hold_force(stop, t, c)


class ForceController(Controller):
    """Hybrid: PIDC on the coordinates, PI on the multipliers; either error obeys its own equation.

    Args:
        model: The arm, its constraint and its coordinates.
        gains: On the coordinates.
        force_gains: On λ; refused where the sampled loop would diverge.
        period: Period of the loop [s].
    """

    force: ForceLoopState

    def __init__(
        self,
        model: ConstrainedArm,
        gains: MotionGains,
        force_gains: ForceGains,
        period: float = 1e-3,
    ) -> None:
        refuse_passive(model)
        super().__init__(model, gains, period, Law.HYBRID)
        self._close_force_loop(force_gains)


def make_controller(asked: LawRequest) -> ForceController:
    """As parameters say."""
    assert asked.force_gains is not None
    return ForceController(asked.model, asked.gains, asked.force_gains, asked.period)


LAWS.add(
    LawKind(
        "hybrid",
        "projected inverse dynamics, and the constraint force held",
        Law.HYBRID,
        (FORCE,),
        kernel=hybrid_law,
        make=make_controller,
    )
)

"""Motion control of arms with passive joints: f = (I + H) f∥ (Aghili 60).

f∥ may ask a joint without a motor for torque. Adding f⊥ = H f∥ ∈ R(Aᵀ), which moves nothing, takes
that part away: with B the projector on the joints with a motor,

    Q = (I − B)(I − P),    H = −(I − P) Q⁺ (I − B),    f = (I + H) f∥,

the solution of least norm. Only the rows of I − P that belong to passive joints matter in Q; they
are called Q_p here. Their smallest singular value is the sine of the smallest angle between a
motion of passive joints alone and the motions the constraint permits. Where it is zero, some free
motion is out of the motors' reach (Aghili 62): that is reported, and no torque is asked of anybody.

What freedom is left in f⊥ serves a force reference: of the wanted normal effort g, the part
((I − P) − Q_p⁺ Q_p) g can be had without touching a passive joint.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.base import Controller, Effort, unpack_control
from projected_control.control.force import ForceGains, ForceMemory, force_feedback, normal_effort
from projected_control.control.gains import MotionGains
from projected_control.control.motion import motion_kernel
from projected_control.errors import InvalidValue, Uncontrollable
from projected_control.model import Arguments, ConstrainedArm, evaluate_model
from projected_control.projection import pseudo_inverse

Array = NDArray[np.float64]

CONTROLLABILITY_TOLERANCE = 1e-3
"""Sine of the angle below which a passive joint counts as out of the motors' reach."""


@compiled
def passive_rows(P: Array, passive: NDArray[np.int64]) -> Array:
    """Q_p: the rows of I − P that belong to passive joints."""
    n = P.shape[0]
    rows = np.empty((passive.size, n))
    for r in range(passive.size):
        for i in range(n):
            rows[r, i] = -P[passive[r], i]
        rows[r, passive[r]] += 1.0
    return rows


@compiled
def passive_law(
    stop: bool,
    with_force: bool,
    passive: NDArray[np.int64],
    model: Arguments,
    own: Array,
) -> None:
    """(I + H) f∥ into the controller's workspace; all zero where control is lost."""
    t = evaluate_model(*model)
    c, n = unpack_control(own, t), t.h.size
    _, tangent = motion_kernel(stop, False, t, c)
    Q = passive_rows(t.P, passive)
    Q_pinv, c.margins[1] = pseudo_inverse(Q, CONTROLLABILITY_TOLERANCE)
    if with_force:
        force_feedback(c)
    if c.margins[1] <= CONTROLLABILITY_TOLERANCE:
        c.effort[:, :] = 0.0
        return
    normal = np.zeros(n)
    if with_force and not stop:
        wanted = normal_effort(t, tangent, c.command)
        normal[:] = wanted
        for i in range(n):
            for r in range(passive.size):
                for j in range(n):
                    normal[i] -= Q_pinv[i, r] * Q[r, j] * wanted[j]
    for i in range(n):
        for r in range(passive.size):
            normal[i] -= Q_pinv[i, r] * tangent[passive[r]]
    for i in range(n):
        c.effort[0, i] = tangent[i] * t.root[i]
        c.effort[1, i] = normal[i] * t.root[i]
        c.effort[2, i] = c.effort[0, i] + c.effort[1, i]
    for r in range(passive.size):
        c.effort[2, passive[r]] = 0.0


def achievable_force_directions(model: ConstrainedArm) -> int:
    """How many directions of λ the motors can still choose: rank − number of passive joints."""
    passive = np.flatnonzero(model.arm.actuated == 0.0)
    Q = passive_rows(model.P, passive)
    free = np.eye(model.n) - model.P - np.linalg.pinv(Q) @ Q
    return max(round(float(np.trace(free))), 0)


class PassiveJointController(Controller):
    """(I + H) f∥, and a force loop on what is left where gains for one are given.

    Args:
        model: The arm with passive joints, its constraint and its coordinates.
        gains: On the coordinates.
        force_gains: On λ, or None for motion only.
        period: Of the loop [s].
    """

    def __init__(
        self,
        model: ConstrainedArm,
        gains: MotionGains,
        force_gains: ForceGains | None = None,
        period: float = 1e-3,
    ) -> None:
        super().__init__(model, gains, period)
        if not model.arm.passive:
            raise InvalidValue(
                "no joint is passive; use a motion or force controller, or name some"
            )
        self._passive = np.flatnonzero(model.arm.actuated == 0.0).astype(np.int64)
        self._with_force = force_gains is not None
        self.force = ForceMemory(force_gains or ForceGains(), self._terms, self.period)

    @property
    def controllable(self) -> bool:
        """Whether the motors reached all free motions at the last tick."""
        return bool(self.margins[1] > CONTROLLABILITY_TOLERANCE)

    def require_controllable(self, q: Array) -> None:
        """Refuse a configuration in which some free motion is out of the motors' reach."""
        self.stop(q, np.zeros(self.model.n), self.model.time)
        if not self.controllable:
            raise Uncontrollable(
                f"with {sorted(self.model.arm.passive)} passive the motors cannot move the arm in all "
                f"its {self.model.free_directions} free directions at q = {np.round(q, 6).tolist()}: "
                f"the controllability margin is {self.margins[1]:.3g}, needed is more than "
                f"{CONTROLLABILITY_TOLERANCE:g}; actuate more joints or start elsewhere"
            )

    def update(self, q: Array, v: Array, time: float = 0.0) -> Effort:
        self.force.advance()
        return super().update(q, v, time)

    def _compute(self, stop: bool) -> None:
        passive_law(stop, self._with_force, self._passive, *self._arguments)

    def reset(self) -> None:
        super().reset()
        self.force.reset()

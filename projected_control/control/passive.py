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
from projected_control.control.base import Controller, Effort
from projected_control.control.force import ForceGains, ForceMemory, force_feedback, normal_effort
from projected_control.control.gains import MotionGains
from projected_control.control.motion import motion_kernel
from projected_control.errors import InvalidValue, Uncontrollable
from projected_control.model import ConstrainedArm
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
def passive_law(  # type: ignore[no-untyped-def]
    stop: bool,
    with_force: bool,
    motion_arguments,
    force_arguments,
    passive: NDArray[np.int64],
    tolerance: float,
    root: Array,
    effort: Array,
) -> None:
    """effort rows: tangent, normal, total in joint units; all zero where control is lost."""
    M, h, A, b = motion_arguments[0], motion_arguments[1], motion_arguments[3], motion_arguments[4]
    P, A_pinv, margins = motion_arguments[6], motion_arguments[7], motion_arguments[17]
    n, p = root.size, passive.size
    full, tangent = np.empty(n), np.empty(n)
    motion_kernel(stop, False, *motion_arguments, full, tangent)
    Q = passive_rows(P, passive)
    Q_pinv, margins[1] = pseudo_inverse(Q, tolerance)
    effort[:, :] = 0.0
    if with_force:
        force_feedback(*force_arguments)
    if margins[1] <= tolerance:
        return
    normal = np.zeros(n)
    if with_force and not stop:
        wanted = normal_effort(M, h, A, b, P, A_pinv, tangent, force_arguments[5])
        for i in range(n):
            normal[i] = wanted[i]
            for r in range(p):
                for j in range(n):
                    normal[i] -= Q_pinv[i, r] * Q[r, j] * wanted[j]
    for i in range(n):
        for r in range(p):
            normal[i] -= Q_pinv[i, r] * tangent[passive[r]]
    for i in range(n):
        effort[0, i] = tangent[i] * root[i]
        effort[1, i] = normal[i] * root[i]
        effort[2, i] = effort[0, i] + effort[1, i]
    for r in range(p):
        effort[2, passive[r]] = 0.0


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
        self.force = ForceMemory(force_gains or ForceGains(), max(model.m, 1), self.period)

    @property
    def controllable(self) -> bool:
        """Whether the motors reached all free motions at the last tick."""
        return bool(self.margins[1] > CONTROLLABILITY_TOLERANCE)

    def require_controllable(self, q: Array) -> None:
        """Refuse a configuration in which some free motion is out of the motors' reach."""
        self.model.evaluate(q, np.zeros(self.model.n), self.model.time)
        self._compute(True)
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
        passive_law(
            stop,
            self._with_force,
            self._motion_arguments,
            self.force.arguments,
            self._passive,
            CONTROLLABILITY_TOLERANCE,
            self.model.root,
            self._effort,
        )

    def reset(self) -> None:
        super().reset()
        self.force.reset()

"""Control of the constraint force, alone and together with motion (hybrid).

    f⊥ = h⊥ + µ (f∥ − h∥ + M C q̇) + Aᵀ u_λ,      µ = (I − P) M M_c⁻¹           (Aghili 49, corrected)
    u_λ = λ_d + G_F e_λ + G_I ∫ e_λ dt,            e_λ = λ_d − λ                 (Aghili 50, on λ)

The first two terms cancel what gravity and the motion itself do to the constraint, so that λ = u_λ
and (G_F + 1) ė_λ + G_I e_λ = 0, whatever the motion. They are computed as (I − P)(h + M q̈), q̈ being
the acceleration that f∥ will give, which is the same thing.

The integral is of λ, not of the vector F: that one leaves the normal space while the arm moves and
then disturbs the motion.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import check
from projected_control.compiled import compiled
from projected_control.control.base import Controller, Effort
from projected_control.control.gains import BLEND_SECONDS, Blend, MotionGains
from projected_control.control.motion import motion_kernel
from projected_control.control.stability import ForceLoop
from projected_control.dynamics import acceleration_kernel
from projected_control.errors import InvalidValue
from projected_control.model import ConstrainedArm

Array = NDArray[np.float64]


class AntiWindup(Enum):
    """What the integral does while the motors cannot give what is asked of them."""

    NONE = "none"
    """It goes on, up to its limit."""
    CONDITIONAL = "conditional"
    """It waits while the effort is limited."""
    BACK_CALCULATION = "back_calculation"
    """It is led back by what the limits took away, within the tracking time."""


@dataclass(frozen=True)
class ForceGains:
    """The PI loop on λ.

    Attributes:
        proportional: G_F.
        integral: G_I [1/s].
        cutoff: Of the low-pass on the measured λ [Hz]; None for none.
        delay: From a torque to its effect in the measurement [samples].
        integral_limit: Largest share of the integral in u_λ [N or N·m].
        anti_windup: See `AntiWindup`.
        tracking_time: Of back-calculation [s].
    """

    proportional: float = 3.0
    integral: float = 0.1
    cutoff: float | None = 50.0
    delay: int = 1
    integral_limit: float = 100.0
    anti_windup: AntiWindup = AntiWindup.CONDITIONAL
    tracking_time: float = 0.1

    def __post_init__(self) -> None:
        check.positive("integral limit", self.integral_limit)
        check.positive("tracking time", self.tracking_time)
        self.loop(1e-3)

    def loop(self, period: float) -> ForceLoop:
        """The sampled loop these gains make."""
        return ForceLoop(self.proportional, self.integral, period, self.cutoff, self.delay)

    def array(self, period: float) -> Array:
        """G_F, G_I T, the filter's pole a, and the integral's limit."""
        loop = self.loop(period).require_stable()
        return np.array([self.proportional, self.integral * period, loop.pole, self.integral_limit])


@compiled
def force_feedback(
    wanted: Array, measured: Array, gains: Array, integrate: Array, memory: Array, command: Array
) -> None:
    """u_λ from the filtered error.

    Args:
        wanted: λ_d, m.
        measured: λ, m; a value that is not finite is skipped.
        gains: See `ForceGains.array`.
        integrate: One number: zero stops the integral.
        memory: Rows: filtered λ (NaN before the first sample), integral part of u_λ, e_λ; 3 × m.
        command: Result u_λ, m.
    """
    for j in range(wanted.size):
        if np.isfinite(measured[j]):
            if np.isfinite(memory[0, j]):
                memory[0, j] += (1.0 - gains[2]) * (measured[j] - memory[0, j])
            else:
                memory[0, j] = measured[j]
        e = wanted[j] - memory[0, j] if np.isfinite(memory[0, j]) else 0.0
        if integrate[0] != 0.0:
            memory[1, j] = min(max(memory[1, j] + gains[1] * e, -gains[3]), gains[3])
        memory[2, j] = e
        command[j] = wanted[j] + gains[0] * e + memory[1, j]


@compiled
def normal_effort(
    M: Array, h: Array, A: Array, b: Array, P: Array, A_pinv: Array, tangent: Array, command: Array
) -> Array:
    """f⊥ = (I − P)(h + M q̈) + Aᵀ u_λ, with q̈ the acceleration under f∥."""
    n, m = h.size, b.size
    acting, centripetal = np.empty(n), np.zeros(n)
    for i in range(n):
        acting[i] = tangent[i]
        for j in range(n):
            acting[i] -= P[i, j] * h[j]
        for j in range(m):
            centripetal[i] += A_pinv[i, j] * b[j]
    acceleration = acceleration_kernel(M, P, acting, centripetal)
    load = np.empty(n)
    for i in range(n):
        load[i] = h[i]
        for j in range(n):
            load[i] += M[i, j] * acceleration[j]
    normal = np.empty(n)
    for i in range(n):
        normal[i] = load[i]
        for j in range(n):
            normal[i] -= P[i, j] * load[j]
        for j in range(m):
            normal[i] += A[j, i] * command[j]
    return normal


@compiled
def hybrid_law(stop: bool, motion_arguments, force_arguments, root: Array, effort: Array) -> None:  # type: ignore[no-untyped-def]
    """f = f∥ + f⊥ (Aghili 52); effort rows: tangent, normal, total, in joint units."""
    M, h, A, b = motion_arguments[0], motion_arguments[1], motion_arguments[3], motion_arguments[4]
    P, A_pinv = motion_arguments[6], motion_arguments[7]
    n = root.size
    full, tangent = np.empty(n), np.empty(n)
    motion_kernel(stop, False, *motion_arguments, full, tangent)
    force_feedback(*force_arguments)
    normal = normal_effort(M, h, A, b, P, A_pinv, tangent, force_arguments[5])
    for i in range(n):
        effort[0, i] = tangent[i] * root[i]
        effort[1, i] = 0.0 if stop else normal[i] * root[i]
        effort[2, i] = effort[0, i] + effort[1, i]


class ForceMemory:
    """Reference, measurement and memory of a force loop, in arrays the laws are bound to.

    Attributes:
        wanted: λ_d, m; written by whoever plans [N or N·m].
        measured: λ, m; written by whoever measures.
        gains: In force.
    """

    def __init__(self, gains: ForceGains, m: int, period: float) -> None:
        if m == 0:
            raise InvalidValue("force control needs a constraint: the model has none")
        self.gains, self.period = gains, period
        self.wanted: Array = np.zeros(m)
        self.measured: Array = np.full(m, np.nan)
        self._values = gains.array(period)
        self._blend = Blend(self._values)
        self._integrate = np.ones(1)
        self._memory = np.zeros((3, m))
        self._command = np.zeros(m)
        self.arguments = (
            self.wanted,
            self.measured,
            self._values,
            self._integrate,
            self._memory,
            self._command,
        )
        self.reset()

    @property
    def filtered(self) -> Array:
        """λ after the low-pass; NaN before the first measurement."""
        return self._memory[0]

    @property
    def integral(self) -> Array:
        """The integral's share of u_λ."""
        return self._memory[1]

    @property
    def error(self) -> Array:
        """e_λ of the last tick."""
        return self._memory[2]

    def set_gains(self, gains: ForceGains, seconds: float = BLEND_SECONDS) -> None:
        """Change the gains while running; unstable ones are refused and the old ones stay."""
        self._blend.towards(gains.array(self.period), seconds)
        self.gains = gains

    def set_reference(self, multipliers: ArrayLike) -> None:
        """λ_d, one number a constraint row."""
        self.wanted[:] = check.finite_array("force reference λ_d", multipliers, self.wanted.shape)

    def advance(self) -> None:
        """Blend the gains one tick on."""
        if self._blend.active:
            self._blend.advance(self.period)

    def limited(self, shortfall: Array | None) -> None:
        """Tell the loop what the limits did to its effort.

        Args:
            shortfall: What was sent minus what was asked for, in multipliers (m); None where
                nothing was taken away.
        """
        strategy = self.gains.anti_windup
        self._integrate[0] = float(shortfall is None or strategy is not AntiWindup.CONDITIONAL)
        if shortfall is not None and strategy is AntiWindup.BACK_CALCULATION:
            self._memory[1] += (self.period / self.gains.tracking_time) * shortfall

    def reset(self) -> None:
        """Forget filter and integral."""
        self._memory[:] = 0.0
        self._memory[0] = np.nan
        self._integrate[0] = 1.0


class ForceController(Controller):
    """Hybrid: PIDC on the coordinates, PI on the multipliers; either error obeys its own equation.

    Args:
        model: The arm, its constraint and its coordinates.
        gains: On the coordinates.
        force_gains: On λ; refused where the sampled loop would diverge.
        period: Of the loop [s].
    """

    def __init__(
        self,
        model: ConstrainedArm,
        gains: MotionGains,
        force_gains: ForceGains,
        period: float = 1e-3,
    ) -> None:
        super().__init__(model, gains, period)
        self.force = ForceMemory(force_gains, model.m, self.period)

    def update(self, q: Array, v: Array, time: float = 0.0) -> Effort:
        self.force.advance()
        return super().update(q, v, time)

    def _compute(self, stop: bool) -> None:
        hybrid_law(
            stop, self._motion_arguments, self.force.arguments, self.model.root, self._effort
        )

    def reset(self) -> None:
        super().reset()
        self.force.reset()

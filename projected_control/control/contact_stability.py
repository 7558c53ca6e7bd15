"""Stability of the force loop on a surface that gives, at one configuration.

On a surface of stiffness K the normal direction is a mode of its own,

    m_n ẍ + K x = u_λ,    λ = K x,    m_n = 1 / (A M⁻¹Aᵀ),
    u_λ = λ_d + G_F e_λ + G_I ∫ e_λ dt − d_n ẋ,

which nothing else damps: the filter's lag τ and d samples of delay act like a damping of about
−G_F K (τ + d T), so that without d_n the loop diverges on every surface that has no damping of its
own. A rigid surface is the limit K → ∞, where x does not move and `stability.ForceLoop` is all
there is.

With y = K x, w = √(K m_n) ẋ, ω = √(K/m_n) and ζ = d_n / (2 √(K m_n)), through a zero-order hold:

    y⁺ = y cos ωT + w sin ωT + (1 − cos ωT) u,    w⁺ = −y sin ωT + w cos ωT + u sin ωT,

where u is u_λ of d − 1 samples ago, made of the filtered y and of −2 ζ w. Several rows with one K
are as many such modes, whose masses are 1/eigenvalues of A M⁻¹Aᵀ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control.control.contact import PER_DECADE
from projected_control.control.stability import (
    NEGLIGIBLE,
    ForceLoop,
    growth_margin,
    stable_range,
)
from projected_control.errors import UnstableForceLoop
from projected_control.model.constrained_arm import ConstrainedArm

Array = NDArray[np.float64]

HELD = 1e-9
"""Share of the largest mobility below which a direction counts as one that no motor moves."""

LESS = 0.7
"""By which both force gains are lowered, again and again, in search of some that are stable."""


def normal_masses(model: ConstrainedArm, controlled: ArrayLike) -> Array:
    """m_n of the controlled rows that are lengths, where the model was evaluated last [kg].

    All other rows count as rigid: their share is taken out of A M⁻¹Aᵀ first.

    Args:
        model: The arm and its constraint.
        controlled: Not zero for each row whose force is controlled, m.

    Returns:
        Smallest first; empty where no such row moves, or the model was not evaluated yet.
    """
    if model.constraint is None or not model.M.any() or not np.isfinite(model.M).all():
        return np.zeros(0)
    gives = np.asarray(controlled) != 0.0
    gives &= [unit == "m" for unit in model.constraint.row_units]
    if not gives.any() or not np.isfinite(model.A).all():
        return np.zeros(0)
    G = model.A @ np.linalg.pinv(model.M, hermitian=True) @ model.A.T
    mobility = G[np.ix_(gives, gives)]
    across = G[np.ix_(gives, ~gives)]
    if across.size:
        mobility = mobility - across @ np.linalg.pinv(G[np.ix_(~gives, ~gives)]) @ across.T
    found = np.linalg.eigvalsh(0.5 * (mobility + mobility.T))[::-1]
    return 1.0 / found[found > HELD * max(float(np.abs(G).max()), 1e-300)]


def spread_masses(masses: Array) -> Array:
    """As many of the masses that an arm has on its way as tell whether a loop is stable [kg]."""
    if masses.size == 0:
        return masses
    low, high = float(masses.min()), float(masses.max())
    return np.geomspace(low, high, 1 + int(np.ceil(PER_DECADE * np.log10(high / low))))


@dataclass(frozen=True, eq=False)
class ContactLoop:
    """The force loop on surfaces of some stiffnesses, as the sampled system it is.

    Attributes:
        force: Gains, filter, period and delay.
        damping: d_n [N·s/m].
        stiffness: All K that must be stable [N/m].
        masses: All m_n [kg].
    """

    force: ForceLoop
    damping: float
    stiffness: Array
    masses: Array

    @cached_property
    def _pairs(self) -> tuple[Array, Array]:
        """Every K with every m_n."""
        K, m = np.meshgrid(self.stiffness, self.masses, indexing="ij")
        return K.ravel(), m.ravel()

    @cached_property
    def radii(self) -> Array:
        """Magnitude of the slowest root for each K and m_n, K × m_n."""
        K, m = self._pairs
        if K.size == 0:
            return np.zeros((self.stiffness.size, self.masses.size))
        angle = np.sqrt(K / m) * self.force.period
        c, s, twice_zeta = np.cos(angle), np.sin(angle), self.damping / np.sqrt(K * m)
        a, d = self.force.pole, self.force.delay
        G_F, step = self.force.proportional, self.force.integral * self.force.period
        integral = step >= NEGLIGIBLE
        n = 4 + d - 1  # y, w, filtered, integral, and what is on its way, the newest first
        whole = np.zeros((K.size, n, n))
        whole[:, 2, 0], whole[:, 2, 2] = 1.0 - a, a
        if integral:
            whole[:, 3], whole[:, 3, 3] = -step * whole[:, 2], 1.0
        u = -G_F * whole[:, 2] + whole[:, 3]
        rate = self.force.derivative / self.force.period
        u -= rate * whole[:, 2]
        u[:, 2] += rate
        u[:, 1] -= twice_zeta
        if d > 1:
            whole[:, 4] = u
            for i in range(5, n):
                whole[:, i, i - 1] = 1.0
            u = np.zeros((K.size, n))
            u[:, -1] = 1.0
        whole[:, 0, 0], whole[:, 0, 1] = c, s
        whole[:, 1, 0], whole[:, 1, 1] = -s, c
        whole[:, 0] += (1.0 - c)[:, None] * u
        whole[:, 1] += s[:, None] * u
        if not integral:
            whole = np.delete(np.delete(whole, 3, axis=1), 3, axis=2)
        slowest = np.abs(np.linalg.eigvals(whole)).max(axis=1)
        return np.asarray(slowest.reshape(self.stiffness.size, self.masses.size))

    @property
    def spectral_radius(self) -> float:
        """The largest of them; the loop is stable below one."""
        return float(self.radii.max(initial=0.0))

    @property
    def stable(self) -> bool:
        """Whether all roots lie inside the unit circle, on all surfaces."""
        return self.spectral_radius < 1.0

    @property
    def gain_margin(self) -> float:
        """The factor by which all gains may grow before the loop diverges; below one it does."""
        force = self.force
        if not self.masses.size or force.proportional == force.integral == force.derivative == 0.0:
            return float("inf") if self.stable else 0.0
        return growth_margin(lambda factor: self._scaled(factor).stable)

    def _scaled(self, factor: float) -> ContactLoop:
        return replace(self, force=self.force.times(factor))

    def _damped(self, damping: float) -> ContactLoop:
        return replace(self, damping=damping)

    @property
    def critical_damping(self) -> float:
        """2 √(K m_n) of the middle of all surfaces and masses [N·s/m]."""
        K, m = self._pairs
        return float(2.0 * np.exp(0.5 * np.log(K * m).mean()))

    @property
    def damping_bounds(self) -> tuple[float, float] | None:
        """The d_n between which the loop is stable [N·s/m]; None where there are none."""
        scale = self.critical_damping
        found = _range(lambda share: self._damped(share * scale).stable, 0.5)
        return None if found is None else (scale * found[0], scale * found[1])

    @property
    def proportional_bounds(self) -> tuple[float, float] | None:
        """The G_F between which it is stable, all else as it is; None where there are none."""
        return _range(
            lambda gain: replace(self, force=replace(self.force, proportional=gain)).stable,
            self.force.proportional or 1.0,
        )

    def with_less_gain(self) -> ContactLoop | None:
        """Stable with the largest gains that are, G_F and G_I lowered alike, and a d_n for them."""
        loop = self
        for _ in range(20):
            if (bounds := loop.damping_bounds) is not None:
                return loop._damped(_middle(bounds))
            loop = loop._scaled(LESS)
        return None

    def require_stable(self) -> ContactLoop:
        """Itself, or an error that says what would be stable."""
        if self.stable:
            return self
        worst = np.unravel_index(int(self.radii.argmax()), self.radii.shape)
        K, m = self.stiffness[worst[0]], self.masses[worst[1]]
        force, advice = self.force, []
        if (bounds := self.damping_bounds) is not None:
            low, high = bounds
            advice.append(f"force.normal_damping between {low:.4g} and {high:.4g} N·s/m")
        elif (less := self.with_less_gain()) is not None:
            advice.append(
                f"force.proportional {less.force.proportional:.3g} and force.integral "
                f"{less.force.integral:.3g} with force.normal_damping {less.damping:.3g} N·s/m"
            )
        if (bounds := self.proportional_bounds) is not None:
            low, high = bounds
            between = f"between {low:.4g} and" if low > 0.0 else "below"
            advice.append(f"with this d_n force.proportional {between} {high:.4g}")
        if not advice:
            advice.append("less delay, or a narrower range of contact.stiffness")
        filtered = "no filter" if force.cutoff is None else f"a {force.cutoff:g} Hz filter"
        raise UnstableForceLoop(
            f"the force loop would diverge on a surface of {K:.4g} N/m (contact.stiffness) where "
            f"{m:.3g} kg move along the normal: its spectral radius is {self.spectral_radius:.4f} "
            f"with G_F = {force.proportional:g}, G_I = {force.integral:g} 1/s, d_n = "
            f"{self.damping:g} N·s/m, {filtered} and {force.delay} "
            f"sample{'s' if force.delay > 1 else ''} of delay at {1.0 / force.period:g} Hz; it "
            f"takes {', or '.join(advice)}",
            key="contact.stiffness",
        )

    def bounce_speed(self, force: float) -> float:
        """The largest speed of a touch without bounce: v √(K m_n) ≤ F_d, on the stiffest [m/s]."""
        K, m = self._pairs
        return float(abs(force) / np.sqrt((K * m).max())) if K.size else float("inf")


TOUCH_INTEGRAL, TOUCH_CUTOFF = 5.0, 20.0
"""G_I [1/s] and the filter [Hz] of `touch_gains`."""

TOUCH_ZETA, TOUCH_LAG = 1.0, 0.3
"""ζ of the mode along the normal, and what ζ ω d T is at most, of `touch_gains`."""


def touch_gains(stiffness: float, mass: float, period: float, delay: int) -> ContactLoop:
    """Gains for touching a surface, from K [N/m], m_n [kg] and d samples of delay:

        G_F = 0.1,  G_I = 5/s behind 20 Hz,  d_n = 2 ζ √(K m_n),  ζ = min(1, 0.3 √(m_n/K) / (d T))

    λ_d does what there is to do; the feedback takes away what friction and masses add to it.
    """
    omega = np.sqrt(stiffness / mass)
    zeta = min(TOUCH_ZETA, TOUCH_LAG / (omega * delay * period))
    return ContactLoop(
        ForceLoop(0.1, TOUCH_INTEGRAL, period, TOUCH_CUTOFF, delay),
        float(2.0 * zeta * np.sqrt(stiffness * mass)),
        np.array([stiffness]),
        np.array([mass]),
    )


def _middle(bounds: tuple[float, float]) -> float:
    low, high = bounds
    return float(np.sqrt(low * high)) if low > 0.0 else 0.5 * high


def _range(stable: Callable[[float], bool], near: float) -> tuple[float, float] | None:
    """`stable_range` in the few octaves where gains lie: each look takes many eigenvalues."""
    return stable_range(stable, near, 2.0**-10, 2.0**10)

"""Stability of an impedance as the sampled loop it is, at one configuration.

With the mobility Λ⁻¹ of the coordinates frozen, ë = −Λ⁻¹ (K e + D ė) through a zero-order hold of
period T, the answer d samples after the state it belongs to (d = 1: its own period):

    e⁺ = e + T ė + ½ T² u,    ė⁺ = ė + T u,    u = −Λ⁻¹ (K e + D ė) of d − 1 samples ago.

With Λ⁻¹ = B Bᵀ and e = B z only what the constraint lets move is looked at: z̈ = −Bᵀ(K B z + D B ż).
A stiffness counts here against the inertia that moves, so that light directions decide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from projected_control.control.stability import growth_margin
from projected_control.errors import UnstableMotionLoop

if TYPE_CHECKING:
    from projected_control.control.laws.impedance import Impedance

Array = NDArray[np.float64]

IMMOBILE = 1e-9  # share of the largest below which a mode's ω² counts as held by the constraint


@dataclass(frozen=True, eq=False)
class ImpedanceLoop:
    """The loop of all coordinates together."""

    mobility: Array  # Λ⁻¹, k × k; Λ_d⁻¹ where the inertia is shaped
    # stiffness, damping: K and D in the coordinates, k × k each.
    stiffness: Array
    damping: Array
    period: float  # T [s]
    delay: int = 1  # d, from a state to the effect of its answer [samples]
    ratio: float = 0.0  # ζ by which damping is added, zero for none

    @cached_property
    def _reduced(self) -> tuple[Array, Array]:
        """Stiffness and damping per unit of inertia, in as many directions as can move."""
        sizes, axes = np.linalg.eigh(0.5 * (self.mobility + self.mobility.T))
        moves = sizes > IMMOBILE * max(float(sizes[-1]), 1e-300)
        B = axes[:, moves] * np.sqrt(sizes[moves])
        K, D = B.T @ self.stiffness @ B, B.T @ self.damping @ B
        squares, modes = np.linalg.eigh(0.5 * (K + K.T))
        own = (modes * np.sqrt(np.maximum(squares, 0.0))) @ modes.T
        return K, D + 2.0 * self.ratio * own

    @property
    def spectral_radius(self) -> float:
        """Magnitude of the slowest root; the loop is stable below one."""
        K, D = self._reduced
        r, T = K.shape[0], self.period
        if r == 0:
            return 0.0
        eye, zero = np.eye(r), np.zeros((r, r))
        move = np.block([[eye, T * eye], [zero, eye]])
        push, answer = np.vstack([0.5 * T**2 * eye, T * eye]), -np.hstack([K, D])
        late = self.delay - 1
        if late == 0:
            return float(np.abs(np.linalg.eigvals(move + push @ answer)).max())
        whole = np.zeros((2 * r + late * r, 2 * r + late * r))
        whole[: 2 * r, : 2 * r], whole[: 2 * r, 2 * r : 3 * r] = move, push
        for i in range(late - 1):  # answers on their way, the oldest first
            whole[(2 + i) * r : (3 + i) * r, (3 + i) * r : (4 + i) * r] = eye
        whole[-r:, : 2 * r] = answer
        return float(np.abs(np.linalg.eigvals(whole)).max())

    @property
    def stable(self) -> bool:
        """Whether all roots lie inside the unit circle."""
        return self.spectral_radius < 1.0

    @property
    def gain_margin(self) -> float:
        """The factor by which K and D may grow together before the loop diverges."""
        return growth_margin(lambda f: self._scaled(f, f).stable)

    @property
    def reduction_margin(self) -> float:
        """The factor by which both may be divided; infinite for a loop that is stable."""
        return float("inf") if self.stable else 0.0

    @property
    def stiffness_margin(self) -> float:
        """The factor by which K may grow, damping by ratio with it; below one it diverges."""
        return growth_margin(lambda f: self._scaled(f, 1.0).stable)

    def _scaled(self, stiffness: float, damping: float) -> ImpedanceLoop:
        return replace(self, stiffness=stiffness * self.stiffness, damping=damping * self.damping)

    def require_stable(self, name: str = "") -> ImpedanceLoop:
        """Itself, or an error that says what would be stable."""
        if self.stable:
            return self
        samples = f"{self.delay} sample{'s' if self.delay > 1 else ''}"
        factor = self.stiffness_margin
        advice = f"impedance.stiffness by {0.8 * factor:.3g}" if factor > 0.0 else ""
        both = self.gain_margin
        if not advice and both > 0.0:
            advice = f"impedance.stiffness and impedance.damping by {0.8 * both:.3g}"
        fastest = float(np.sqrt(np.linalg.eigvalsh(self._reduced[0])[-1])) / (2.0 * np.pi)
        raise UnstableMotionLoop(
            f"the impedance{f' of {name}' if name else ''} would diverge here: its fastest mode "
            f"has {fastest:.3g} Hz, with {samples} of delay at {1.0 / self.period:g} Hz; "
            + (f"multiply {advice}" if advice else "raise impedance.damping"),
            key="impedance.stiffness",
        )


def impedance_loop(
    impedance: Impedance, mobility: Array, T: Array, period: float, delay: int
) -> ImpedanceLoop:
    """The loop of an impedance where the arm is.

    Args:
        impedance: The behaviour asked for.
        mobility: Λ⁻¹ of the arm there, k × k.
        T: From the axes of its matrices to the coordinates, k × k.
        period: [s].
        delay: [samples].
    """
    k = T.shape[0]
    K, D, inertia = impedance.matrices(k)
    by_ratio = impedance.by_ratio
    return ImpedanceLoop(
        mobility if inertia is None else T @ np.linalg.inv(inertia) @ T.T,
        T @ K @ T.T,
        T @ D @ T.T,
        period,
        delay,
        impedance.damping_ratio if by_ratio else 0.0,
    )

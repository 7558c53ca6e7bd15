"""The two methods that make a constraint, and all that follows from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.model.arm import Arm
from projected_control.model.constraints.shapes import Shape
from projected_control.model.constraints.wrenches import moved_reference
from projected_control.model.motion_tables import MotionTable

Array = NDArray[np.float64]

DIFFERENCE_STEP = 1e-5  # time over which `Constraint.bias` differentiates A along the motion [s]

RANK_TOLERANCE = 1e-9
"""Singular values of wrenches below this share of the largest count as zero: rows that repeat."""


class Target(NamedTuple):
    """Where a moving constraint wants Φ(q) to be: x, ẋ and ẍ, one number per row."""

    x: Array
    x_rate: Array
    x_acceleration: Array


class Constraint(ABC):
    """What takes motion away from an arm: Φ(q) = x(t).

    Attributes:
        rows: m, the number of scalar equations. They may depend on each other.
        frame: Name of the frame at which the constraint's force is measured unless another is
            given; None where there is no such frame.
        row_names: What the rows are called in parameter files, each once; their numbers from one
            on unless a kind has names.
        row_units: ``m`` or ``rad`` per row: of Φ, so that λ is in N or N·m.
    """

    rows: int
    frame: str | None = None

    @cached_property
    def row_names(self) -> tuple[str, ...]:
        """What the rows are called."""
        return tuple(str(row + 1) for row in range(self.rows))

    @cached_property
    def row_units(self) -> tuple[str, ...]:
        """Unit of Φ per row."""
        return ("m",) * self.rows

    @abstractmethod
    def residual(self, arm: Arm) -> Array:
        """Φ(q) at the arm's present state, m numbers; zero where the constraint is met."""

    @abstractmethod
    def jacobian(self, arm: Arm) -> Array:
        """A = ∂Φ/∂q, m × n."""

    def bias(self, arm: Arm) -> Array:
        """Ȧq̇, m numbers.

        This default takes central differences of the Jacobian along the motion, at the price of
        two more passes of the dynamics and of half the digits. Give your own for a fast loop.
        """
        probe, step = arm.twin(), DIFFERENCE_STEP * arm.v
        ahead = self.jacobian(probe.update(arm.moved(arm.q, step), arm.v))
        behind = self.jacobian(probe.update(arm.moved(arm.q, -step), arm.v))
        return (ahead - behind) @ arm.v / (2.0 * DIFFERENCE_STEP)

    def target(self, time: float) -> Target | None:
        """x(t), ẋ and ẍ of a moving constraint; None for one that stands still."""
        return None

    @property
    def target_table(self) -> MotionTable | None:
        """x(t) as numbers that a compiled tick evaluates by itself; None where there are none.

        A constraint that moves without a table asks Python for its target in every tick.
        """
        return None

    # Force

    def wrench_basis(self, arm: Arm, frame: str) -> Array:
        """W, 6 × m: column i is the wrench that λ_i = 1 exerts on the surroundings at a frame.

        Force above moment, in world axes, the moment about the frame's origin [N/λ, N·m/λ]. This
        default is the smallest W with Jᵀ W = Aᵀ, J the Jacobian of the frame: exact where the frame
        belongs to the link that is held and at least six joints move it, or as many as its motion
        has directions. Kinds that know their directions override it.
        """
        J, A = arm.frame(frame).jacobian, self.jacobian(arm)
        if not np.isfinite(J).all() or not np.isfinite(A).all():
            return np.full((6, self.rows), np.nan)
        return np.linalg.lstsq(J.T, A.T, rcond=RANK_TOLERANCE)[0]

    def basis_is_constant(self, frame: str) -> bool:
        """Whether W at this frame is the same for every q, so that it can be worked out once."""
        return False

    def wrench(self, arm: Arm, frame: str, multipliers: Array) -> Array:
        """w = W λ: what the arm exerts on the surroundings at a frame, force above moment."""
        wrench: Array = self.wrench_basis(arm, frame) @ multipliers
        return wrench

    def multiplier_map(self, arm: Arm, frame: str) -> Array:
        """W⁺, m × 6: λ from a wrench that is measured at a frame.

        The pseudo-inverse is taken with the moment about the origin of the constraint's own frame,
        wherever the sensor stands: there a force along a free direction, such as friction, has no
        share in λ. At the constraint's own frame, and for all wrenches that the constraint can
        exert, this is the ordinary W⁺. Where rows depend on each other, λ is the smallest that
        fits. A state that is not finite has no directions: NaN.
        """
        W = self.wrench_basis(arm, frame)
        if not np.isfinite(W).all():
            return np.full((self.rows, 6), np.nan)
        if np.abs(W).max(initial=0.0) < RANK_TOLERANCE:  # nothing is felt here, but for rounding
            return np.zeros((self.rows, 6))
        X = moved_reference(arm, frame, self.frame or frame)
        result: Array = np.linalg.pinv(X @ W, rcond=RANK_TOLERANCE) @ X
        return result

    def multipliers(self, arm: Arm, frame: str, wrench: Array) -> Array:
        """λ from the wrench that the arm exerts at a frame, force above moment, in world axes."""
        multipliers: Array = self.multiplier_map(arm, frame) @ wrench
        return multipliers

    # Looks

    def shapes(self, time: float = 0.0) -> list[Shape]:
        """What to draw of the constraint at a time [s]."""
        target = self.target(time)
        return self.shapes_at(np.zeros(self.rows) if target is None else target.x)

    def shapes_at(self, x: Array) -> list[Shape]:
        """What to draw of Φ(q) = x; nothing unless a kind says so."""
        return []

"""The orthogonal projector onto the directions a constraint leaves free.

Everything in this package stands on one decomposition of the constraint Jacobian A ∈ ℝᵐˣⁿ
(Aghili 4, 15):

    A = U Σ Vᵀ,    A⁺ = V₁ Σ₁⁻¹ U₁ᵀ,    P = I − A⁺ A = I − V₁ V₁ᵀ.

P projects on N(A), the motions the constraint permits, I − P on R(Aᵀ), where the constraint force
lives. Redundant rows and singular configurations only change the rank.

The singular values are cut by an *absolute* tolerance. A relative one would never cut the single
row of a slider, however close to its singularity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.compiled import compiled
from projected_control.errors import InvalidValue
from projected_control.model.linalg import svd

Array = NDArray[np.float64]

TOLERANCE = 1e-4
"""Default for the smallest singular value that still counts as a constraint."""

MAX_TOLERANCE = 1e-3
"""Largest tolerance accepted: above it, a healthy constraint would be dropped visibly early."""


@compiled
def project(
    A: Array, tolerance: float, P: Array, A_pinv: Array, sigma: Array, memory: Array
) -> int:
    """Fill P (n × n), A⁺ (n × m) and the singular values (m) of A; return the rank.

    The memory holds at least m (m + n) numbers for intermediate results.
    """
    m, n = A.shape
    U, V = memory[: m * m].reshape((m, m)), memory[m * m : m * (m + n)].reshape((m, n))
    svd(A, U, sigma, V)
    P[:, :] = 0.0
    A_pinv[:, :] = 0.0
    for i in range(n):
        P[i, i] = 1.0
    rank = 0
    for s in range(m):
        if sigma[s] > tolerance:
            rank += 1
            for i in range(n):
                for j in range(n):
                    P[i, j] -= V[s, i] * V[s, j]
                for j in range(m):
                    A_pinv[i, j] += V[s, i] * U[j, s] / sigma[s]
    return rank


@compiled
def pseudo_inverse(A: Array, tolerance: float, A_pinv: Array, memory: Array) -> float:
    """Fill A⁺ (n × m); return the smallest of the m singular values, whether it was kept or cut.

    The memory holds at least m (m + n + 1) numbers for intermediate results.
    """
    m, n = A.shape
    U, V = memory[: m * m].reshape((m, m)), memory[m * m : m * (m + n)].reshape((m, n))
    sigma = memory[m * (m + n) : m * (m + n + 1)]
    svd(A, U, sigma, V)
    A_pinv[:, :] = 0.0
    smallest = np.inf
    for s in range(m):
        smallest = min(smallest, sigma[s])
        if sigma[s] > tolerance:
            for i in range(n):
                for j in range(m):
                    A_pinv[i, j] += V[s, i] * U[j, s] / sigma[s]
    return smallest


@dataclass(frozen=True)
class Metric:
    """A diagonal metric W of joint space: joints differ in unit or strength (Aghili VII-B).

    In the new coordinates ``q̇_W = W^½ q̇`` and ``f_W = W^-½ f``, and therefore
    ``M_W = W^-½ M W^-½``, ``A_W = A W^-½``. The torque of least ``‖f_W‖`` is the torque of least
    ``(fᵀ W⁻¹ f)^½``.

    Attributes:
        root: Diagonal of W^½, one positive number a joint.
    """

    root: Array

    def __post_init__(self) -> None:
        root = validate.finite_array("metric", self.root, (None,))
        if not (root > 0.0).all():
            raise InvalidValue(f"metric must be positive for every joint, got {root.tolist()}")
        object.__setattr__(self, "root", root)

    @classmethod
    def identity(cls, n: int) -> Metric:
        """All joints count the same."""
        return cls(np.ones(n))

    @classmethod
    def from_length(cls, length: float, prismatic: ArrayLike) -> Metric:
        """Forces of prismatic joints times this length [m] compare with torques (Aghili 48)."""
        mask = np.asarray(prismatic, dtype=bool)
        return cls(np.where(mask, 1.0 / validate.positive("characteristic length", length), 1.0))

    @classmethod
    def from_limits(cls, effort_limits: ArrayLike) -> Metric:
        """Each joint's effort counts relative to what its motor can give [N·m or N]."""
        return cls(np.asarray(effort_limits, dtype=np.float64))


@dataclass(frozen=True)
class Projection:
    """The decomposition of joint space by a constraint, for one configuration.

    Attributes:
        P: Projector on the free directions N(A), n × n.
        A_pinv: Pseudo-inverse A⁺, n × m.
        rank: Number of independent constraints.
        singular_values: Of A, largest first, m of them.
        tolerance: Singular values up to this count as zero.
    """

    P: Array
    A_pinv: Array
    rank: int
    singular_values: Array
    tolerance: float

    @classmethod
    def of(
        cls, A: ArrayLike, tolerance: float = TOLERANCE, metric: Metric | None = None
    ) -> Projection:
        """Decompose a constraint Jacobian, m × n, in the coordinates of the metric if given."""
        matrix = validate.finite_array("constraint Jacobian A", A, (None, None))
        check_tolerance(tolerance)
        m, n = matrix.shape
        if metric is not None:
            matrix = matrix / validate.finite_array("metric", metric.root, (n,))
        P, A_pinv, sigma = np.empty((n, n)), np.empty((n, m)), np.empty(m)
        rank = project(matrix, tolerance, P, A_pinv, sigma, np.empty(m * (m + n)))
        return cls(P, A_pinv, rank, np.sort(sigma)[::-1], tolerance)

    @property
    def redundant(self) -> bool:
        """Whether some constraint rows depend on others (then λ is not unique)."""
        return self.rank < self.A_pinv.shape[1]

    def tangent(self, x: ArrayLike) -> Array:
        """x∥ = P x, the part along the constraint (Aghili 5)."""
        return self.P @ np.asarray(x, dtype=np.float64)

    def normal(self, x: ArrayLike) -> Array:
        """x⊥ = (I − P) x, the part against the constraint."""
        x = np.asarray(x, dtype=np.float64)
        return x - self.P @ x


def check_tolerance(tolerance: float) -> float:
    """A usable singular-value tolerance."""
    if validate.positive("singular-value tolerance", tolerance) > MAX_TOLERANCE:
        raise InvalidValue(
            f"singular-value tolerance must be at most {MAX_TOLERANCE:g}, got {tolerance:g}: "
            "a larger one drops constraints that still hold"
        )
    return tolerance

"""The orthogonal projector onto the directions a constraint leaves free.

Everything in this package stands on one decomposition of the constraint Jacobian A ∈ ℝᵐˣⁿ
(Aghili 4, 15), see `span`:

    A⁺ = Vᵀ X,    P = I − A⁺ A = I − Vᵀ V.

P projects on N(A), the motions the constraint permits, I − P on R(Aᵀ), where the constraint force
lives. Redundant rows and singular configurations only change the rank.

Singular values are cut by an *absolute* tolerance. A relative one would never cut the single row of
a slider, however close to its singularity.

What is computed of a model, and a plant, cut there. For a law the cut would be a step of its
effort: a direction with σ just below the tolerance τ is kept by a share that falls smoothly to zero
at a tenth of it, A⁺ = Σ w v uᵀ/σ and P = I − Σ w v vᵀ (`span.share_kept`). From τ on nothing is
changed and A q̈ = b holds as exactly as ever; below, where it is given up anyway, w/σ ≤ 1.1/τ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.compiled import Matrix, Numbers, compiled, kernel
from projected_control.declaration import SMALL, Group, is_given, parameter
from projected_control.errors import InvalidValue
from projected_control.model.linalg import copy, dot, fill, svd
from projected_control.model.span import (
    ROWS,
    SPAN,
    decompose,
    fill_inverse,
    subtract_span,
    unpack_span,
    unpack_svd,
)

if TYPE_CHECKING:
    from projected_control.model.arm import Arm

Array = NDArray[np.float64]

TOLERANCE = 1e-4
"""Default for the smallest singular value that still counts as a constraint."""

MAX_TOLERANCE = 1e-3
"""Largest tolerance accepted, in joint units whatever the metric (see `Metric.tolerance`): above
it, a healthy constraint would be dropped visibly early."""


FADED = 0.1
"""Share of the tolerance at which a law has let go of a direction altogether."""


@kernel
def project(
    A: Matrix,
    fades_from: float,
    tolerance: float,
    P: Matrix,
    A_pinv: Matrix,
    span: Numbers,
    scratch: Numbers,
) -> int:
    """Fill P (n × n) and A⁺ (n × m) of A; return the rank.

    Between ``fades_from`` and the tolerance a direction fades (see `share_kept`); where both are
    the same, it is cut. The last two are arrays of `SpanTerms` and `DecompositionTerms`, or longer.
    """
    m, n = A.shape
    s = unpack_span(span, m, n)
    for r in range(m):
        copy(A[r], s.V[r])
    rank, _ = decompose(fades_from, tolerance, 0.0, s, scratch)
    fill_inverse(s, A_pinv)
    for i in range(n):
        fill(P[i], 0.0)
        P[i, i] = 1.0
    subtract_span(s, P)
    return rank


@kernel
def pseudo_inverse(A: Matrix, tolerance: float, A_pinv: Matrix, scratch: Numbers) -> float:
    """Fill A⁺ (n × m); return the smallest of the m singular values, whether it was kept or cut.

    The scratch is an array of `SvdTerms`, or longer, in which the decomposition is left.
    """
    m, n = A.shape
    s = unpack_svd(scratch, m, n)
    svd(A, s.U, s.sigma, s.V)
    for i in range(n):
        fill(A_pinv[i], 0.0)
    smallest = np.inf
    for r in range(m):
        smallest = min(smallest, s.sigma[r])
        if s.sigma[r] > tolerance:
            for i in range(n):
                scaled = s.V[r, i] / s.sigma[r]
                for j in range(m):
                    A_pinv[i, j] += scaled * s.U[j, r]
    return smallest


@compiled
def relative_pseudo_inverse(
    A: Array, share: float, A_pinv: Array, span: Array, scratch: Array
) -> None:
    """Fill A⁺ (n × m), without singular values up to this share of ‖A‖.

    The last two are arrays of `SpanTerms` and of `DecompositionTerms`, or longer.
    """
    m, n = A.shape
    s = unpack_span(span, m, n)
    squares = 0.0
    for r in range(m):
        copy(A[r], s.V[r])
        squares += dot(A[r], A[r])
    edge = share * np.sqrt(squares)
    decompose(edge, edge, 0.0, s, scratch)
    fill_inverse(s, A_pinv)


_NOT_GIVEN: Any = ()


@dataclass(frozen=True)
class Metric(Group):
    """A diagonal metric W of joint space: joints differ in unit or strength (Aghili VII-B).

    In the new coordinates ``q̇_W = W^½ q̇`` and ``f_W = W^-½ f``, and therefore
    ``M_W = W^-½ M W^-½``, ``A_W = A W^-½``. The torque of least ``‖f_W‖`` is the torque of least
    ``(fᵀ W⁻¹ f)^½``.

    Only the proportions of W matter to what is least. It is scaled to the geometric mean one, so
    that W = c I is no metric at all, and singular values of A_W and J_W, which are compared with
    absolute numbers everywhere, keep their size.

    sqrt_metric is the diagonal of W^½, one positive number per joint; any common factor is taken
    out. Where it is not given, it follows from kind and length, and from the arm: see `of_arm`.
    """

    sqrt_metric: Array = _NOT_GIVEN
    kind: str = parameter(
        "none",
        "How joint efforts are compared when the least is sought",
        choices=("none", "length", "limits"),
    )
    length: float = parameter(
        1.0,
        "Length that turns forces of sliding joints into torques",
        "m",
        minimum=SMALL,
        maximum=1e3,
    )

    def __post_init__(self) -> None:
        if not is_given(self.sqrt_metric):
            return
        diagonal = validate.finite_array("metric", self.sqrt_metric, (None,))
        if not (diagonal > 0.0).all():
            raise InvalidValue(f"metric must be positive for every joint, got {diagonal.tolist()}")
        diagonal = diagonal / diagonal[0]  # equal ones become exactly one
        diagonal = diagonal / np.exp(np.log(diagonal).mean())
        object.__setattr__(self, "sqrt_metric", diagonal)

    def tolerance(self, tolerance: float) -> float:
        """The tolerance for A_W that never drops what is above this one in A itself.

        σ_i(A) ≤ σ_i(A_W) max W^½, so that what is cut at σ(A_W) ≤ tolerance / max W^½ has at most
        the tolerance in joint units.
        """
        return tolerance / float(self.sqrt_metric.max(initial=1.0))

    def of_arm(self, arm: Arm, effort: Callable[[], ArrayLike] | None = None) -> Metric:
        """This metric with its diagonal; the effort limits are the description's unless given."""
        if is_given(self.sqrt_metric):
            return self
        if self.kind == "length":
            return Metric.from_length(self.length, arm.prismatic)
        if self.kind == "limits":
            return Metric.from_limits(arm.limits.effort if effort is None else effort())
        return Metric.identity(arm.n)

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
        singular_values: Singular values of A, m, largest first.
        tolerance: Singular values up to this count as zero, in the metric's coordinates.
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
        """Decompose a constraint Jacobian, m × n, in the coordinates of the metric if given.

        The tolerance is in joint units, see `Metric.tolerance`.
        """
        matrix = validate.finite_array("constraint Jacobian A", A, (None, None))
        check_tolerance(tolerance)
        m, n = matrix.shape
        if metric is not None:
            tolerance = metric.tolerance(tolerance)
            matrix = matrix / validate.finite_array("metric", metric.sqrt_metric, (n,))
        P, A_pinv = np.empty((n, n)), np.empty((n, m))
        work = SPAN.new(m=m, n=n), ROWS.new(m=m, n=n)
        rank = project(matrix, tolerance, tolerance, P, A_pinv, *work)
        return cls(P, A_pinv, rank, singular_values(matrix), tolerance)

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


def singular_values(A: Array) -> Array:
    """All m of them, largest first: zeros for rows that are more than columns; NaN with A."""
    sigma = np.zeros(A.shape[0])
    if np.isfinite(A).all():
        sigma[: min(A.shape)] = np.linalg.svd(A, compute_uv=False)
    else:
        sigma[:] = np.nan
    return sigma


def check_tolerance(tolerance: float) -> float:
    """A usable singular-value tolerance."""
    if validate.positive("singular-value tolerance", tolerance) > MAX_TOLERANCE:
        raise InvalidValue(
            f"singular-value tolerance must be at most {MAX_TOLERANCE:g}, got {tolerance:g}: "
            "a larger one drops constraints that still hold"
        )
    return tolerance

"""The orthogonal projector onto the directions a constraint leaves free.

Everything in this package stands on one decomposition of the constraint Jacobian A ∈ ℝᵐˣⁿ
(Aghili 4, 15):

    A = U Σ Vᵀ,    A⁺ = V₁ Σ₁⁻¹ U₁ᵀ,    P = I − A⁺ A = I − V₁ V₁ᵀ.

P projects on N(A), the motions the constraint permits, I − P on R(Aᵀ), where the constraint force
lives. Redundant rows and singular configurations only change the rank.

The singular values are cut by an *absolute* tolerance. A relative one would never cut the single
row of a slider, however close to its singularity.

What is computed of a model, and a plant, cut there. For a law the cut would be a step of its
effort: a direction with σ just below the tolerance τ is kept by a share that falls smoothly to zero
at a tenth of it, A⁺ = Σ w v uᵀ/σ and P = I − Σ w v vᵀ (`share_kept`). From τ on nothing is changed
and A q̈ = b holds as exactly as ever; below, where it is given up anyway, w/σ ≤ 1.1/τ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.compiled import Matrix, Numbers, compiled, kernel
from projected_control.declaration import SMALL, Group, is_given, parameter
from projected_control.errors import InvalidValue
from projected_control.model.linalg import axpy, copy, fill, svd
from projected_control.workspace import Layout, Part

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


class SvdTerms(NamedTuple):
    """Scratch of the decomposition of a matrix of m rows and n columns."""

    U: Annotated[Array, Part("m, m", "Left singular vectors, as columns.")]
    V: Annotated[Array, Part("m, n", "Right singular vectors, as rows.")]
    sigma: Annotated[Array, Part("m", "Singular values.")]


SVD = Layout(SvdTerms, "m", "n")
unpack_svd = SVD.unpack


@kernel
def share_kept(sigma: float, fades_from: float, tolerance: float) -> float:
    """w: one above the tolerance, zero up to where it fades from, smooth in between."""
    if sigma > tolerance:
        return 1.0
    if not sigma > fades_from:
        return 0.0
    s = (sigma - fades_from) / (tolerance - fades_from)
    return s * s * (3.0 - 2.0 * s)


@compiled
def damped(sigma: float, epsilon: float) -> float:
    """What to divide by instead of σ: (σ² + δ²)/σ, δ² = ¼ (ε² − σ²), below ε.

    1/σ then stays below 1.16/ε (2/√3, at σ = ε/√3), and goes to zero with σ.
    """
    if sigma >= epsilon:
        return sigma
    return (sigma * sigma + 0.25 * (epsilon * epsilon - sigma * sigma)) / sigma


@compiled
def _assemble(
    fades_from: float, tolerance: float, epsilon: float, A_pinv: Array, s: SvdTerms
) -> tuple[int, float]:
    """A⁺ = V₁ Σ₁⁻¹ U₁ᵀ; the rank and the smallest singular value, infinite where there is none.

    Args:
        fades_from: Singular values up to this have no part (see `share_kept`).
        tolerance: And above this all of it; they make up the rank.
        epsilon: Singular values below this are damped (see `damped`); zero for none.
        A_pinv: Result, n × m.
        s: The decomposition.
    """
    m, n = s.V.shape
    for i in range(n):
        fill(A_pinv[i], 0.0)
    rank, smallest = 0, np.inf
    for r in range(m):
        smallest = min(smallest, s.sigma[r])
        if s.sigma[r] > tolerance:
            rank += 1
        if s.sigma[r] > fades_from:
            divisor = damped(s.sigma[r], epsilon) / share_kept(s.sigma[r], fades_from, tolerance)
            for i in range(n):
                scaled = s.V[r, i] / divisor
                for j in range(m):
                    A_pinv[i, j] += scaled * s.U[j, r]
    return rank, smallest


@kernel
def project(
    A: Matrix,
    fades_from: float,
    tolerance: float,
    P: Matrix,
    A_pinv: Matrix,
    sigma: Numbers,
    scratch: Numbers,
) -> int:
    """Fill P (n × n), A⁺ (n × m) and the singular values (m) of A; return the rank.

    Between ``fades_from`` and the tolerance a direction fades (see `share_kept`); where both are
    the same, it is cut. The scratch is an array of `SvdTerms`, or longer.
    """
    m, n = A.shape
    s = unpack_svd(scratch, m, n)
    svd(A, s.U, s.sigma, s.V)
    rank, _ = _assemble(fades_from, tolerance, 0.0, A_pinv, s)
    copy(s.sigma, sigma)
    for i in range(n):
        fill(P[i], 0.0)
        P[i, i] = 1.0
    for r in range(m):
        if sigma[r] > fades_from:
            share = share_kept(sigma[r], fades_from, tolerance)
            for i in range(n):
                axpy(-share * s.V[r, i], s.V[r], P[i])
    return rank


@kernel
def pseudo_inverse(
    A: Matrix, tolerance: float, A_pinv: Matrix, scratch: Numbers, epsilon: float = 0.0
) -> float:
    """Fill A⁺ (n × m); return the smallest of the m singular values, whether it was kept or cut.

    Singular values below epsilon are damped (see `damped`). The scratch is an array of `SvdTerms`,
    or longer, in which the decomposition is left.
    """
    m, n = A.shape
    s = unpack_svd(scratch, m, n)
    svd(A, s.U, s.sigma, s.V)
    _, smallest = _assemble(tolerance, tolerance, epsilon, A_pinv, s)
    return smallest


@compiled
def relative_pseudo_inverse(A: Array, share: float, A_pinv: Array, scratch: Array) -> None:
    """Fill A⁺ (n × m), without singular values up to this share of the largest.

    The scratch is an array of `SvdTerms`, or longer.
    """
    m, n = A.shape
    s = unpack_svd(scratch, m, n)
    svd(A, s.U, s.sigma, s.V)
    largest = 0.0
    for r in range(m):
        largest = max(largest, s.sigma[r])
    _assemble(share * largest, share * largest, 0.0, A_pinv, s)


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
        P, A_pinv, sigma = np.empty((n, n)), np.empty((n, m)), np.empty(m)
        rank = project(matrix, tolerance, tolerance, P, A_pinv, sigma, SVD.new(m=m, n=n))
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

"""Direct dynamics of a constrained arm: four roads to one acceleration.

    M q̈ + h = f − Aᵀλ,    A q̈ = b,    F = Aᵀλ

* `projected` (Aghili 22–29, Moura 22–25): adds what P takes away, with any of five matrices R.
* `operational_space` (Khatib; Moura 16): the inertia-weighted inverse of A.
* `gauss` (Gauss, Udwadia and Kalaba; Moura 17): the free acceleration, corrected.
* `block_matrix` (Johnson 21–23): one system for q̈ and λ; full row rank, but M may be singular.

The constraint force F is unique always, the multipliers λ only where A has full row rank: the
result says which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.compiled import Matrix, Numbers, kernel
from projected_control.errors import InvalidValue
from projected_control.model.arm import SINGULAR
from projected_control.model.consistency import Dependences
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.linalg import copy, matmul, matvec_add, solve
from projected_control.model.projection import TOLERANCE, Projection

Array = NDArray[np.float64]


class Regularisation(Enum):
    """The matrix R that makes M_c = P M + R (I − P) invertible (Moura 22)."""

    IDENTITY = "R1"
    """R = I."""
    INERTIA = "R2"
    """R = M: M_c = M + PM − (PM)ᵀ, positive definite with M (Aghili 23)."""
    REFLECTED = "R3"
    """R = (I − 2P) M: M_c = PMP + (I − P)M(I − P), symmetric as well (Aghili 28, up to sign)."""
    SCALED = "R4"
    """R = γ I with γ = ‖M‖₂, to match the size of M (Aghili 29)."""
    OPTIMAL = "Rstar"
    """R = µ I − P M: M_c = PMP + µ(I − P), of the smallest condition number (Moura 25)."""


@dataclass(frozen=True)
class Problem:
    """The terms of one instant's dynamics, checked.

    Attributes:
        M: Inertia matrix, n × n, symmetric, positive semi-definite [kg·m², kg·m or kg].
        h: Coriolis, centrifugal and gravity terms, n [N·m or N].
        f: Joint efforts, n [N·m or N].
        A: Constraint Jacobian, m × n.
        b: ẍ − Ȧq̇, m.
        tolerance: Singular values of A up to this count as zero.
    """

    M: Array
    h: Array
    f: Array
    A: Array
    b: Array
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        M = validate.finite_array("inertia matrix M", self.M, (None, None))
        n = M.shape[0]
        if M.shape != (n, n) or np.abs(M - M.T).max(initial=0.0) > 1e-9 * np.abs(M).max(
            initial=1e-300
        ):
            raise InvalidValue(f"inertia matrix M must be square and symmetric, got\n{M}")
        lowest = float(np.linalg.eigvalsh(M)[0])
        if lowest < -1e-9 * np.abs(M).max():
            raise InvalidValue(
                f"inertia matrix M must not be negative, but has the eigenvalue {lowest:g}"
            )
        A = validate.finite_array("constraint Jacobian A", self.A, (None, n))
        checked = {
            "M": M,
            "h": validate.finite_array("h", self.h, (n,)),
            "f": validate.finite_array("effort f", self.f, (n,)),
            "A": A,
            "b": validate.finite_array("b", self.b, (A.shape[0],)),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if rows := Dependences.of(A, self.tolerance).contradicting(checked["b"]):
            raise InvalidValue(
                f"rows {rows} of the constraint depend on each other and contradict each other: "
                f"they ask for b = {np.round(checked['b'][rows], 6).tolist()}, and no acceleration "
                "has A q̈ = b; name each constraint once, and move all rows of one body alike"
            )

    @classmethod
    def of(cls, model: ConstrainedArm, f: ArrayLike) -> Problem:
        """The terms of an evaluated arm, under these joint efforts [N·m or N]."""
        effort = validate.finite_array("effort f", f, (model.n,)) / model.sqrt_metric
        return cls(model.M, model.h, effort, model.A, model.b, model.tolerance)

    @property
    def projection(self) -> Projection:
        """P, A⁺ and the rank of A."""
        return Projection.of(self.A, self.tolerance)


class ConstrainedMotion(NamedTuple):
    """What the constrained arm does.

    Attributes:
        acceleration: q̈, n.
        constraint_force: F = Aᵀλ, n; always unique.
        multipliers: λ, m; the smallest ones where they are not unique.
        multipliers_unique: Whether A has full row rank, so that λ is determined.
        rank: Rank of A.
    """

    acceleration: Array
    constraint_force: Array
    multipliers: Array
    multipliers_unique: bool
    rank: int


def _solution(problem: Problem, projection: Projection, acceleration: Array) -> ConstrainedMotion:
    """F = (I − P)(f − h − M q̈) and λ = A⁺ᵀ F (Aghili 32, Remark 4)."""
    force = projection.normal(problem.f - problem.h - problem.M @ acceleration)
    multipliers = projection.A_pinv.T @ force
    return ConstrainedMotion(
        acceleration, force, multipliers, not projection.redundant, projection.rank
    )


def regularisation_matrix(kind: Regularisation, M: Array, P: Array) -> Array:
    """R of a kind, n × n."""
    identity = np.eye(M.shape[0])
    if kind is Regularisation.IDENTITY:
        return identity
    if kind is Regularisation.INERTIA:
        return M
    if kind is Regularisation.REFLECTED:
        return (identity - 2.0 * P) @ M
    if kind is Regularisation.SCALED:
        return float(np.linalg.norm(M, 2)) * identity
    return optimal_mu(M, P) * identity - P @ M


def optimal_mu(M: Array, P: Array) -> float:
    """A µ between the smallest and largest non-zero singular value of PMP: their geometric mean."""
    values = np.linalg.svd(P @ M @ P, compute_uv=False)
    values = values[: round(np.trace(P))]
    return float(np.sqrt(values[0] * values[-1])) if values.size and values[-1] > 0.0 else 1.0


def constraint_inertia(kind: Regularisation, M: Array, P: Array) -> Array:
    """M_c = P M + R (I − P), n × n."""
    return P @ M + regularisation_matrix(kind, M, P) @ (np.eye(M.shape[0]) - P)


def projected(problem: Problem, kind: Regularisation = Regularisation.INERTIA) -> ConstrainedMotion:
    """q̈ = M_c⁻¹ [P (f − h) + R A⁺ b] (Moura 24).

    With a singular M that satisfies Johnson (33), R1, R4 and R* still work; R2 and R3 may not.
    """
    projection = problem.projection
    P, M = projection.P, problem.M
    R = regularisation_matrix(kind, M, P)
    M_c = P @ M + R @ (np.eye(M.shape[0]) - P)
    right = P @ (problem.f - problem.h) + R @ (projection.A_pinv @ problem.b)
    if np.linalg.matrix_rank(M_c) < M_c.shape[0]:
        raise InvalidValue(
            f"the constraint inertia matrix with {kind.value} is singular: M has the eigenvalues "
            f"{np.linalg.eigvalsh(M).tolist()}; massless links need R1, R4 or R*, and a "
            "constraint that leaves no motion without momentum"
        )
    return _solution(problem, projection, np.asarray(np.linalg.solve(M_c, right)))


def inertia_weighted_inverse(M: Array, projection: Projection, A: Array) -> Array:
    """Ā = M⁻¹Aᵀ (A M⁻¹ Aᵀ)⁺, n × m, for any rank of A (Moura 18).

    With A = U₁ A_r, A_r of full row rank, this is M⁻¹A_rᵀ (A_r M⁻¹ A_rᵀ)⁻¹ U₁ᵀ, which needs no
    second decision about what counts as zero.
    """
    U, sigma, _ = np.linalg.svd(A, full_matrices=False)
    U1 = U[:, sigma > projection.tolerance]
    A_r = U1.T @ A
    eigenvalues = np.linalg.eigvalsh(M)
    if eigenvalues[0] <= SINGULAR * eigenvalues[-1]:
        raise InvalidValue(
            f"the inertia matrix is singular, with the eigenvalues {eigenvalues.tolist()}; use "
            "projected(…, IDENTITY) or block_matrix for massless links"
        )
    mobility = np.linalg.solve(np.linalg.cholesky(M), A_r.T)
    return np.asarray(np.linalg.solve(M, A_r.T) @ np.linalg.solve(mobility.T @ mobility, U1.T))


def operational_space(problem: Problem) -> ConstrainedMotion:
    """q̈ = Ā b + (I − Ā A) M⁻¹ (f − h) (Moura 16)."""
    projection = problem.projection
    A_bar = inertia_weighted_inverse(problem.M, projection, problem.A)
    free = np.linalg.solve(problem.M, problem.f - problem.h)
    null_space = np.eye(problem.M.shape[0]) - A_bar @ problem.A
    return _solution(problem, projection, A_bar @ problem.b + null_space @ free)


def gauss(problem: Problem) -> ConstrainedMotion:
    """q̈ = q̈* + Ā (b − A q̈*), q̈* the free acceleration (Moura 17): least constraint."""
    projection = problem.projection
    A_bar = inertia_weighted_inverse(problem.M, projection, problem.A)
    free = np.linalg.solve(problem.M, problem.f - problem.h)
    return _solution(problem, projection, free + A_bar @ (problem.b - problem.A @ free))


class DaggerTerms(NamedTuple):
    """Blocks of the inverse of [M Aᵀ; A 0] (Johnson 5).

    Attributes:
        M_dagger: n × n, the inverse of M in the constrained space.
        A_dagger: m × n, the inertia-weighted left inverse of Aᵀ.
        Lambda_dagger: m × m, minus the apparent inertia of the constraint.
    """

    M_dagger: Array
    A_dagger: Array
    Lambda_dagger: Array


def dagger_terms(M: ArrayLike, A: ArrayLike) -> DaggerTerms:
    """Invert the block matrix; M may be singular where A makes up for it (Johnson 33)."""
    M = validate.finite_array("inertia matrix M", M, (None, None))
    A = validate.finite_array("constraint Jacobian A", A, (None, M.shape[0]))
    n, m = M.shape[0], A.shape[0]
    block = np.block([[M, A.T], [A, np.zeros((m, m))]])
    if np.linalg.matrix_rank(block) < n + m:
        rank = np.linalg.matrix_rank(A)
        reason = (
            f"A has {m} rows of which only {rank} are independent; drop the others or use "
            "`projected`"
            if rank < m
            else "some motion that the constraint permits moves no mass (Johnson 33)"
        )
        raise InvalidValue(f"the block matrix is singular: {reason}")
    inverse = np.linalg.inv(block)
    return DaggerTerms(inverse[:n, :n], inverse[n:, :n], inverse[n:, n:])


def block_matrix(problem: Problem) -> ConstrainedMotion:
    """q̈ = M† (f − h) + A†ᵀ b and λ = A† (f − h) + Λ† b (Johnson 23)."""
    terms = dagger_terms(problem.M, problem.A)
    net = problem.f - problem.h
    multipliers = terms.A_dagger @ net + terms.Lambda_dagger @ problem.b
    acceleration = terms.M_dagger @ net + terms.A_dagger.T @ problem.b
    return ConstrainedMotion(
        acceleration, problem.A.T @ multipliers, multipliers, True, problem.A.shape[0]
    )


def moves_mass(M: ArrayLike, A: ArrayLike, tolerance: float = TOLERANCE) -> bool:
    """Whether every motion the constraint permits moves some mass (Johnson 33)."""
    M = validate.finite_array("inertia matrix M", M, (None, None))
    P = Projection.of(A, tolerance).P
    free = round(np.trace(P))
    values = np.linalg.svd(P @ M @ P, compute_uv=False)[:free]
    return bool(free == 0 or values[-1] > SINGULAR * max(float(np.linalg.norm(M, 2)), 1e-300))


def massless_joints(M: Array, P: Array, names: Sequence[str]) -> list[str]:
    """Joints whose motion is not determined as M_c is singular (R = M); none where it is regular.

    M_c = M + PM − (PM)ᵀ is what plant and force loop solve with. As xᵀM_c x = xᵀMx, it is singular
    only where a motion has no inertia, and then unless the constraint carries that motion.
    """
    if not (np.isfinite(M).all() and np.isfinite(P).all()):
        return []
    _, sigma, Vt = np.linalg.svd(constraint_inertia(Regularisation.INERTIA, M, P))
    lost = Vt[sigma <= SINGULAR * max(float(sigma[0]), 1e-300)]
    return [
        name for name, share in zip(names, np.abs(lost).sum(axis=0), strict=True) if share > 0.1
    ]


def cross_coupling(M: Array, P: Array) -> Array:
    """µP with µ = (I − P) M M_c⁻¹: how acting effort leaks into the constraint force (Aghili)."""
    M_c = constraint_inertia(Regularisation.INERTIA, M, P)
    return np.asarray((np.eye(M.shape[0]) - P) @ M @ np.linalg.solve(M_c, P))


def is_decoupled(M: Array, P: Array, tolerance: float = 1e-9) -> bool:
    """Whether motion leaves the constraint force alone, M N(A) ⊂ N(A) (Aghili Prop. 3)."""
    leak = (np.eye(M.shape[0]) - P) @ M @ P
    return bool(np.linalg.norm(leak) <= tolerance * np.linalg.norm(M))


def condition_numbers(M: Array, P: Array) -> dict[str, float]:
    """κ₂ of M and of M_c with each R, by name: M, R1, R2, R3, R4, Rstar."""
    numbers = {"M": float(np.linalg.cond(M))}
    for kind in Regularisation:
        numbers[kind.value] = float(np.linalg.cond(constraint_inertia(kind, M, P)))
    return numbers


@kernel
def acceleration_kernel(
    M: Matrix,
    P: Matrix,
    net: Numbers,
    normal_acceleration: Numbers,
    acceleration: Numbers,
    PM: Matrix,
    M_c: Matrix,
) -> None:
    """q̈ from M_c q̈ = P (f − h) + M A⁺b, with M_c = M + PM − (PM)ᵀ (Aghili 22, 23).

    Args:
        M: Inertia matrix, n × n.
        P: Projector, n × n.
        net: P (f − h), n.
        normal_acceleration: C q̇ = A⁺b, n.
        acceleration: Result, n.
        PM, M_c: For intermediate results, n × n each.
    """
    matmul(P, M, PM)
    for i in range(net.size):
        for j in range(net.size):
            M_c[i, j] = M[i, j] + PM[i, j] - PM[j, i]
    copy(net, acceleration)
    matvec_add(M, normal_acceleration, acceleration)
    solve(M_c, acceleration)

"""A constrained arm at one instant: what every controller and simulator of this package needs.

`ConstrainedArm.evaluate` makes one Pinocchio pass and one singular value decomposition. All it
computes stands in one array, the workspace, of which `Terms` names the parts: a compiled law takes
that one array and unpacks it by the same function as Python does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled, interpreted
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constraints import Constraint, FunctionConstraint, Moving, Stack
from projected_control.model.coordinates import Coordinates
from projected_control.model.linalg import copy
from projected_control.model.projection import TOLERANCE, Metric, check_tolerance, project
from projected_control.model.scalar_functions import (
    FunctionTable,
    ScalarFunction,
    evaluate_functions,
    function_scratch_size,
)

Array = NDArray[np.float64]
Arguments = tuple[Any, ...]
"""What `evaluate_model` takes after the state."""


class Terms(NamedTuple):
    """The parts of a workspace; n joints, m constraint rows, k coordinates (see `ConstrainedArm`).

    Attributes:
        value, jacobian, bias: Of all rows, constraints first, in joint units.
        target: Rows x, ẋ, ẍ of a moving constraint, 3 × m.
        root: Diagonal of W^½, n.
        v, h, M: q̇, the velocity and gravity terms, the inertia matrix, in the metric's coordinates.
        residual, A, b: Φ − x, the constraint Jacobian, ẍ − Ȧq̇.
        P, A_pinv, sigma, rank: Of A; the rank is an array of one.
        theta, theta_rate, J_theta, theta_bias: Coordinates, their rates, Jacobian and bias.
        memory: For intermediate results of kernels.
    """

    value: Array
    jacobian: Array
    bias: Array
    target: Array
    root: Array
    v: Array
    h: Array
    M: Array
    residual: Array
    A: Array
    b: Array
    P: Array
    A_pinv: Array
    sigma: Array
    rank: Array
    theta: Array
    theta_rate: Array
    J_theta: Array
    theta_bias: Array
    memory: Array


def workspace_size(n: int, m: int, k: int, frames: int) -> int:
    """How many numbers a workspace holds."""
    rows = m + k
    named = 2 * rows + rows * n + 6 * m + 3 * n + 2 * n * n + 2 * m * n + 1 + k + k * n
    most = max(m, k, n)
    return named + max(function_scratch_size(frames, n), most * (most + n + 1)) + 2 * n * n


@compiled
def unpack(work: Array, n: int, m: int, k: int) -> Terms:
    """Name the parts of a workspace; views, nothing is copied."""
    rows, nn, mn = m + k, n * n, m * n
    o = 2 * rows
    value, bias = work[:rows], work[rows:o]
    jacobian = work[o : o + rows * n].reshape((rows, n))
    o += rows * n
    target = work[o : o + 3 * m].reshape((3, m))
    o += 3 * m
    root, v, h = work[o : o + n], work[o + n : o + 2 * n], work[o + 2 * n : o + 3 * n]
    o += 3 * n
    M, P = work[o : o + nn].reshape((n, n)), work[o + nn : o + 2 * nn].reshape((n, n))
    o += 2 * nn
    residual, b, sigma = work[o : o + m], work[o + m : o + 2 * m], work[o + 2 * m : o + 3 * m]
    o += 3 * m
    A, A_pinv = work[o : o + mn].reshape((m, n)), work[o + mn : o + 2 * mn].reshape((n, m))
    o += 2 * mn
    rank, theta_rate = work[o : o + 1], work[o + 1 : o + 1 + k]
    o += 1 + k
    J_theta = work[o : o + k * n].reshape((k, n))
    return Terms(
        value,
        jacobian,
        bias,
        target,
        root,
        v,
        h,
        M,
        residual,
        A,
        b,
        P,
        A_pinv,
        sigma,
        rank,
        value[m:],
        theta_rate,
        J_theta,
        bias[m:],
        work[o + k * n :],
    )


class ConstrainedArm:
    """An arm, what constrains it, and the coordinates in which it is moved.

    All quantities are in the coordinates of the metric, if there is one (see `Metric`): an effort
    computed from them is turned into joint torques by `root`.

    Attributes:
        arm: Pinocchio's side.
        constraint: None for a free arm.
        coordinates: None where nothing is controlled.
        n, m, k: Numbers of joints, constraint rows and coordinates.
        arguments: What `evaluate_model` takes after the state, for compiled laws.
        work: The workspace; the arrays below are its parts.
        root: W^½, n; ones without a metric.
        moves: Whether the constraint is driven, x(t) ≠ const.
        time: Of the last evaluation [s].
        v: q̇, n.
        M: Inertia matrix, n × n.
        h: Coriolis, centrifugal and gravity terms, n.
        residual: Φ(q) − x(t), m.
        A: Constraint Jacobian, m × n.
        b: ẍ − Ȧq̇, m, so that A q̈ = b.
        P: Projector on the free directions, n × n.
        A_pinv: A⁺, n × m.
        singular_values: Of A, m, not sorted.
        theta, theta_rate: θ(q) and θ̇, k.
        J_theta: ∂θ/∂q, k × n.
        theta_bias: J̇_θ q̇, k.
        memory: For intermediate results of kernels; changes with each of them.
    """

    def __init__(
        self,
        arm: Arm,
        constraint: Constraint | None = None,
        coordinates: Coordinates | None = None,
        *,
        tolerance: float = TOLERANCE,
        metric: Metric | None = None,
    ) -> None:
        self.arm, self.constraint, self.coordinates = arm, constraint, coordinates
        self.tolerance = check_tolerance(tolerance)
        self.n = n = arm.n
        self.m = m = 0 if constraint is None else constraint.rows
        self.k = k = 0 if coordinates is None else coordinates.size
        self.metric = metric or Metric.identity(n)
        if self.metric.root.shape != (n,):
            size = self.metric.root.size
            raise InvalidValue(f"metric must have {n} entries, one a joint, got {size}")
        self.time = 0.0
        self.moves = constraint is not None and constraint.target(0.0) is not None

        equations = _equations(constraint)
        self._by_hand = constraint if equations is None else None
        rows = [*(equations or []), *(coordinates.functions if coordinates else [])]
        row_arguments = FunctionTable(arm, rows).arguments
        first = 0 if self._by_hand is None else m
        self.work: Array = np.zeros(workspace_size(n, m, k, len(row_arguments[3])))
        terms = interpreted(unpack)(self.work, n, m, k)
        self._terms = terms
        self.root, self.v, self.h, self.M = terms.root, terms.v, terms.h, terms.M
        self.residual, self.A, self.b = terms.residual, terms.A, terms.b
        self.P, self.A_pinv, self.singular_values = terms.P, terms.A_pinv, terms.sigma
        self.theta, self.theta_rate = terms.theta, terms.theta_rate
        self.J_theta, self.theta_bias = terms.J_theta, terms.theta_bias
        self.memory = terms.memory
        self.root[:] = self.metric.root

        self.arguments = (
            *row_arguments,
            arm.M,
            arm.h,
            self.work,
            first,
            m,
            k,
            self.tolerance,
        )

    @property
    def rank(self) -> int:
        """Number of independent constraints at present."""
        return int(self._terms.rank[0])

    @property
    def free_directions(self) -> int:
        """n − rank, the degrees of freedom that are left."""
        return self.n - self.rank

    @property
    def target_rate(self) -> Array:
        """ẋ of a moving constraint, m; zero for one that stands still."""
        return self._terms.target[1]

    @property
    def normal_rate(self) -> Array:
        """A⁺ẋ, the velocity a moving constraint imposes, n; zero for one that stands still."""
        return np.asarray(self.A_pinv @ self._terms.target[1])

    def evaluate(self, q: Array, v: Array, time: float = 0.0) -> ConstrainedArm:
        """Compute everything for this state: one Pinocchio pass, one decomposition of A."""
        self.prepare(q, v, time)
        _evaluate(q, v, *self.arguments)
        return self

    def prepare(self, q: Array, v: Array, time: float = 0.0) -> None:
        """The part of `evaluate` that is not compiled; a compiled law does the rest itself."""
        self.time = time
        if self.moves and self.constraint is not None:
            target = self.constraint.target(time)
            if target is not None:
                for row, values in zip(self._terms.target, target, strict=True):
                    row[:] = values
        if self._by_hand is None:
            self.arm.compute(q, v)
        else:
            m, terms, arm = self.m, self._terms, self.arm.update(q, v)
            terms.value[:m] = self._by_hand.residual(arm)
            terms.jacobian[:m] = self._by_hand.jacobian(arm)
            terms.bias[:m] = self._by_hand.bias(arm)


def _equations(constraint: Constraint | None) -> list[ScalarFunction] | None:
    """The rows of a constraint that is made of nothing else, or None."""
    if constraint is None:
        return []
    if isinstance(constraint, FunctionConstraint):
        return list(constraint.functions) if constraint.is_its_functions else None
    if type(constraint) is Moving:
        return _equations(constraint.constraint)
    if type(constraint) is Stack:
        parts = [_equations(part) for part in constraint.constraints]
        if all(part is not None for part in parts):
            return [row for part in parts if part for row in part]
    return None


@compiled
def complete_terms(arm_M: Array, arm_h: Array, arm_v: Array, t: Terms, tolerance: float) -> None:
    """From rows and dynamics to the rest: change to the metric's coordinates, and project."""
    n, m, k = t.v.size, t.b.size, t.theta.size
    for i in range(n):
        t.h[i] = arm_h[i] / t.root[i]
        t.v[i] = arm_v[i] * t.root[i]
        for j in range(n):
            t.M[i, j] = arm_M[i, j] / (t.root[i] * t.root[j])
    for i in range(m):
        t.residual[i] = t.value[i] - t.target[0, i]
        t.b[i] = t.target[2, i] - t.bias[i]
        for j in range(n):
            t.A[i, j] = t.jacobian[i, j] / t.root[j]
    for i in range(k):
        t.theta_rate[i] = 0.0
        for j in range(n):
            t.J_theta[i, j] = t.jacobian[m + i, j] / t.root[j]
            t.theta_rate[i] += t.J_theta[i, j] * t.v[j]
    t.rank[0] = project(t.A, tolerance, t.P, t.A_pinv, t.sigma, t.memory)


@compiled
def evaluate_model(
    q: Array,
    v: Array,
    spatial_jacobian: Array,
    arm_q: Array,
    arm_v: Array,
    rotations: tuple[Array, ...],
    translations: tuple[Array, ...],
    layout: Array,
    arm_M: Array,
    arm_h: Array,
    work: Array,
    first: int,
    m: int,
    k: int,
    tolerance: float,
) -> Terms:
    """Evaluate the rows from the first compiled one on, and all that follows from them.

    The state q, v is also copied to where the arm keeps its own.
    """
    copy(q, arm_q)
    copy(v, arm_v)
    t = unpack(work, v.size, m, k)
    evaluate_functions(
        spatial_jacobian,
        arm_q,
        arm_v,
        rotations,
        translations,
        layout,
        t.value[first:],
        t.jacobian[first:],
        t.bias[first:],
        t.memory,
    )
    complete_terms(arm_M, arm_h, arm_v, t, tolerance)
    return t


@compiled
def _evaluate(*arguments: Any) -> None:
    """`evaluate_model` without handing the terms back to Python, which takes its time."""
    evaluate_model(*arguments)

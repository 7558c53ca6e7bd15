"""A constrained arm at one instant: what every controller and simulator of this package needs.

`ConstrainedArm.evaluate` makes one Pinocchio pass and one singular value decomposition, and leaves
M, h, Φ, A, b, P, A⁺ and the coordinates in arrays that stay where they are, so that the laws
behind can be compiled and bound to them once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.arm import Arm
from projected_control.compiled import compiled
from projected_control.constraints import Constraint, Moving, RowConstraint, Stack
from projected_control.coordinates import Coordinates
from projected_control.errors import InvalidValue
from projected_control.projection import TOLERANCE, Metric, check_tolerance, project
from projected_control.rows import Row, RowTable, evaluate_rows

Array = NDArray[np.float64]


class ConstrainedArm:
    """An arm, what constrains it, and the coordinates in which it is moved.

    All quantities are in the coordinates of the metric, if there is one (see `Metric`): an effort
    computed from them is turned into joint torques by `root`.

    Attributes:
        arm: Pinocchio's side.
        constraint: None for a free arm.
        coordinates: None where nothing is controlled.
        n, m, k: Numbers of joints, constraint rows and coordinates.
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
        self.k = 0 if coordinates is None else coordinates.size
        self.metric = metric or Metric.identity(n)
        if self.metric.root.shape != (n,):
            raise InvalidValue(
                f"metric must have {n} entries, one a joint, got {self.metric.root.size}"
            )
        self.root = self.metric.root
        self.time = 0.0
        compiled_rows = _equations(constraint)
        self._by_hand = constraint if compiled_rows is None else None
        table = RowTable(arm, [*(compiled_rows or []), *(coordinates.rows if coordinates else [])])
        rows = m + self.k
        value, jacobian, bias = np.zeros(rows), np.zeros((rows, n)), np.zeros(rows)
        first = m if self._by_hand is not None else 0
        self._row_arguments = (*table.arguments[:9], value[first:], jacobian[first:], bias[first:])
        self._value, self._jacobian, self._bias = value, jacobian, bias
        self._target = np.zeros((3, m))
        self.moves = constraint is not None and constraint.target(0.0) is not None
        self._rank = np.zeros(1, dtype=np.int64)
        self.v, self.h = np.zeros(n), np.zeros(n)
        self.M, self.P = np.zeros((n, n)), np.eye(n)
        self.A_pinv, self.singular_values = np.zeros((n, m)), np.zeros(m)
        self.residual, self.b = np.zeros(m), np.zeros(m)
        self.A, self.J_theta = np.zeros((m, n)), np.zeros((self.k, n))
        self.theta, self.theta_rate, self.theta_bias = value[m:], np.zeros(self.k), bias[m:]
        self._model_arguments = (
            arm.M,
            arm.h,
            arm.v,
            value,
            jacobian,
            bias,
            self._target,
            self.root,
            self.tolerance,
            self.M,
            self.h,
            self.v,
            self.residual,
            self.A,
            self.b,
            self.P,
            self.A_pinv,
            self.singular_values,
            self._rank,
            self.J_theta,
            self.theta_rate,
        )

    @property
    def rank(self) -> int:
        """Number of independent constraints at present."""
        return int(self._rank[0])

    @property
    def free_directions(self) -> int:
        """n − rank, the degrees of freedom that are left."""
        return self.n - self.rank

    def evaluate(self, q: Array, v: Array, time: float = 0.0) -> ConstrainedArm:
        """Compute everything for this state: one Pinocchio pass, one decomposition of A."""
        self.time = time
        self.arm.update(q, v)
        evaluate_rows(*self._row_arguments)
        if self._by_hand is not None:
            self._value[: self.m] = self._by_hand.residual(self.arm)
            self._jacobian[: self.m] = self._by_hand.jacobian(self.arm)
            self._bias[: self.m] = self._by_hand.bias(self.arm)
        if self.moves and self.constraint is not None:
            target = self.constraint.target(time)
            if target is not None:
                self._target[0], self._target[1], self._target[2] = target
        evaluate_model(*self._model_arguments)
        return self

    @property
    def normal_rate(self) -> Array:
        """A⁺ẋ, the velocity a moving constraint imposes, n; zero for one that stands still."""
        rate: Array = self.A_pinv @ self._target[1]
        return rate


def _equations(constraint: Constraint | None) -> list[Row] | None:
    """The rows of a constraint that is made of nothing else, or None."""
    if constraint is None:
        return []
    if isinstance(constraint, RowConstraint):
        kind = type(constraint)
        own = (kind.residual, kind.jacobian, kind.bias)
        inherited = (RowConstraint.residual, RowConstraint.jacobian, RowConstraint.bias)
        return list(constraint.equations) if own == inherited else None
    if type(constraint) is Moving:
        return _equations(constraint.constraint)
    if type(constraint) is Stack:
        parts = [_equations(part) for part in constraint.constraints]
        if all(part is not None for part in parts):
            return [row for part in parts if part for row in part]
    return None


@compiled
def evaluate_model(
    arm_M: Array,
    arm_h: Array,
    arm_v: Array,
    value: Array,
    jacobian: Array,
    bias: Array,
    target: Array,
    root: Array,
    tolerance: float,
    M: Array,
    h: Array,
    v: Array,
    residual: Array,
    A: Array,
    b: Array,
    P: Array,
    A_pinv: Array,
    sigma: Array,
    rank: NDArray[np.int64],
    J_theta: Array,
    theta_rate: Array,
) -> None:
    """Change to the coordinates of the metric, and project (see `ConstrainedArm` for the names)."""
    n, m, k = h.size, b.size, theta_rate.size
    for i in range(n):
        h[i] = arm_h[i] / root[i]
        v[i] = arm_v[i] * root[i]
        for j in range(n):
            M[i, j] = arm_M[i, j] / (root[i] * root[j])
    for i in range(m):
        residual[i] = value[i] - target[0, i]
        b[i] = target[2, i] - bias[i]
        for j in range(n):
            A[i, j] = jacobian[i, j] / root[j]
    for i in range(k):
        theta_rate[i] = 0.0
        for j in range(n):
            J_theta[i, j] = jacobian[m + i, j] / root[j]
            theta_rate[i] += J_theta[i, j] * v[j]
    rank[0] = project(A, tolerance, P, A_pinv, sigma)

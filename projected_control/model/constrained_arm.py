"""A constrained arm at one instant: what every controller and simulator of this package needs.

`ConstrainedArm.evaluate` makes one Pinocchio pass and one decomposition of A (see `span`). All it
computes stands in one array, the workspace, of which `Terms` names the parts: a compiled law takes
that one array and names them in the same way.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.compiled import Columns, Integers, Matrix, Numbers, compiled, kernel
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constraints import Constraint, FunctionConstraint, Moving, Stack
from projected_control.model.coordinates import Coordinates
from projected_control.model.function_kernels import FRAMES
from projected_control.model.function_kinds import ScalarFunction
from projected_control.model.inertia_factor import INERTIA
from projected_control.model.linalg import copy, matvec
from projected_control.model.motion_tables import evaluate_motion, new_table
from projected_control.model.projection import (
    FADED,
    TOLERANCE,
    Metric,
    check_tolerance,
    singular_values,
)
from projected_control.model.scalar_functions import FunctionTable, evaluate_functions
from projected_control.model.span import ROWS, SPAN, SpanTerms, decompose, unpack_span
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


ROW_LENGTH = 1.0
"""Default length by which rows that are angles compare with rows that are lengths [m]."""

_SCRATCH = f"max({FRAMES.length}, {ROWS.length_with(m='max(n, m, k)')})"


class Terms(NamedTuple):
    """An evaluated model: n joints, m constraint rows, k coordinates, frames that they name.

    Joint-space quantities are in the coordinates of the metric W (see `Metric`), but for value,
    jacobian, bias and q, which are in joint units.
    """

    value: Annotated[Array, Part("m + k", "Φ(q), then θ(q).")]
    bias: Annotated[Array, Part("m + k", "Ȧq̇, then J̇_θq̇.")]
    jacobian: Annotated[Array, Part("m + k, n", "∂Φ/∂q, then ∂θ/∂q.")]
    target: Annotated[Array, Part("3, m", "x, ẋ and ẍ of a moving constraint, else zero.")]
    row_scale: Annotated[Array, Part("m", "Length of a row that is an angle, else one [m].")]
    tolerance: Annotated[Array, Part("1", "Singular values of A up to this count as zero.")]
    fades_from: Annotated[
        Array, Part("1", "Those from here to the tolerance keep a share in a law's P and A⁺.")
    ]
    sqrt_metric: Annotated[Array, Part("n", "Diagonal of W^½.")]
    q: Annotated[Array, Part("n", "q, in joint units.")]
    v: Annotated[Array, Part("n", "q̇.")]
    h: Annotated[Array, Part("n", "Coriolis, centrifugal and gravity terms.")]
    M: Annotated[Array, Part("n, n", "Inertia matrix.")]
    residual: Annotated[Array, Part("m", "Φ − x.")]
    b: Annotated[Array, Part("m", "ẍ − Ȧq̇, so that A q̈ = b.")]
    A: Annotated[Array, Part("m, n", "Constraint Jacobian.")]
    span: Annotated[Array, Part(SPAN.length, "A decomposed, of which P and A⁺ are made.")]
    rank: Annotated[Array, Part("1", "Rank of A.")]
    floats: Annotated[Array, Part("1", "1 where the first six joints are a floating base.")]
    held: Annotated[Array, Part("1", "1 where P is not that of A, see `rank_change`.")]
    held_P: Annotated[Array, Part("n, n", "What it is then; else for intermediate results.")]
    factored: Annotated[Array, Part("1", "1 where `inertia` is of this state, −1 if it fails.")]
    inertia: Annotated[Array, Part(INERTIA.length, "M decomposed, where something asked for it.")]
    normal_rates: Annotated[Array, Part("m", "V q̈ as the constraint asks for it.")]
    PM: Annotated[Array, Part("n, n", "P M, where that is needed.")]
    M_c: Annotated[Array, Part("n, n", "M + PM − (PM)ᵀ, overwritten where it is solved with.")]
    theta: Annotated[Array, Part("k", "θ(q).", at="value + m")]
    theta_rate: Annotated[Array, Part("k", "θ̇.")]
    theta_bias: Annotated[Array, Part("k", "J̇_θq̇.", at="bias + m")]
    J_theta: Annotated[Array, Part("k, n", "Jacobian of θ.")]
    scratch: Annotated[Array, Part(_SCRATCH, "Intermediate results of whichever kernel runs.")]


TERMS = Layout(Terms, "n", "m", "k", "frames")
unpack_terms = TERMS.unpack


class ModelArguments(NamedTuple):
    """What `evaluate_model` takes after time and state: plain arrays that stay where they are.

    Attributes:
        M: Inertia matrix, n × n, both triangles; Pinocchio's, as are the next three.
        h: Coriolis, centrifugal and gravity terms, n.
        spatial_jacobian: All joints' twists at the world's origin, 6 × n, column by column.
        placements: Where the joints are, one line each (see `Arm.placements`).
        state: Where the arm keeps its own q and q̇, 2 × n.
        sizes: The first row that is compiled (m where the constraint is computed in Python, else
            0), m, k, and the number of frames; whole numbers.
        functions: An array of `TableTerms`.
        target: x(t) of a moving constraint, an array of `MotionTerms`; without pieces where it
            stands still or is computed in Python.
        work: An array of `Terms`.
    """

    M: Array
    h: Array
    spatial_jacobian: Array
    placements: Array
    state: Array
    sizes: Whole
    functions: Array
    target: Array
    work: Array


class ConstrainedArm:
    """An arm, what constrains it, and the coordinates in which it is moved.

    All quantities are in the coordinates of the metric, if there is one (see `Metric`): an effort
    computed from them is turned into joint torques by `sqrt_metric`.

    Attributes:
        arm: The arm, with Pinocchio's model of it.
        constraint: None for a free arm.
        coordinates: None where nothing is controlled.
        n, m, k: Numbers of joints, constraint rows and coordinates.
        arguments: What `evaluate_model` takes after time and state, for compiled laws.
        terms: The workspace's parts, of which those below are the most used.
        span: A as it was decomposed, of which `P` and `A_pinv` are made.
        sqrt_metric: Diagonal of W^½, n; ones without a metric.
        row_length: By which rows and coordinates that are angles compare with lengths [m].
        tolerance: Singular values of A up to this count as zero, in the metric's coordinates.
        moves: Whether the constraint is driven, x(t) ≠ const.
        table: The functions of constraint and coordinates, as far as they are compiled.
        computed_in_python, target_in_python: Whether Python computes the constraint, or its motion,
            in every evaluation.
        time: Time of the last evaluation [s].
        v: q̇, n.
        M: Inertia matrix, n × n.
        h: Coriolis, centrifugal and gravity terms, n.
        residual: Φ(q) − x(t), m.
        A: Constraint Jacobian, m × n.
        b: ẍ − Ȧq̇, m, so that A q̈ = b.
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
        row_length: float = ROW_LENGTH,
    ) -> None:
        self.arm, self.constraint, self.coordinates = arm, constraint, coordinates
        self.n = n = arm.n
        self.m = m = 0 if constraint is None else constraint.rows
        self.k = k = 0 if coordinates is None else coordinates.size
        self.metric = (metric or Metric()).of_arm(arm)
        if self.metric.sqrt_metric.shape != (n,):
            size = self.metric.sqrt_metric.size
            raise InvalidValue(f"metric must have {n} entries, one per joint, got {size}")
        self.tolerance = self.metric.tolerance(check_tolerance(tolerance))
        self.time = 0.0
        self.moves = constraint is not None and constraint.target(0.0) is not None

        equations = _equations(constraint)
        self._python_constraint = constraint if equations is None else None
        self.computed_in_python = equations is None
        functions = [*(equations or []), *(coordinates.functions if coordinates else [])]
        self.table = table = FunctionTable(arm, functions)
        sizes = {"n": n, "m": m, "k": k, "frames": table.frames}
        work = TERMS.new(**sizes)
        self.terms = terms = TERMS.view(work, **sizes)
        self.sqrt_metric, self.v, self.h, self.M = terms.sqrt_metric, terms.v, terms.h, terms.M
        self.residual, self.A, self.b = terms.residual, terms.A, terms.b
        self.span = SPAN.view(terms.span, m=m, n=n)
        self.theta, self.theta_rate = terms.theta, terms.theta_rate
        self.J_theta, self.theta_bias = terms.J_theta, terms.theta_bias
        self.sqrt_metric[:] = self.metric.sqrt_metric
        terms.floats[0] = float(arm.floats)
        self.row_length = length = validate.positive("row length", row_length)
        units = () if constraint is None else constraint.row_units
        terms.row_scale[:] = [length if unit == "rad" else 1.0 for unit in units]

        terms.tolerance[0] = terms.fades_from[0] = self.tolerance
        first = 0 if self._python_constraint is None else m
        motion = None if constraint is None else constraint.target_table
        self.target_in_python = self.moves and motion is None
        self._in_python = self.target_in_python or self.computed_in_python
        self.arguments = ModelArguments(
            arm.M,
            arm.h,
            arm.spatial_jacobian,
            arm.placements,
            arm.state,
            np.array([first, m, k, table.frames], dtype=np.int64),
            table.table,
            new_table(m, 0, 0) if motion is None else motion.array(),
            work,
        )

    def fade(self) -> None:
        """Let directions of A fade below the tolerance, as laws want it, instead of a cut there."""
        self.terms.fades_from[0] = FADED * self.tolerance

    @property
    def P(self) -> Array:
        """Projector on the free directions, n × n; made where it is asked for."""
        if self.terms.held[0] != 0.0:
            return self.terms.held_P
        V = self.span.V
        return np.eye(self.n) - (V.T * self.span.share) @ V

    @property
    def A_pinv(self) -> Array:
        """A⁺, n × m; made where it is asked for."""
        return np.asarray(self.span.V.T @ self.span.X)

    @property
    def singular_values(self) -> Array:
        """Those of A, rows that are angles by their length, m, largest first; found when asked."""
        return singular_values(self.terms.row_scale[:, None] * self.A)

    @property
    def rank(self) -> int:
        """Number of independent constraints at present."""
        return int(self.terms.rank[0])

    @property
    def free_directions(self) -> int:
        """n − rank, the degrees of freedom that are left."""
        return self.n - self.rank

    @property
    def undescribed_directions(self) -> int:
        """How many of them no coordinate describes: n − rank of A and J_θ together."""
        rows = np.vstack([self.A, self.J_theta])
        return (
            self.n - int(np.linalg.matrix_rank(rows, tol=self.tolerance)) if rows.size else self.n
        )

    @property
    def target_rate(self) -> Array:
        """ẋ of a moving constraint, m; zero for one that stands still."""
        return self.terms.target[1]

    @property
    def normal_rate(self) -> Array:
        """A⁺ẋ, the velocity a moving constraint imposes, n; zero for one that stands still."""
        return np.asarray(self.A_pinv @ self.terms.target[1])

    def evaluate(self, q: ArrayLike, v: ArrayLike, time: float = 0.0) -> ConstrainedArm:
        """Compute everything for this state: one Pinocchio pass, one decomposition of A."""
        q, v = self.arm.configuration(q), validate.vector("v", v, self.n)
        self.prepare(q, v, time)
        _evaluate(time, q, v, *self.arguments)
        return self

    def prepare(self, q: Array, v: Array, time: float = 0.0) -> None:
        """The part of `evaluate` that is not compiled; a compiled law does the rest itself."""
        self.time = time
        if not self._in_python:
            self.arm.compute(q, v)
            return
        if self.target_in_python and self.constraint is not None:
            target = self.constraint.target(time)
            if target is not None:
                for row, values in zip(self.terms.target, target, strict=True):
                    row[:] = values
        if self._python_constraint is None:
            self.arm.compute(q, v)
        else:
            m, terms, arm = self.m, self.terms, self.arm.update(q, v)
            terms.value[:m] = self._python_constraint.residual(arm)
            terms.jacobian[:m] = self._python_constraint.jacobian(arm)
            terms.bias[:m] = self._python_constraint.bias(arm)


def _equations(constraint: Constraint | None) -> list[ScalarFunction] | None:
    """The functions of a constraint that is made of nothing else, or None."""
    if constraint is None:
        return []
    if isinstance(constraint, FunctionConstraint):
        return list(constraint.functions) if constraint.is_its_functions else None
    if type(constraint) is Moving:
        return _equations(constraint.constraint)
    if type(constraint) is Stack:
        parts = [_equations(part) for part in constraint.constraints]
        if all(part is not None for part in parts):
            return [function for part in parts if part for function in part]
    return None


@compiled
def complete_terms(arm_M: Array, arm_h: Array, arm_v: Array, t: Terms) -> None:
    """From functions and dynamics to the rest: change to the metric's coordinates, and decompose A.

    q̇_W = W^½ q̇,  h_W = W^-½ h,  M_W = W^-½ M W^-½,  A_W = A W^-½,  J_W = J_θ W^-½.

    Rows that are angles are scaled by a length before the decomposition, D A, so that one tolerance
    fits all: A⁺ = (D A)⁺ D. It is the ordinary A⁺ where A has full row rank; where it has not,
    λ = A⁺ᵀF is the one of least ‖D⁻¹λ‖, in which forces and moments compare.
    """
    n, m, k = t.v.size, t.b.size, t.theta.size
    s = unpack_span(t.span, m, n)
    for i in range(n):
        t.v[i] = t.sqrt_metric[i] * arm_v[i]
        t.scratch[i] = 1.0 / t.sqrt_metric[i]
        t.h[i] = arm_h[i] * t.scratch[i]
    inverse = t.scratch[:n]
    for i in range(n):
        for j in range(n):
            t.M[i, j] = arm_M[j, i] * (inverse[i] * inverse[j])
    for r in range(m):
        for i in range(n):
            t.A[r, i] = t.jacobian[r, i] * inverse[i]
            s.V[r, i] = t.A[r, i] * t.row_scale[r]
    for r in range(k):
        for i in range(n):
            t.J_theta[r, i] = t.jacobian[m + r, i] * inverse[i]
    for r in range(m):
        t.residual[r] = t.value[r] - t.target[0, r]
        t.b[r] = t.target[2, r] - t.bias[r]
    matvec(t.J_theta, t.v, t.theta_rate)
    finish_decomposition(s, t)


@compiled
def finish_decomposition(s: SpanTerms, t: Terms) -> None:
    """From the scaled rows in V to V and X; see `complete_terms`."""
    m = t.b.size
    rank, _ = decompose(t.fades_from[0], t.tolerance[0], 0.0, s, t.scratch)
    t.rank[0], t.held[0], t.factored[0] = rank, 0.0, 0.0
    for i in range(m):
        for r in range(m):
            s.X[i, r] *= t.row_scale[r]


@compiled
def keep_rows(holds: Array, t: Terms) -> None:
    """P and A⁺ of those rows alone for which holds is 1, not 0; A stays whole."""
    s = unpack_span(t.span, t.b.size, t.v.size)
    for r in range(t.b.size):
        for i in range(t.v.size):
            s.V[r, i] = holds[r] * t.A[r, i] * t.row_scale[r]
    finish_decomposition(s, t)


@compiled
def evaluate_model(
    time: float,
    q: Array,
    v: Array,
    M: Array,
    h: Array,
    spatial_jacobian: Array,
    placements: Array,
    state: Array,
    sizes: Whole,
    functions: Array,
    target: Array,
    work: Array,
) -> Terms:
    """Evaluate the functions from the first compiled one on, and all that follows from them.

    The state q, v is also copied to where the arm keeps its own. See `ModelArguments`.
    """
    first, m, k, frames = sizes[0], sizes[1], sizes[2], sizes[3]
    copy(q, state[0])
    copy(v, state[1])
    t = unpack_terms(work, v.size, m, k, frames)
    copy(q, t.q)
    evaluate_motion(time, target, t.target)
    evaluate_functions(
        q,
        v,
        spatial_jacobian,
        placements,
        functions,
        frames,
        t.value[first:],
        t.jacobian[first:],
        t.bias[first:],
        t.scratch,
    )
    complete_terms(M, h, v, t)
    return t


@kernel
def _evaluate(
    time: float,
    q: Numbers,
    v: Numbers,
    M: Columns,
    h: Numbers,
    spatial_jacobian: Columns,
    placements: Matrix,
    state: Matrix,
    sizes: Integers,
    functions: Numbers,
    target: Numbers,
    work: Numbers,
) -> None:
    """`evaluate_model` without handing the terms back to Python, which takes long."""
    evaluate_model(
        time, q, v, M, h, spatial_jacobian, placements, state, sizes, functions, target, work
    )

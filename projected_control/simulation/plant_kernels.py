"""The plant's step in kernels: a stage of the integration, the corrections, and what is measured.

Between two of them there is nothing but Pinocchio's pass, for the state that the last one left.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.model.constrained_arm import Terms, evaluate_model, unpack_terms
from projected_control.model.dynamics import acceleration_kernel
from projected_control.model.linalg import (
    axpy,
    copy,
    dot,
    matvec,
    matvec_add,
    matvec_transposed,
)
from projected_control.simulation.integrators import along
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


class PlantTerms(NamedTuple):
    """What the plant is made of between two steps; the state y is q, q̇ and the work done on it."""

    y: Annotated[Array, Part("2 * n + 1", "The state.")]
    stage: Annotated[Array, Part("2 * n + 1", "The state at a stage, then after the step.")]
    slopes: Annotated[Array, Part("stages, 2 * n + 1", "ẏ at each stage.")]
    weights: Annotated[
        Array,
        Part("stages + 1, stages", "Weights of the slopes before each stage, and in the end."),
    ]
    step: Annotated[Array, Part("1", "Integration step [s].")]
    tolerance: Annotated[Array, Part("1", "‖Φ‖ down to which the position is corrected.")]
    effort: Annotated[Array, Part("n", "Effort of the motors [N·m or N].")]
    friction: Annotated[Array, Part("3, n", "See `JointFriction.of_joints`.")]
    load: Annotated[Array, Part("n", "f, the effort of motors and friction [N·m or N].")]
    net: Annotated[Array, Part("n", "f − h, then f − h − M q̈.")]
    tangent: Annotated[Array, Part("n", "P (f − h).")]
    normal_acceleration: Annotated[Array, Part("n", "C q̇ = A⁺b.")]
    normal_rate: Annotated[Array, Part("n", "A⁺ẋ.")]
    PM: Annotated[Array, Part("n, n", "P M.")]
    M_c: Annotated[Array, Part("n, n", "M + PM − (PM)ᵀ.")]
    slope: Annotated[Array, Part("2 * n + 1", "ẏ now, when it was last observed.")]
    seen_q: Annotated[Array, Part("n", "q when it was last observed, as is all below.")]
    seen_v: Annotated[Array, Part("n", "q̇.")]
    acceleration: Annotated[Array, Part("n", "q̈ under the effort.")]
    force: Annotated[Array, Part("n", "F = Aᵀλ under the effort [N·m or N].")]
    multipliers: Annotated[Array, Part("m", "λ under the effort [N or N·m].")]
    residual: Annotated[Array, Part("1", "‖Φ − x‖.")]
    seen: Annotated[Array, Part("4 * n + m + 1", "All that was observed.", at="seen_q")]


PLANT = Layout(PlantTerms, "n", "m", "stages")
unpack_plant = PLANT.unpack


@compiled
def find_slope(v: Array, t: Terms, p: PlantTerms, slope: Array) -> None:
    """q̇, q̈ and the power that enters the arm, at an evaluated state.

    The power is q̇ᵀf of motors and friction, and −(A⁺ẋ)ᵀF of a constraint that moves, where
    F = (I − P)(f − h − M q̈).
    """
    n = v.size
    for i in range(n):
        dry, viscous, blend = p.friction[0, i], p.friction[1, i], p.friction[2, i]
        p.load[i] = p.effort[i] - dry * np.tanh(v[i] / blend) - viscous * v[i]
    copy(p.load, p.net)
    axpy(-1.0, t.h, p.net)
    matvec(t.P, p.net, p.tangent)
    matvec(t.A_pinv, t.b, p.normal_acceleration)
    acceleration = slope[n : 2 * n]
    acceleration_kernel(t.M, t.P, p.tangent, p.normal_acceleration, acceleration, p.PM, p.M_c)
    copy(v, slope[:n])
    matvec_add(t.M, acceleration, p.net, -1.0)
    matvec(t.A_pinv, t.target[1], p.normal_rate)
    slope[2 * n] = dot(v, p.load) - dot(p.normal_rate, p.net)


@compiled
def take_effort(effort: Array, target: Array) -> bool:
    """target ← effort where it is finite, which is said; otherwise nothing changes."""
    for i in range(effort.size):
        if not np.isfinite(effort[i]):
            return False
    copy(effort, target)
    return True


@compiled
def same_state(y: Array, state: Array) -> bool:
    """Whether an arm is at this state already."""
    same = True
    for i in range(state.shape[1]):
        same = same and y[i] == state[0, i] and y[state.shape[1] + i] == state[1, i]
    return same


@compiled
def integrate_stage(
    s: int,
    evaluated: bool,
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
    model_work: Array,
    stages: int,
    work: Array,
) -> bool:
    """The slope at stage s, and from it the state of the next stage, or the one after the step.

    Args:
        s: Which stage.
        evaluated: Whether the model is evaluated at this state.
        time: Time of the stage [s].
        q, v: Its state, parts of `PlantTerms.stage` (of `y` for the first).
        M, …, model_work: See `ModelArguments`.
        stages: How many there are.
        work: An array of `PlantTerms`.

    Returns:
        Whether the next state is finite.
    """
    n = q.size
    p = unpack_plant(work, n, sizes[1], stages)
    if evaluated:
        t = unpack_terms(model_work, n, sizes[1], sizes[2], sizes[3])
    else:
        t = evaluate_model(
            time, q, v, M, h, spatial_jacobian, placements, state, sizes, functions, target,
            model_work,
        )  # fmt: skip
    find_slope(v, t, p, p.slopes[s])
    along(p.y, p.step[0], p.weights[s + 1][: s + 1], p.slopes, p.stage)
    finite = True
    for i in range(p.stage.size):
        finite = finite and np.isfinite(p.stage[i])
    return finite


@compiled
def correct_state(
    position: bool,
    velocity: bool,
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
    model_work: Array,
    tolerance: float,
) -> float:
    """One correction: q ← q − A⁺Φ, or, where q is on the constraint, q̇ ← P q̇ + A⁺ẋ.

    Args:
        position, velocity: Which of the two is wanted.
        time: [s].
        q, v: The state, changed in place.
        M, …, model_work: See `ModelArguments`.
        tolerance: ‖Φ‖ from which on the position is corrected.

    Returns:
        ‖Φ‖ before it; where this is more than the tolerance, the velocity is still to be corrected.
    """
    t = evaluate_model(
        time, q, v, M, h, spatial_jacobian, placements, state, sizes, functions, target, model_work
    )
    error = np.sqrt(dot(t.residual, t.residual))
    if position and not error <= tolerance:
        matvec_add(t.A_pinv, t.residual, q, -1.0)
    elif velocity:
        matvec(t.P, state[1], v)
        matvec_add(t.A_pinv, t.target[1], v)
    return error


@compiled
def observe(
    evaluated: bool,
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
    model_work: Array,
    stages: int,
    work: Array,
) -> None:
    """What there is to see at the present state, under the present effort: `PlantTerms.seen`.

    See `integrate_stage` for the arguments.
    """
    n = q.size
    p = unpack_plant(work, n, sizes[1], stages)
    if evaluated:
        t = unpack_terms(model_work, n, sizes[1], sizes[2], sizes[3])
    else:
        t = evaluate_model(
            time, q, v, M, h, spatial_jacobian, placements, state, sizes, functions, target,
            model_work,
        )  # fmt: skip
    find_slope(v, t, p, p.slope)
    copy(q, p.seen_q)
    copy(v, p.seen_v)
    copy(p.slope[n : 2 * n], p.acceleration)
    copy(p.net, p.force)  # f − h − M q̈, of which the constraint takes the normal part
    matvec_add(t.P, p.net, p.force, -1.0)
    matvec_transposed(t.A_pinv, p.force, p.multipliers)
    p.residual[0] = np.sqrt(dot(t.residual, t.residual))

"""The plant's step as kernels, between which only Pinocchio's pass lies.

Whoever moves the plant, Python or C++, does no more than this::

    status = begin_step(…)
    while status == GOES_ON:
        Pinocchio's pass at the q and q̇ of `at`
        status = advance_step(…)

so that both get the same numbers. Each call of `advance_step` makes use of one pass: a stage of the
tableau, or one check and correction of what the stages gave.
"""

from __future__ import annotations

from enum import IntEnum
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
    fill,
    matvec,
    matvec_add,
    matvec_transposed,
)
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

MAX_CORRECTIONS = 20

LOST = 1e-3
"""‖Φ‖ after the correction from which the arm counts as off its constraint."""


class Step(IntEnum):
    """How a step stands: what `begin_step` and `advance_step` answer."""

    DONE = 0
    GOES_ON = 1
    """Another pass is wanted."""
    NOT_FINITE = 2
    OFF_CONSTRAINT = 3


DONE, GOES_ON, _NOT_FINITE, _OFF_CONSTRAINT = (int(status) for status in Step)


class PlantTerms(NamedTuple):
    """A plant: n joints, m constraint rows, stages of the integration method, samples of delay.

    A state y is q, then q̇, then the work done on the arm since the start.
    """

    time: Annotated[Array, Part("1", "Now [s].")]
    step: Annotated[Array, Part("1", "Integration step [s].")]
    tolerance: Annotated[Array, Part("1", "‖Φ‖ down to which the position is corrected.")]
    corrects: Annotated[Array, Part("2", "1 where position, velocity are put back, else 0.")]
    nodes: Annotated[Array, Part("stages", "Times of the stages, as fractions of the step.")]
    weights: Annotated[
        Array, Part("stages, stages", "Line s weighs the slopes up to s in what follows stage s.")
    ]
    friction: Annotated[Array, Part("3, n", "Coulomb, viscous, blend: `JointFriction.of_joints`.")]
    effort: Annotated[Array, Part("n", "Effort of the motors [N·m or N].")]
    y: Annotated[Array, Part("2 * n + 1", "The state.")]
    at: Annotated[Array, Part("2 * n + 1", "Where the next pass is wanted.")]
    at_time: Annotated[Array, Part("1", "And for when [s].")]
    phase: Annotated[Array, Part("1", "Stage, or the number of stages plus corrections made.")]
    slopes: Annotated[Array, Part("stages, 2 * n + 1", "ẏ at the stages.")]
    slope: Annotated[Array, Part("2 * n + 1", "ẏ as observed: q̇, q̈, power.")]
    force: Annotated[Array, Part("n", "F = Aᵀλ [N·m or N].")]
    multipliers: Annotated[Array, Part("m", "λ [N or N·m].")]
    residual: Annotated[Array, Part("1", "‖Φ − x‖.")]
    seen: Annotated[Array, Part("n + m + 1", "These three in one.", at="force")]
    basis: Annotated[Array, Part("6, m", "W: the wrench of each λ at the sensor.")]
    late: Annotated[Array, Part("delay + 1, m", "Readings of λ on their way, the newest first.")]
    readings: Annotated[Array, Part("1", "How many readings there were.")]
    noise: Annotated[Array, Part("m", "What the next reading adds to λ [N or N·m].")]
    wrench: Annotated[Array, Part("6", "The last reading as a wrench [N, N·m].")]
    load: Annotated[Array, Part("n", "f, the effort of motors and friction [N·m or N].")]
    net: Annotated[Array, Part("n", "f − h, then f − h − M q̈.")]
    tangent: Annotated[Array, Part("n", "P (f − h).")]
    normal_acceleration: Annotated[Array, Part("n", "C q̇ = A⁺b.")]
    normal_rate: Annotated[Array, Part("n", "A⁺ẋ.")]
    PM: Annotated[Array, Part("n, n", "P M.")]
    M_c: Annotated[Array, Part("n, n", "M + PM − (PM)ᵀ.")]


PLANT = Layout(PlantTerms, "n", "m", "stages", "delay")
unpack_plant = PLANT.unpack


@compiled
def _slope(y: Array, p: PlantTerms, t: Terms, slope: Array) -> None:
    """q̇, q̈ and the power that enters the arm, at an evaluated state.

    The power is q̇ᵀf of motors and friction, and −(A⁺ẋ)ᵀF of a constraint that moves, where
    F = (I − P)(f − h − M q̈).
    """
    n = p.effort.size
    v = y[n : 2 * n]
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
def _go_on(stage: int, p: PlantTerms) -> None:
    """From the slopes up to this stage to where the next pass is wanted."""
    last = stage == p.nodes.size - 1
    for i in range(p.y.size):
        total = 0.0
        for s in range(stage + 1):
            total += p.weights[stage, s] * p.slopes[s, i]
        p.at[i] = p.y[i] + p.step[0] * total
    p.at_time[0] = p.time[0] + (1.0 if last else p.nodes[stage + 1]) * p.step[0]
    p.phase[0] = stage + 1


@compiled
def _finish(p: PlantTerms) -> bool:
    """Take what the stages gave as the new state, unless it is not finite."""
    for i in range(p.at.size):
        if not np.isfinite(p.at[i]):
            return False
    copy(p.at, p.y)
    p.time[0] += p.step[0]
    p.at_time[0] = p.time[0]
    return True


@compiled
def _correct(p: PlantTerms, t: Terms) -> int:
    """Check the new state on an evaluated model; put it back on the constraint, once."""
    n = p.effort.size
    q, v = p.y[:n], p.y[n : 2 * n]
    error = np.sqrt(dot(t.residual, t.residual))
    made = int(p.phase[0]) - p.nodes.size
    if p.corrects[0] != 0.0:
        if not error <= p.tolerance[0] and made < MAX_CORRECTIONS:
            matvec_add(t.A_pinv, t.residual, q, -1.0)
            copy(q, p.at[:n])
            p.phase[0] += 1.0
            return GOES_ON
        if not error <= LOST:
            return _OFF_CONSTRAINT
    if p.corrects[1] != 0.0:
        matvec(t.A_pinv, t.target[1], p.normal_rate)
        matvec(t.P, v, p.net)
        for i in range(n):
            v[i] = p.net[i] + p.normal_rate[i]
    return DONE


@compiled
def _advance(p: PlantTerms, t: Terms) -> int:
    """Make use of a model that was evaluated where it was wanted."""
    stage = int(p.phase[0])
    if stage >= p.nodes.size:
        return _correct(p, t)
    _slope(p.at, p, t, p.slopes[stage])
    _go_on(stage, p)
    if stage + 1 == p.nodes.size and not _finish(p):
        return _NOT_FINITE
    return GOES_ON


@compiled
def begin_step(
    observed: bool, plant_sizes: Whole, plant: Array, state: Array, sizes: Whole, work: Array
) -> int:
    """Begin at the present state; what is wanted next stands in `at`.

    Args:
        observed: Whether the model was evaluated at this very state and time, which spares the
            first pass; believed only where its q and q̇ are those of the plant.
        plant_sizes: Stages of the method, samples of delay of the sensor; whole numbers.
        plant: An array of `PlantTerms`.
        state, sizes, work: Of the model, see `ModelArguments`.
    """
    n, m = state.shape[1], sizes[1]
    p = unpack_plant(plant, n, m, plant_sizes[0], plant_sizes[1])
    copy(p.y, p.at)
    p.at_time[0] = p.time[0]
    p.phase[0] = 0.0
    for i in range(n):
        observed = observed and p.y[i] == state[0, i] and p.y[n + i] == state[1, i]
    return _advance(p, unpack_terms(work, n, m, sizes[2], sizes[3])) if observed else GOES_ON


@compiled
def advance_step(
    plant_sizes: Whole,
    plant: Array,
    M: Array,
    h: Array,
    spatial_jacobian: Array,
    placements: Array,
    state: Array,
    sizes: Whole,
    functions: Array,
    target: Array,
    work: Array,
) -> int:
    """Go on after Pinocchio's pass at `at`; see `begin_step` and `ModelArguments`.

    Returns a `Step`.
    """
    n = state.shape[1]
    p = unpack_plant(plant, n, sizes[1], plant_sizes[0], plant_sizes[1])
    t = evaluate_model(
        p.at_time[0],
        p.at[:n],
        p.at[n : 2 * n],
        M,
        h,
        spatial_jacobian,
        placements,
        state,
        sizes,
        functions,
        target,
        work,
    )
    return _advance(p, t)


@compiled
def observe_plant(
    plant_sizes: Whole,
    plant: Array,
    M: Array,
    h: Array,
    spatial_jacobian: Array,
    placements: Array,
    state: Array,
    sizes: Whole,
    functions: Array,
    target: Array,
    work: Array,
) -> None:
    """Fill slope, force, λ and ‖Φ‖ at the present state and effort, after Pinocchio's pass there.

    F = (I − P)(f − h − M q̈),  λ = A⁺ᵀ F.
    """
    n = state.shape[1]
    p = unpack_plant(plant, n, sizes[1], plant_sizes[0], plant_sizes[1])
    t = evaluate_model(
        p.time[0],
        p.y[:n],
        p.y[n : 2 * n],
        M,
        h,
        spatial_jacobian,
        placements,
        state,
        sizes,
        functions,
        target,
        work,
    )
    _slope(p.y, p, t, p.slope)
    copy(p.net, p.force)
    matvec_add(t.P, p.net, p.force, -1.0)
    matvec_transposed(t.A_pinv, p.force, p.multipliers)
    p.residual[0] = np.sqrt(dot(t.residual, t.residual))


@compiled
def take_effort(effort: Array, target: Array) -> bool:
    """target ← effort where it is finite, which is said; otherwise nothing changes."""
    for i in range(effort.size):
        if not np.isfinite(effort[i]):
            return False
    copy(effort, target)
    return True


@compiled
def sense_force(plant_sizes: Whole, plant: Array, state: Array, sizes: Whole) -> None:
    """A reading of the force sensor: λ as observed, late and with the noise that is given."""
    delay = plant_sizes[1]
    p = unpack_plant(plant, state.shape[1], sizes[1], plant_sizes[0], delay)
    for sample in range(delay, 0, -1):
        copy(p.late[sample - 1], p.late[sample])
    copy(p.multipliers, p.late[0])
    p.readings[0] = min(p.readings[0] + 1.0, delay + 1.0)
    reading = p.late[int(p.readings[0]) - 1]
    fill(p.wrench, 0.0)
    for r in range(p.noise.size):
        for i in range(6):
            p.wrench[i] += p.basis[i, r] * (reading[r] + p.noise[r])

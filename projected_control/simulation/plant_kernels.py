"""The plant's step as kernels, between which only Pinocchio's pass lies.

What moves the plant, Python or C++, does no more than this::

    status = begin_step(…)
    while status == GOES_ON:
        Pinocchio's pass at the q and q̇ of `at`
        status = advance_step(…)

so that both get the same numbers. Each call of `advance_step` makes use of one pass: a stage of the
tableau, or one check and correction of what the stages gave.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import Columns, Integers, Matrix, Numbers, compiled, kernel
from projected_control.model.constrained_arm import Terms, evaluate_model, unpack_terms
from projected_control.model.floating_base import (
    SIZE,
    add_to_base,
    base_rates,
    shorten_rotation,
)
from projected_control.model.linalg import copy, dot, matvec_add, matvec_transposed_add
from projected_control.model.on_constraint import (
    free_part,
    least_motion,
    multipliers_of,
    normal_part,
    span_of,
)
from projected_control.model.span import invert_add
from projected_control.simulation.dry_friction import (
    accelerate,
    find_dry_friction,
    find_load,
    find_pressing,
)
from projected_control.simulation.impacts import (
    AGAIN,
    STRUCK,
    begin_part,
    look_for_touch,
    settle_contacts,
    stop_rows,
)
from projected_control.simulation.plant_terms import PlantTerms, unpack_plant
from projected_control.simulation.surfaces import (
    add_pressed,
    note_gaps,
    pass_edges,
    unpack_contacts,
)

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

MAX_CORRECTIONS = 20

LOST = 1e-3
"""‖Φ‖ after the correction from which the arm counts as off its constraint."""


SHORTEST = 1e-9
"""Share of a step up to which nothing of it is left after a touch."""


class Step(IntEnum):
    """How a step stands: what `begin_step` and `advance_step` answer."""

    DONE = 0
    GOES_ON = 1
    """Another pass is wanted."""
    NOT_FINITE = 2
    OFF_CONSTRAINT = 3


DONE, GOES_ON, _NOT_FINITE, _OFF_CONSTRAINT = (int(status) for status in Step)


@compiled
def _slope(y: Array, p: PlantTerms, t: Terms, slope: Array) -> None:
    """q̇, q̈ and the power that enters the arm, at an evaluated state.

    The power is q̇ᵀf of motors, friction and stops, and −(A⁺ẋ)ᵀF of a constraint that moves, where
    F = (I − P)(f − h − M q̈).
    """
    n = p.effort.size
    v = y[n : 2 * n]
    acceleration = slope[n : 2 * n]
    find_load(y, p, t)
    accelerate(p, t, acceleration)
    copy(v, slope[:n])
    if t.floats[0] != 0.0:
        base_rates(y, v, slope)
    matvec_add(t.M, acceleration, p.net, -1.0)
    least_motion(t, t.target[1], p.normal_rate)
    slope[2 * n] = dot(v, p.load) - dot(p.normal_rate, p.net)


@compiled
def _go_on(stage: int, p: PlantTerms) -> None:
    """From the slopes up to this stage to where the next pass is wanted."""
    last = stage == p.nodes.size - 1
    for i in range(p.y.size):
        total = 0.0
        for s in range(stage + 1):
            total += p.weights[stage, s] * p.slopes[s, i]
        p.at[i] = p.y[i] + p.span[0] * total
    p.at_time[0] = p.time[0] + (1.0 if last else p.nodes[stage + 1]) * p.span[0]
    p.phase[0] = stage + 1


@compiled
def _finish(p: PlantTerms, t: Terms) -> bool:
    """Take what the stages gave as the new state, unless it is not finite."""
    for i in range(p.at.size):
        if not np.isfinite(p.at[i]):
            return False
    if t.floats[0] != 0.0:
        shorten_rotation(p.at)
    copy(p.at, p.y)
    p.time[0] += p.span[0]
    p.at_time[0] = p.time[0]
    return True


@compiled
def put_back(q: Array, p: PlantTerms, t: Terms) -> None:
    """q ← q ⊕ (−A⁺Φ)."""
    if t.floats[0] == 0.0:
        invert_add(span_of(t), t.residual, q, -1.0)
        return
    least_motion(t, t.residual, p.net)
    for i in range(SIZE, q.size):
        q[i] -= p.net[i]
    add_to_base(p.net, -1.0, q)


@compiled
def _correct(p: PlantTerms, t: Terms) -> int:
    """Check the new state on an evaluated model; put it back on the constraint, once."""
    n = p.effort.size
    c = unpack_contacts(p.contacts, n, p.noise.size)
    if c.kinds[0] != 0.0 and int(p.phase[0]) == p.nodes.size:
        found = look_for_touch(p, t)
        if found == AGAIN:
            return GOES_ON
        if found == STRUCK:
            left = c.left[0] - p.span[0]
            if left > SHORTEST * p.step[0]:
                begin_part(left, p, c)
                return GOES_ON
            p.time[0] = p.span[1]
    q, v = p.y[:n], p.y[n : 2 * n]
    error = np.sqrt(dot(t.residual, t.residual))
    made = int(p.phase[0]) - p.nodes.size
    if p.corrects[0] != 0.0:
        if not error <= p.tolerance[0] and made < MAX_CORRECTIONS:
            put_back(q, p, t)
            copy(q, p.at[:n])
            p.phase[0] += 1.0
            return GOES_ON
        if not error <= LOST:
            return _OFF_CONSTRAINT
    if p.corrects[1] != 0.0:
        least_motion(t, t.target[1], p.normal_rate)
        free_part(t, v, p.net)
        for i in range(n):
            v[i] = p.net[i] + p.normal_rate[i]
    return DONE


@compiled
def find_friction(
    y: Array, spatial_jacobian: Array, placements: Array, p: PlantTerms, t: Terms
) -> None:
    """Dry friction in a step from this state, and which contacts hold in it."""
    c = unpack_contacts(p.contacts, p.effort.size, p.noise.size)
    pass_edges(c)
    if c.kinds[0] != 0.0:
        settle_contacts(y, spatial_jacobian, placements, p, t)
    else:
        find_dry_friction(y, spatial_jacobian, placements, p, t)


@compiled
def let_go(placements: Array, p: PlantTerms, t: Terms) -> None:
    """On an evaluated model: rows that do not hold leave it."""
    c = unpack_contacts(p.contacts, p.effort.size, p.noise.size)
    if c.kinds[0] + c.kinds[1] != 0.0:
        note_gaps(placements, c, t)


@compiled
def _advance(spatial_jacobian: Array, placements: Array, p: PlantTerms, t: Terms) -> int:
    """Make use of a model that was evaluated where it was wanted."""
    stage = int(p.phase[0])
    if stage >= p.nodes.size:
        return _correct(p, t)
    if stage == 0:
        find_friction(p.at, spatial_jacobian, placements, p, t)
        if stop_rows(p, t):
            find_friction(p.at, spatial_jacobian, placements, p, t)
        copy(p.rubbing, p.dry)
    _slope(p.at, p, t, p.slopes[stage])
    if stage == 0:
        find_pressing(p, t)
    _go_on(stage, p)
    if stage + 1 == p.nodes.size and not _finish(p, t):
        return _NOT_FINITE
    return GOES_ON


@kernel
def begin_step(
    observed: bool,
    plant_sizes: Integers,
    plant: Numbers,
    spatial_jacobian: Columns,
    placements: Matrix,
    state: Matrix,
    sizes: Integers,
    work: Numbers,
) -> int:
    """Begin at the present state; what is wanted next stands in `at`.

    Args:
        observed: Whether the model was evaluated at this very state and time, which spares the
            first pass; believed only where its q and q̇ are those of the plant.
        plant_sizes: Stages of the method, samples of delay of the sensor, and of the motors.
        plant: An array of `PlantTerms`.
        spatial_jacobian, …, work: Of the model, see `ModelArguments`.
    """
    n, m = state.shape[1], sizes[1]
    p = unpack_plant(plant, plant_sizes, n, m)
    copy(p.y, p.at)
    p.at_time[0] = p.time[0]
    p.phase[0] = 0.0
    p.span[0], p.span[1] = p.step[0], p.time[0] + p.step[0]
    c = unpack_contacts(p.contacts, n, m)
    if c.kinds[0] != 0.0:
        begin_part(p.step[0], p, c)
    for i in range(n):
        observed = observed and p.y[i] == state[0, i] and p.y[n + i] == state[1, i]
    if not observed:
        return GOES_ON
    t = unpack_terms(work, n, m, sizes[2], sizes[3])
    return _advance(spatial_jacobian, placements, p, t)


@kernel
def advance_step(
    plant_sizes: Integers,
    plant: Numbers,
    M: Columns,
    h: Numbers,
    spatial_jacobian: Columns,
    placements: Matrix,
    state: Matrix,
    sizes: Integers,
    functions: Numbers,
    target: Numbers,
    work: Numbers,
) -> int:
    """Go on after Pinocchio's pass at `at`; see `begin_step` and `ModelArguments`.

    Returns a `Step`.
    """
    n = state.shape[1]
    p = unpack_plant(plant, plant_sizes, n, sizes[1])
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
    let_go(placements, p, t)
    return _advance(spatial_jacobian, placements, p, t)


@kernel
def observe_plant(
    plant_sizes: Integers,
    plant: Numbers,
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
    """Fill slope, force, λ and ‖Φ‖ at the present state and effort, after Pinocchio's pass there.

    F = (I − P)(f − h − M q̈),  λ = A⁺ᵀ F.
    """
    n = state.shape[1]
    p = unpack_plant(plant, plant_sizes, n, sizes[1])
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
    let_go(placements, p, t)
    find_friction(p.y, spatial_jacobian, placements, p, t)
    _slope(p.y, p, t, p.slope)
    normal_part(t, p.net, p.force)
    multipliers_of(t, p.force, p.multipliers)
    c = unpack_contacts(p.contacts, n, sizes[1])
    if c.kinds[1] != 0.0:
        add_pressed(c, p.multipliers)
        matvec_transposed_add(c.rows, c.pressed, p.force)
    p.residual[0] = np.sqrt(dot(t.residual, t.residual))

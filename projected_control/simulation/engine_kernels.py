"""What is observed of a plant that another engine moves, in our terms."""

from __future__ import annotations

import numpy as np

from projected_control.compiled import Columns, Integers, Matrix, Numbers, kernel
from projected_control.model.constrained_arm import evaluate_model
from projected_control.model.kinematics import frame_motion
from projected_control.model.linalg import axpy, copy, dot
from projected_control.model.on_constraint import least_motion, multipliers_of, normal_part
from projected_control.simulation.dry_friction import dry_level, find_pressing
from projected_control.simulation.plant_terms import unpack_plant


@kernel
def observe_engine(
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
    """Fill force, λ and ‖Φ‖ at the present state, after Pinocchio's pass there.

    `force` holds what the engine's constraints take from the joints, −Jᵀf, and `contact_force` the
    friction that is a part of that [N]::

        F = (I − P)(−Jᵀf + J_cᵀ f_c),  λ = A⁺ᵀ F.

    The last of `slope` is the power of a constraint that moves, −(A⁺ẋ)ᵀF.
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
    copy(p.force, p.net)
    if p.contact[1] != 0.0:
        frame_motion(
            spatial_jacobian,
            p.y[n : 2 * n],
            placements[int(p.contact[1])],
            p.contact[2:],
            p.contact_support,
            p.contact_jacobian,
        )
        for j in range(3):
            axpy(p.contact_force[j], p.contact_jacobian[j], p.net)
    normal_part(t, p.net, p.force)
    find_pressing(p, t)
    multipliers_of(t, p.force, p.multipliers)
    least_motion(t, t.target[1], p.normal_rate)
    p.slope[2 * n] = -dot(p.normal_rate, p.force)
    p.residual[0] = np.sqrt(dot(t.residual, t.residual))


@kernel
def take_engine_step(
    plant_sizes: Integers, plant: Numbers, q: Numbers, v: Numbers, sizes: Integers
) -> bool:
    """Where an engine has come in a step: q and q̇ into the state, and the time; whether finite.

    The work of motors and friction is that of the mean velocity; that of a constraint which moves
    is what was observed last.
    """
    n = q.size
    p = unpack_plant(plant, plant_sizes, n, sizes[1])
    coulomb, viscous, blend = p.friction[0], p.friction[1], p.friction[2]
    static, stribeck = p.friction[3], p.friction[4]
    finite, power = True, p.slope[2 * n]
    for i in range(n):
        finite = finite and np.isfinite(q[i]) and np.isfinite(v[i])
        mean = 0.5 * (p.y[n + i] + v[i])
        side = np.sign(mean) if p.sticks[0] != 0.0 else np.tanh(mean / blend[i])
        dry = dry_level(mean, coulomb[i], static[i], stribeck[i]) * side
        power += mean * (p.effort[i] - dry - viscous[i] * mean)
        p.y[i], p.y[n + i] = q[i], v[i]
    p.y[2 * n] += p.step[0] * power
    p.time[0] += p.step[0]
    return finite

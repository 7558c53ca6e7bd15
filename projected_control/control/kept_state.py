"""What limits leave of a controller's answer at one state, for Python: planning, checks, figures.

A tick does the same with the same kernels (`keep_limits`); here no loop has to run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.compiled import Integers, Numbers, kernel
from projected_control.control.controllers import Controller
from projected_control.control.guard import Guard
from projected_control.control.guard_kernels import unpack_guard
from projected_control.control.keep_limits import keep_limits
from projected_control.control.limit_terms import LIMITS, Binding, unpack_limits
from projected_control.control.limits import Limits
from projected_control.control.terms import unpack_control
from projected_control.model.constrained_arm import unpack_terms

Array = NDArray[np.float64]

_WORDS = {
    Binding.TORQUE: "torque",
    Binding.RATE: "torque rate",
    Binding.RANGE: "range",
    Binding.VELOCITY: "velocity",
}


@kernel
def keep_at(
    law: int,
    forced: bool,
    n: int,
    sizes: Integers,
    passive: Integers,
    model_work: Numbers,
    control_work: Numbers,
    guard_work: Numbers,
    limits_work: Numbers,
) -> int:
    """`keep_limits` at the state last evaluated, from the beginning; see `TickArguments`."""
    t = unpack_terms(model_work, n, sizes[1], sizes[2], sizes[3])
    c = unpack_control(control_work, t, passive.size)
    g = unpack_guard(guard_work, n, t.theta.size)
    w = unpack_limits(limits_work, n, t.b.size, t.theta.size)
    w.warm[0] = 0.0
    return keep_limits(law, forced, passive, t, c, g, w)


@dataclass(frozen=True)
class Kept:
    """What may be sent of what a law asks for, and what comes of it.

    Attributes:
        effort: What is sent [N·m or N].
        acceleration: q̈ that it gives [rad/s² or m/s²].
        multipliers: λ that it gives, by the model [N or N·m].
        motion_share: Share of the motion that is left; 1 where all is.
        given_up: What limits changed of θ̈ [m/s² or rad/s²].
        force_given_up: What they changed of λ [N or N·m].
        binds: What limits each joint, a sum of `Binding`s.
        ceiling_binds: 1 for each row whose λ is at its ceiling.
        steps: Of the solver; 0 where the closed form breaks nothing.
        events: A sum of `Event`s.
    """

    effort: Array
    acceleration: Array
    multipliers: Array
    motion_share: float
    given_up: Array
    force_given_up: Array
    binds: Array
    ceiling_binds: Array
    steps: int
    events: int


def keep_state(
    controller: Controller, limits: Limits, sent: ArrayLike | None = None, *, forced: bool = False
) -> Kept:
    """What limits leave of what a controller asked for at the state that it was last updated with.

    Args:
        controller: After `Controller.update`.
        limits: Of its arm (`Limits.of_arm`).
        sent: The effort of the tick before, from which the rate counts; None for no rate.
        forced: Have the solver run where nothing is broken, too.
    """
    model, n = controller.model, controller.model.n
    guard = Guard(limits, model.k, controller.period, model.m, controller.kind.commands)
    terms, limits_work = (
        controller.terms,
        LIMITS.new(n=n, m=model.m, k=model.k),
    )
    terms.force_limits[:] = limits.force_numbers(model.m)
    if sent is None:
        guard.without_rate()
    else:
        guard.sent[:] = validate.finite_array("effort that was sent", sent, (n,))
    events = keep_at(
        controller.law_number,
        forced,
        n,
        model.arguments.sizes,
        controller.passive,
        model.arguments.work,
        controller.work,
        guard.work,
        limits_work,
    )
    w = LIMITS.view(limits_work, n=n, m=model.m, k=model.k)
    acted = terms.solver_steps[0] > 0.0 or forced
    change = terms.acceleration if acted else np.zeros(n)
    if not acted:
        force = terms.tangent + terms.normal - terms.h - model.M @ w.acceleration
        w.multipliers[:] = model.A_pinv.T @ force
    return Kept(
        terms.solved.copy(),
        (w.acceleration + change) / model.sqrt_metric,
        w.multipliers + terms.force_given_up,
        float(terms.motion_share[0]),
        terms.given_up.copy(),
        terms.force_given_up.copy(),
        terms.binds.copy(),
        terms.ceiling_binds.copy(),
        int(terms.solver_steps[0]),
        int(events),
    )


def what_binds(controller: Controller) -> str:
    """What bound at a controller's last tick, in words; empty where nothing did."""
    terms, model = controller.terms, controller.model
    rows = model.constraint.row_names if model.constraint is not None else ()
    return limits_text(
        model.arm.joint_names, rows, terms.binds, terms.ceiling_binds, terms.motion_share[0]
    )


def limits_text(
    joints: Sequence[str],
    rows: Sequence[str],
    binds: ArrayLike,
    ceiling_binds: ArrayLike,
    motion_share: float,
) -> str:
    """What binds, in words: ``torque of joint_3, motion at 54 %``; empty where nothing does.

    Args:
        joints: Names of the joints.
        rows: Names of the constraint's rows.
        binds: Per joint, a sum of `Binding`s.
        ceiling_binds: Per row, 1 where its λ is at its ceiling.
        motion_share: What is left of the motion.
    """
    numbers = [int(number) for number in np.asarray(binds, dtype=np.float64)]
    parts = []
    for kind, word in _WORDS.items():
        held = [name for name, number in zip(joints, numbers, strict=True) if number & kind]
        if held:
            parts.append(f"{word} of {' and '.join(held)}")
    held = [name for name, at in zip(rows, np.asarray(ceiling_binds), strict=True) if at]
    if held:
        parts.append(f"force ceiling of {' and '.join(held)}")
    if motion_share < 1.0:
        parts.append(f"motion at {100.0 * motion_share:.0f} %")
    return ", ".join(parts)

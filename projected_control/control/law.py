"""Dispatch to the control laws by number, so that a whole tick is one compiled call."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import Columns, Integers, Matrix, Numbers, compiled, kernel
from projected_control.control.compensation import locate_contact
from projected_control.control.computed_torque import computed_torque_law
from projected_control.control.force import hybrid_law
from projected_control.control.impedance import impedance_law
from projected_control.control.law_kinds import Law
from projected_control.control.motion import motion_law
from projected_control.control.operational_space import operational_space_law
from projected_control.control.passive import passive_law
from projected_control.control.rank_change import keep_directions
from projected_control.control.selection import selection_law
from projected_control.control.task_axes import locate_axes
from projected_control.control.terms import ControlTerms, unpack_control
from projected_control.model.constrained_arm import Terms, evaluate_model

__all__ = ["Law", "apply_law", "compute"]

Array = NDArray[np.float64]

_IDC, _HYBRID = int(Law.IDC), int(Law.HYBRID)
_PASSIVE, _PASSIVE_FORCE = int(Law.PASSIVE), int(Law.PASSIVE_FORCE)
_OPERATIONAL_SPACE, _IMPEDANCE = int(Law.OPERATIONAL_SPACE), int(Law.IMPEDANCE)
_SELECTION = int(Law.SELECTION)
_COMPUTED_TORQUE, _GRAVITY = int(Law.COMPUTED_TORQUE), int(Law.GRAVITY)


@compiled
def apply_law(law: int, stop: bool, passive: NDArray[np.int64], t: Terms, c: ControlTerms) -> None:
    """Fill the effort's rows tangent, normal and total, in joint units, from an evaluated model."""
    if law == _HYBRID:
        hybrid_law(stop, t, c)
    elif law in (_PASSIVE, _PASSIVE_FORCE):
        passive_law(stop, law == _PASSIVE_FORCE, passive, t, c)
    elif law == _OPERATIONAL_SPACE:
        operational_space_law(stop, passive, t, c)
    elif law == _IMPEDANCE:
        impedance_law(stop, passive, t, c)
    elif law == _SELECTION:
        selection_law(stop, t, c)
    elif law in (_COMPUTED_TORQUE, _GRAVITY):
        computed_torque_law(law == _GRAVITY, stop, t, c)
    else:
        motion_law(law == _IDC, stop, t, c)
    for i in range(t.h.size):
        c.effort[0, i] = c.tangent[i] * t.sqrt_metric[i]
        c.effort[1, i] = c.normal[i] * t.sqrt_metric[i]
        c.effort[2, i] = c.effort[0, i] + c.effort[1, i]
    for r in range(passive.size):
        c.effort[2, passive[r]] = 0.0


@kernel
def compute(
    law: int,
    stop: bool,
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
    model_work: Numbers,
    passive: Integers,
    control_work: Numbers,
) -> None:
    """Evaluate a prepared model and apply a law; see `ModelArguments`."""
    t = evaluate_model(
        time, q, v, M, h, spatial_jacobian, placements, state, sizes, functions, target, model_work
    )
    c = unpack_control(control_work, t, passive.size)
    keep_directions(t, c)
    locate_contact(v, spatial_jacobian, placements, c)
    locate_axes(placements, q.size, c)
    apply_law(law, stop, passive, t, c)

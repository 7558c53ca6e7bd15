"""Admittance: a position loop whose reference gives way to the force (Whitney, Seraji, Hogan).

Along the coordinates that are selected for a force, as in `selection`, x_c is added to the
reference, which is moved by the error of the force as a mass in a viscous fluid would be,

    M_a ẍ_c + D_a ẋ_c = (I − S) F_e,    Jᵀ F_e = Aᵀ e_λ,    e_λ = λ_d − λ (filtered)

    f = h + M u_p,    J u_p = θ̈_d + ẍ_c + G_D (ė + ẋ_c) + G_P (e + x_c) − J̇ q̇

The inner loop knows nothing of the force and of no constraint: what the surface pushes back is a
disturbance to it. D_a has to be large against K/ω, with K the stiffness of what is pressed on and ω
the bandwidth of the inner loop: that is all that keeps it stable, and nothing here checks it. On a
one-sided surface it needs no approach: without contact it moves at λ_d/D_a.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.force import ForceGains, force_feedback
from projected_control.control.gains import MotionGains
from projected_control.control.law_kinds import FORCE, LAWS, Law, LawKind, LawRequest
from projected_control.control.laws.operational_space import follow_levels
from projected_control.control.laws.selection import (
    SelectionController,
    pressing,
    select_force,
    selection_matrix,
)
from projected_control.control.motion import (
    asked_acceleration,
    brake,
    carry_all,
    find_effort,
    keep_all,
    prepare_motion,
)
from projected_control.control.task_terms import TaskTerms, unpack_task
from projected_control.control.terms import ControlTerms
from projected_control.declaration import SMALL, Group, parameter
from projected_control.model.constrained_arm import ConstrainedArm, Terms
from projected_control.model.linalg import fill


@compiled
def give_way(t: Terms, c: ControlTerms, s: TaskTerms) -> None:
    """x_c by one period, and a ← a + ẍ_c + G_D ẋ_c + G_P x_c."""
    select_force(c.force_state[2], t, c, s)
    T, (mass, damping) = c.period[0], (s.admittance[0], s.admittance[1])
    place, rate = c.yielded[0], c.yielded[1]
    for i in range(place.size):
        acceleration = (s.force[i] - damping * rate[i]) / (mass + T * damping)
        rate[i] += T * acceleration
        place[i] += T * rate[i]
        c.a[i] += acceleration + c.gains[1, i] * rate[i] + c.gains[0, i] * place[i]


@compiled
def admittance_law(stop: bool, passive: NDArray[np.int64], t: Terms, c: ControlTerms) -> None:
    """f = h + M u_p, J u_p = a with the reference that has given way; x_c is zero after a stop."""
    prepare_motion(stop, False, t, c)
    force_feedback(stop, t, c)
    if stop:
        fill(c.yielded[0], 0.0)
        fill(c.yielded[1], 0.0)
        brake(t, c)
        carry_all(t, c)
        return
    s = unpack_task(c.task, t.v.size, t.theta.size)
    selection_matrix(s)
    asked_acceleration(t, c)
    give_way(t, c, s)
    follow_levels(t, c, s)
    find_effort(t, c)
    keep_all(t, c)


@dataclass(frozen=True)
class Admittance(Group):
    """How the law admittance gives way, along the coordinates of `selection.force`."""

    mass: float = parameter(10.0, "M_a", "kg or kg·m²", minimum=SMALL, maximum=1e7)
    damping: float = parameter(
        1000.0, "D_a: at rest it moves at λ_d/D_a", "N·s/m or N·m·s/rad", minimum=SMALL, maximum=1e7
    )


class AdmittanceController(SelectionController):
    """A position loop whose reference gives way to the force, for comparison.

    Args:
        model: The arm, its constraint and its coordinates, those across the constraint too.
        gains: Of the position loop.
        force_gains: Of which the low-pass on λ alone counts.
        force_coordinates: Names of the coordinates along which it gives way.
        admittance: Mass and damping.
        period: Period of the loop [s].
        frame: Whose axes x, y and z the coordinates of a vector stand for; empty for the world's.
    """

    def __init__(
        self,
        model: ConstrainedArm,
        gains: MotionGains,
        force_gains: ForceGains,
        force_coordinates: Sequence[str],
        admittance: Admittance,
        period: float = 1e-3,
        *,
        frame: str = "",
    ) -> None:
        args = model, gains, force_gains, force_coordinates, period
        super().__init__(*args, frame=frame, law=Law.ADMITTANCE)
        self.task.admittance[:] = admittance.mass, admittance.damping


def make_controller(asked: LawRequest) -> AdmittanceController:
    """As parameters say."""
    assert asked.force_gains is not None
    group, ways = asked.settings.selection, asked.settings.admittance
    loops = asked.gains, asked.force_gains
    return AdmittanceController(
        asked.model, *loops, group.force, ways, asked.period, frame=group.frame
    )


LAWS.add(
    LawKind(
        "admittance",
        "a position loop whose reference gives way along selection.force (admittance.*), for "
        "comparison",
        Law.ADMITTANCE,
        (FORCE,),
        kernel=admittance_law,
        make=make_controller,
        projected=False,
        pressing=pressing,
    )
)

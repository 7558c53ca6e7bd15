"""Hybrid motion and force by a selection matrix, the textbook way (Raibert and Craig, Khatib).

Of the coordinates, directions of a task frame, S selects those that are moved; in the others a
force acts. The motion knows of no constraint, Λ and J̄ are those of the free arm:

    f = h + Jᵀ [Λ (S a − J̇ q̇) + (I − S) F_u] + (null space),    a = θ̈_d + G_D ė + G_P e

F_u is the output u_λ of the force loop (see `force`) in the coordinates' directions:
Jᵀ F_u = Aᵀ u_λ.

Where the directions with S = 0 are exactly those that the constraint takes away, this does what
hybrid projected control does. Where they are not, as the surface lies otherwise than the task frame
says, S asks for motion against the constraint, and for force along it: that is what to compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.controllers import Controller, refuse_passive
from projected_control.control.force import ForceGains, ForceLoopState, force_feedback
from projected_control.control.gains import MotionGains
from projected_control.control.law_kinds import FORCE, LAWS, Law, LawKind, LawRequest
from projected_control.control.laws.operational_space import follow_levels
from projected_control.control.motion import (
    brake,
    carry_all,
    find_effort,
    free_span,
    keep_all,
    prepare_motion,
)
from projected_control.control.task_axes import locate_axes, write_axes
from projected_control.control.task_terms import TaskTerms, unpack_task
from projected_control.control.terms import ControlTerms
from projected_control.declaration import Group, Words, parameter
from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.constrained_arm import ConstrainedArm, Terms
from projected_control.model.linalg import (
    axpy,
    matvec,
    matvec_transposed,
    matvec_transposed_add,
)
from projected_control.model.on_constraint import free_part
from projected_control.model.span import invert_transposed

Array = NDArray[np.float64]


@compiled
def selection_matrix(s: TaskTerms) -> None:
    """S = T diag(selected) Tᵀ."""
    k = s.selected.size
    for i in range(k):
        for j in range(k):
            s.S[i, j] = 0.0
            for r in range(k):
                s.S[i, j] += s.T[i, r] * s.selected[r] * s.T[j, r]


@compiled
def select_motion(t: Terms, c: ControlTerms, s: TaskTerms) -> None:
    """a = S (θ̈_d + G_D ė + G_P e + K_I ∫ e) − J̇_θ q̇."""
    for i in range(c.a.size):
        s.share[i] = c.feedforward[i] + c.gains[1, i] * c.error[1, i] + c.integral[i]
        s.share[i] += c.gains[0, i] * c.error[0, i]
    matvec(s.S, s.share, c.a)
    axpy(-1.0, t.theta_bias, c.a)


@compiled
def select_force(multipliers: Array, t: Terms, c: ControlTerms, s: TaskTerms) -> None:
    """force = (I − S) F, with F = J⁺ᵀ Aᵀ x of multipliers x."""
    matvec_transposed(t.A, multipliers, c.load)
    invert_transposed(free_span(t, c), c.load, s.force)
    matvec(s.S, s.force, s.share)
    axpy(-1.0, s.share, s.force)


@compiled
def selection_law(stop: bool, passive: NDArray[np.int64], t: Terms, c: ControlTerms) -> None:
    """f = h + M u_p + Jᵀ (I − S) F_u, J u_p = S a − J̇ q̇."""
    prepare_motion(stop, False, t, c)
    force_feedback(stop, t, c)
    if stop:
        brake(t, c)
        carry_all(t, c)
        return
    s = unpack_task(c.task, t.v.size, t.theta.size)
    selection_matrix(s)
    select_motion(t, c, s)
    follow_levels(t, c, s)
    find_effort(t, c)
    select_force(c.u_lambda, t, c, s)
    matvec_transposed_add(t.J_theta, s.force, c.full)
    free_part(t, c.full, c.tangent)
    keep_all(t, c)


@dataclass(frozen=True)
class Selection(Group):
    """Directions of the laws selection and admittance."""

    force: Words = parameter(
        (), "Coordinates along which a force is controlled; the others are moved"
    )
    frame: str = parameter(
        "",
        "Frame whose axes link.x, link.y and link.z of selection.force stand for; empty for the "
        "world's",
    )


class SelectionController(Controller):
    """Motion and force by a selection matrix, for comparison with the constraint force loop.

    Args:
        model: The arm, its constraint and its coordinates, those across the constraint too.
        gains: On the coordinates that are moved.
        force_gains: On λ.
        force_coordinates: Names of the coordinates along which a force is controlled.
        period: Period of the loop [s].
        frame: Whose axes x, y and z the coordinates of a vector stand for; empty for the world's.
        law: Another that selects in the same way.
    """

    needs_independence = False

    force: ForceLoopState

    def __init__(
        self,
        model: ConstrainedArm,
        gains: MotionGains,
        force_gains: ForceGains,
        force_coordinates: Sequence[str],
        period: float = 1e-3,
        *,
        frame: str = "",
        law: Law = Law.SELECTION,
    ) -> None:
        refuse_passive(model)
        super().__init__(model, gains, period, law)
        assert model.coordinates is not None
        names = model.coordinates.names
        if not force_coordinates:
            raise InvalidValue(
                "a selection needs the coordinates along which a force is controlled "
                f"(selection.force): some of {', '.join(names)}",
                key="selection.force",
            )
        for name in force_coordinates:
            if name not in names:
                raise UnknownName("coordinate (selection.force)", name, names, "selection.force")
        write_axes(model.arm, model.coordinates, frame, self.task)
        self.task.selected[:] = [float(name not in force_coordinates) for name in names]
        self.task.projected[0] = 0.0
        self._close_force_loop(force_gains)


def make_controller(asked: LawRequest) -> SelectionController:
    """As parameters say."""
    assert asked.force_gains is not None
    group: Selection = asked.settings.selection
    return SelectionController(
        asked.model, asked.gains, asked.force_gains, group.force, asked.period, frame=group.frame
    )


def pressing(controller: Controller) -> Array:
    """Jᵀ S_f J⁺ᵀ, n × n: what a selection leaves of efforts that press."""
    model, task = controller.model, controller.task
    locate_axes(model.arm.placements, model.n, controller.terms)
    forced = task.T @ np.diag(1.0 - task.selected) @ task.T.T
    return np.asarray(model.J_theta.T @ forced @ np.linalg.pinv(model.J_theta).T)


LAWS.add(
    LawKind(
        "selection",
        "motion and force by directions of a task frame (selection.*), for comparison",
        Law.SELECTION,
        (FORCE,),
        kernel=selection_law,
        make=make_controller,
        pressing=pressing,
    )
)

"""What the laws in task space have beyond `ControlTerms`: levels, axes, spring, selection."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.model.inertia_factor import INERTIA
from projected_control.model.span import SPAN, SVD
from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]


class TaskTerms(NamedTuple):
    """n joints, k coordinates. Joint-space quantities are in the coordinates of the metric W."""

    level: Annotated[Array, Part("k", "Task level of each coordinate, 1 is the highest.")]
    singular_range: Annotated[Array, Part("1", "Singular values of J_i N below this are damped.")]
    axes_joint: Annotated[Array, Part("1", "Joint that carries the task axes, 0 for the world.")]
    axes: Annotated[Array, Part("3, 3", "Rotation of the task axes in that joint's.")]
    triples: Annotated[Array, Part("k", "1 where three coordinates along x, y, z begin.")]
    selected: Annotated[Array, Part("k", "1 for motion, 0 for force, in the task axes.")]
    admittance: Annotated[Array, Part("2", "M_a and D_a, see `laws.admittance`.")]
    projected: Annotated[Array, Part("1", "1 where the law knows of the constraint, else 0.")]
    shaped: Annotated[Array, Part("1", "1 where the inertia is shaped, else 0.")]
    T: Annotated[Array, Part("k, k", "From the task axes to the coordinates.")]
    level_span: Annotated[Array, Part(SPAN.length_with(m="k"), "J_i N decomposed, of one level.")]
    taken: Annotated[Array, Part("k, n", "Orthonormal rows: what the levels so far move.")]
    taken_rows: Annotated[Array, Part("1", "How many.")]
    N: Annotated[Array, Part("n, n", "Projector on what is left, or rows of what is not.")]
    inertia: Annotated[Array, Part(INERTIA.length_with(m="n"), "M decomposed, with these rows.")]
    zeros: Annotated[Array, Part("n", "Zeros.")]
    missing: Annotated[Array, Part("k", "θ̈ that is still missing in u_p, of one level.")]
    wanted: Annotated[Array, Part("n", "q̈ that the posture asks for.")]
    K: Annotated[Array, Part("k, k", "Stiffness, in the coordinates.")]
    D: Annotated[Array, Part("k, k", "Damping, in the coordinates.")]
    S: Annotated[Array, Part("k, k", "Selection matrix, in the coordinates.")]
    mobility: Annotated[Array, Part("k, k", "Λ⁻¹ = J Φ Jᵀ, Φ = M_c⁻¹ P.")]
    answer: Annotated[Array, Part("n, k", "Φ Jᵀ.")]
    L: Annotated[Array, Part("k, k", "K = L Lᵀ.")]
    buffer: Annotated[Array, Part("k, k", "For products.")]
    force: Annotated[Array, Part("k", "Force in the coordinates [N or N·m].")]
    share: Annotated[Array, Part("k", "For intermediate results.")]
    external: Annotated[Array, Part("n", "Effort of the surroundings, as observed.")]
    scratch: Annotated[Array, Part(SVD.length_with(m="k", n="k"), "Of one decomposition.")]


TASK = Layout(TaskTerms, "n", "k")
unpack_task = TASK.unpack

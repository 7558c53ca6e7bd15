"""Why a task is not met: out of reach, in the way of a higher one, or at the joints' limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from projected_control.model.arm import Arm
from projected_control.model.inverse_kinematics.steps import damped_inverse
from projected_control.model.inverse_kinematics.tasks import Level

Array = NDArray[np.float64]

NOTHING = 1e-3
"""Share of ‖g‖ max(‖J‖, 1) up to which a gradient counts as none."""

AT_LIMIT = 1e-6
"""Distance up to which a joint counts as at its limit [rad or m]."""


def reason_missed(
    levels: Sequence[Level],
    i: int,
    names: Sequence[str],
    missed: Sequence[bool],
    q: Array,
    lower: Array,
    upper: Array,
    arm: Arm,
) -> str:
    """In words, what keeps level i from getting better at q; `missed` says which levels are missed.

    The direction in which it would get better is −Jᵀg. Where there is none the arm does not reach
    further; where the levels above leave nothing of it they are in the way; else the joints are
    that would have to pass their limits.
    """
    error, J = levels[i]
    wanted = -J.T @ error
    size = NOTHING * float(np.linalg.norm(error)) * max(float(np.linalg.norm(J)), 1.0)
    stopped = ((q <= lower + AT_LIMIT) & (wanted < 0.0)) | ((q >= upper - AT_LIMIT) & (wanted > 0))
    if np.linalg.norm(wanted) <= size:
        return "it is out of reach: no joint brings it nearer"
    Z = np.eye(q.size)
    for level in levels[:i]:
        Z = Z @ damped_inverse(level.jacobian @ Z, 0.0)[1]
    if np.linalg.norm(Z.T @ wanted) <= size:
        if tuple(names[:i]) == ("constraint",):
            return "it is out of reach along the constraint"
        return f"what is needed for it is taken by {' and '.join(names[:i])}"
    blocked = [
        f"{arm.joint_names[j]} at its {'lower' if wanted[j] < 0.0 else 'upper'} limit "
        f"{(lower if wanted[j] < 0.0 else upper)[j]:.4g}"
        for j in np.flatnonzero(stopped)
    ]
    if blocked:
        return f"it is kept from it by {', '.join(blocked)}"
    worse = [name for name, miss in zip(names[:i], missed[:i], strict=True) if miss]
    if worse:
        return f"it would make {' and '.join(worse)} worse"
    return "the search ended before it got there; another guess may help"

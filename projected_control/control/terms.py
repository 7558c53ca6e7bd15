"""What the laws read and write, laid out in one array."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.model.constrained_arm import Terms

Array = NDArray[np.float64]


class Effort(NamedTuple):
    """Joint efforts of one tick [N·m or N]. Live arrays: copy what is to be kept.

    Attributes:
        tangent: f∥, which moves the arm.
        normal: f⊥, which presses on the constraint.
        total: Their sum, which is sent.
    """

    tangent: Array
    normal: Array
    total: Array


class ControlTerms(NamedTuple):
    """What a law reads and writes besides the model's `Terms`, parts of one array.

    Attributes:
        motion: Rows θ_d, θ̇_d, θ̈_d, 3 × k.
        gains: Rows G_P, G_D and null damping, 3 × k.
        periodic: 1 for each coordinate that is an angle, k.
        error: Rows e and ė, 2 × k.
        margins: Independence of the coordinates, controllability of passive joints.
        effort: Rows tangent, normal, total, 3 × n, in joint units.
        wanted, measured: λ_d and λ, m.
        force_gains: See `ForceGains.array`, 4.
        integrate: One number: zero stops the force loop's integral.
        memory: Rows filtered λ, integral part of u_λ, e_λ; 3 × m.
        command: u_λ, m.
        J_free, J_pinv: J_θ P and its pseudo-inverse, k × n and n × k.
        full, tangent, normal: h + M u_p and the parts of the effort in the metric's coordinates, n.
        scratch: For intermediate results, 3 × n.
    """

    motion: Array
    gains: Array
    periodic: Array
    error: Array
    margins: Array
    effort: Array
    wanted: Array
    measured: Array
    force_gains: Array
    integrate: Array
    memory: Array
    command: Array
    J_free: Array
    J_pinv: Array
    full: Array
    tangent: Array
    normal: Array
    scratch: Array


@compiled
def control_size(n: int, m: int, k: int) -> int:
    """How many numbers a controller's workspace holds."""
    return 9 * k + 9 * n + 6 * m + 7 + 2 * k * n


@compiled
def unpack_control(work: Array, t: Terms) -> ControlTerms:
    """Name the parts of a controller's workspace; views, nothing is copied."""
    n, m, k = t.h.size, t.b.size, t.theta.size
    motion, gains = work[: 3 * k].reshape((3, k)), work[3 * k : 6 * k].reshape((3, k))
    periodic, error = work[6 * k : 7 * k], work[7 * k : 9 * k].reshape((2, k))
    o = 9 * k
    effort = work[o : o + 3 * n].reshape((3, n))
    o += 3 * n
    wanted, measured, command = (
        work[o : o + m],
        work[o + m : o + 2 * m],
        work[o + 2 * m : o + 3 * m],
    )
    memory = work[o + 3 * m : o + 6 * m].reshape((3, m))
    o += 6 * m
    margins, force_gains, integrate = work[o : o + 2], work[o + 2 : o + 6], work[o + 6 : o + 7]
    o += 7
    kn = k * n
    J_free, J_pinv = work[o : o + kn].reshape((k, n)), work[o + kn : o + 2 * kn].reshape((n, k))
    o += 2 * kn
    full, tangent, normal = work[o : o + n], work[o + n : o + 2 * n], work[o + 2 * n : o + 3 * n]
    scratch = work[o + 3 * n : o + 6 * n].reshape((3, n))
    return ControlTerms(
        motion,
        gains,
        periodic,
        error,
        margins,
        effort,
        wanted,
        measured,
        force_gains,
        integrate,
        memory,
        command,
        J_free,
        J_pinv,
        full,
        tangent,
        normal,
        scratch,
    )

"""What is kept of one tick of a simulated run, laid out for runs that keep many in one array."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.workspace import Layout, Part

Array = NDArray[np.float64]


class RecordTerms(NamedTuple):
    """One tick: n joints, m constraint rows of the plant, k coordinates of the controller."""

    time: Annotated[Array, Part("1", "[s].")]
    q: Annotated[Array, Part("n", "Joint positions [rad or m].")]
    v: Annotated[Array, Part("n", "Joint velocities [rad/s or m/s].")]
    acceleration: Annotated[Array, Part("n", "q̈ under the effort before this tick's.")]
    multipliers: Annotated[Array, Part("m", "λ under that effort [N or N·m].")]
    constraint_force: Annotated[Array, Part("n", "F = Aᵀλ [N·m or N].")]
    residual: Annotated[Array, Part("1", "‖Φ − x‖.")]
    energy: Annotated[Array, Part("1", "Kinetic and potential [J].")]
    work_done: Annotated[Array, Part("1", "On the arm since the start [J].")]
    rank: Annotated[Array, Part("1", "Rank of the plant's A.")]
    effort: Annotated[Array, Part("n", "What this tick sent [N·m or N].")]
    action: Annotated[Array, Part("1", "An `Action`.")]
    events: Annotated[Array, Part("1", "A sum of `Event`s.")]
    theta: Annotated[Array, Part("k", "θ as the controller has it.")]
    error: Annotated[Array, Part("2, k", "e = θ_d − θ and ė.")]
    measured_q: Annotated[Array, Part("n", "Positions as the encoders read them [rad or m].")]
    measured_v: Annotated[Array, Part("n", "Velocities likewise [rad/s or m/s].")]
    wrench: Annotated[Array, Part("6", "As the sensor shows it [N, N·m].")]


RECORD = Layout(RecordTerms, "n", "m", "k")

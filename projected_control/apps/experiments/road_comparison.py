"""All roads to the acceleration, and all matrices R, compared along a motion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from projected_control.apps.console.progress import Progress
from projected_control.apps.experiments.case_run import CaseRun
from projected_control.arrays import Array
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.dynamics import (
    ConstrainedMotion,
    Problem,
    Regularisation,
    block_matrix,
    condition_numbers,
    gauss,
    operational_space,
    projected,
)

LABELS = {
    "M": "M, without constraint",
    "R1": "R₁ = I",
    "R2": "R₂ = M",
    "R3": "R₃ = (I − 2P) M",
    "R4": "R₄ = ‖M‖ I",
    "Rstar": "R* = µI − PM",
}
"""Names of the matrices, as in `condition_numbers`."""


@dataclass(frozen=True)
class RoadComparison:
    """What is computed at every sample of a motion (N of them)."""

    condition: dict[str, Array]  # κ₂ by matrix, N each
    random: Array  # κ₂ of M_c with a random R, N
    difference: Array  # largest ‖q̈ − q̈'‖ / ‖q̈‖ between any two roads, N
    mean_norm: float  # mean over time and pairs of R of ‖q̈ − q̈'‖ [rad/s²]


def compare_roads(recording: CaseRun, seed: int, progress: Progress) -> RoadComparison:
    """Condition numbers and accelerations of all roads along the motion."""
    model = ConstrainedArm(recording.case.arm.load(), recording.case.constraint)
    roads: list[Callable[[Problem], ConstrainedMotion]] = [
        *(lambda p, kind=kind: projected(p, kind) for kind in Regularisation),
        operational_space,
        gauss,
    ]
    generator = np.random.default_rng(seed)
    condition, random, difference, norms = [], [], [], []
    for k, (q, v, f) in enumerate(zip(recording.q, recording.v, recording.effort, strict=True)):
        progress("condition numbers", k / len(recording.q))
        model.evaluate(q, v)
        problem = Problem.of(model, f)
        here = roads if model.rank < model.m else [*roads, block_matrix]
        a = np.array([road(problem).acceleration for road in here])
        apart = np.linalg.norm(a[:, None] - a[None], axis=2)
        difference.append(apart.max() / max(float(np.linalg.norm(a[0])), 1e-300))
        kinds = len(Regularisation)
        norms.append(apart[:kinds, :kinds][np.triu_indices(kinds, 1)].mean())
        condition.append(condition_numbers(model.M, model.P))
        R = generator.uniform(0.0, 1.0, model.M.shape)
        random.append(np.linalg.cond(model.P @ model.M + R @ (np.eye(model.n) - model.P)))
    progress("condition numbers", 1.0)
    return RoadComparison(
        {name: np.array([c[name] for c in condition]) for name in LABELS},
        np.array(random),
        np.array(difference),
        float(np.mean(norms)),
    )

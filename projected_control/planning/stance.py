"""How a robot with a floating base stands: the motors' efforts, and the forces of its feet.

The base has no motors, and of all f that hold the robot still, P f = P h, some is chosen:

    least torque           min ‖f‖:   f = (P Sᵀ)⁺ P h    (Mistry 2010, Righetti 2011; (I + H) P h)
    least contact force    min ‖λ‖:   f = h − Aᵀ (A_bᵀ)⁺ h_b,   b: the base's rows

S picks the joints with a motor. Either knows nothing of friction. Where the feet must not slip the
forces of a foot stay in |λ_x| + |λ_y| ≤ µ λ_z, a pyramid of four facets inside of the cone. That
stands above standing still and that above the least torque (`model.lexicographic`): with too little
friction the robot will slide rather than ask the ground for what it cannot give.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.arrays import Array
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import FrameFixed, Stack
from projected_control.model.inverse_dynamics import NEGLIGIBLE, inverse_dynamics
from projected_control.model.lexicographic import Level, solve

Whole = NDArray[np.int64]

POINT = ("tx", "ty", "tz")
"""Directions in which a foot that is a point is held; a sole is held in all six."""

TORQUE, CONTACT_FORCE = CRITERIA = ("torque", "contact_force")
"""What is least."""

STEPS_PER_UNKNOWN = 20
"""Cap on the solver's steps."""

SLIP = 1e-9
"""Force out of the cone up to which it is rounding [N]."""


class Standing(NamedTuple):
    """A robot that stands.

    Attributes:
        effort: f of the joints with a motor, in their order [N·m or N].
        forces: What the ground exerts on each foot, in world axes, feet × 3 [N].
        slack: By how much a force is out of its cone [N]: above zero the feet will slip.
        acceleration: ‖q̈‖ that is left: above zero it does not stand.
    """

    effort: Array
    forces: Array
    slack: float
    acceleration: float

    @property
    def norm(self) -> float:
        """‖f‖ [N·m]."""
        return float(np.linalg.norm(self.effort))

    @property
    def friction_needed(self) -> float:
        """The largest √(λ_x² + λ_y²)/λ_z of the feet; infinite where one is pulled."""
        tangential = np.hypot(self.forces[:, 0], self.forces[:, 1])
        pressed = self.forces[:, 2] > 0.0
        if not pressed.all():
            return np.inf
        return float((tangential / self.forces[:, 2]).max())


def on_feet(
    arm: Arm, feet: Sequence[str], q: ArrayLike, directions: Sequence[str] = POINT
) -> Stack:
    """The constraint that holds feet where they are at q: points, or soles in all directions."""
    if not feet:
        raise InvalidValue("a robot without a foot on the ground falls: name at least one foot")
    at = arm.twin().update(q, np.zeros(arm.n))
    return Stack([_held(at, foot, directions) for foot in feet], list(feet))


def _held(at: Arm, foot: str, directions: Sequence[str]) -> FrameFixed:
    place = at.frame(foot)
    R = place.rotation
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    angles = (np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0]))
    return FrameFixed(foot, directions, place.position, angles)


def stand(
    arm: Arm,
    feet: Sequence[str],
    q: ArrayLike,
    *,
    friction: float | None = None,
    criterion: str = TORQUE,
) -> Standing:
    """Efforts and forces of a robot that stands on feet which are points.

    Args:
        arm: The robot; its base floats.
        feet: Names of the links on the ground.
        q: Where it stands.
        friction: µ of all feet; None for feet that cannot slip, nor lift.
        criterion: What is least: ``torque`` or ``contact_force``.

    Raises:
        Uncontrollable: If the motors cannot hold it so, as on two feet.
    """
    validate.one_of("criterion", criterion, CRITERIA)
    model = ConstrainedArm(arm, on_feet(arm, feet, q))
    rest, wanted = np.zeros(arm.n), np.zeros(model.m) if criterion == CONTACT_FORCE else None
    found = inverse_dynamics(model, arm.configuration(q), rest, rest, multipliers=wanted)
    motors = np.flatnonzero(arm.actuated)
    if friction is None:
        return Standing(found.effort[motors], _forces(found.multipliers), 0.0, 0.0)
    return _within_cones(model, motors, friction, criterion)


def _forces(multipliers: Array) -> Array:
    """On the feet: λ is what the robot exerts on what holds it."""
    return -multipliers.reshape(-1, 3)


def _within_cones(model: ConstrainedArm, motors: Whole, mu: float, criterion: str) -> Standing:
    """The least of what is asked for, with all forces in their pyramids."""
    mu, n, m = validate.not_negative("friction µ", mu), model.n, model.m
    P, M, h = model.P, model.M, model.h
    Phi = np.linalg.solve(M + P @ M - (P @ M).T, P)
    to_lambda = model.A_pinv.T @ (np.eye(n) - M @ Phi)
    # Forces that rows which depend on each other exert against each other move nothing.
    _, sigma, Vt = np.linalg.svd(model.A.T)
    inner = Vt[int((sigma > NEGLIGIBLE * sigma[0]).sum()) :].T
    b = model.b
    still = np.linalg.solve(M + P @ M - (P @ M).T, M @ model.A_pinv @ b - P @ h)
    C = np.hstack([to_lambda[:, motors], inner])
    at_rest = model.A_pinv.T @ (-h - M @ still)
    facets = np.array([[x, y, mu] for x in (-1.0, 1.0) for y in (-1.0, 1.0)])  # on −λ
    cones = np.kron(np.eye(m // 3), facets) @ C
    bound = -np.kron(np.eye(m // 3), facets) @ at_rest
    motion = np.hstack([Phi[:, motors], np.zeros((n, inner.shape[1]))])
    efforts = np.eye(motors.size, motors.size + inner.shape[1])
    last = Level.target(efforts, 0.0)
    if criterion == CONTACT_FORCE:
        last = Level.target(C, -at_rest)
    levels = [Level(cones, -np.inf, bound), Level.target(motion, -still), last]
    unknowns = C.shape[1]
    limits = np.full(unknowns, np.inf)
    solved = solve(levels, -limits, limits, steps=STEPS_PER_UNKNOWN * unknowns)
    if not solved.whole:
        raise InvalidValue(
            f"the forces within µ = {mu:g} were not found in {solved.steps} steps; another posture "
            "or another µ may help"
        )
    slack = max(0.0, float((cones @ solved.x - bound).max()))
    return Standing(
        solved.x[: motors.size],
        _forces(at_rest + C @ solved.x),
        slack if slack > SLIP else 0.0,
        float(np.linalg.norm(motion @ solved.x + still)),
    )

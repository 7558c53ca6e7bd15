"""The wrench behind a multiplier: what one row of a constraint exerts, seen from a frame.

A row y(q) = 0 with the multiplier λ loads the joints with (∂y/∂q)ᵀ λ. That load comes from a force
or a moment at the frame whose motion y describes; a sensor at another frame measures the same force
with another moment, if it stands between the base and that frame at all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from projected_control.model.arm import Arm
from projected_control.model.scalar_functions import JointPosition, PositionAlong, ScalarFunction

Array = NDArray[np.float64]


def frame_position(arm: Arm, frame: str) -> Array:
    """The origin of a frame in the world [m], without its Jacobian."""
    place = arm.attachment(frame)
    position: Array = place.joint_translation + place.joint_rotation @ place.translation
    return position


def moved_reference(arm: Arm, frame: str, other: str) -> Array:
    """X, 6 × 6: the same wrench with its moment about the origin of `other` instead of `frame`."""
    X = np.eye(6)
    if other != frame:
        x, y, z = frame_position(arm, frame) - frame_position(arm, other)
        X[3:, :3] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
    return X


def function_wrench(
    arm: Arm, function: ScalarFunction, frame: str, ends: list[tuple[str, float]]
) -> Array:
    """The wrench that λ = 1 on y(q) = 0 exerts on the surroundings, as measured at a frame.

    Force above moment, in world axes, the moment about the frame's origin p:

        position of f along d:  (d, (p_f − p) × d)
        heading of f's axis a:  (0, a × (x e₂ − y e₁)/ρ²),  x = e₁ᵀa, y = e₂ᵀa, ρ² = x² + y²
        position of a joint:    0, for its stop or lock acts between two links

    A function of two frames exerts the opposite on the second; the ends are those of the two that
    are felt at the frame (see `ends_felt`).
    """
    wrench = np.zeros(6)
    if isinstance(function, JointPosition):
        return wrench
    for end, sign in ends:
        if isinstance(function, PositionAlong):
            wrench[:3] += sign * function.direction
            if end != frame:
                lever = frame_position(arm, end) - frame_position(arm, frame)
                wrench[3:] += sign * _cross(lever, function.direction)
        else:
            place = arm.attachment(end)
            axis = place.joint_rotation @ (place.rotation @ function.axis)
            x, y = function.e1 @ axis, function.e2 @ axis
            turn = _cross(axis, x * function.e2 - y * function.e1)
            wrench[3:] += sign / (x * x + y * y) * turn
    return wrench


def ends_felt(arm: Arm, function: ScalarFunction, frame: str) -> list[tuple[str, float]]:
    """The frames of a function whose force is measured at a frame, and with which sign.

    A sensor on one of the two bodies that touch measures what they exert on each other. A sensor
    elsewhere measures all that acts on the links beyond it, which is nothing where both are beyond
    it, or neither. This depends on how the arm is built, not on where it is.
    """
    if isinstance(function, JointPosition) or function.frame == function.other:
        return []
    ends = [(function.frame, 1.0)]
    if function.other is not None:
        ends.append((function.other, -1.0))
    for end, sign in ends:
        if end == frame:
            return [(end, sign)]
    here = arm.attachment(frame).support
    for end, sign in ends:
        if np.array_equal(arm.attachment(end).support, here):
            return [(end, sign)]
    return [(end, sign) for end, sign in ends if (arm.attachment(end).support >= here).all()]


def _cross(a: Array, b: Array) -> Array:
    """a × b; NumPy's own takes ten times as long for two vectors of three."""
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])

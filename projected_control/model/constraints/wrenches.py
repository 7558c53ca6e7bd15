"""The wrench behind a multiplier: what one row of a constraint exerts, seen from a frame.

A row y(q) = 0 with the multiplier λ loads the joints with (∂y/∂q)ᵀ λ. That load comes from a force
or a moment at the frame whose motion y describes; a sensor at another frame measures the same force
with another moment, if it stands between the base and that frame at all.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from projected_control.model.arm import Arm
from projected_control.model.function_kinds import (
    AngleAbout,
    AxisCosine,
    CentreOfMassAlong,
    DistanceTo,
    HeadingInPlane,
    HeightAbove,
    JointPosition,
    PositionAlong,
    ScalarFunction,
)

Array = NDArray[np.float64]
Load = tuple[Array, Array]
"""A force and a moment about the origin of the frame at which they act, in world axes."""

_NOTHING = np.zeros(3)


def frame_position(arm: Arm, frame: str) -> Array:
    """The origin of a frame in the world [m], without its Jacobian."""
    place = arm.attachment(frame)
    position: Array = place.joint_translation + place.joint_rotation @ place.translation
    return position


def frame_axis(arm: Arm, frame: str | None, axis: Array) -> Array:
    """A vector of a frame in world axes; the world's own as it is."""
    if frame is None:
        return axis
    place = arm.attachment(frame)
    turned: Array = place.joint_rotation @ (place.rotation @ axis)
    return turned


def moved_reference(arm: Arm, frame: str, other: str) -> Array:
    """X, 6 × 6: the same wrench with its moment about the origin of `other` instead of `frame`."""
    X = np.eye(6)
    if other != frame:
        x, y, z = frame_position(arm, frame) - frame_position(arm, other)
        X[3:, :3] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
    return X


@singledispatch
def load_at(function: ScalarFunction, arm: Arm, end: str) -> Load:
    """What λ = 1 on y(q) = 0 exerts at one of the function's frames, so that ẏ = Σ fᵀṗ + mᵀω.

    position along d:     f = ±d; where d turns with this frame also m = d × r
    heading of an axis a: m = ±a × (x e₂ − y e₁)/ρ²,  x = e₁ᵀa, y = e₂ᵀa, ρ² = x² + y²
    cosine of a and b:    m = ±a × b
    distance:             f = ±d/‖d‖
    height over s:        f = e₃ − s_x e₁ − s_y e₂
    angle about a point:  f = (x e₂ − y e₁)/ρ²
    """
    raise NotImplementedError(f"what a {type(function).__name__} exerts is not known")


def _sign(function: ScalarFunction, end: str) -> float:
    return 1.0 if end == getattr(function, "frame", None) else -1.0


@load_at.register
def _(function: PositionAlong, arm: Arm, end: str) -> Load:
    u = frame_axis(arm, function.axes, function.direction)
    force = u * ((end == function.frame) - 1.0 * (end == function.other))
    if function.axes != end:
        return force, _NOTHING
    r = frame_position(arm, function.frame)
    if function.other is not None:
        r = r - frame_position(arm, function.other)
    return force, _cross(u, r)


@load_at.register
def _(function: HeadingInPlane, arm: Arm, end: str) -> Load:
    axis = frame_axis(arm, end, function.axis)
    x, y = function.e1 @ axis, function.e2 @ axis
    turn = _cross(axis, x * function.e2 - y * function.e1)
    return _NOTHING, _sign(function, end) / (x * x + y * y) * turn


@load_at.register
def _(function: JointPosition, arm: Arm, end: str) -> Load:
    return _NOTHING, _NOTHING


@load_at.register
def _(function: CentreOfMassAlong, arm: Arm, end: str) -> Load:
    return _NOTHING, _NOTHING


@load_at.register
def _(function: AxisCosine, arm: Arm, end: str) -> Load:
    a = frame_axis(arm, function.frame, function.axis)
    b = frame_axis(arm, function.other, function.direction)
    return _NOTHING, _sign(function, end) * _cross(a, b)


@load_at.register
def _(function: DistanceTo, arm: Arm, end: str) -> Load:
    d = frame_position(arm, function.frame)
    if function.other is not None:
        d = d - frame_position(arm, function.other)
    if function.point is not None:
        d = d - function.point
    if function.axis is not None:
        d = d - (function.axis @ d) * function.axis
    return _sign(function, end) / float(np.sqrt(d @ d)) * d, _NOTHING


@load_at.register
def _(function: HeightAbove, arm: Arm, end: str) -> Load:
    r = frame_position(arm, end) - function.origin
    x, y = float(function.e1 @ r), float(function.e2 @ r)
    _, s_x, s_y, *_ = function.surface.derivatives(x, y)
    return _cross(function.e1, function.e2) - s_x * function.e1 - s_y * function.e2, _NOTHING


@load_at.register
def _(function: AngleAbout, arm: Arm, end: str) -> Load:
    r = frame_position(arm, end) - function.point
    x, y = function.e1 @ r, function.e2 @ r
    return (x * function.e2 - y * function.e1) / (x * x + y * y), _NOTHING


def function_wrench(arm: Arm, function: ScalarFunction, frame: str, ends: list[str]) -> Array:
    """The wrench that λ = 1 on y(q) = 0 exerts on the surroundings, as measured at a frame.

    Force above moment, in world axes, the moment about the frame's origin. The stop or lock of a
    joint acts between two links, and is not felt at any frame.

    Args:
        arm: At the state that counts.
        function: y.
        frame: Where it is measured.
        ends: Those of the function's frames that are felt there (see `ends_felt`).
    """
    wrench = np.zeros(6)
    for end in ends:
        force, moment = load_at(function, arm, end)
        wrench[:3] += force
        wrench[3:] += moment
        if end != frame:
            wrench[3:] += _cross(frame_position(arm, end) - frame_position(arm, frame), force)
    return wrench


def ends_felt(arm: Arm, function: ScalarFunction, frame: str) -> list[str]:
    """The frames of a function whose force is measured at a frame.

    A sensor on one of the two bodies that touch measures what they exert on each other. One on
    another link measures all that acts on the links beyond it, which is nothing where both are
    beyond it, or neither. This depends on how the arm is built, not on where it is.
    """
    held = getattr(function, "frame", None), getattr(function, "other", None)
    ends = [end for end in function.frames if end in held]
    if held[0] == held[1]:
        return []
    if frame in ends:
        return [frame]
    here = arm.attachment(frame).support
    for end in ends:
        if np.array_equal(arm.attachment(end).support, here):
            return [end]
    return [end for end in ends if (arm.attachment(end).support >= here).all()]


def _cross(a: Array, b: Array) -> Array:
    """a × b; NumPy's own takes ten times as long for two vectors of three."""
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])

"""Unit vectors that complete a direction or span a plane."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate

Array = NDArray[np.float64]


def perpendiculars(axis: Array) -> list[Array]:
    """Two unit vectors that complete the axis to a right-handed frame."""
    helper = np.eye(3)[int(np.argmin(np.abs(axis)))]
    first = np.cross(axis, helper)
    first /= np.linalg.norm(first)
    return [first, np.cross(axis, first)]


def axes_of_motion(plane_normal: ArrayLike | None) -> list[Array]:
    """The world's three axes, or for a planar arm the two that span its plane."""
    if plane_normal is None:
        return list(np.eye(3))
    return plane_axes(plane_normal)


def plane_axes(plane_normal: ArrayLike) -> list[Array]:
    """Two unit vectors (e₁, e₂) spanning a plane, e₁ as near the world's x axis as can be.

    A positive angle turns e₁ towards e₂, about the normal. For the x–y and the x–z plane these are
    the world's own axes.
    """
    out = validate.direction("normal of the plane", plane_normal)
    helper = np.array([1.0, 0.0, 0.0]) if abs(out[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    e1 = helper - (helper @ out) * out
    e1 /= np.linalg.norm(e1)
    return [e1, np.cross(out, e1)]

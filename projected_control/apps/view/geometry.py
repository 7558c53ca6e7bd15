"""The looks of an arm as triangles: what its description shows, read by Pinocchio.

Meshes are loaded by Pinocchio's own reader. Where the description shows nothing, or its meshes are
not found, the arm is drawn as capsules along its kinematic chain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio
from numpy.typing import NDArray

from projected_control.arrays import Array
from projected_control.resources import package_folders

Indices = NDArray[np.uint32]

ROUND = 40  # sides of what is round
MOST_TRIANGLES = 400_000  # of an arm; beyond, a phone is not up to it and capsules are drawn

GREY = (0.62, 0.66, 0.71, 1.0)


@dataclass(frozen=True)
class RigidPart:
    """Something rigid that moves with a joint."""

    vertices: Array  # one per line [m]
    triangles: Indices  # three vertices per line
    colour: tuple[float, float, float, float]  # red, green, blue, opacity, each 0 to 1


class Looks:
    """What an arm looks like, and where its parts are.

    Args:
        urdf: The expanded description.
        joints: Names of the joints that move; the others stay at zero.

    Attributes:
        parts: In their own axes.
        note: Why it does not look as its description says; empty where it does.
    """

    def __init__(self, urdf: str, joints: tuple[str, ...]) -> None:
        self._model = pinocchio.buildModelFromXML(urdf)
        self._data = self._model.createData()
        self._q = pinocchio.neutral(self._model)
        self._columns = [self._model.joints[self._model.getJointId(name)].idx_q for name in joints]
        self.parts: list[RigidPart] = []
        self.note = ""
        self._geometry: Any = None
        try:
            self._load(urdf)
        except (ValueError, RuntimeError) as error:
            self.note = f"the meshes could not be loaded: {str(error).strip().splitlines()[0]}"
        if not self.parts:
            self._capsules()

    def place(self, q: Array) -> list[list[float]]:
        """Where the parts are: position and quaternion (x, y, z, w) of each."""
        self._q[self._columns] = q
        pinocchio.forwardKinematics(self._model, self._data, self._q)
        if self._geometry is None:
            return [list(map(float, pinocchio.SE3ToXYZQUAT(m))) for m in list(self._data.oMi)]
        pinocchio.updateGeometryPlacements(
            self._model, self._data, self._geometry, self._geometry_data
        )
        return [list(map(float, pinocchio.SE3ToXYZQUAT(m))) for m in list(self._geometry_data.oMg)]

    def _load(self, urdf: str) -> None:
        geometry = pinocchio.buildGeomFromUrdfString(
            self._model, urdf, pinocchio.GeometryType.VISUAL, None, [*map(str, package_folders())]
        )
        parts = [_part(shown) for shown in geometry.geometryObjects]
        if sum(len(part.triangles) for part in parts) > MOST_TRIANGLES:
            self.note = f"its meshes have more than {MOST_TRIANGLES} triangles"
            return
        self._geometry, self._geometry_data = geometry, geometry.createData()
        self.parts = parts

    def _capsules(self) -> None:
        """One part per joint: rods to where its link carries further joints and frames."""
        self._geometry = None
        model = self._model
        ends: list[list[Array]] = [[] for _ in range(model.njoints)]
        for joint in range(1, model.njoints):
            ends[model.parents[joint]].append(np.array(model.jointPlacements[joint].translation))
        for frame in model.frames:
            if frame.type == pinocchio.FrameType.BODY:
                ends[frame.parentJoint].append(np.array(frame.placement.translation))
        longest = max((float(np.linalg.norm(e)) for each in ends for e in each), default=0.5)
        radius = 0.05 * max(longest, 0.05)
        for each in ends:
            pieces = [_ball(1.4 * radius)]
            pieces += [_rod(end, radius) for end in each if np.linalg.norm(end) > 2.0 * radius]
            self.parts.append(RigidPart(*_joined(pieces), GREY))


def _part(shown: Any) -> RigidPart:
    """A geometry of Pinocchio as triangles."""
    shape, scale = shown.geometry, np.array(shown.meshScale, dtype=np.float64)
    kind = type(shape).__name__
    red, green, blue, alpha = (float(c) for c in shown.meshColor)
    colour = (red, green, blue, alpha or 1.0)
    if kind == "Box":
        return RigidPart(*_box(2.0 * np.array(shape.halfSide)), colour)
    if kind == "Sphere":
        return RigidPart(*_ball(float(shape.radius)), colour)
    if kind in ("Cylinder", "Capsule"):
        half = float(shape.halfLength)
        return RigidPart(*_tube(float(shape.radius), half, kind == "Capsule"), colour)
    if hasattr(shape, "tri_indices"):
        vertices = np.array(shape.vertices(), dtype=np.float64)
        triangles = [shape.tri_indices(i) for i in range(shape.num_tris)]
        corners = np.array([[t[0], t[1], t[2]] for t in triangles], dtype=np.uint32)
        return RigidPart(vertices, corners.reshape(-1, 3), colour)
    return RigidPart(*_box(0.02 * np.ones(3) * scale), colour)


def _box(size: Array) -> tuple[Array, Indices]:
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = [t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))]
    return 0.5 * signs * size, np.array(triangles, dtype=np.uint32)


def _tube(radius: float, half: float, domed: bool = False) -> tuple[Array, Indices]:
    """About z, from −half to half, closed by discs or half balls: a profile turned round."""
    if domed:
        angles = np.linspace(-np.pi / 2, np.pi / 2, ROUND // 2 + 1)
        heights = radius * np.sin(angles) + np.where(angles > 0.0, half, -half)
        profile = np.stack([radius * np.cos(angles), heights], axis=1)
    else:
        profile = np.array([(0.0, -half), (radius, -half), (radius, half), (0.0, half)])
    return _turned(profile)


def _ball(radius: float) -> tuple[Array, Indices]:
    return _tube(radius, 0.0, domed=True)


def _turned(profile: Array) -> tuple[Array, Indices]:
    """A profile of radii and heights turned about z."""
    angles = np.linspace(0.0, 2.0 * np.pi, ROUND, endpoint=False)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    vertices = np.concatenate([np.column_stack([r * ring, np.full(ROUND, z)]) for r, z in profile])
    triangles = []
    for row in range(len(profile) - 1):
        for i in range(ROUND):
            a, b = row * ROUND + i, row * ROUND + (i + 1) % ROUND
            triangles += [(a, b, b + ROUND), (a, b + ROUND, a + ROUND)]
    return vertices, np.array(triangles, dtype=np.uint32)


def _rod(end: Array, radius: float) -> tuple[Array, Indices]:
    """A capsule from the origin to a point."""
    length = float(np.linalg.norm(end))
    vertices, triangles = _tube(radius, 0.5 * length, domed=True)
    rotation = pinocchio.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), end / length)
    return vertices @ rotation.toRotationMatrix().T + 0.5 * end, triangles


def _joined(pieces: list[tuple[Array, Indices]]) -> tuple[Array, Indices]:
    offsets = np.cumsum([0, *(len(vertices) for vertices, _ in pieces[:-1])])
    return (
        np.concatenate([vertices for vertices, _ in pieces]),
        np.concatenate(
            [
                triangles + np.uint32(offset)
                for (_, triangles), offset in zip(pieces, offsets, strict=True)
            ]
        ),
    )

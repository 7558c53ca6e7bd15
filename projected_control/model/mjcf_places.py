"""What an MJCF file says of places: its bodies' sites, poses, numbers."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.errors import InvalidDescription, UnknownName

Array = NDArray[np.float64]

WORLD = "world"  # the body that never moves

ORIENTATIONS = ("axisangle", "xyaxes", "zaxis", "euler")
"""Ways to write an orientation that are not read; ``quat`` is."""


@dataclass(frozen=True)
class Pose:
    """Where something sits: position [m], and rotation as a matrix."""

    position: Array
    rotation: Array

    def inverse(self) -> Pose:
        """The same seen from the other side."""
        return Pose(-self.rotation.T @ self.position, self.rotation.T)

    def then(self, other: Pose) -> Pose:
        """`other`, which is given in this one's axes, in the axes this one is given in."""
        return Pose(self.position + self.rotation @ other.position, self.rotation @ other.rotation)

    @property
    def orientation(self) -> Array:
        """Roll, pitch and yaw [rad]."""
        R = self.rotation
        pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
        if np.hypot(R[0, 0], R[1, 0]) > 1e-9:
            return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])
        return np.array([0.0, pitch, np.arctan2(-R[0, 1], R[1, 1])])  # roll and yaw are one


HERE = Pose(np.zeros(3), np.eye(3))


@dataclass(frozen=True)
class Side:
    """One of the two things that are joined: a place on a body."""

    body: str
    pose: Pose = HERE


def read_xml(source: str | Path) -> tuple[ElementTree.Element, str]:
    """The root of an MJCF, what it includes in its place."""
    if isinstance(source, str) and source.lstrip().startswith("<"):
        text, origin, folder = source, "the MJCF", Path()
    else:
        path = Path(source)
        origin, folder = str(path), path.parent
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise InvalidDescription(f"cannot read the MJCF {path}: {error}") from None
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise InvalidDescription(f"{origin} is not well-formed XML: {error}") from None
    if root.tag not in ("mujoco", "mujocoinclude"):
        raise InvalidDescription(f"{origin} is no MJCF: its root is <{root.tag}>, not <mujoco>")
    for parent in list(root.iter()):
        for place, child in reversed(list(enumerate(parent))):
            if child.tag == "include":
                parent[place : place + 1] = list(read_xml(folder / child.get("file", ""))[0])
    return root, origin


def sites_of(root: ElementTree.Element) -> dict[str, Side | str]:
    """Sites by name; words for one that cannot be read, in case that it is needed."""
    found: dict[str, Side | str] = {}

    def walk(element: ElementTree.Element, body: str, turned: bool) -> None:
        for child in element:
            if child.tag == "site" and child.get("name"):
                written = [way for way in ORIENTATIONS if child.get(way)]
                if turned or written or child.get("class"):
                    found[child.get("name", "")] = (
                        "sits in a <frame>"
                        if turned
                        else f"has {written[0]}: write its orientation as quat"
                        if written
                        else "has a class: write its pos and quat"
                    )
                    continue
                where = f"site {child.get('name')!r}"
                position = numbers(child, "pos", where, 3) if child.get("pos") else np.zeros(3)
                quat = numbers(child, "quat", where, 4) if child.get("quat") else np.eye(4)[0]
                found[child.get("name", "")] = Side(body, Pose(position, rotation_of(quat, where)))
            elif child.tag == "body":
                walk(child, child.get("name", ""), turned=False)
            elif child.tag in ("frame", "replicate"):
                walk(child, body, turned=True)

    for world in root.iter("worldbody"):
        walk(world, WORLD, turned=False)
    return found


def site_of(
    element: ElementTree.Element, key: str, where: str, sites: Mapping[str, Side | str]
) -> Side:
    """A site that an equality names."""
    name = needed(element, key, where)
    if name not in sites:
        raise UnknownName(f"site of {where}", name, sites)
    side = sites[name]
    if isinstance(side, str):
        raise InvalidDescription(f"{where}: site {name!r} {side}")
    return side


def needed(element: ElementTree.Element, key: str, where: str) -> str:
    """An attribute that has to be there."""
    value = element.get(key)
    if not value:
        raise InvalidDescription(f"{where}: <{element.tag}> needs {key}")
    return value


def numbers(element: ElementTree.Element, key: str, where: str, size: int | None) -> Array:
    """An attribute of so many numbers."""
    words = needed(element, key, where).split()
    try:
        return validate.finite_array(f"{key} of {where}", [float(w) for w in words], (size,))
    except ValueError as error:
        raise InvalidDescription(f"{where}: {key} {' '.join(words)!r}: {error}") from None


def rotation_of(quaternion: Array, where: str) -> Array:
    """From w, x, y, z, of any length but zero."""
    length = float(np.linalg.norm(quaternion))
    if length < 1e-9:
        raise InvalidDescription(f"{where}: a quaternion of length zero is no orientation")
    w, x, y, z = quaternion / length
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )

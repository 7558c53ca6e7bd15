"""Loops of an MJCF file: its block ``equality`` as constraints of ours.

URDF knows trees only; in MJCF a closed chain is a tree and, beside it, ``connect``, ``weld`` and
``joint``. These alone are read here; the tree comes from a URDF with the same names of bodies and
joints. Nothing of MuJoCo has to be installed.

* ``connect``: a point of one body stays at a point of another (or of the world).
* ``weld``: a body, or a site, stays in place and orientation in another.
* ``joint``: q₁ − q₁⁰ = a₀ + a₁ (q₂ − q₂⁰); without a second joint it is a lock.

What MJCF does not say in numbers (where the second body is pierced by the anchor, how two bodies
that are welded stand) is what it is where the file's model stands at the beginning, q⁰.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from projected_control import validate
from projected_control.errors import InvalidDescription
from projected_control.model.arm import Arm, OffsetFrame
from projected_control.model.constraints import (
    Constraint,
    FrameFixed,
    JointCoupling,
    JointLocked,
    Stack,
)
from projected_control.model.constraints.poses import ALONG, DIRECTIONS
from projected_control.model.mjcf_places import (
    WORLD,
    Pose,
    Side,
    needed,
    numbers,
    read_xml,
    rotation_of,
    site_of,
    sites_of,
)

KINDS = ("connect", "weld", "joint")


@dataclass(frozen=True)
class Joined:
    """A ``connect`` or a ``weld``."""

    name: str  # of the equality
    directions: tuple[str, ...]  # which of six are held
    first: Side  # what is held, and where on its body
    second_body: str  # name of its body
    second: Side | None  # in what it is held; None for the place of `first` in `second_body` at q⁰

    @property
    def frame(self) -> str:
        """What the place on the first body is called as a frame of the arm."""
        return f"{self.name}.{self.first.body}"

    def constraint(self, arm: Arm) -> Constraint:
        """For an arm that stands at q⁰."""
        if self.second is not None:
            held = self.second.pose
        else:
            place = _place(arm, self.frame)
            held = place
            if self.second_body != WORLD:
                held = _place(arm, self.second_body).inverse().then(place)
        other = None if self.second_body == WORLD else self.second_body
        return FrameFixed(self.frame, self.directions, held.position, held.orientation, other)


@dataclass(frozen=True)
class Coupled:
    """A ``joint``: names, and the first two coefficients; no second joint for a lock."""

    name: str
    joint: str
    other: str | None
    offset: float
    ratio: float

    def constraint(self, arm: Arm) -> Constraint:
        """For an arm that stands at q⁰."""
        start = arm.q[arm.joint_index(self.joint)]
        if self.other is None:
            return JointLocked(self.joint, start + self.offset)
        offset = start + self.offset - self.ratio * arm.q[arm.joint_index(self.other)]
        return JointCoupling(self.joint, self.other, self.ratio, offset)


@dataclass(frozen=True)
class Loops:
    """The equalities of an MJCF file.

    Attributes:
        equalities: Those that are active, in the file's order.
    """

    equalities: tuple[Joined | Coupled, ...]

    @property
    def frames(self) -> dict[str, OffsetFrame]:
        """Places that the arm has to know: give them to `Arm.from_urdf`."""
        return {
            e.frame: OffsetFrame(
                e.first.body, tuple(e.first.pose.position), tuple(e.first.pose.orientation)
            )
            for e in self.equalities
            if isinstance(e, Joined)
        }

    def constraint(self, arm: Arm, start: ArrayLike | None = None) -> Stack:
        """All of them as one constraint; its parts have the equalities' names.

        Args:
            arm: Has the bodies as links, the joints, and `frames`.
            start: q⁰, the arm's joint positions where the file's model stands at the beginning
                (MuJoCo's qpos0); zero unless given [rad or m].

        Raises:
            UnknownName: For a body or a joint that the arm does not have.
        """
        at = np.zeros(arm.n) if start is None else start
        probe = arm.twin().update(validate.finite_array("start", at, (arm.n,)), np.zeros(arm.n))
        return Stack(
            [e.constraint(probe) for e in self.equalities], [e.name for e in self.equalities]
        )


def loops_from_mjcf(source: str | Path) -> Loops:
    """Read ``connect``, ``weld`` and ``joint`` of an MJCF file, or of its text.

    Raises:
        InvalidDescription: Where the file is no MJCF, has no equality, or one that we have not:
            a tendon, a flex, a polynomial beyond its first degree.
    """
    root, origin = read_xml(source)
    sites = sites_of(root)
    found: list[Joined | Coupled] = []
    for block in root.iter("equality"):
        for element in block:
            name = element.get("name") or f"{element.tag}_{len(found) + 1}"
            where = f"{origin}: equality {name!r}"
            if element.tag not in KINDS:
                raise InvalidDescription(
                    f"{where} is a <{element.tag}>; only {', '.join(KINDS)} are read"
                )
            if element.get("active", "true") == "false":
                continue
            read = _coupled if element.tag == "joint" else _joined
            found.append(read(element, name, where, sites))
    if not found:
        raise InvalidDescription(f"{origin} has no active equality (connect, weld or joint)")
    names = [e.name for e in found]
    if len(set(names)) != len(names):
        raise InvalidDescription(f"{origin}: equalities need names of their own, got {names}")
    return Loops(tuple(found))


def _joined(
    element: ElementTree.Element, name: str, where: str, sites: Mapping[str, Side | str]
) -> Joined:
    weld = element.tag == "weld"
    directions = DIRECTIONS if weld else ALONG
    if element.get("site1") or element.get("site2"):
        first, second = (site_of(element, f"site{i}", where, sites) for i in (1, 2))
        if first.body == WORLD:
            first, second = second, first
        return _moving(Joined(name, directions, first, second.body, second), where)
    body, other = needed(element, "body1", where), element.get("body2") or WORLD
    if not weld:
        anchor = numbers(element, "anchor", where, 3)
        if body == WORLD:  # the place is given in the world, and the other is pierced at q⁰
            raise InvalidDescription(f"{where}: body1 is the world; write it as body2, or sites")
        first = Side(body, Pose(anchor, np.eye(3)))
        return _moving(Joined(name, directions, first, other, None), where)
    relative = element.get("relpose")
    pose = numbers(element, "relpose", where, 7) if relative else np.zeros(7)
    if not pose[3:].any():  # MuJoCo's way to say: as they stand at q⁰
        first, second_body = (Side(other), body) if body == WORLD else (Side(body), other)
        return _moving(Joined(name, directions, first, second_body, None), where)
    held = Pose(pose[:3], rotation_of(pose[3:], where))  # the second body in the first one's axes
    if other == WORLD:
        joined = Joined(name, directions, Side(body), WORLD, Side(WORLD, held.inverse()))
    else:
        joined = Joined(name, directions, Side(other), body, Side(body, held))
    return _moving(joined, where)


def _moving(joined: Joined, where: str) -> Joined:
    if joined.first.body == joined.second_body:
        raise InvalidDescription(f"{where} joins {joined.second_body!r} to itself")
    return joined


def _coupled(
    element: ElementTree.Element, name: str, where: str, sites: Mapping[str, Side | str]
) -> Coupled:
    joint, other = needed(element, "joint1", where), element.get("joint2")
    given = element.get("polycoef")
    coefficients = np.array([0.0, 1.0, 0.0, 0.0, 0.0])
    if given is not None:
        some = numbers(element, "polycoef", where, None)[:5]
        coefficients[: some.size] = some
    if other is not None and coefficients[2:].any():
        raise InvalidDescription(
            f"{where}: polycoef {given!r} bends; only couplings along a line are known, so that "
            "the last three have to be zero"
        )
    return Coupled(name, joint, other, float(coefficients[0]), float(coefficients[1]))


def _place(arm: Arm, frame: str) -> Pose:
    at = arm.frame(frame)
    return Pose(at.position, at.rotation)

"""A description whose joints count from where the arm starts, as those in Gazebo do."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np
import pinocchio


def fold_start(urdf: str, start: Mapping[str, float]) -> str:
    """The description in which all joints named stand at zero where the arm starts.

    Joints that are not named are fixed where they are.

    Args:
        urdf: The description, with every limit written down (see `model.description`).
        start: Positions at the start, by joint [rad or m].
    """
    root = ElementTree.fromstring(urdf)
    for joint in root.findall("joint"):
        if joint.get("type") == "fixed":
            continue
        name = joint.get("name", "")
        if name in start:
            _fold(joint, start[name])
        else:
            joint.set("type", "fixed")
    return ElementTree.tostring(root, encoding="unicode")


def _fold(joint: Element, position: float) -> None:
    origin = joint.find("origin")
    if origin is None:
        origin = SubElement(joint, "origin")
    axis_element = joint.find("axis")
    axis = _numbers(None if axis_element is None else axis_element.get("xyz"), (1.0, 0.0, 0.0))
    axis /= np.linalg.norm(axis)
    place = pinocchio.SE3(
        pinocchio.rpy.rpyToMatrix(*_numbers(origin.get("rpy"))), _numbers(origin.get("xyz"))
    )
    if joint.get("type") == "prismatic":
        place = place * pinocchio.SE3(np.eye(3), position * axis)
    else:
        place = place * pinocchio.SE3(pinocchio.exp3(position * axis), np.zeros(3))
    origin.set("xyz", " ".join(repr(float(x)) for x in place.translation))
    origin.set("rpy", " ".join(repr(float(x)) for x in pinocchio.rpy.matrixToRpy(place.rotation)))
    limit = joint.find("limit")
    if limit is not None:
        for side in ("lower", "upper"):
            limit.set(side, repr(float(limit.get(side, "0")) - position))


def _numbers(text: str | None, default: tuple[float, ...] = (0.0, 0.0, 0.0)) -> np.ndarray:
    return np.array([float(x) for x in text.split()] if text else default)

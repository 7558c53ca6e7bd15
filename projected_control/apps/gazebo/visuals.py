"""What is drawn of an arm in Gazebo: the visuals of its description."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np
import pinocchio

from projected_control.model.arm import Arm
from projected_control.resources import package_folders

COLOUR = "0.55 0.58 0.62 1"  # of what the description gives none


class Visual(NamedTuple):
    """Something to draw."""

    name: str  # unique within its model
    joint: int  # number of the joint that moves it; zero for what does not move
    place: pinocchio.SE3  # in the axes of that joint's link
    geometry: Element  # as SDF has it
    colour: str  # red, green, blue and opacity, as text


def read_visuals(arm: Arm) -> Iterator[Visual]:
    """The visuals of an arm's description; a mesh that is not found is left out."""
    root, model = ElementTree.fromstring(arm.urdf), arm.pinocchio_model
    colours = {m.get("name", ""): _colour(m, {}) for m in root.findall("material")}
    for link in root.iter("link"):
        name = link.get("name", "")
        if not model.existFrame(name, pinocchio.FrameType.BODY):
            continue
        frame = model.frames[model.getFrameId(name, pinocchio.FrameType.BODY)]
        for number, visual in enumerate(link.findall("visual")):
            geometry = _geometry(visual.find("geometry"))
            if geometry is None:
                continue
            yield Visual(
                f"{name}_{number}",
                frame.parentJoint,
                frame.placement * origin_of(visual.find("origin")),
                geometry,
                _colour(visual.find("material"), colours),
            )


def add_visual(link: Element, visual: Visual) -> None:
    """Draw something with a link of an SDF model."""
    element = SubElement(link, "visual", name=visual.name)
    add_pose(element, visual.place)
    element.append(visual.geometry)
    material = SubElement(element, "material")
    for kind in ("ambient", "diffuse"):
        SubElement(material, kind).text = visual.colour


def add_pose(element: Element, place: pinocchio.SE3) -> None:
    """A pose as position and quaternion: other formats lose digits, or jam at a quarter turn."""
    pose = SubElement(element, "pose", rotation_format="quat_xyzw")
    pose.text = in_text([*place.translation, *pinocchio.Quaternion(place.rotation).coeffs()])


def in_text(values: Iterable[float]) -> str:
    """Numbers as XML has them, with all their digits."""
    return " ".join(repr(float(value)) for value in values)


def origin_of(origin: Element | None) -> pinocchio.SE3:
    """A place in a URDF: ``xyz`` and ``rpy``."""
    xyz, rpy = (_numbers(origin, name) for name in ("xyz", "rpy"))
    return pinocchio.SE3(pinocchio.rpy.rpyToMatrix(*rpy), xyz)


def _numbers(element: Element | None, name: str) -> np.ndarray:
    text = "" if element is None else element.get(name, "")
    return np.array([float(x) for x in text.split()] or [0.0] * 3)


def _colour(material: Element | None, known: dict[str, str]) -> str:
    if material is None:
        return COLOUR
    colour = material.find("color")
    if colour is not None:
        return colour.get("rgba", COLOUR)
    return known.get(material.get("name", ""), COLOUR)


def _geometry(geometry: Element | None) -> Element | None:
    """A shape of a URDF as SDF has it; None for one that cannot be drawn."""
    shape = None if geometry is None else next(iter(geometry), None)
    if shape is None:
        return None
    result = Element("geometry")
    if shape.tag == "mesh":
        path = mesh_file(shape.get("filename", ""))
        if path is None:
            return None
        settings = {"uri": path.as_uri(), "scale": shape.get("scale", "1 1 1")}
    elif shape.tag in ("box", "cylinder", "sphere"):
        settings = dict(shape.attrib)
    else:
        return None
    element = SubElement(result, shape.tag)
    for name, value in settings.items():
        SubElement(element, name).text = value
    return result


def mesh_file(name: str) -> Path | None:
    """The file of a mesh; None where it is not found."""
    scheme, separator, rest = name.partition("://")
    if not separator:
        return _existing(Path(name))
    if scheme == "file":
        return _existing(Path(rest))
    if scheme != "package":
        return None
    package, _, inside = rest.partition("/")
    places = [folder / package / inside for folder in package_folders()]
    return next((place for place in places if place.is_file()), None)


def _existing(path: Path) -> Path | None:
    return path if path.is_absolute() and path.is_file() else None

"""Reading robot descriptions: xacro to URDF, and the checks that give readable errors."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from projected_control.errors import InvalidDescription

UNLIMITED = 1e9
"""Position limit written for a continuous joint [rad]; read back as no limit."""


class JointDescription(NamedTuple):
    """What a URDF says of a movable joint, and Pinocchio does not keep."""

    kind: str
    child: str
    mimics: str | None


class Description(NamedTuple):
    """A checked URDF."""

    urdf: str
    joints: dict[str, JointDescription]
    links_without_mass: list[str]


def read_description(
    source: str | Path, mappings: Mapping[str, object] | None = None
) -> Description:
    """URDF or xacro, file or text, checked.

    Continuous joints become revolute ones without limits, so that a joint's position is one number.

    Args:
        source: Path of a ``.urdf`` or ``.xacro`` file, or the XML itself.
        mappings: xacro arguments, by name.
    """
    text, origin = _read_text(source)
    if "http://www.ros.org/wiki/xacro" in text or "http://ros.org/wiki/xacro" in text:
        text = _expand(source, text, origin, mappings or {})
    elif mappings:
        raise InvalidDescription(
            f"{origin} is not a xacro file, so it takes no arguments {dict(mappings)}"
        )
    root = _parse(text, origin)
    if root.tag != "robot":
        raise InvalidDescription(
            f"{origin} is not a robot description: its root is <{root.tag}>, not <robot>"
        )
    massless = [_text(link, "name") for link in root.iter("link") if not _has_mass(link, origin)]
    joints = dict(_movable_joints(root, origin))
    if not joints:
        raise InvalidDescription(f"{origin} has no movable joint")
    return Description(ElementTree.tostring(root, encoding="unicode"), joints, massless)


def _read_text(source: str | Path) -> tuple[str, str]:
    if isinstance(source, str) and source.lstrip().startswith("<"):
        return source, "the robot description"
    path = Path(source)
    try:
        return path.read_text(encoding="utf-8"), str(path)
    except UnicodeDecodeError:
        raise InvalidDescription(
            f"{path} is not a text file, so it is no robot description"
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a path that cannot be one
        reason = getattr(error, "strerror", None) or error
        raise InvalidDescription(f"cannot read the robot description {path}: {reason}") from None


def _parse(text: str, origin: str) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise InvalidDescription(f"{origin} is not well-formed XML: {error}") from None


def _expand(source: str | Path, text: str, origin: str, mappings: Mapping[str, object]) -> str:
    import xacro

    arguments = {name: str(value) for name, value in mappings.items()}
    known = {
        element.get("name")
        for element in _parse(text, origin)
        if element.tag in ("{http://www.ros.org/wiki/xacro}arg", "{http://ros.org/wiki/xacro}arg")
    }
    unknown = sorted(set(arguments) - {str(name) for name in known})
    if known and unknown:
        raise InvalidDescription(
            f"{origin} has no argument {', '.join(unknown)}; "
            f"it takes: {', '.join(sorted(map(str, known)))}"
        )
    try:
        if origin == str(source):
            return str(xacro.process_file(str(source), mappings=arguments).toxml())
        document = xacro.parse(text)
        xacro.process_doc(document, mappings=arguments)
        return str(document.toxml())
    except Exception as error:  # xacro raises whatever an expression in the file raised
        raise InvalidDescription(f"xacro could not expand {origin}: {error}") from error


def _text(element: ElementTree.Element, attribute: str) -> str:
    return element.get(attribute, "?")


def _number(text: str | None, default: float, what: str) -> float:
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise InvalidDescription(f"{what} must be a finite number, got {text!r}")
    return value


def _has_mass(link: ElementTree.Element, origin: str) -> bool:
    inertial = link.find("inertial")
    if inertial is None:
        return False
    name = _text(link, "name")
    element = inertial.find("mass")
    mass = _number(
        None if element is None else element.get("value"), 0.0, f"mass of link {name!r} in {origin}"
    )
    if mass < 0.0:
        raise InvalidDescription(f"link {name!r} in {origin} has the negative mass {mass:g} kg")
    tensor = inertial.find("inertia")
    if tensor is not None:
        xx, xy, xz, yy, yz, zz = (
            _number(tensor.get(k), 0.0, f"inertia {k} of link {name!r} in {origin}")
            for k in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        )
        principal = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if principal[0] < -1e-9 * max(abs(principal[-1]), 1e-12):
            raise InvalidDescription(
                f"link {name!r} in {origin} has an inertia that is not positive: "
                f"principal moments {principal.tolist()} kg·m²"
            )
    return mass > 0.0


def _movable_joints(
    root: ElementTree.Element, origin: str
) -> Iterator[tuple[str, JointDescription]]:
    for joint in root.findall("joint"):
        name, kind = _text(joint, "name"), _text(joint, "type")
        if kind == "fixed":
            continue
        if kind not in ("revolute", "continuous", "prismatic"):
            raise InvalidDescription(
                f"joint {name!r} in {origin} is of type {kind!r}; an arm has revolute, continuous "
                "and prismatic joints: split others into these"
            )
        _check_limits(joint, name, kind, origin)
        child, mimic = joint.find("child"), joint.find("mimic")
        yield (
            name,
            JointDescription(
                "prismatic" if kind == "prismatic" else "revolute",
                "?" if child is None else _text(child, "link"),
                None if mimic is None else _text(mimic, "joint"),
            ),
        )


def _check_limits(joint: ElementTree.Element, name: str, kind: str, origin: str) -> None:
    limit = joint.find("limit")
    if limit is None:
        if kind != "continuous":
            raise InvalidDescription(f"joint {name!r} in {origin} has no <limit>")
        limit = ElementTree.SubElement(joint, "limit")
    if kind == "continuous":
        joint.set("type", "revolute")
        limit.set("lower", str(-UNLIMITED))
        limit.set("upper", str(UNLIMITED))
        limit.attrib.setdefault("effort", str(UNLIMITED))
        limit.attrib.setdefault("velocity", str(UNLIMITED))
    lower, upper, effort, velocity = (
        _number(limit.get(k), 0.0, f"{k} limit of joint {name!r} in {origin}")
        for k in ("lower", "upper", "effort", "velocity")
    )
    if not lower < upper:
        raise InvalidDescription(
            f"joint {name!r} in {origin} has inconsistent limits: lower {lower:g} is not below "
            f"upper {upper:g}"
        )
    if effort < 0.0 or velocity <= 0.0:  # effort 0: a joint without a motor
        raise InvalidDescription(
            f"joint {name!r} in {origin} must have a positive velocity limit and an effort limit "
            f"that is not negative, got effort {effort:g} and velocity {velocity:g}"
        )

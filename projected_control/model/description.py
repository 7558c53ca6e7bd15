"""Reading robot descriptions: xacro to URDF, and the checks that give readable errors."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from projected_control.errors import InvalidDescription
from projected_control.model.inertias import Link, finite_number, read_links

UNLIMITED = 1e9  # position limit written for a continuous joint [rad]; read back as no limit


class Mimic(NamedTuple):
    """A joint that follows another: q = ratio q_leader + offset."""

    leader: str
    ratio: float
    offset: float


class JointDescription(NamedTuple):
    """What a URDF says of a movable joint, and Pinocchio does not keep."""

    kind: str
    child: str
    mimic: Mimic | None


class Description(NamedTuple):
    """A checked URDF."""

    urdf: str  # the expanded text
    joints: dict[str, JointDescription]  # the movable joints, by name
    links: dict[str, Link]  # what they are made of, by name (see `inertias`)
    # What is doubtful in it, in words: limits that are missing. Pinocchio takes all of it
    # without a word.
    warnings: tuple[str, ...] = ()


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
    written = text
    if "http://www.ros.org/wiki/xacro" in text or "http://ros.org/wiki/xacro" in text:
        text = _expand(source, text, origin, mappings or {})
    elif mappings:
        raise InvalidDescription(
            f"{origin} is not a xacro file, so it takes no arguments {dict(mappings)}"
        )
    root = _parse(text, origin)
    if root.tag == "mujoco":
        raise InvalidDescription(
            f"{origin} is MJCF, of which the closed loops are read alone (loops_from_mjcf): an arm "
            "is read from URDF or xacro, which also MuJoCo gets it from"
        )
    if root.tag != "robot":
        raise InvalidDescription(
            f"{origin} is not a robot description: its root is <{root.tag}>, not <robot>"
        )
    warnings: list[str] = []
    links = read_links(root, written, origin)
    joints = dict(_movable_joints(root, origin, warnings))
    if not joints:
        raise InvalidDescription(f"{origin} has no movable joint")
    joints = {name: _with_known_leader(name, joints, warnings) for name in joints}
    urdf = ElementTree.tostring(root, encoding="unicode")
    return Description(urdf, joints, links, tuple(warnings))


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


def _movable_joints(
    root: ElementTree.Element, origin: str, warnings: list[str]
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
        _complete_limits(joint, name, kind, origin, warnings)
        child = joint.find("child")
        yield (
            name,
            JointDescription(
                "prismatic" if kind == "prismatic" else "revolute",
                "?" if child is None else _text(child, "link"),
                _mimic(joint, name, origin),
            ),
        )


def _mimic(joint: ElementTree.Element, name: str, origin: str) -> Mimic | None:
    mimic = joint.find("mimic")
    if mimic is None:
        return None
    ratio, offset = (
        finite_number(mimic.get(key), default, f"{key} of mimic joint {name!r} in {origin}")
        for key, default in (("multiplier", 1.0), ("offset", 0.0))
    )
    joint.remove(mimic)  # to us it is a joint with a constraint, whatever Pinocchio makes of it
    return Mimic(_text(mimic, "joint"), ratio, offset)


def _with_known_leader(
    name: str, joints: Mapping[str, JointDescription], warnings: list[str]
) -> JointDescription:
    """The joint; one that mimics a joint that is not there follows none."""
    joint = joints[name]
    if joint.mimic is None or joint.mimic.leader in joints:
        return joint
    warnings.append(
        f"joint {name!r} mimics {joint.mimic.leader!r}, which is no movable joint; it counts as a "
        "joint of its own"
    )
    return joint._replace(mimic=None)


def _complete_limits(
    joint: ElementTree.Element, name: str, kind: str, origin: str, warnings: list[str]
) -> None:
    """Write down every limit of a joint; those that are not given as none at all."""
    limit = joint.find("limit")
    if limit is None:
        warnings.append(f"joint {name!r} has no <limit>: it counts as unlimited")
        limit = ElementTree.SubElement(joint, "limit")
    missing = [key for key in ("effort", "velocity") if limit.get(key) is None]
    lower, upper, effort, velocity = (
        finite_number(limit.get(key), default, f"{key} limit of joint {name!r} in {origin}")
        for key, default in (
            ("lower", 0.0),
            ("upper", 0.0),
            ("effort", UNLIMITED),
            ("velocity", UNLIMITED),
        )
    )
    if kind == "continuous":
        joint.set("type", "revolute")
        lower, upper = -UNLIMITED, UNLIMITED
    elif lower == upper == 0.0:
        lower, upper = -UNLIMITED, UNLIMITED
        if len(limit.attrib):
            warnings.append(f"joint {name!r} has no lower and upper limit: it counts as unlimited")
    if not lower < upper:
        raise InvalidDescription(
            f"joint {name!r} in {origin} has inconsistent limits: lower {lower:g} is not below "
            f"upper {upper:g}"
        )
    if velocity == 0.0:
        velocity = UNLIMITED
        missing.append("velocity")
    if missing and len(limit.attrib):
        warnings.append(f"joint {name!r} has no {' and no '.join(sorted(missing))} limit")
    if effort < 0.0 or velocity < 0.0:  # effort 0: a joint without a motor
        raise InvalidDescription(
            f"joint {name!r} in {origin} must have a positive velocity limit and an effort limit "
            f"that is not negative, got effort {effort:g} and velocity {velocity:g}"
        )
    for key, value in (
        ("lower", lower),
        ("upper", upper),
        ("effort", effort),
        ("velocity", velocity),
    ):
        limit.set(key, repr(value))

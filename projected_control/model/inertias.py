"""Whether the masses and inertias of a description can be those of an arm.

A description that forgets a link's mass, or has it in grams, moves an arm with the wrong torques,
and Pinocchio takes it without a word. What counts is the body that a joint moves: its link, and all
links that are fixed to it.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from projected_control import validate
from projected_control.errors import InvalidDescription

Array = NDArray[np.float64]

ROUNDING = 1e-9
"""Share of the largest principal moment, or of mass times a square centimetre, that is rounding."""

TRIANGLE = 1e-3
"""By which share the largest principal moment may exceed the sum of the others, as it does in
descriptions whose numbers have three digits."""

NEIGHBOURS = 1e3  # how many times heavier than its neighbour a body may be


class Link(NamedTuple):
    """What a description says of the matter of a link."""

    name: str  # of the link
    place: str  # where it is described, in words: ``line 12``
    mass: float  # zero where none is given [kg]
    moments: Array  # principal moments of inertia, in ascending order [kg·m²]
    joint: str  # name of the joint that carries it; empty for a root
    parent: str  # name of the link on the other side of that joint

    def __str__(self) -> str:
        return f"link {self.name!r} ({self.place})"


class Doubts(NamedTuple):
    """What cannot be, and what is only odd, in words."""

    refusals: tuple[str, ...]
    warnings: tuple[str, ...]


def read_links(root: ElementTree.Element, written: str, origin: str) -> dict[str, Link]:
    """The links of a URDF, by name.

    Args:
        root: The parsed description.
        written: The text as its author wrote it, before xacro.
        origin: Where that came from, for messages.
    """
    lines = _lines(written)
    carried = {}
    for joint in root.findall("joint"):
        child, parent = joint.find("child"), joint.find("parent")
        if child is not None and parent is not None:
            carried[child.get("link", "?")] = (joint.get("name", "?"), parent.get("link", "?"))
    links = {}
    for element in root.findall("link"):
        name = element.get("name", "?")
        place = f"line {lines[name]}" if name in lines else "made by xacro"
        mass, moments = _matter(element, f"link {name!r} in {origin}, {place}")
        links[name] = Link(name, place, mass, moments, *carried.get(name, ("", "")))
    return links


def _lines(text: str) -> dict[str, int]:
    """The line on which each link begins."""
    found: dict[str, int] = {}
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag == "link" and "name" in attributes:
            found.setdefault(attributes["name"], parser.CurrentLineNumber)

    parser.StartElementHandler = start
    parser.Parse(text, True)
    return found


def finite_number(text: str | None, default: float, what: str) -> float:
    """The number that an attribute holds; an error that names it where it is none."""
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise InvalidDescription(f"{what} must be a finite number, got {text!r}")
    return value


def _matter(link: ElementTree.Element, whose: str) -> tuple[float, Array]:
    """Mass and principal moments of a link."""
    inertial = link.find("inertial")
    if inertial is None:
        return 0.0, np.zeros(3)
    element = inertial.find("mass")
    given = None if element is None else element.get("value")
    mass = finite_number(given, 0.0, f"mass of {whose}")
    if mass < 0.0:
        raise InvalidDescription(f"{whose} has the negative mass {mass:g} kg")
    tensor = inertial.find("inertia")
    if tensor is None:
        return mass, np.zeros(3)
    xx, xy, xz, yy, yz, zz = (
        finite_number(tensor.get(key), 0.0, f"inertia {key} of {whose}")
        for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return mass, np.linalg.eigvalsh(matrix)


def doubts(links: Mapping[str, Link], moving: Iterable[str], massless: Iterable[str]) -> Doubts:
    """What is wrong with the bodies that joints move.

    Args:
        links: All links, by name.
        moving: Names of the joints that move; across all others, links are one body.
        massless: Names of links that have no mass, or hardly any, on purpose.
    """
    named = {validate.one_of("massless link", name, list(links)) for name in massless}
    bodies = _bodies(links, frozenset(moving))
    refusals = [
        *_without_mass(bodies, named),
        *(text for body in bodies.values() for link in body if (text := _negative(link))),
        *_unlike_neighbours(links, bodies, named),
    ]
    warnings = [text for body in bodies.values() for text in _odd(body)]
    return Doubts(tuple(refusals), tuple(warnings))


def _bodies(links: Mapping[str, Link], moving: frozenset[str]) -> dict[str, list[Link]]:
    """The links of each body that a joint moves, by its first link, which comes first."""
    bodies: dict[str, list[Link]] = {n: [x] for n, x in links.items() if x.joint in moving}
    for link in links.values():
        first = _first_link(link, links, bodies)
        if first in bodies and first != link.name:
            bodies[first].append(link)
    return bodies


def _first_link(link: Link, links: Mapping[str, Link], bodies: Mapping[str, object]) -> str:
    """The link nearest the base of the same body."""
    for _ in links:  # a loop among the links would never end; Pinocchio refuses it
        if link.name in bodies or link.parent not in links:
            break
        link = links[link.parent]
    return link.name


def _mass(body: Iterable[Link]) -> float:
    return sum(link.mass for link in body)


def _without_mass(bodies: Mapping[str, list[Link]], named: set[str]) -> Iterator[str]:
    for first, *fixed in bodies.values():
        if _mass((first, *fixed)) > 0.0 or first.name in named:
            continue
        others = ", nor has any link fixed to it" if fixed else ""
        yield (
            f"{first} has no mass{others}, and joint {first.joint!r} moves it: give it an "
            "<inertial>, or name it in massless_links if it has none on purpose"
        )


def _negative(link: Link) -> str:
    rounding = ROUNDING * max(abs(link.moments[-1]), 1e-4 * link.mass)
    if link.moments[0] >= -rounding:
        return ""
    return (
        f"{link} has an inertia that is not positive: principal moments {_text(link.moments)}; "
        "look at its ixx to izz, their signs and units"
    )


def _unlike_neighbours(
    links: Mapping[str, Link], bodies: Mapping[str, list[Link]], named: set[str]
) -> Iterator[str]:
    for first, *fixed in bodies.values():
        below = bodies.get(_first_link(links[first.parent], links, bodies), [])
        if not below or named & {first.name, below[0].name}:
            continue
        mine, other = _mass((first, *fixed)), _mass(below)
        if min(mine, other) > 0.0 and max(mine, other) > NEIGHBOURS * min(mine, other):
            yield (
                f"{first} has {mine:.3g} kg and {below[0]}, its neighbour, {other:.3g} kg, links "
                f"fixed to them included: a factor of more than {NEIGHBOURS:g}; one of them is in "
                "another unit, or wrong. A link that is so light on purpose is named in "
                "massless_links"
            )


def _odd(body: list[Link]) -> Iterator[str]:
    """What can be computed with, but is hardly what the arm is like."""
    heavy = [link for link in body if 2.0 * link.mass > _mass(body) and not _negative(link)]
    for link in heavy:
        small, middle, large = link.moments
        rounding = ROUNDING * max(large, 1e-4 * link.mass)
        if small + middle < (1.0 - TRIANGLE) * large - rounding:
            yield (
                f"{link} has an inertia that no body has: of its principal moments "
                f"{_text(link.moments)} the largest is more than the other two together"
            )
        elif small <= rounding:
            shape = "point" if large <= rounding else "rod without thickness"
            yield (
                f"{link} has {link.mass:.3g} kg and an inertia that is not positive definite: it "
                f"counts as a {shape}"
            )


def _text(moments: Array) -> str:
    return ", ".join(f"{moment:.3g}" for moment in moments) + " kg·m²"
